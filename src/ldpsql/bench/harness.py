"""All cases of a comparison: which are kept already, and running the others.

A finished case is a file of its own, named by a hash of everything that determines it, so that a
comparison which was stopped goes on, and a larger one takes over what a smaller one had done.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

import pyarrow as pa

from ldpsql.bench.runs import Case, Comparison, Outcome, Runner, file_name
from ldpsql_device.errors import OperationalError, SurveyError


@dataclass(frozen=True)
class RunsDone:
    """How far a comparison is. kept: cases that had been done before; left: seconds, about."""

    done: int
    total: int
    kept: int
    left: float
    case: Case


def compare(
    comparison: Comparison,
    folder: Path,
    *,
    jobs: int = 1,
    say: Callable[[RunsDone], None] = lambda _: None,
) -> list[tuple[Case, Outcome]]:
    """Run every case that `folder` does not hold yet, and give all of them in order.

    jobs: worker processes; 1 runs all in this one. SurveyError for a candidate that was asked for
    by name and does not fit; OperationalError where the machine is at fault.
    """
    cases, key = comparison.cases, comparison.key
    folder.mkdir(parents=True, exist_ok=True)
    paths = {case: folder / file_name(case, key) for case in cases}
    outcomes = {case: kept for case in cases if (kept := _kept(paths[case])) is not None}
    for case, outcome in outcomes.items():
        _require(case, outcome)
    missing = [case for case in cases if case not in outcomes]
    started = time.perf_counter()
    for run, (case, outcome) in enumerate(_run_all(comparison, missing, jobs), start=1):
        _require(case, outcome)
        outcome.write(paths[case])
        outcomes[case] = Outcome.read(paths[case])
        left = (time.perf_counter() - started) / run * (len(missing) - run)
        say(RunsDone(len(outcomes), len(cases), len(cases) - len(missing), left, case))
    return [(case, outcomes[case]) for case in cases]


def _kept(path: Path) -> Outcome | None:
    """A finished case; None where there is no file, or one of something else."""
    try:
        return Outcome.read(path)
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError):
        return None


def _require(case: Case, outcome: Outcome) -> None:
    """SurveyError where somebody asked by name for what does not fit."""
    reason, candidate = outcome.refused, case.candidate
    if reason is not None and candidate.is_named:
        # With the name before it, unless it starts with that.
        is_said = reason.startswith(f"{candidate.mechanism} ")
        raise SurveyError(reason if is_said else f"{candidate.label}: {reason}")


def _run_all(
    comparison: Comparison, cases: Sequence[Case], jobs: int
) -> Iterator[tuple[Case, Outcome]]:
    """The outcomes as they come."""
    if jobs == 1:
        runner = Runner(comparison)
        yield from ((case, runner.run(case)) for case in cases)
        return
    # A forked child would inherit the threads' locks of Arrow and DuckDB, but not the threads.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (comparison,)) as pool:
        try:
            pending = {pool.submit(_run, case): case for case in cases}
            for future in as_completed(pending):
                yield pending.pop(future), future.result()
        except BrokenProcessPool:
            raise OperationalError(
                "a worker process was ended from outside, perhaps for want of memory; the same "
                "command with fewer --jobs goes on from here"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_runners: list[Runner] = []  # of this worker process


def _start_worker(comparison: Comparison) -> None:
    _end_with_parent()
    _runners[:] = [Runner(comparison)]


def _run(case: Case) -> Outcome:
    return _runners[0].run(case)


def _end_with_parent() -> None:
    """Have this worker end when its parent does.

    One whose parent was killed would wait for work, with the raw table, for ever.
    """
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
