"""From a statement to its answer, step by step.

    parse -> plans -> relations of estimates -> outer SQL -> error bars -> notes -> result

A step takes a draft and what the reports say, and fills in more of the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql import limits
from ldpsql.algebra.estimate import Array, Estimates, share_error
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.evidence import Evidence, Subject
from ldpsql.engine.notes import (
    impossible_sums,
    notes_on_bounds,
    notes_on_choice,
    notes_on_error_bars,
    notes_on_estimator,
    notes_on_missing,
    notes_on_query,
    notes_on_year,
    public_texts,
    shortfall_notes,
    tell_harm,
)
from ldpsql.engine.propagation import Covariances, ErrorBars, Gradients, Propagation
from ldpsql.engine.relation import Relation
from ldpsql.engine.result import Result, refuse_estimates
from ldpsql.errors import QueryError
from ldpsql.parser.query import ROW, ParsedSQL, Query, number_terms
from ldpsql.reports.forgery import suspect
from ldpsql.sql.arrow_arrays import make_array, read_numbers


@dataclass(frozen=True)
class EstimateColumn:
    """An output column of estimates, R rows.

    bars: before they are cut.  bounds: between which the values must lie, two of shape (R,).
    """

    values: Array
    gradients: Gradients
    bars: ErrorBars
    bounds: tuple[Array, Array]


@dataclass(frozen=True)
class Draft:
    """An answer in the making.

    subjects: the surveys that are asked, by table.  tables: the other tables that the outer query
    reads.  relations: by name.  table: the output.  gradients: of the output columns that are
    estimates, by place.  lost: why others are without, by place.  columns: the estimates.
    """

    statement: ParsedSQL
    subjects: Mapping[str, Subject]
    tables: Mapping[str, pa.Table]
    relations: Mapping[str, Relation] = field(default_factory=dict)
    table: pa.Table | None = None
    gradients: Mapping[int, Gradients] = field(default_factory=dict)
    lost: Mapping[int, str] = field(default_factory=dict)
    propagation: Propagation | None = None
    columns: Mapping[int, EstimateColumn] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def influences(self) -> dict[int, tuple[float, float]]:
        """By how much one forged report moves each column of estimates, see `Result`."""
        assert self.propagation is not None
        return {
            place: self.propagation.influence(column.gradients)
            for place, column in self.columns.items()
        }

    def estimates(self) -> Estimates:
        """All estimates, row by row, with their covariance."""
        assert self.propagation is not None
        columns = list(self.columns.values())
        if not columns:
            return refuse_estimates()
        values = np.stack([column.values for column in columns], axis=1)
        return self.propagation.estimates(values, [column.gradients for column in columns])


def relate(draft: Draft, evidence: Evidence) -> Draft:
    """Plan the base queries, and estimate their relations."""
    sql, subjects = draft.statement.sql, draft.subjects
    bases = draft.statement.bases
    found = {base.relation: evidence.relation(base, sql, subjects) for base in bases}
    return replace(draft, relations=found)


def evaluate(draft: Draft, evidence: Evidence) -> Draft:
    """The outer query over the relations, and the gradients of its estimates."""
    statement, outputs = draft.statement, draft.statement.outputs
    tables = {name: relation.table for name, relation in draft.relations.items()}
    lost = {place: output.lost for place, output in enumerate(outputs) if output.lost}
    estimates = [place for place, output in enumerate(outputs) if output.is_estimate]
    lists = list[Gradients]()
    if statement.projection is not None:
        table, lists = _pick(statement, tables)
    else:
        tables |= draft.tables
        try:
            both = evidence.store.evaluate(statement.traced, tables)
            table = both.select(range(len(outputs)))
            lists = [Gradients.from_lists(column) for column in both.columns[len(outputs) :]]
        except QueryError:  # with gradients, the outer query needs too much
            table = evidence.store.evaluate(statement.outer, tables)
            lost |= dict.fromkeys(estimates, "its query is too large to be followed")
            estimates = []
    gradients = dict(zip(estimates, lists, strict=True))
    for place in estimates:
        if pa.types.is_string(table.schema.field(place).type):  # of UNION ALL with a text
            del gradients[place]
            lost[place] = "some of its rows are texts"
    shown = table.rename_columns([output.name for output in outputs])
    return replace(draft, table=shown, gradients=gradients, lost=lost)


def _pick(statement: ParsedSQL, tables: Mapping[str, pa.Table]) -> tuple[pa.Table, list[Gradients]]:
    """An outer query that only picks columns, which needs no database."""
    assert statement.projection is not None
    (relation,), (base,) = tables.values(), statement.bases
    picked = [column for column, _ in statement.projection]
    places = {column.name: place for place, column in enumerate(base.columns)}
    numbers = read_numbers(relation.column(ROW)) * len(places)
    gradients = [
        Gradients.identity(numbers + places[column])
        for column, output in zip(picked, statement.outputs, strict=True)
        if output.is_estimate
    ]
    # Not select(), whose columns would have to be different ones.
    return pa.Table.from_arrays([relation.column(name) for name in picked], picked), gradients


def add_error_bars(draft: Draft, evidence: Evidence) -> Draft:
    """The error bars of the estimates, which are shown within their bounds."""
    candidates, level = count_candidates(draft), evidence.confidence
    shown = propagation = make_propagation(draft, evidence, level)
    if candidates:
        propagation = make_propagation(draft, evidence, share_error(level, candidates))
    table, columns = draft.table, dict[int, EstimateColumn]()
    assert table is not None
    for place, gradients in limits.in_time(draft.gradients.items()):
        values = read_numbers(table.column(place)).astype(np.float64)
        bars = propagation.error_bars(values, gradients)
        if candidates:
            bars = propagation.reach_further(values, bars, gradients)
        bounds = shown.bounds(values, gradients)
        columns[place] = EstimateColumn(values, gradients, bars, bounds)
        if bars.interval.is_beyond(*bounds).any():
            inside = make_array(np.clip(values, *bounds), pa.float64())
            table = table.set_column(place, table.schema.field(place), inside)
    return replace(draft, propagation=propagation, table=table, columns=columns)


def make_propagation(draft: Draft, evidence: Evidence, level: float) -> Propagation:
    """The error bars of a draft at a level, computed from its gradients."""
    subjects, bases = draft.subjects, draft.statement.bases

    def shares(table: str, *conditions: str | None) -> bool:
        both = " AND ".join(f"({each})" for each in conditions if each is not None)
        return bool(evidence.sizes(subjects[table], both or None).sum())

    numbers = {name: number for number, name in enumerate(draft.relations)}
    relations = [relation.at(level) for relation in draft.relations.values()]
    return Propagation(
        [(numbers[base.relation], place) for base, place in number_terms(bases)],
        Covariances(
            relations,
            lambda table, chosen: evidence.estimators(subjects[table], chosen),
            shares,
        ),
        level,
        draft.statement.reasons,
    )


def count_candidates(draft: Draft) -> int:
    """Of how many rows estimates have chosen those that are shown; 0 where they choose none.

    The intervals of those shown then hold together, each as if all candidates were shown
    (Bonferroni): what a choice by the estimates themselves cannot break.
    """
    rows: dict[str, int] = {}
    for base in draft.statement.bases:
        own, whole = draft.relations[base.relation], base.part_of or base.relation
        rows[whole] = rows.get(whole, 0) + int(own.source.is_group.sum())
    is_cut = draft.table is not None and draft.table.num_rows < max(rows.values(), default=0)
    return sum(rows.values()) if draft.statement.is_chosen and is_cut else 0


def add_notes(draft: Draft, evidence: Evidence) -> Draft:
    """The notes that stand beside the answer."""
    outputs, relations = draft.statement.outputs, draft.relations.values()
    bars = {place: column.bars for place, column in draft.columns.items()}
    cut = {
        place: column.bars.interval.is_beyond(*column.bounds)
        for place, column in draft.columns.items()
    }
    about = (text for base in draft.statement.bases for text in describe(base, draft, evidence))
    notes = list(about)
    notes += notes_on_error_bars(outputs, draft.lost, bars)
    notes += notes_on_bounds(outputs, cut)
    notes += notes_on_missing(relations)
    if columns := [outputs[place].name for place in draft.columns]:
        notes += notes_on_choice(columns, count_candidates(draft), evidence.confidence)
    notes += [note for relation in relations for note in notes_on_query(relation.plan)]
    return replace(draft, notes=tuple(dict.fromkeys([*notes, *_note_reports(draft, evidence)])))


def describe(base: Query, draft: Draft, evidence: Evidence) -> list[str]:
    """Whom the answers of a base query are about, where that is not those who answered one
    survey."""
    surveys = [draft.subjects[table].survey for table in base.tables]
    return evidence.sources(surveys).describe(surveys)


def _note_reports(draft: Draft, evidence: Evidence) -> list[str]:
    """Notes on estimators, on texts that no report holds, and on signs of forged reports."""
    by_table: dict[str, list[Relation]] = {name: [] for name in draft.subjects}
    unseen = list[str]()
    for relation in draft.relations.values():
        for sample in relation.source.samples:
            # What those who answered can add up to is in their own sums, not in a population's.
            own = relation if relation.source is sample else Relation(sample, evidence.confidence)
            name = own.plan.survey.table
            by_table[name].append(own)
            unseen += [
                f"{name}: no report holds {words}"
                for words, condition in public_texts(own.plan).items()
                if not evidence.sizes(draft.subjects[name], condition).any()
            ]
    notes, suspects = list[str](), list[str]()
    for name, subject in draft.subjects.items():
        notes += notes_on_estimator(by_table[name][-1], subject.estimator)
        people, signs = evidence.people(subject), evidence.signs(subject)
        for own in by_table[name]:
            signs += impossible_sums(own, people, subject.estimator)
        if signs:
            harm = tell_harm(draft.statement.outputs, draft.influences(), people)
            suspects += suspect(name, signs, harm)
    return [*notes, *unseen, *suspects]


STEPS: tuple[Callable[[Draft, Evidence], Draft], ...] = (
    relate,
    evaluate,
    add_error_bars,
    add_notes,
)
"""The passes that make an answer of a draft with its statement, subjects and tables."""


def answer(draft: Draft, evidence: Evidence) -> Result:
    """Take every step."""
    made = reduce(lambda draft, step: step(draft, evidence), STEPS, draft)
    known = {place: column for place, column in made.columns.items() if column.bars.is_known}
    intervals: dict[int, Interval] = {
        place: column.bars.interval.within(*column.bounds) for place, column in known.items()
    }
    typical = {
        place: column.bars.typical
        for place, column in known.items()
        if column.bars.typical is not None
    }
    return make_result(
        made,
        evidence,
        made.table,
        made.notes,
        scales=_find_scales(made, evidence, known),
        intervals=intervals,
        typical=typical,
        estimates=made.estimates,
        forged=made.influences,
    )


def _find_scales(draft: Draft, evidence: Evidence, places: Iterable[int]) -> dict[int, Array]:
    """What the intervals of some columns are measured by; see `Propagation.scales`."""
    assert draft.propagation is not None
    bases = draft.statement.bases
    people = [sum(evidence.everybody(draft.subjects[t]) for t in base.tables) for base in bases]
    columns = ((place, draft.columns[place].gradients) for place in places)
    return {place: draft.propagation.scales(own, people) for place, own in columns}


def make_result(
    draft: Draft, evidence: Evidence, table: pa.Table, notes: Sequence[str], **more: Any
) -> Result:
    """A result with what is to be said of the surveys that were asked.

    more: other fields of `Result`, by name.
    """
    asked = tuple(draft.subjects.values())
    short = [note for each in asked for note in shortfall_notes(each.survey, each.guarantee)]
    short += [note for each in asked for note in notes_on_year(each.survey)]
    lag = evidence.store.lag()
    return Result(
        table,
        notes=(*notes, *short, *([lag] if lag else [])),
        surveys=tuple(each.survey for each in asked),
        reports=sum(map(evidence.people, asked)),
        estimators=tuple(each.estimator for each in asked),
        guarantees=tuple(each.guarantee for each in asked),
        level=evidence.confidence,
        **more,
    )
