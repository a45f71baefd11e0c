"""
`--docs-ops`: the page `docs/operators.md`, from the definitions of the operations.

Syntax, operands and settings come from an op's fields and its `SYNTAX`, text and
examples from its docstring (`dialects/op_docs.py`). Which element types are allowed is
asked of the op's own inference: the operands of the example get one element type after
the other (`element_types.py`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Attribute, Operation

from pyptoc.dialects.context import DIALECTS, load
from pyptoc.dialects.op_docs import op_doc
from pyptoc.dialects.parse_errors import ELEMENTS
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.class_fields import operand_fields, setting_names
from pyptoc.dialects.pypto.infer import ELEMENT_TYPES, as_tensor
from pyptoc.dialects.pypto.properties import setting_usage
from pyptoc.dialects.pypto.syntax import join_usage
from pyptoc.dialects.pypto.values import Values
from pyptoc.element_types import (
    RESULT,
    Accepted,
    Elements,
    Place,
    elements_of,
    field_names,
    parsed_examples,
    places,
)

_INTRODUCTION = """\
# Operators

Every operation of the tensor level, and in short those of the two levels below it. This
page is generated (`pyptoc --docs-ops`); `pyptoc --list-ops WORD` shows a part of it.

Tensors of rank 0 to 5 are tested, with sizes from 0 on. Types of results are inferred;
`: ..` at the end of an operation is optional and checked. An element type is never
converted but by `cast`. Every operation may also have `{tag = "..", tile = #..}`. In
the lines of syntax `[ ]` means optional, but for subscripts and lists of sizes, and the
settings in `{ }` are all optional. [The language](language.md) shows programs.
"""
_LOWER = """\
## Lower levels

What the passes make of a program: `npu` has tasks, kernels and launches, `tile` the
instructions of one core. Both are printed and can be read again.
"""


def page() -> str:
    """The whole page."""
    families = list(_families(ops_of("pypto")))
    lower = list(_families(ops_of("npu", "tile")))
    parts = [_INTRODUCTION, _contents(families)]
    for title, text, kinds in families:
        parts.append(f"## {title}\n\n{text}\n" if text else f"## {title}\n")
        parts += [_section(kind) for kind in kinds]
    parts.append(_LOWER)
    for title, text, kinds in lower:
        rows = "\n".join(f"- `{kind.name}`: {op_doc(kind).summary}" for kind in kinds)
        parts.append("\n\n".join(filter(None, (f"### {title}", text, rows))) + "\n")
    return "\n".join(parts)


# -- families -----------------------------------------------------------------


def ops_of(*names: str) -> Iterator[type[Operation]]:
    """The operations of some dialects, in the order of their definition."""
    for name in names:
        yield from load(DIALECTS[name]).operations


def _families(
    kinds: Iterable[type[Operation]],
) -> Iterator[tuple[str, str, list[type[Operation]]]]:
    """Title, text and ops of each file that defines some, as its docstring says."""
    families: dict[str, list[type[Operation]]] = {}
    for kind in kinds:
        families.setdefault(kind.__module__, []).append(kind)
    for module, members in families.items():
        first, *rest = (sys.modules[module].__doc__ or "").rstrip().split("\n\n")
        title, _, more = " ".join(first.split()).partition(":")
        title = title.removesuffix(".")
        more = more.strip()
        paragraphs = [more[0].upper() + more[1:]] if more else []
        yield title, "\n\n".join([*paragraphs, *rest]), members


def _contents(families: Sequence[tuple[str, str, list[type[Operation]]]]) -> str:
    lines: list[str] = []
    for title, _, kinds in families:
        lines.append(f"- {title}")
        for kind in kinds:
            name = short_name(kind)
            lines.append(f"  - [`{name}`](#{name}): {op_doc(kind).summary}")
    return "\n".join(lines) + "\n"


def short_name(kind: type[Operation]) -> str:
    """The operation without its dialect."""
    return kind.name.partition(".")[2]


# -- one operation ------------------------------------------------------------


def _section(kind: type[Operation]) -> str:
    assert issubclass(kind, PyptoOp)
    doc = op_doc(kind)
    parts = [f"### {short_name(kind)}", doc.summary, f"    {usage(kind)}"]
    if facts := operand_lines(kind):
        parts.append("\n".join(f"- {fact}" for fact in facts))
    parts += doc.semantics
    parts.append("```mlir\n" + "\n".join(doc.examples) + "\n```")
    return "\n\n".join(parts) + "\n"


def usage(kind: type[PyptoOp]) -> str:
    """`%v, %i = pypto.topk %x k <int> axis <int> [lengths %n] {pad_index = <int>}`."""
    left = _result_names(kind)
    text = kind.USAGE or join_usage(e.usage(field_names(kind)) for e in kind.SYNTAX)
    blank = "" if text.startswith(("[<size>", "[<offset>")) or not text else " "
    text = f"{', '.join(left)} = " * bool(left) + f"{kind.name}{blank}{text}"
    properties = kind.get_irdl_definition().properties
    settings = [
        setting_usage(name, properties[name].constr) for name in setting_names(kind)
    ]
    return f"{text} {{{', '.join(settings)}}}" if settings and not kind.USAGE else text


def _result_names(kind: type[PyptoOp]) -> list[str]:
    """What the first example calls the results, with `%`."""
    return _results_in(kind, op_doc(kind).examples[0])


def _results_in(kind: type[PyptoOp], example: str) -> list[str]:
    found = re.search(rf"^(.*) = {re.escape(kind.name)}\b", example, re.M)
    return re.findall(r"%\w+", found[1]) if found else []


# -- operands and results -----------------------------------------------------


def operand_lines(kind: type[PyptoOp]) -> list[str]:
    """Operands, what may follow `to`, and results, with their element types."""
    found = elements_of(kind)
    lines = dict.fromkeys(_tensor_lines(kind, found))
    lines |= dict.fromkeys(_scalar_lines(kind))
    if found.targets:
        lines[f"after `to`: {show_types(found.targets)}"] = None
    if RESULT in found.allowed:
        lines[f"result: tensor of {show_types(found.allowed[RESULT])}"] = None
    elif len(found.accepted[0].results) == len(_result_names(kind)):
        named = (_results_in(kind, example) for example in op_doc(kind).examples)
        for index, name in enumerate(max(named, key=len)):
            lines[f"result `{name}`: {_result(kind, found, index)}"] = None
    return list(lines)


def _written_order(kind: type[PyptoOp]) -> list[Place]:
    """The operands of an op in the order of its text."""
    names = field_names(kind)
    fields = [name for element in kind.SYNTAX for name in element.fields()]
    fields += [name for name, _ in operand_fields(kind) if name not in fields]
    return [(name, i) for name in fields for i in range(len(names.get(name, ())))]


def _tensor_lines(kind: type[PyptoOp], found: Elements) -> list[str]:
    """Tied operands on one line, and operands that take the same types as well."""
    optional = {name for name, how in operand_fields(kind) if how == "optional"}
    tied = {place for group in found.tied for place in group}
    names = field_names(kind)
    lines: dict[tuple[bool, str], list[str]] = {}
    for place in _written_order(kind):
        if place not in found.allowed:
            continue
        text = show_types(found.allowed[place])
        if _may_be_literal(kind, place[1]):
            text += ", or a number"
        name = f"`%{names[place[0]][place[1]]}`"
        name += " (optional)" if place[0] in optional else ""
        lines.setdefault((place in tied, text), []).append(name)
    return [
        f"{', '.join(shown)}: {_noun(len(shown), is_tied)} {text}"
        for (is_tied, text), shown in lines.items()
    ]


def _noun(count: int, is_tied: bool) -> str:
    if count == 1:
        return "tensor of"
    return "tensors of one type:" if is_tied else "tensors, each of"


def _may_be_literal(kind: type[PyptoOp], index: int) -> bool:
    return any(
        isinstance(element, Values) and element.literals and index >= element.like
        for element in kind.SYNTAX
    )


def _scalar_lines(kind: type[PyptoOp]) -> list[str]:
    """Operands that are no tensors, those of the same types together."""
    types: dict[str, dict[str, None]] = {}
    for op in parsed_examples(kind):
        for _, value in places(op):
            if as_tensor(value.type) is None:
                name = f"`%{value.name_hint}`"
                types.setdefault(name, {})[str(value.type)] = None
    lines: dict[str, list[str]] = {}
    for name, found in types.items():
        lines.setdefault(" or ".join(found), []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in lines.items()]


def show_types(types: Sequence[Attribute]) -> str:
    """`bf16, f16, f32`."""
    if set(types) == set(ELEMENT_TYPES):
        return "any element type"
    return ", ".join(sorted(map(str, types), key=ELEMENTS.index))


def _result(kind: type[PyptoOp], found: Elements, index: int) -> str:
    """The element type of a result, or what it follows from."""
    given = [
        (each, each.results[index])
        for each in found.accepted
        if index < len(each.results)
    ]
    types = tuple(dict.fromkeys(type for _, type in given))
    shown = (op.results for op in parsed_examples(kind))
    if as_tensor(max(shown, key=len)[index].type) is None:
        return " or ".join(map(str, types))
    if len(types) == 1:
        return f"tensor of {types[0]}"
    plain = [(each, type) for each, type in given if each.target is None]
    follows_to = all(t == each.target for each, t in given if each.target is not None)
    assert follows_to, kind.name
    if not plain:
        return "tensor of the type after `to`"
    text = f"tensor of {_without_target(kind, plain)}"
    return f"{text}; with `to`, of that type" if found.targets else text


def _without_target(
    kind: type[PyptoOp], given: Sequence[tuple[Accepted, Attribute]]
) -> str:
    """The type of an operand, or a type for some types of the first operand."""
    types = {type for _, type in given}
    if len(types) == 1:
        return str(types.pop())
    names = field_names(kind)
    order = _written_order(kind)
    for name, index in order:
        if all(type == each.operands.get((name, index)) for each, type in given):
            return f"the type of `%{names[name][index]}`"
    sources: dict[Attribute, dict[Attribute, None]] = {}
    for each, type in given:
        sources.setdefault(type, {})[each.operands[order[0]]] = None
    *others, (usual, _) = sorted(sources.items(), key=lambda item: len(item[1]))
    texts = [f"{type} from {show_types(tuple(types))}" for type, types in others]
    return f"{', '.join(texts)}, else {usual}"
