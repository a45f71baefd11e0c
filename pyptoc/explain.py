"""
`--explain CODE`: what an error code means, beyond the text of the error.
"""

from __future__ import annotations

import re

from pyptoc.options import UsageError

FAMILIES = {
    "10": "The text cannot be read: a spelling, a name or the nesting.",
    "11": "The element types or sizes of operands do not go together.",
    "12": "A contraction (matmul, scaled_mm, einsum) does not fit its operands.",
    "13": "A subscript, a shape or an axis does not fit its tensor.",
    "14": "A clause is missing, unknown or has a wrong value.",
    "15": "A loop, its destinations or its yield are not as they must be.",
    "16": "The signature of the function is not as it must be.",
    "17": "The structure of the module: verification, dominance, symbols, flags.",
    "18": "The function holds something that the compiler cannot take apart.",
    "19": "This op is part of the language, but not of this step of the compiler.",
    "21": "A tile or a buffer does not fit the machine.",
    "22": "The machine has no instruction for this.",
    "29": "A kernel is not as it must be to run.",
    "30": "What the compiler did otherwise than one might expect; it goes on.",
    "31": "The compiler had to copy; the program is right but slower.",
    "40": "The program broke a rule of the language while it ran.",
    "41": "The flags of a kernel do not order its pipes.",
    "42": "Memory that is used by two at once, or before it is written.",
    "50": "The command line or the inputs.",
    "51": "The description of the machine.",
    "90": "A bug in pyptoc.",
}
"""The first two digits of a code to what its family is about."""

CODES = {
    "PTO101": "MLIR wants a digit and a point in a float: 1.0e-3, not 1e-3; 0.5, not "
    ".5. Integers have neither.",
    "PTO107": "MLIR reads %b as the name of a value. The remainder is written mod, and "
    "operators have spaces around them: %a - 1, for %a-1 is read as one name.",
    "PTO112": "Nothing is converted implicitly. Cast one side: "
    "%y = pypto.cast %x to f32.",
    "PTO120": "K is the last axis of A and the last but one of B; with {a_trans} or "
    "{b_trans} the last two axes change places.",
    "PTO131": "A subscript list has one entry for each dimension: an index (drops the "
    "dimension), : (all of it) or offset +: size.",
    "PTO210": "Tiles live in small memories on the chip, padded to whole fractals of "
    "16 rows by 32 bytes. pyptoc --list-machines names the machines.",
    "PTO310": "An argument with an in-place result (a result of the same name) is "
    "updated where it stands; if something else still reads the old value, or the "
    "result has another name, it is copied first.",
    "PTO402": "A view, read, load or store reached beyond its tensor. Offsets and "
    "sizes come from values read at run time.",
    "PTO405": "pypto.empty is uninitialised; each element of a result must be "
    "written. pypto.full 0.0[...] where zeros are meant.",
    "PTO410": "A pipe or core waits for what never comes: hardware hangs. Each "
    "wait_flag takes the token of one set_flag before it; each push needs a pop and "
    "a free.",
    "PTO411": "A flag is one token. It is set again only when its wait is known to "
    "be over; another id is another flag.",
    "PTO412": "A flag that is left set is found by the next task, which then waits "
    "for nothing.",
    "PTO413": "Every push of a channel has one pop and one free on every core that "
    "takes from it.",
    "PTO420": "The pipes of a core run side by side. Two accesses to the same "
    "bytes, one of them a write, need a flag or a barrier between them. See "
    "docs/checking.md.",
    "PTO421": "Tasks run in any order that the waits of launches allow, and those "
    "of one launch at once.",
    "PTO422": "An instruction reads bytes that nothing wrote: the memory of a core "
    "holds what the last task left.",
    "PTO423": "Two buffers, places or channels share bytes while both are needed.",
    "PTO424": "The machine has no such address or flag. pyptoc --list-machines.",
    "PTO425": "A task reads memory that no task has written.",
    "PTO426": "A task touches memory that its kernel does not declare, so that no "
    "wait knows of it.",
    "PTO427": "With --check=nan: the first instruction whose inputs are finite and "
    "whose result is not.",
    "PTO428": "With --check=overflow: the first cast of a number that its type cannot "
    "hold.",
    "PTO500": "The command line cannot be understood. pyptoc --help.",
    "PTO501": "An input is missing, or its shape or type is not the argument's. "
    "pyptoc FILE --describe shows them. Arrays are never converted; for f8 and bf16 "
    "unsigned integers of the same width are taken as bits.",
    "PTO502": "A file cannot be read or written.",
    "PTO503": "Made-up inputs need every dynamic size: --bind=M=16. The names are "
    "those of pypto.dims; x.0 is axis 0 of an x without it.",
    "PTO504": "A pipeline is written a,b{option=value other=1,2}. "
    "pyptoc --list-passes shows the passes and their options.",
    "PTO505": "An operator is the one public function of its file; helpers are "
    "func.func private. --entry=@name chooses among several.",
    "PTO506": "--check-each ran the program after every pass on the same inputs; this "
    "is the first pass whose result differs. It is a bug of the pass.",
    "PTO507": "--simulate places every task of every launch, which takes about 20 us "
    "and half a kilobyte each. --check looks at every task as well; both look at every "
    "trip of a loop.",
    "PTO508": "What draws reports and plots, and dask, are optional extras: "
    "pip install 'pyptoc[report,plot,dask]' adds them. --simulate, --trace and --sweep "
    "need nothing further.",
    "PTO509": "--executor=dask:ADDRESS needs a scheduler that answers, and workers "
    "with the same version of pyptoc.",
    "PTO510": "pyptoc --list-machines names the machines; a path to a TOML file of "
    "your own is a machine, too.",
    "PTO511": "docs/machines.md has every key of a machine file, its unit and what it "
    'must be. A file that begins with base = "ascend950" needs only what differs.',
    "PTO512": "--sweep=KEY=VALUES: values are 64,128 or 1..4 or 1.0..2.0+0.25 or "
    "16..4096*2; docs/what-if.md lists the keys.",
    "PTO513": "Compiling takes some 50 MB, a run what its arrays take, --check and "
    "--simulate half a kilobyte for each task.",
    "PTO900": "The file named in the message holds the input, the options and the "
    "traceback.",
}
"""What can be said about a code without the program at hand."""


def explain(code: str) -> str:
    """The explanation of `PTO112` (or `112`); raises `UsageError` for others."""
    match = re.fullmatch(r"(?:PTO)?(\d{3})", code.strip().upper())
    if match is None or match[1][:2] not in FAMILIES:
        raise UsageError(f"there is no error code '{code}'", "codes look like PTO112")
    name = f"PTO{match[1]}"
    family = FAMILIES[match[1][:2]]
    return f"{name}: {family}" + (f"\n\n{CODES[name]}" if name in CODES else "")
