"""
Where the points of a sweep are computed: here, in processes, or on a dask cluster.

Each way is a generator of results as they come, in any order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, NoReturn

from pyptoc.dialects.diagnostics import error
from pyptoc.sweep_point import Job, OtherToolError, measure
from pyptoc.usage import UsageError

Result = dict[str, Any]
Done = Generator[tuple[Job, Result], None, None]

PROCESSES = "processes"
DASK = "dask:"
EXTRA = "PTO508"
"""An optional extra is missing."""

CONNECT_SECONDS = 10
POINTS_OF_A_PROCESS = 4


def cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_executor(executor: str) -> None:
    """Refuse an executor that does not exist or whose library is missing."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        # This is a process of a sweep, which imports the script that sweeps.
        raise RuntimeError(_GUARD)
    if executor == PROCESSES:
        return
    if not executor.startswith(DASK) or executor == DASK:
        raise UsageError(
            f"--executor={executor} is no executor",
            "--executor=processes or --executor=dask:ADDRESS (dask:tcp://host:8786)",
        )
    try:
        import distributed  # noqa: F401 # pyright: ignore[reportMissingImports]
    except ImportError:
        missing_extra("a sweep on a dask cluster needs dask.distributed", "dask")


def missing_extra(message: str, extra: str) -> NoReturn:
    """Refuse what an optional extra would do."""
    error(None, EXTRA, message, help=f"pip install 'pyptoc[{extra}]'")


def compute(jobs: Sequence[Job], executor: str, workers: int | None) -> Done:
    """
    The results of all jobs, in the order in which they are ready.

    workers: of processes; None: the CPUs, but a process is for some points: starting
        it takes as long as several of them.
    """
    if executor != PROCESSES:
        return _on_dask(jobs, executor.removeprefix(DASK))
    if workers is None:
        workers = min(cpus(), len(jobs) // POINTS_OF_A_PROCESS)
    workers = min(workers, len(jobs))
    return _in_processes(jobs, workers) if workers > 1 else _here(jobs)


def _here(jobs: Sequence[Job]) -> Done:
    for job in jobs:
        yield job, measure(job)


def _in_processes(jobs: Sequence[Job], workers: int) -> Done:
    # A fork would copy threads of numpy and whatever the caller has open.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_ignore_interrupt,
    )
    try:
        with _interrupts_wait():
            futures = {pool.submit(measure, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise ProcessEndedError(f"a process of the sweep ended: {_GUARD}") from None
    finally:
        pool.shutdown(cancel_futures=True)


class ProcessEndedError(RuntimeError):
    """A process that computes points was killed, or could not start."""


_GUARD = (
    "processes import the main script again, so a script that sweeps needs "
    "`if __name__ == '__main__':` around it; or sweep with jobs=1"
)


def _ignore_interrupt() -> None:
    # Ctrl-C reaches all processes; the first one tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """
    Hold back interrupts from here, and from processes that are started meanwhile.

    They inherit it: else one that comes while they import would end them with a
    traceback. Here it comes afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # What multiprocessing starts first would let them through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _on_dask(jobs: Sequence[Job], address: str) -> Done:
    from distributed import (  # pyright: ignore[reportMissingImports]
        Client,
        as_completed,
    )

    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as problem:
        error(
            None,
            "PTO509",
            f"no dask scheduler at {address}: {str(problem) or 'it does not answer'}",
            help="start one: dask scheduler; dask worker tcp://HOST:8786",
        )
    with client:
        futures: Any = client.map(measure, jobs, key=[job.key for job in jobs])
        by_key = {job.key: job for job in jobs}
        try:
            for future in as_completed(futures, loop=client.loop):
                if future.status != "finished":
                    _refuse_worker(address, future.exception())
                yield by_key[future.key], future.result()
                future.release()
        except BaseException:
            client.cancel(futures)
            raise


def _refuse_worker(address: str, problem: BaseException | None) -> NoReturn:
    """A worker that could not compute a point at all."""
    if isinstance(problem, OtherToolError):
        reason = "it has another version of pyptoc"
    elif isinstance(problem, ImportError):
        reason = f"it cannot import pyptoc: {problem}"
    else:
        reason = f"{type(problem).__name__}: {problem}"
    error(
        None,
        "PTO509",
        f"a dask worker of {address} failed: {reason}",
        rule="workers have the same version of pyptoc as the process that sweeps",
        help="install it where the workers run, and start them again",
    )
