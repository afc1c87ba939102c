"""Sees raw values and reports, for evaluation only. One run of one mechanism, and its results.

A *case* is one contestant at one epsilon with so many people, once. What comes of it is a table
of answers with the truth beside them, and what it cost.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.bench.contestants import Contestant
from ldpsql.bench.people import People
from ldpsql.bench.questions import Question
from ldpsql.bench.truth import Answers
from ldpsql.dbapi import Connection
from ldpsql.designer.file import SurveyFile
from ldpsql.estimate import Array
from ldpsql.simulation import Spent, simulate
from ldpsql.survey import Survey
from ldpsql_device.atomic import replace_file
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, InternalError, OperationalError

FORMAT = 1
_FACTS = b"ldpsql.bench"
_MOST_DESIGNS = 64


@dataclass(frozen=True)
class Case:
    """One run."""

    contestant: Contestant
    epsilon: str
    users: int
    repetition: int

    @property
    def parts(self) -> tuple[str | int, ...]:
        """What tells it from others: not whether somebody named the mechanism."""
        return self.contestant.label, self.epsilon, self.users, self.repetition


@dataclass(frozen=True)
class Setting:
    """What all cases share.

    truths: for each number of users the true answers and the scales of every question.
    """

    file: SurveyFile
    people: People
    questions: tuple[Question, ...]
    truths: Mapping[int, tuple[tuple[Answers, Array], ...]]
    seed: int
    confidence: float
    include_unsound: bool


@dataclass(frozen=True)
class Outcome:
    """What a case gave.

    answers: one row per answer (question, row, workload, aggregate, truth, scale, value, stderr,
    low, high).  seconds: by kind of work.  facts: of the design.  refused: why there are no
    answers, or None.
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


_COLUMNS = pa.schema(
    [
        ("question", pa.int32()),
        ("row", pa.int32()),
        ("workload", pa.dictionary(pa.int32(), pa.string())),
        ("aggregate", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.float64()) for name in ("truth", "scale", "value", "stderr", "low", "high")),
    ]
)


def key_of(case: Case, shared: str) -> str:
    """A name for a case's file; shared: what all cases share, as text (`shared_key`)."""
    text = json.dumps([*case.parts, case.contestant.waits_for_its_name, shared])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def shared_key(setting: Setting) -> str:
    """Everything that determines results and does not differ between cases, source included."""
    content = {
        "format": FORMAT,
        "source": source_digest(),
        "survey": [setting.file.table, setting.file.schema.to_keys(), setting.file.mechanism],
        "options": dict(setting.file.options),
        "estimator": setting.file.estimator,
        "workload": setting.file.workload_options,
        "trust": repr(setting.file.shuffled),
        "people": setting.people.fingerprint,
        "questions": [question.sql for question in setting.questions],
        "seed": setting.seed,
        "confidence": setting.confidence,
        "unsound": setting.include_unsound,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Hash of this package's source: another version may give other results."""
    found, root = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


class Runner:
    """Runs cases of one setting; designs and samples are made once and kept."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._designed = lru_cache(maxsize=_MOST_DESIGNS)(self._design)
        self._sampled = lru_cache(maxsize=1)(
            lambda users: setting.people.sample(users, setting.seed)
        )

    def run(self, case: Case) -> Outcome:
        """One run; a mechanism that does not fit gives an outcome that says why."""
        spent = Spent()
        try:
            survey, seconds = self._designed(case.contestant, case.epsilon, case.users)
            spent.seconds["design"] = seconds
            refused = self._refused(survey)
            if refused is not None:
                return Outcome(_COLUMNS.empty_table(), refused=refused)
            with simulate(
                survey,
                self._sampled(case.users).table,
                seed=_seed(case, self._setting.seed),
                confidence=self._setting.confidence,
                spent=spent,
            ) as connection:
                answers = self._answers(connection, case.users, spent)
        except (OperationalError, InternalError):
            raise  # says nothing about the mechanism, and would be kept as if it did
        except Error as error:
            return Outcome(_COLUMNS.empty_table(), refused=str(error))
        return Outcome(answers, spent.seconds, _facts(survey))

    def _design(self, contestant: Contestant, epsilon: str, users: int) -> tuple[Survey, float]:
        started = time.perf_counter()
        survey = contestant.survey(self._setting.file, Epsilon.parse(epsilon), users)
        return survey, time.perf_counter() - started

    def _refused(self, survey: Survey) -> str | None:
        if survey.design.guarantee.kind != "none" or self._setting.include_unsound:
            return None
        return "it is not differentially private (--include-unsound takes it along)"

    def _answers(self, connection: Connection, users: int, spent: Spent) -> pa.Table:
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS.names}
        truths = self._setting.truths[users]
        for number, (question, truth) in enumerate(
            zip(self._setting.questions, truths, strict=True)
        ):
            with spent.on("query"):
                result = connection.execute(question.sql).result
            keys, found = [], {}
            for index, (kind, place) in enumerate(question.columns):
                if kind == "key":
                    keys.append((place, result.table.column(index).to_pylist()))
                else:
                    bars = result.intervals[index]
                    values = result.table.column(index).to_numpy(zero_copy_only=False)
                    found[place] = (values, bars.stderr, bars.low, bars.high)
            exact = truth[0].in_order([column for _, column in sorted(keys)])
            for place, parts in found.items():
                rows = len(exact)
                columns["question"] += [number] * rows
                columns["row"] += range(rows)
                columns["workload"] += [question.workload] * rows
                columns["aggregate"] += [question.labels[place]] * rows
                columns["truth"] += [row[place] for row in exact]
                columns["scale"] += [truth[1][place]] * rows
                for name, part in zip(("value", "stderr", "low", "high"), parts, strict=True):
                    columns[name] += np.asarray(part, dtype=np.float64).tolist()
        return pa.table(columns, schema=_COLUMNS)


def _facts(survey: Survey) -> dict[str, Any]:
    form, design = survey.design.report_format, survey.design
    return {
        "mechanism": design.name,
        "options": dict(survey.options),
        "estimator": survey.estimator or next(iter(design.estimators)),
        "guarantee": str(design.guarantee),
        "sound": design.guarantee.kind != "none",
        "bits": form.bits_per_report,
        "bytes": sum(form.widths) // 8,
    }


def _seed(case: Case, seed: int) -> int:
    """Another for every case, the same whenever it is run."""
    text = json.dumps([*case.parts, seed])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
