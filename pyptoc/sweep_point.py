"""
One point of a sweep: compile, simulate, and say what came out as plain values.

A `Job` is all that a point needs, as texts and numbers: other processes and other
machines get it as it is, and its hash names the result in a cache. What comes out does
not depend on where that is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyptoc.collector import seldom_collecting

if TYPE_CHECKING:
    from pyptoc.api import Program
    from pyptoc.dialects.diagnostics import CompileError
    from pyptoc.runtime.timing_result import Timeline

INTERNAL = "PTO900"

SOURCE = "<source>"
"""The source's name in `details`: where it lies decides nothing."""


FOLDERS = ("", "dialects", "dialects/pypto", "passes", "runtime", "operators")
"""What decides results: the compiler, and the inputs of the corpus."""


@dataclass(frozen=True)
class TileEdit:
    """A part of a tile that a point gives to the ops with a tag, or to all."""

    part: str
    """m, k, n, split_k, walk, assign, or vec."""
    tag: str
    value: str | tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """A point of a sweep; see the module."""

    tool: str
    """`tool_digest()` of the process that made it."""
    source: str
    machine: str
    """The table of the machine, as JSON."""
    pipeline: str
    entry: str | None
    bind: tuple[str, ...]
    seed: int | None
    tiles: tuple[TileEdit, ...]
    case: tuple[str, str] | None = None
    """An operator of the corpus and one of its cases, which has all inputs."""

    @cached_property
    def key(self) -> str:
        """A hash of all of it."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class OtherToolError(Exception):
    """A process that computes points has another version of this package."""


@cache
def tool_digest() -> str:
    """A hash of the files of this package: the version that decides the results."""
    import pyptoc

    digest = hashlib.sha256(pyptoc.__version__.encode())
    root = Path(__file__).parent
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.py")):
            digest.update(f"{folder}/{path.name}".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def measure(job: Job) -> dict[str, Any]:
    """
    What a point gives: the fields of a `SweepRow` but the point itself.

    A point that does not compile has `error`, `message` and `details`.
    """
    from pyptoc.dialects.diagnostics import CompileError

    if job.tool != tool_digest():
        raise OtherToolError
    try:
        with seldom_collecting():
            return _result(_simulate(job))
    except CompileError as problem:
        return _failure(job, problem)
    except Exception as problem:
        message = f"internal error: {type(problem).__name__}: {problem}"
        return {"error": INTERNAL, "message": message, "details": message}


def _simulate(job: Job) -> Timeline:
    from pyptoc.runtime.bindings import parse_bindings
    from pyptoc.runtime.inputs import accept
    from pyptoc.runtime.timing import simulate

    program = _compiled(replace(job, bind=(), seed=None, case=None))
    signature = program.signature
    arrays: dict[str, Any] = {} if job.case is None else _inputs(*job.case)
    source = "--bind" if job.case is None else f"--case={job.case[1]}"
    inputs = accept(signature, arrays, source, parse_bindings(job.bind, signature))
    return simulate(program.module, program.machine, signature, inputs, job.seed)


@lru_cache(maxsize=1)
def _inputs(operator: str, case: str) -> dict[str, Any]:
    """The inputs of all points of a sweep."""
    from pyptoc.cases import corpus_case

    module, each = corpus_case(operator, case)
    return module.inputs(each)


@lru_cache(maxsize=4)
def _compiled(job: Job) -> Program:
    """The program of all points that differ in sizes only: it has none of them."""
    from pyptoc.api import Program
    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context
    from pyptoc.manager import run_passes
    from pyptoc.pipeline_text import parse_pipeline
    from pyptoc.runtime.machine import machine_of
    from pyptoc.runtime.signature import read_signature

    machine = machine_of(json.loads(job.machine))
    context = make_context(machine)
    module = parse(Unit(SOURCE, job.source), context)
    signature = read_signature(module, job.entry)
    if job.tiles:
        from pyptoc.sweep_tiles import retile

        retile(module, job)
    run_passes(parse_pipeline(job.pipeline), context, module)
    return Program(module, machine, signature)


def _result(timeline: Timeline) -> dict[str, Any]:
    return {
        "seconds": timeline.seconds,
        "cycles": timeline.cycles,
        "bound": timeline.bound,
        "launches": len(timeline.launches),
        "tasks": sum(launch.tasks for launch in timeline.launches),
        "busy": dict(sorted(timeline.busy.items())),
        "near_roof": {roof: timeline.near(roof) for roof in sorted(timeline.roofs)},
        "hbm_bytes": timeline.hbm_read + timeline.hbm_written,
        "l2_hit": timeline.l2_hit,
        "assumed": list(timeline.assumed),
        "recorded": list(timeline.recorded),
    }


def _failure(job: Job, problem: CompileError) -> dict[str, Any]:
    from pyptoc.diagnostics import render

    first = problem.diagnostics[0]
    sources = {SOURCE: job.source}
    details = "\n".join(render(each, sources) for each in problem.diagnostics)
    return {"error": first.code, "message": first.message, "details": details}
