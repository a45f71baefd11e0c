"""
Random options of the passes, and random sizes of a machine's memories.

Whatever a pass has a switch for may be on or off, and what fits is another matter on a
smaller machine: fewer slots, smaller tiles, more phases. None of it changes a result.
"""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import get_args, get_type_hints

from pyptoc.passes import DEFAULT_PIPELINE, pass_class
from pyptoc.runtime.machine import Machine


def pipeline(random: Random) -> str:
    """The default pipeline, each switch of each pass as it was, or on, or off."""
    return ",".join(name + options(name, random) for name in DEFAULT_PIPELINE)


def options(name: str, random: Random) -> str:
    """`{a=true b=..}`: some of the options of a pass."""
    drawn: list[str] = []
    kinds = get_type_hints(pass_class(name))
    for field in fields(pass_class(name)):
        kind = kinds[field.name]
        words = ("true", "false") if kind is bool else get_args(kind)
        if words and all(isinstance(w, str) for w in words) and random.random() < 0.5:
            drawn.append(f"{field.name}={random.choice(words)}")
    return "{" + " ".join(drawn) + "}" if drawn else ""


def machine_like(machine: Machine, random: Random) -> Machine:
    """The machine, or one with half the memory where tiles are chosen to fit it."""
    spaces = dict(machine.spaces)
    for name in ("ub", "l1"):
        if random.random() < 0.3:
            size = spaces[name].bytes // 2 // spaces[name].align * spaces[name].align
            spaces[name] = replace(spaces[name], bytes=size)
    return replace(machine, spaces=spaces)
