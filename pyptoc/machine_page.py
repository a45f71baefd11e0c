"""
docs/machines.md: every key of a machine file, from the table that checks such files.
"""

from __future__ import annotations

from itertools import groupby

from pyptoc.runtime.machine_keys import KEYS, WILD, Key

HEAD = """\
# Machine files

A machine is a TOML file: capacities and supported types, which the compiler obeys, and
rates and costs, by which it chooses tiles and the model of time (`--simulate`) works.
`pyptoc --list-machines` names the built-in ones, `runtime/machines/` has their files,
with the source of each number. Your own is `--machine=mine.toml`:

```toml
base = "ascend950"            # all that is not written here is as there

[cores]
clock_ghz = 1.4

[routes.gm]
l1.bytes_per_cycle = 64       # startup_cycles and pipe stay
```

Tables are merged, a number or a list replaces the one of the base. Without `base` a
file must have every key. A misspelt key, a value of the wrong kind and values that do
not go together are errors that point into the file:

    mine.toml:4:1: error[PTO511]: cores.clock_gz: unknown key; did you mean 'clock_ghz'?
     4 | clock_gz = 1.4
       | ^^^^^^^^
       rule: it is one of cube, vector, clock_ghz

`--sweep machine.KEY=..` tries several values of a key ([what if](what-if.md)). This
page is printed by `pyptoc --docs-machines`. The last two columns name the modules of
`passes/` and of `runtime/` that read a key first of all; where both are empty, nothing
does yet.
"""

TABLES = {
    "name": "`base`, and what the machine is called",
    "cores": "`[cores]`",
    "spaces": "`[spaces]`, an entry for each memory of a core",
    "fractal": "`[fractal]`",
    "pipes": "`[pipes]`",
    "sync": "`[sync]`",
    "routes": "`[routes]`, an entry for each direct transfer: `routes.SOURCE.TARGET`",
    "cube": "`[cube]`",
    "vector": "`[vector]`",
    "memory": "`[memory]`, outside the cores",
    "launch": "`[launch]`",
}

RULES = """
## Values that must go together

- `l2_kept_bytes` is at most `l2_bytes`.
- `size_bytes` is a multiple of `align_bytes`, and that is a power of two.
- L0A, L0B, L0C, L1 hold a block of `fractal.rows * fractal.row_bytes`, UB a repeat.
- There are routes gm to l1 and ub, l1 to l0a and l0b, l0c to gm, ub to gm; the pipe of
  a route is in `pipes.cube` or `pipes.vector`, and these have what instructions need.
- With `supports_mx` there are `scale_a` and `scale_b`.
- `vector.cost_cycles` has `default`.
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for table, keys in groupby(KEYS, key=_table):
        parts.append(f"\n## {TABLES[table]}\n")
        parts += [_names(path) for path in WILD if path.split(".")[0] == table]
        if table == "name":
            parts.append(
                "`base` is the name of a built-in machine, and is no part of the "
                "machine itself.\n"
            )
        parts.append("| key | value | unit | meaning | compiler | model |")
        parts.append("|---|---|---|---|---|---|")
        parts += [_row(key) for key in keys]
    return "\n".join(parts) + "\n" + RULES


def _table(key: Key) -> str:
    first = key.path.split(".")[0]
    return "name" if first == "summary" else first


def _names(path: str) -> str:
    # All routes have the same ends.
    if path == "routes.*":
        return ""
    return f"`{path}.*`: {', '.join(WILD[path])}.\n"


def _row(key: Key) -> str:
    _, _, rest = key.path.rpartition(f"{_table(key)}.")
    names = ", ".join(key.compiler), ", ".join(key.model)
    kind = key.kind.text.removeprefix("a ").removeprefix("an ").removeprefix("the ")
    return f"| `{rest}` | {kind} | {key.unit} | {key.meaning} | {' | '.join(names)} |"
