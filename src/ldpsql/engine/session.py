"""Runs at the collector. Sees reports. From SQL text to a result.

    parse -> boxes -> PASSES -> answers -> relation of estimates -> outer SQL -> result

Estimators are kept per (survey, version of its histogram, selection of reports), so that a second
question about the same reports costs no scan; small relations of estimates are kept per base query,
so that a question asked again costs no estimation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql.engine.answers import Answers, Key, selection
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.explain import Asked, explain, explain_verbose
from ldpsql.engine.notes import impossible_sums, misfits, notes_on
from ldpsql.engine.plan import Plan
from ldpsql.engine.promise import kept, shortfall
from ldpsql.engine.relation import Relation
from ldpsql.engine.result import Result, ResultColumn, no_estimates
from ldpsql.engine.rewrite import PASSES
from ldpsql.engine.rewrite.boxes import boxes
from ldpsql.estimate import Array, Estimates
from ldpsql.mechanisms.base import Estimator
from ldpsql.parser import parse
from ldpsql.parser.query import ROW, Query, Statement
from ldpsql.report import Histogram, Integers
from ldpsql.store.base import Selection, Store
from ldpsql.survey import Survey
from ldpsql_device.errors import InterfaceError, NotSupportedError
from ldpsql_device.guarantee import Guarantee

Parameters = Sequence[Any] | Mapping[str, Any] | None
_KEPT_SOURCES = 64
_KEPT_RELATIONS, _LARGEST_KEPT = 64, 4096


@dataclass(frozen=True)
class _Source:
    """What one selection of reports says: an estimator per key, how many people there are, and how
    many reports of every selector, shape (selectors,)."""

    estimators: Mapping[Key, Estimator]
    people: int
    sizes: Integers

    @classmethod
    def of(
        cls, survey: Survey, estimator: str, histograms: Sequence[tuple[Key, Histogram]]
    ) -> _Source:
        design = survey.design
        make = design.estimators[estimator]
        # The last round answers for the people of all of them.
        earlier = design.earlier
        return cls(
            {key: make(histogram) for key, histogram in histograms},
            earlier + sum(histogram.people for _, histogram in histograms),
            np.sum([histogram.sizes for _, histogram in histograms], axis=0, dtype=np.int64),
        )


SourceOf = Callable[[Survey, Selection], _Source]


class Session:
    """Answers questions about the surveys of one store. Not to be shared between threads."""

    def __init__(
        self, store: Store, *, confidence: float = 0.95, estimator: str | None = None
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
        self._sources: OrderedDict[tuple[str, str, int, Selection], _Source] = OrderedDict()
        self._relations: OrderedDict[tuple[str, str, int, Query], Relation] = OrderedDict()
        self._promises: dict[tuple[str, int | None], Guarantee] = {}

    def execute(self, sql: str, parameters: Parameters = None) -> Result:
        """Answer one SQL text. Raises errors under `ldpsql.Error` only."""
        statement = parse(sql, parameters, self._survey)
        surveys = {self._survey(base.table).table for base in statement.bases}
        asked = tuple(self._survey(table) for table in sorted(surveys))
        versions = {survey.fingerprint: self.store.version(survey.table) for survey in asked}

        def source_of(survey: Survey, chosen: Selection) -> _Source:
            return self._source(survey, versions[survey.fingerprint], chosen)

        sources = {survey.table: source_of(survey, Selection()) for survey in asked}
        reports = sum(source.people for source in sources.values())
        guarantees = tuple(map(self._promise, asked))
        short = tuple(
            note
            for survey, got in zip(asked, guarantees, strict=True)
            for note in shortfall(survey, got)
        )
        names = {survey.table: self._estimator(survey) for survey in asked}
        if statement.mode == "answer":
            relations = {
                base.relation: self._relation(base, sql, versions, source_of)
                for base in statement.bases
            }
            notes = notes_on(statement, relations.values(), names)
            for survey in asked:
                notes += misfits(survey, sources[survey.table].sizes)
            for relation in relations.values():
                table = relation.answers.plan.survey.table
                notes += impossible_sums(relation.answers, sources[table].people, names[table])
            found = self._answered(statement, relations, asked, reports, (*notes, *short))
            return replace(found, guarantees=guarantees)
        traces = [self._trace(base, sql) for base in statement.bases]
        promised = {survey.table: got for survey, got in zip(asked, guarantees, strict=True)}
        found = _explained(statement, traces, source_of, names, promised, asked, reports)
        return replace(found, notes=short, guarantees=guarantees)

    def _promise(self, survey: Survey) -> Guarantee:
        """What the survey's batches keep of its promise."""
        if survey.shuffled is None:
            return survey.guarantee
        key = (survey.fingerprint, self.store.smallest_batch(survey.table))
        if key not in self._promises:
            self._promises[key] = kept(survey, key[1])
        return self._promises[key]

    def _survey(self, table: str) -> Survey:
        """A survey by name; a store never changes what a name stands for."""
        key = table.lower()
        if key not in self._surveys:
            self._surveys[key] = self.store.survey(table)
        return self._surveys[key]

    def _estimator(self, survey: Survey) -> str:
        """Which estimator answers; NotSupportedError if the survey's design does not have it."""
        offered = tuple(survey.design.estimators)
        name = self.estimator or survey.estimator or offered[0]
        if name not in offered:
            raise NotSupportedError(
                f"survey {survey.table} has no estimator {name!r} ({survey.design.name} offers "
                f"{', '.join(offered)}); ask for one of those"
            )
        return name

    def _trace(self, base: Query, sql: str) -> list[tuple[str, Plan]]:
        """The plan after every pass."""
        trace = [("boxes", boxes(base, self._survey(base.table), sql))]
        for name, rewrite in PASSES:
            trace.append((name, rewrite(trace[-1][1])))
        return trace

    def _relation(
        self, base: Query, sql: str, versions: Mapping[str, int], source_of: SourceOf
    ) -> Relation:
        """What the reports say about a base query; the last few are kept."""
        survey = self._survey(base.table)
        key = (survey.fingerprint, self._estimator(survey), versions[survey.fingerprint], base)

        def estimators_of(chosen: Selection) -> Mapping[Key, Estimator]:
            return source_of(survey, chosen).estimators

        if key in self._relations:
            self._relations.move_to_end(key)
            return self._relations[key]
        answers = Answers.of(self._trace(base, sql)[-1][1], estimators_of)
        relation = Relation(answers, self.confidence)
        if len(answers.public) * len(answers.plan.private_rows) <= _LARGEST_KEPT:
            self._relations[key] = relation
            while len(self._relations) > _KEPT_RELATIONS:
                self._relations.popitem(last=False)
        return relation

    def _source(self, survey: Survey, version: int, chosen: Selection) -> _Source:
        estimator = self._estimator(survey)
        key = (survey.fingerprint, estimator, version, chosen)
        if key not in self._sources:
            histograms = self.store.histograms(survey.table, chosen)
            self._sources[key] = _Source.of(survey, estimator, histograms)
            while len(self._sources) > _KEPT_SOURCES:
                self._sources.popitem(last=False)
        self._sources.move_to_end(key)
        return self._sources[key]

    def _evaluated(self, statement: Statement, relations: Mapping[str, Relation]) -> pa.Table:
        """The outer query over the relations; one that only picks columns needs no database."""
        tables = {name: relation.table for name, relation in relations.items()}
        if statement.projection is None:
            return self.store.evaluate(statement.outer, tables)
        (table,) = tables.values()
        picked = [table.column(column) for column, _ in statement.projection]
        return pa.Table.from_arrays(picked, names=[name for _, name in statement.projection])

    def _answered(
        self,
        statement: Statement,
        relations: Mapping[str, Relation],
        surveys: tuple[Survey, ...],
        reports: int,
        notes: tuple[str, ...],
    ) -> Result:
        evaluated = self._evaluated(statement, relations)
        width = len(statement.outputs)
        columns = tuple(
            ResultColumn(output.name, evaluated.schema.field(i).type, output.estimate is not None)
            for i, output in enumerate(statement.outputs)
        )
        table = pa.Table.from_arrays(
            evaluated.columns[:width], names=[output.name for output in statement.outputs]
        )
        estimated = [i for i, output in enumerate(statement.outputs) if output.estimate]
        intervals = {
            index: Interval(*(_floats(evaluated.column(width + 3 * place + k)) for k in range(3)))
            for place, index in enumerate(estimated)
        }
        joint = no_estimates
        typical: dict[int, Array] = {}
        if estimated and evaluated.schema.names[-1] == ROW:
            rows = evaluated.column(evaluated.num_columns - 1).to_pylist()
            picked = [statement.outputs[index].estimate for index in estimated]
            relation = relations[picked[0][0]]  # type: ignore[index]
            indices = [entry[1] for entry in picked if entry is not None]

            errors = {
                i: relation.typical(column) for i, column in zip(estimated, indices, strict=True)
            }
            typical = {i: found[rows] for i, found in errors.items() if found is not None}

            def joint() -> Estimates:
                return relation.joint(rows, indices)

        return Result(
            columns,
            table,
            intervals,
            joint,
            notes,
            surveys,
            reports,
            typical=typical,
            estimators=tuple(self._estimator(survey) for survey in surveys),
        )


def _explained(
    statement: Statement,
    traces: Sequence[list[tuple[str, Plan]]],
    source_of: SourceOf,
    estimators: Mapping[str, str],
    promised: Mapping[str, Guarantee],
    surveys: tuple[Survey, ...],
    reports: int,
) -> Result:
    """The plans as text, one line per row."""
    lines: list[str] = []
    for trace in traces:
        plan = trace[-1][1]
        asked = [_asked(plan, number, source_of) for number in range(len(plan.slices))]
        verbose = statement.mode == "explain verbose"
        got = promised[plan.survey.table]
        lines += explain_verbose(trace, asked, got) if verbose else explain(plan, asked, got)
        name = estimators[plan.survey.table]
        default = next(iter(plan.survey.design.estimators))
        if name != default:
            lines.append(f"estimator: {name}; the predicted errors are the {default} one's")
    return Result(
        (ResultColumn("plan", pa.string(), is_estimate=False),),
        pa.table({"plan": pa.array(lines, type=pa.string())}),
        estimators=tuple(estimators[survey.table] for survey in surveys),
        surveys=surveys,
        reports=reports,
        explain="\n".join(lines),
    )


def _asked(plan: Plan, number: int, source_of: SourceOf) -> Asked:
    """The people of one slice, and the errors of its first row where public columns do not split
    it."""
    piece = plan.slices[number]
    people = source_of(plan.survey, Selection(piece.condition)).people
    if plan.public_keys or not people or not piece.boxes or not plan.planned[number]:
        return Asked(people)
    estimator = source_of(plan.survey, selection(plan, piece)).estimators[()]
    return Asked(people, estimator.answer_rows([plan.planned[number][0]])[0].stderr)


def _floats(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = column.combine_chunks().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)
