"""
`--completion=bash|zsh|fish`: a script that completes options, passes, machines and
`@NAME`, made of the table of options.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from pyptoc.dialects.record import record
from pyptoc.option_groups import build_parser
from pyptoc.passes import PASSES, pass_class

FILES, FOLDERS = "files", "folders"
_LISTS = ("print_ir_before", "print_ir_after", "pipeline")
"""What takes several passes with commas."""


@record
class Entry:
    """An option as a shell completes it."""

    name: str
    help: str
    takes: bool
    """Whether a value follows."""
    optional: bool = False
    """Whether it may be left out."""
    words: tuple[str, ...] = ()
    """The values that there are."""
    paths: str = ""
    """FILES or FOLDERS where it is a path."""
    commas: bool = False
    """Whether several values may be given."""


def entries() -> list[Entry]:
    """All options, those that are passes last."""
    from pyptoc.options import OPTIONAL_VALUE

    found: list[Entry] = []
    for action in build_parser()._actions:  # pyright: ignore[reportPrivateUsage]
        takes = action.nargs != 0
        for name in action.option_strings:
            found.append(
                Entry(
                    name,
                    _plain(action.help or ""),
                    takes,
                    name in OPTIONAL_VALUE,
                    _words(action),
                    _paths(action),
                    action.dest in _LISTS,
                )
            )
    for name in PASSES:
        found.append(Entry(f"--{name}", _plain(pass_class(name).summary), False))
    return found


def _plain(help: str) -> str:
    """A help text without what a shell takes for quotes or brackets."""
    words = re.sub(r"[^\w .,;@/<>=-]", " ", help).split(";")[0].split()
    return " ".join(words)[:72].strip()


def _words(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    if action.dest in (*_LISTS, "help_pass"):
        return tuple(PASSES)
    if action.dest == "machine":
        from pyptoc.runtime.machine import machine_names

        return tuple(machine_names())
    if action.dest == "verify_each":
        return ("true", "false")
    if action.dest == "explain":
        from pyptoc.explain import explanations

        return tuple(explanations())
    return ()


def _paths(action: argparse.Action) -> str:
    shown = action.metavar if isinstance(action.metavar, str) else ""
    if shown == "DIR":
        return FOLDERS
    if action.dest == "machine" or shown == "FILE" or re.match(r"F(\.|$)", shown):
        return FILES
    return ""


def script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish`."""
    from pyptoc.operators import names

    operators = [f"@{name}" for name in names()]
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return made(entries(), operators)


_BASH = """\
# Completion for pyptoc: source <(pyptoc --completion=bash)
_pyptoc() {
    # Up to the cursor; bash cuts words at some characters, such as = and @.
    local word=${COMP_LINE:0:COMP_POINT}
    word=${word##*[[:space:]]}
    local name= value=$word values= paths=files head= previous
    previous=${COMP_LINE:0:COMP_POINT-${#word}}
    previous=${previous%"${previous##*[![:space:]]}"}
    previous=${previous##*[[:space:]]}
    if [[ $word == --*=* ]]; then
        name=${word%%=*} value=${word#*=} head=${word%%=*}=
    elif [[ $word == -* ]]; then
        name=options
    elif [[ $previous == -* ]]; then
        name=$previous
    fi
    case $name in
        options) values='@OPTIONS@' paths= ;;
@CASES@
        *) values='@OPERATORS@' ;;
    esac
    if [[ $value == *,* && $paths == commas ]]; then
        head+=${value%,*}, value=${value##*,}
    fi
    local found
    mapfile -t found < <(compgen -W "$values" -- "$value")
    case $paths in
        files) mapfile -t -O "${#found[@]}" found < <(compgen -f -- "$value")
            compopt -o filenames 2> /dev/null ;;
        folders) mapfile -t -O "${#found[@]}" found < <(compgen -d -- "$value")
            compopt -o filenames 2> /dev/null ;;
    esac
    # What is in front of the last cut is on the line already.
    local cut=${word%"${word##*["$COMP_WORDBREAKS"]}"} one
    COMPREPLY=()
    for one in "${found[@]}"; do
        one=$head$one
        COMPREPLY+=("${one#"$cut"}")
    done
    if [[ ${COMPREPLY[0]} == *= || $paths == commas ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
complete -F _pyptoc pyptoc
"""


def _bash(options: Sequence[Entry], operators: Sequence[str]) -> str:
    cases: list[str] = []
    for each in options:
        if each.takes and not (each.optional and not each.words):
            paths = "commas" if each.commas else each.paths
            values = " ".join(each.words)
            cases.append(f"        {each.name}) values='{values}' paths={paths} ;;")
    named = " ".join(
        each.name
        + "=" * (each.takes and each.name.startswith("--") and not each.optional)
        for each in options
    )
    return (
        _BASH.replace("@OPTIONS@", named)
        .replace("@CASES@", "\n".join(cases))
        .replace("@OPERATORS@", " ".join(operators))
    )


def _zsh(options: Sequence[Entry], operators: Sequence[str]) -> str:
    machines = next(each.words for each in options if each.name == "--machine")
    lines = [
        "#compdef pyptoc",
        "# Completion for pyptoc: source <(pyptoc --completion=zsh)",
        f"_pyptoc_inputs() {{ compadd -- {' '.join(operators)}; _files }}",
        f"_pyptoc_machines() {{ compadd -- {' '.join(machines)}; _files -g '*.toml' }}",
        "_pyptoc() {",
        "  _arguments \\",
    ]
    for each in options:
        text = f"{each.name}{'=' * (each.takes and each.name.startswith('--'))}"
        text = f"{text.replace('=', '=-') if each.optional else text}[{each.help}]"
        if each.takes:
            mark = "::" if each.optional else ":"
            text += f"{mark}value:{_zsh_values(each)}"
        lines.append(f"    '{text}' \\")
    lines += ["    '*:input:_pyptoc_inputs'", "}", "compdef _pyptoc pyptoc"]
    return "\n".join(lines) + "\n"


def _zsh_values(each: Entry) -> str:
    words = " ".join(each.words)
    if each.commas:
        return f"_sequence compadd - {words}"
    if each.words and each.paths:
        return "_pyptoc_machines"
    if each.words:
        return f"({words})"
    return {FILES: "_files", FOLDERS: "_files -/"}.get(each.paths, " ")


def _fish(options: Sequence[Entry], operators: Sequence[str]) -> str:
    lines = ["# Completion for pyptoc: pyptoc --completion=fish | source"]
    for each in options:
        kind = "-l" if each.name.startswith("--") else "-s"
        line = f"complete -c pyptoc {kind} {each.name.lstrip('-')}"
        words = " ".join(each.words)
        if each.takes and not each.optional:
            line += " -r" if each.paths else " -x"
        if each.commas:
            line += f" -a '(__fish_append , {words})'"
        elif each.paths == FOLDERS:
            line += " -a '(__fish_complete_directories)'"
        elif words:
            line += f" -a '{words}'"
        lines.append(f"{line} -d '{each.help}'")
    lines.append(f"complete -c pyptoc -a '{' '.join(operators)}'")
    return "\n".join(lines) + "\n"
