"""From SQL text to a result.

    parse -> boxes -> PASSES -> relation of estimates -> outer SQL -> result

Estimators are kept per (survey, version of its histogram, selection of reports), so that a second
question about the same reports costs no scan; small relations of estimates are kept per base query,
so that a question asked again costs no estimation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from ldpsql.decoders.base import AnyEstimator
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.explain import SliceReports, explain, explain_verbose
from ldpsql.engine.notes import (
    impossible_sums,
    notes_on_estimator,
    notes_on_statement,
    uneven_report_types,
)
from ldpsql.engine.plan import Key, QueryPlan, Slice
from ldpsql.engine.promise import guarantee_of_batches, shortfall_notes
from ldpsql.engine.relation import Relation, selection
from ldpsql.engine.result import Result, ResultColumn, no_estimates
from ldpsql.engine.rewrite import PASSES
from ldpsql.engine.rewrite.boxes import boxes
from ldpsql.estimate import CONFIDENCE, Array, Estimates
from ldpsql.parser import Parameters, parse
from ldpsql.parser.query import Query, Statement
from ldpsql.report import Integers
from ldpsql.store.base import Selection, Store
from ldpsql.survey import Survey
from ldpsql_device.errors import InterfaceError, NotSupportedError
from ldpsql_device.guarantee import Guarantee

EstimatorSet = Mapping[Key, AnyEstimator]
"""What one selection of a survey's reports says: an estimator per public key."""
K = TypeVar("K")
V = TypeVar("V")

_KEPT_ESTIMATORS = 64
_KEPT_RELATIONS, _LARGEST_KEPT = 64, 4096


@dataclass(frozen=True)
class Subject:
    """One of the surveys that a statement asks.

    version: of its histogram, the same for the whole statement.  estimator: which one answers.
    guarantee: what its people were promised and got.
    """

    survey: Survey
    version: int
    estimator: str
    guarantee: Guarantee


class Session:
    """Answers questions about the surveys of one store. Not to be shared between threads."""

    def __init__(
        self, store: Store, *, confidence: float = CONFIDENCE, estimator: str | None = None
    ) -> None:
        """Ask a store.

        confidence: level of the intervals, between 0 and 1 (InterfaceError otherwise).
        estimator: which of a design's estimators answers; None for the survey's own choice.
        """
        if not 0.0 < confidence < 1.0:
            raise InterfaceError(f"confidence must lie between 0 and 1, not {confidence}")
        self.store = store
        self.confidence = confidence
        self.estimator = estimator
        self._surveys: dict[str, Survey] = {}
        self._estimators: OrderedDict[tuple[str, str, int, Selection], EstimatorSet] = OrderedDict()
        self._sizes: OrderedDict[tuple[str, int, str | None], Integers] = OrderedDict()
        self._relations: OrderedDict[tuple[str, str, int, Query], Relation] = OrderedDict()
        self._promises: dict[tuple[str, int | None], Guarantee] = {}

    def execute(self, sql: str, parameters: Parameters = None) -> Result:
        """Answer one SQL text, from the reports that there are now.

        Raises errors under `ldpsql.Error` only.
        """
        statement = parse(sql, parameters, self._survey)
        tables = sorted({base.table for base in statement.bases})
        with self.store.snapshot():
            subjects = {table: self._subject(self._survey(table)) for table in tables}
            if statement.mode == "answer":
                return self._answer(statement, subjects)
            return self._explain(statement, subjects)

    # -- what is asked ---------------------------------------------------------------------

    def _survey(self, table: str) -> Survey:
        """A survey by name; a store never changes what a name stands for."""
        key = table.lower()
        if key not in self._surveys:
            self._surveys[key] = self.store.survey(table)
        return self._surveys[key]

    def _subject(self, survey: Survey) -> Subject:
        """NotSupportedError if the survey's design does not have the estimator."""
        offered = tuple(survey.design.estimators)
        name = self.estimator or survey.estimator or offered[0]
        if name not in offered:
            raise NotSupportedError(
                f"survey {survey.table} has no estimator {name!r} ({survey.design.name} offers "
                f"{', '.join(offered)}); ask for one of those"
            )
        version = self.store.version(survey.table)
        return Subject(survey, version, name, self._guarantee(survey))

    def _guarantee(self, survey: Survey) -> Guarantee:
        """What the survey's batches keep of its promise."""
        if survey.shuffled is None:
            return survey.guarantee
        key = (survey.fingerprint, self.store.smallest_batch(survey.table))
        if key not in self._promises:
            self._promises[key] = guarantee_of_batches(survey, key[1])
        return self._promises[key]

    # -- what the reports say --------------------------------------------------------------

    def _estimators_of(self, subject: Subject, chosen: Selection) -> EstimatorSet:
        """The estimators of a selection of reports, by public key; the last few are kept."""
        survey = subject.survey
        key = (survey.fingerprint, subject.estimator, subject.version, chosen)
        estimators = _recall(self._estimators, key)
        if estimators is None:
            make = survey.design.estimators[subject.estimator]
            histograms = self.store.histograms(survey.table, chosen)
            estimators = {values: make(histogram) for values, histogram in histograms}
            _remember(self._estimators, key, estimators, _KEPT_ESTIMATORS)
        return estimators

    def _sizes_of(self, subject: Subject, condition: str | None = None) -> Integers:
        """Reports of every type, shape (report types,); the last few are kept."""
        survey = subject.survey
        key = (survey.fingerprint, subject.version, condition)
        sizes = _recall(self._sizes, key)
        if sizes is None:
            sizes = self.store.sizes(survey.table, condition)
            _remember(self._sizes, key, sizes, _KEPT_ESTIMATORS)
        return sizes

    def _people(self, subject: Subject, condition: str | None = None) -> int:
        """How many people there are; the last round answers for those of all of them."""
        return subject.survey.design.earlier + int(self._sizes_of(subject, condition).sum())

    def _relation(self, base: Query, sql: str, subject: Subject) -> Relation:
        """What the reports say about a base query; the last few small ones are kept."""
        key = (subject.survey.fingerprint, subject.estimator, subject.version, base)
        relation = _recall(self._relations, key)
        if relation is None:
            plan = _passes(base, subject.survey, sql)[-1][1]
            relation = Relation.of(
                plan, self.confidence, lambda chosen: self._estimators_of(subject, chosen)
            )
            if len(relation) <= _LARGEST_KEPT:
                _remember(self._relations, key, relation, _KEPT_RELATIONS)
        return relation

    # -- answers ---------------------------------------------------------------------------

    def _answer(self, statement: Statement, subjects: Mapping[str, Subject]) -> Result:
        relations = {
            base.relation: self._relation(base, statement.sql, subjects[base.table])
            for base in statement.bases
        }
        table = self._evaluate(statement, relations)
        width = len(statement.outputs)
        estimates = {
            index: output.estimate
            for index, output in enumerate(statement.outputs)
            if output.estimate is not None
        }
        intervals, typical = {}, {}
        joint = no_estimates
        if estimates:
            # Behind the outputs stand three columns per estimate, and last the row numbers.
            rows = table.column(table.num_columns - 1).to_pylist()
            (name,) = {name for name, _ in estimates.values()}
            relation, indices = relations[name], [index for _, index in estimates.values()]
            for place, (output, (_, index)) in enumerate(estimates.items()):
                first = width + 3 * place
                bars = (_floats(table.column(first + offset)) for offset in range(3))
                intervals[output] = Interval(*bars)
                errors = relation.typical(index)
                if errors is not None:
                    typical[output] = errors[rows]

            def joint() -> Estimates:
                return relation.joint(rows, indices)

        notes = notes_on_statement(statement, relations.values())
        asked = {relation.plan.survey.table: relation for relation in relations.values()}
        for name, subject in subjects.items():
            notes += notes_on_estimator(asked[name], subject.estimator)
        for subject in subjects.values():
            notes += uneven_report_types(subject.survey, self._sizes_of(subject))
        for relation in relations.values():
            subject = subjects[relation.plan.survey.table]
            notes += impossible_sums(relation, self._people(subject), subject.estimator)
        names = [output.name for output in statement.outputs]
        return self._result(
            pa.Table.from_arrays(table.columns[:width], names=names),
            subjects,
            notes,
            intervals=intervals,
            typical=typical,
            joint=joint,
        )

    def _evaluate(self, statement: Statement, relations: Mapping[str, Relation]) -> pa.Table:
        """The outer query over the relations; one that only picks columns needs no database."""
        tables = {name: relation.table for name, relation in relations.items()}
        if statement.projection is None:
            return self.store.evaluate(statement.outer, tables)
        (table,) = tables.values()
        columns = [table.column(column) for column, _ in statement.projection]
        return pa.Table.from_arrays(columns, names=[name for _, name in statement.projection])

    def _result(
        self,
        table: pa.Table,
        subjects: Mapping[str, Subject],
        notes: tuple[str, ...] = (),
        *,
        intervals: Mapping[int, Interval] | None = None,
        typical: Mapping[int, Array] | None = None,
        joint: Callable[[], Estimates] = no_estimates,
        explain: str | None = None,
    ) -> Result:
        """A result with what is to be said of the surveys that were asked."""
        bars = intervals or {}
        columns = tuple(
            ResultColumn(field.name, field.type, index in bars)
            for index, field in enumerate(table.schema)
        )
        asked = tuple(subjects.values())
        short = [note for each in asked for note in shortfall_notes(each.survey, each.guarantee)]
        return Result(
            columns,
            table,
            bars,
            joint,
            (*notes, *short),
            tuple(each.survey for each in asked),
            sum(map(self._people, asked)),
            explain,
            typical or {},
            tuple(each.estimator for each in asked),
            tuple(each.guarantee for each in asked),
        )

    # -- plans -----------------------------------------------------------------------------

    def _explain(self, statement: Statement, subjects: Mapping[str, Subject]) -> Result:
        """The plans as text, one line per row."""
        lines: list[str] = []
        for base in statement.bases:
            subject = subjects[base.table]
            passes = _passes(base, subject.survey, statement.sql)
            plan = passes[-1][1]
            reports = [
                self._slice_reports(plan, place, subject) for place in range(len(plan.slices))
            ]
            if statement.mode == "explain verbose":
                lines += explain_verbose(passes, reports, subject.guarantee)
            else:
                lines += explain(plan, reports, subject.guarantee)
            default = next(iter(subject.survey.design.estimators))
            if subject.estimator != default:
                lines.append(
                    f"estimator: {subject.estimator}; the predicted errors are the {default} one's"
                )
        table = pa.table({"plan": pa.array(lines, type=pa.string())})
        return self._result(table, subjects, explain="\n".join(lines))

    def _slice_reports(self, plan: QueryPlan, place: int, subject: Subject) -> SliceReports:
        """The people of one slice, and the errors of its first row where public columns do not
        split it."""
        piece: Slice = plan.slices[place]
        people = self._people(subject, piece.condition)
        if plan.public_keys or not people or not piece.boxes or not plan.planned[place]:
            return SliceReports(people)
        estimator = self._estimators_of(subject, selection(plan, piece))[()]
        return SliceReports(people, estimator.answer_rows([plan.planned[place][0]])[0].stderr)


def _passes(base: Query, survey: Survey, sql: str) -> list[tuple[str, QueryPlan]]:
    """The plan after every pass."""
    passes = [("boxes", boxes(base, survey, sql))]
    for name, rewrite in PASSES:
        passes.append((name, rewrite(passes[-1][1])))
    return passes


def _recall(cache: OrderedDict[K, V], key: K) -> V | None:
    """What is kept under a key, which becomes the one used last."""
    if key in cache:
        cache.move_to_end(key)
    return cache.get(key)


def _remember(cache: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value, and of all values the `most` that were used last."""
    cache[key] = value
    if len(cache) > most:
        cache.popitem(last=False)


def _floats(column: pa.ChunkedArray) -> Array:
    """A column of numbers, NULL as NaN."""
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.float64)
