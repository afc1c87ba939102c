"""All cases of a comparison: which are kept already, running the others, and how long that takes.

A finished case is a file of its own, named by a hash of everything that determines it, so that a
comparison which was stopped goes on, and a larger one takes over what a smaller one had done.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing import connection as pipes
from pathlib import Path

import pyarrow as pa

from ldpsql.bench.candidates import CandidateSpec
from ldpsql.bench.runs import Case, Comparison, Outcome, Runner, Truths, file_name
from ldpsql_device.errors import OperationalError, SurveyError


@dataclass(frozen=True)
class RunsDone:
    """How far a comparison is. kept: cases that had been done before; left: seconds, if known."""

    done: int
    total: int
    kept: int
    left: float | None
    case: Case


def compare(
    comparison: Comparison,
    folder: Path,
    *,
    jobs: int = 1,
    say: Callable[[RunsDone], None] | None = None,
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
    if missing:
        truths = {users: comparison.truths(users) for users in {case.users for case in missing}}
        clock = _Clock(missing, len(cases))
        for case, outcome in _run_all(comparison, truths, missing, jobs):
            _require(case, outcome)
            outcome.write(paths[case])
            outcomes[case] = Outcome.read(paths[case])
            progress = clock.after(case)
            if say is not None:
                say(progress)
    return [(case, outcomes[case]) for case in cases]


def _kept(path: Path) -> Outcome | None:
    """A finished case; None where there is no file, or one of something else."""
    if not path.exists():
        return None
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
    comparison: Comparison, truths: Truths, cases: Sequence[Case], jobs: int
) -> Iterator[tuple[Case, Outcome]]:
    """The outcomes as they come."""
    if jobs == 1:
        runner = Runner(comparison, truths)
        for case in cases:
            yield case, runner.run(case)
        return
    # A forked child would inherit the threads' locks of Arrow and DuckDB, but not the threads.
    spawn = get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _start_worker, (comparison, truths)) as pool:
        pending: dict[Future[Outcome], Case] = {}
        left = iter(cases)
        try:
            while True:
                for case in left:
                    pending[pool.submit(_run, case)] = case
                    if len(pending) >= 2 * jobs:
                        break
                if not pending:
                    return
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(future), future.result()
        except BrokenProcessPool:
            raise OperationalError(
                "a worker process was ended from outside, perhaps for want of memory; the same "
                "command with fewer --jobs goes on from here"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_runners: list[Runner] = []  # of this worker process


def _start_worker(comparison: Comparison, truths: Truths) -> None:
    end_with_parent()
    _runners[:] = [Runner(comparison, truths)]


def _run(case: Case) -> Outcome:
    return _runners[0].run(case)


def end_with_parent() -> None:
    """Have this process end when its parent does.

    A worker whose parent was killed would wait for work, with the raw table, for ever.
    """
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel
    ending, end = Pipe(duplex=False)

    def watch() -> None:  # for the end of the parent, or of this process
        if sentinel in pipes.wait([sentinel, ending]):
            os._exit(1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def stop() -> None:
        end.close()
        thread.join()  # a thread that still runs when Python ends is complained about as leaked

    atexit.register(stop)


class _Clock:
    """Guesses the time left: from runs of the same mechanism where there were any, else from the
    mean of all mechanisms.

    What counts is the time from one end to the next, whichever process it was in.
    """

    def __init__(self, missing: Sequence[Case], total: int) -> None:
        self._left = list(missing)
        self._total, self._kept = total, total - len(missing)
        self._last = time.perf_counter()
        self._seconds: dict[CandidateSpec, list[float]] = {}

    def after(self, case: Case) -> RunsDone:
        """Take note that a case is done."""
        now = time.perf_counter()
        self._seconds.setdefault(case.candidate, []).append(now - self._last)
        self._last = now
        self._left.remove(case)
        means = {known: sum(own) / len(own) for known, own in self._seconds.items()}
        usual = sum(means.values()) / len(means)
        left = sum(means.get(other.candidate, usual) for other in self._left)
        return RunsDone(self._total - len(self._left), self._total, self._kept, left, case)
