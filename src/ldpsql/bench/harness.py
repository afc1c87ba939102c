"""Sees raw values and reports, for evaluation only. All cases of a comparison, and where they are
kept.

A finished case is a file of its own, named by a hash of everything that determines it, so that a
comparison which was stopped goes on, and a larger one takes over what a smaller one had done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from ldpsql.bench.cases import Case, Outcome, Runner, Setting, key_of, shared_key
from ldpsql.bench.contestants import Contestant
from ldpsql.bench.people import People
from ldpsql.bench.questions import Question
from ldpsql.bench.truth import Answers, Truth
from ldpsql.bench.workers import end_with_parent
from ldpsql.designer.file import SurveyFile
from ldpsql.estimate import Array
from ldpsql_device.errors import OperationalError, SurveyError


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    users: sizes of samples; None for everybody in the table.
    """

    file: SurveyFile
    people: People
    questions: tuple[Question, ...]
    contestants: tuple[Contestant, ...]
    epsilons: tuple[str, ...]
    users: tuple[int | None, ...] = (None,)
    repetitions: int = 1
    seed: int = 0
    confidence: float = 0.95
    include_unsound: bool = False

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every run: each setting once, so that the time of the others can be guessed and what does
        not fit is soon known; then the other repetitions, setting after setting."""
        sizes = dict.fromkeys(users or self.people.table.num_rows for users in self.users)
        settings = list(product(sizes, self.contestants, self.epsilons))
        first = [(setting, 0) for setting in settings]
        others = product(settings, range(1, self.repetitions))
        return tuple(
            Case(contestant, epsilon, users, repetition)
            for (users, contestant, epsilon), repetition in (*first, *others)
        )

    def truths(self, users: int) -> tuple[tuple[Answers, Array], ...]:
        """The true answers to every question, and the scales, for a sample of so many."""
        table = self.people.sample(users, self.seed).table
        with Truth(self.file.schema, table) as truth:
            return tuple((truth.answer(q), truth.scales(q)) for q in self.questions)


@dataclass(frozen=True)
class Progress:
    """How far a comparison is. kept: cases that had been done before; left: seconds, if known."""

    done: int
    total: int
    kept: int
    left: float | None
    case: Case


Say = Callable[[Progress], None]


def compare(
    comparison: Comparison, folder: Path, *, jobs: int = 1, say: Say | None = None
) -> list[tuple[Case, Outcome]]:
    """Run every case that `folder` does not hold yet, and give all of them in order.

    jobs: worker processes; 1 runs all in this one. SurveyError for a contestant that was asked
    for by name and does not fit; OperationalError where the machine is at fault.
    """
    cases = comparison.cases
    shared = shared_key(_setting(comparison, {}))
    folder.mkdir(parents=True, exist_ok=True)
    paths = {case: folder / f"{key_of(case, shared)}.parquet" for case in cases}
    found = {case: kept for case in cases if (kept := _kept(paths[case])) is not None}
    for case, outcome in found.items():
        _require(case, outcome)
    missing = [case for case in cases if case not in found]
    if missing:
        truths = {users: comparison.truths(users) for users in {case.users for case in missing}}
        clock = _Clock(missing, len(cases))
        for case, outcome in _outcomes(_setting(comparison, truths), missing, jobs):
            _require(case, outcome)
            outcome.write(paths[case])
            found[case] = Outcome.read(paths[case])
            if say is not None:
                say(clock.after(case))
    return [(case, found[case]) for case in cases]


def _kept(path: Path) -> Outcome | None:
    """A finished case; None where there is none, or a file that is none."""
    if not path.exists():
        return None
    try:
        return Outcome.read(path)
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError):
        return None


def _require(case: Case, outcome: Outcome) -> None:
    """SurveyError where somebody asked by name for what does not fit."""
    if outcome.refused is not None and case.contestant.is_named:
        raise SurveyError(_refusal(case.contestant, outcome.refused))


def _refusal(contestant: Contestant, reason: str) -> str:
    """The reason, with the name before it unless it starts with that."""
    named = reason.startswith(f"{contestant.mechanism} ")
    return reason if named else f"{contestant.label}: {reason}"


def _setting(
    comparison: Comparison, truths: dict[int, tuple[tuple[Answers, Array], ...]]
) -> Setting:
    return Setting(
        comparison.file,
        comparison.people,
        comparison.questions,
        truths,
        comparison.seed,
        comparison.confidence,
        comparison.include_unsound,
    )


def _outcomes(setting: Setting, cases: Sequence[Case], jobs: int) -> Iterator[tuple[Case, Outcome]]:
    """The outcomes as they come."""
    if jobs == 1:
        runner = Runner(setting)
        for case in cases:
            yield case, runner.run(case)
        return
    # A forked child would inherit the threads' locks of Arrow and DuckDB, but not the threads.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (setting,)) as pool:
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


_runners: list[Runner] = []


def _begin(setting: Setting) -> None:
    end_with_parent()
    _runners[:] = [Runner(setting)]


def _run(case: Case) -> Outcome:
    return _runners[0].run(case)


class _Clock:
    """Guesses the time left: from runs of the same mechanism where there were any, else from the
    mean of all mechanisms.

    What counts is the time from one end to the next, whichever process it was in.
    """

    def __init__(self, missing: Sequence[Case], total: int) -> None:
        self._left = list(missing)
        self._total, self._kept = total, total - len(missing)
        self._last = time.perf_counter()
        self._seconds: dict[Contestant, list[float]] = {}

    def after(self, case: Case) -> Progress:
        """Take note that a case is done."""
        now = time.perf_counter()
        self._seconds.setdefault(case.contestant, []).append(now - self._last)
        self._last = now
        self._left.remove(case)
        means = {known: sum(found) / len(found) for known, found in self._seconds.items()}
        usual = sum(means.values()) / len(means)
        left = sum(means.get(other.contestant, usual) for other in self._left)
        return Progress(self._total - len(self._left), self._total, self._kept, left, case)
