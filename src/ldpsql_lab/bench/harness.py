"""A comparison run by run: what it compares, which runs are kept already, and the others.

A *case* is one candidate at one epsilon with a number of people, once. Its outcome is a table of
answers with the truth beside them, and what it cost. A finished case is a file of its own, named by
a hash of everything that determines it, so that a comparison which was stopped goes on, and a
larger one takes over what a smaller one had done.
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.algebra.estimate import CONFIDENCE, Array
from ldpsql.dbapi.connection import Connection
from ldpsql.designer.file import SurveyFile
from ldpsql.engine.arithmetic import Interval
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.parser.query import GroupKey, Measurement
from ldpsql.reports.atomic import replace_file
from ldpsql.reports.survey_file import schema_to_keys
from ldpsql.sql.aggregates import label
from ldpsql.survey import AUTO, Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, InternalError, OperationalError
from ldpsql_lab.bench.candidates import CandidateSpec
from ldpsql_lab.bench.questions import Question
from ldpsql_lab.bench.truth import Answers, People, Truth
from ldpsql_lab.simulation import SeededEntropy, Spent, simulate

_FACTS = b"ldpsql_lab.bench"
_MOST_DESIGNS = 64


@dataclass(frozen=True)
class Case:
    """One run."""

    candidate: CandidateSpec
    epsilon: str
    users: int
    repetition: int

    @property
    def parts(self) -> tuple[str | int, ...]:
        """The values that tell it from others, whether or not somebody named the mechanism."""
        return self.candidate.label, self.epsilon, self.users, self.repetition


@dataclass(frozen=True)
class ComparisonPlan:
    """The candidates, epsilons, numbers of people and questions of a comparison.

    users: sizes of samples; None for everybody in the table.
    """

    file: SurveyFile
    people: People
    questions: tuple[Question, ...]
    candidates: tuple[CandidateSpec, ...]
    epsilons: tuple[str, ...]
    users: tuple[int | None, ...] = (None,)
    repetitions: int = 1
    seed: int = 0
    confidence: float = CONFIDENCE
    include_unsound: bool = False

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every run: each setting once, so that the time of the others can be guessed and what does
        not fit is soon known; then the other repetitions, setting after setting."""
        sizes = dict.fromkeys(users or len(self.people) for users in self.users)
        settings = list(product(sizes, self.candidates, self.epsilons))
        first = [(setting, 0) for setting in settings]
        others = product(settings, range(1, self.repetitions))
        return tuple(
            Case(candidate, epsilon, users, repetition)
            for (users, candidate, epsilon), repetition in (*first, *others)
        )

    @property
    def key(self) -> str:
        """A hash of what determines results and does not differ between cases, source included."""
        content = {
            "source": [_source_digest(), *map(_digest_of_recipe, sorted(self._installed))],
            "survey": [self.file.table, schema_to_keys(self.file.schema), self.file.mechanism],
            "options": dict(self.file.options),
            "estimator": self.file.estimator,
            "workload": self.file.workload_options,
            "trust": repr(self.file.shuffled),
            "people": self.people.fingerprint,
            "questions": [question.sql for question in self.questions],
            "seed": self.seed,
            "confidence": self.confidence,
            "unsound": self.include_unsound,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def _installed(self) -> set[str]:
        """The mechanisms that other distributions bring."""
        return {each.mechanism for each in self.candidates} - {AUTO, *MECHANISMS}


@lru_cache(maxsize=1)
def _source_digest() -> str:
    """Hash of this project's source: another version may give other results."""
    root = Path(__file__).parents[2]
    return _digest_files(root, [*root.glob("ldpsql/**/*.py"), *root.glob("ldpsql_device/**/*.py")])


def _digest_of_recipe(name: str) -> str:
    """Hash of the source that an installed mechanism comes from: its module, or its package."""
    recipe = type(mechanism(name))
    package = sys.modules[recipe.__module__.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(package, "__path__", ())]
    if not folders:
        place = Path(inspect.getfile(package))
        return _digest_files(place.parent, [place])
    # A namespace package has no file, and folders of several distributions.
    return "".join(_digest_files(folder, [*folder.rglob("*.py")]) for folder in folders)


def _digest_files(root: Path, paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """The result of one case.

    answers: one row per answer (workload, aggregate, truth, scale, value, stderr, low, high).
    seconds: by kind of work.  facts: of the design.  refused: why there are no answers, or None.
    """

    answers: pa.Table
    seconds: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    refused: str | None = None

    def write(self, path: Path) -> None:
        """Into a Parquet file that is there whole or not at all."""
        facts = {"seconds": self.seconds, "facts": self.facts, "refused": self.refused}
        table = self.answers.replace_schema_metadata({_FACTS: json.dumps(facts)})
        with replace_file(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")

    @classmethod
    def read(cls, path: Path) -> Outcome:
        """The inverse of `write`."""
        table = pq.read_table(path)
        return cls(table, **json.loads(table.schema.metadata[_FACTS]))


NUMBERS = ("truth", "scale", "value", "stderr", "low", "high")
_COLUMNS = pa.schema(
    [
        ("workload", pa.string()),
        ("aggregate", pa.string()),
        *((name, pa.float64()) for name in NUMBERS),
    ]
)


class Runner:
    """Runs cases of one comparison; designs, samples and true answers are made once and kept."""

    def __init__(self, comparison: ComparisonPlan) -> None:
        self._comparison = comparison
        self._design = lru_cache(maxsize=_MOST_DESIGNS)(self._design_anew)
        self._truths = lru_cache(maxsize=None)(self._truths_anew)
        self._sample = lru_cache(maxsize=1)(
            lambda users: comparison.people.sample(users, comparison.seed)
        )

    def run(self, case: Case) -> Outcome:
        """One run; a mechanism that does not fit gives an outcome that says why."""
        spent = Spent()
        try:
            survey, spent.seconds["design"] = self._design(case.candidate, case.epsilon, case.users)
            is_sound = survey.design.guarantee.kind != "none"
            if not is_sound and not self._comparison.include_unsound:
                reason = "it is not differentially private (--include-unsound takes it along)"
                return Outcome(_COLUMNS.empty_table(), refused=reason)
            seed = _derive_seed(case, self._comparison.seed)
            with simulate(
                survey,
                # Other words than those of the reports.
                self._sample(case.users).draw(survey.schema, SeededEntropy(seed ^ 1)),
                seed=seed,
                confidence=self._comparison.confidence,
                spent=spent,
            ) as connection:
                answers = self._ask(connection, case.users, spent)
        except (OperationalError, InternalError):
            raise  # says nothing about the mechanism, and would be kept as if it did
        except Error as error:
            return Outcome(_COLUMNS.empty_table(), refused=str(error))
        form = survey.design.report_format
        facts = {
            "mechanism": survey.design.name,
            "options": dict(survey.options),
            "estimator": survey.estimator or next(iter(survey.design.estimators)),
            "guarantee": str(survey.design.guarantee),
            "sound": is_sound,
            "bits": form.bits_per_report,
            "bytes": sum(form.widths) // 8,
        }
        return Outcome(answers, spent.seconds, facts)

    def _design_anew(
        self, candidate: CandidateSpec, epsilon: str, users: int
    ) -> tuple[Survey, float]:
        """The survey, and the seconds that its design took."""
        started = time.perf_counter()
        survey = candidate.survey(self._comparison.file, Epsilon.parse(epsilon), users)
        return survey, time.perf_counter() - started

    def _truths_anew(self, users: int) -> list[tuple[Answers, Array]]:
        """The true answers to every question, and the scales, for a sample of this size."""
        people = self._sample(users)
        truth = Truth(self._comparison.file.schema, people.table, people.weights)
        return [(truth.answer(q), truth.scales(q)) for q in self._comparison.questions]

    def _ask(self, connection: Connection, users: int, spent: Spent) -> pa.Table:
        """Every question's answers beside the truth, rows matched by their keys."""
        tables = [_COLUMNS.empty_table()]
        truths = self._truths(users)
        for question, (truth, scales) in zip(self._comparison.questions, truths, strict=True):
            with spent.on("query"):
                result = connection.execute(question.sql).result
            shown = list(enumerate(question.outputs))
            keys = [
                result.table.column(index).to_pylist()
                for index, output in shown
                if isinstance(output, GroupKey)
            ]
            measured = [(i, output) for i, output in shown if isinstance(output, Measurement)]
            exact = np.array(truth.in_order(keys)).reshape(-1, len(measured))
            for (index, output), true_values, scale in zip(measured, exact.T, scales, strict=True):
                rows = len(exact)
                none = Interval(*np.full((3, rows), np.nan))
                bars = result.intervals.get(index, none)  # none where a bias is left out
                value = result.table.column(index).to_numpy(zero_copy_only=False)
                numbers = (true_values, np.full(rows, scale), value)
                columns = {
                    "workload": [question.workload] * rows,
                    "aggregate": [label(output.expression)] * rows,
                    **dict(zip(NUMBERS, (*numbers, bars.stderr, bars.low, bars.high), strict=True)),
                }
                tables.append(pa.table(columns, schema=_COLUMNS))
        return pa.concat_tables(tables).combine_chunks()


def _derive_seed(case: Case, seed: int) -> int:
    """Another for every case, the same whenever it is run."""
    text = json.dumps([*case.parts, seed])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


@dataclass(frozen=True)
class RunsDone:
    """How far a comparison is. kept: cases that had been done before; left: seconds, about."""

    done: int
    total: int
    kept: int
    left: float
    case: Case


def compare(
    comparison: ComparisonPlan,
    folder: Path,
    *,
    jobs: int = 1,
    say: Callable[[RunsDone], None] = lambda _: None,
) -> list[tuple[Case, Outcome]]:
    """Run every case that `folder` does not hold yet, and give all of them in order.

    jobs: worker processes; 1 runs all in this one. OperationalError where the machine is at fault.
    """
    cases, key = comparison.cases, comparison.key
    folder.mkdir(parents=True, exist_ok=True)
    paths = {case: folder / _file_name(case, key) for case in cases}
    outcomes = {case: kept for case in cases if (kept := _read_finished(paths[case])) is not None}
    missing = [case for case in cases if case not in outcomes]
    started = time.perf_counter()
    for run, (case, outcome) in enumerate(_run_all(comparison, missing, jobs), start=1):
        outcome.write(paths[case])
        outcomes[case] = Outcome.read(paths[case])
        left = (time.perf_counter() - started) / run * (len(missing) - run)
        say(RunsDone(len(outcomes), len(cases), len(cases) - len(missing), left, case))
    return [(case, outcomes[case]) for case in cases]


def _file_name(case: Case, key: str) -> str:
    """The name of a case's file. key: of the comparison."""
    text = json.dumps([*case.parts, case.candidate.waits_for_its_name, key])
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.parquet"


def _read_finished(path: Path) -> Outcome | None:
    """A finished case; None where there is no file, or one of something else."""
    try:
        return Outcome.read(path)
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError):
        return None


def _run_all(
    comparison: ComparisonPlan, cases: Sequence[Case], jobs: int
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
                "a worker process was killed, perhaps because memory ran out; the same command "
                "with fewer --jobs goes on from here"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_runners: list[Runner] = []  # of this worker process


def _start_worker(comparison: ComparisonPlan) -> None:
    _end_with_parent()
    _runners[:] = [Runner(comparison)]


def _run(case: Case) -> Outcome:
    return _runners[0].run(case)


def _end_with_parent() -> None:
    """Have this worker end when its parent does.

    One whose parent was killed would wait for work, with the raw table, for ever. The thread that
    sees to it ends before the interpreter does: what a thread still holds then is never freed, and
    libraries complain.
    """
    parent = parent_process()
    assert parent is not None
    ending, end = Pipe(duplex=False)

    def watch() -> None:
        if parent.sentinel in wait([parent.sentinel, ending]):
            os._exit(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    atexit.register(watcher.join)
    atexit.register(end.close)  # callbacks run last to first
