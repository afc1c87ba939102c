"""EXPLAIN: a plan as text, one line per row.

The text depends on the survey, the question and the counts of the reports only, so it is the same
from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

import numpy as np
import pyarrow as pa

from ldpsql.algebra.boxes import Box, CodeSet, intersect
from ldpsql.algebra.estimate import CONFIDENCE, Array, quantile
from ldpsql.engine.answer import Draft, answer, describe, make_result, relate
from ldpsql.engine.evidence import Evidence, Subject
from ldpsql.engine.notes import notes_on_query
from ldpsql.engine.result import Result
from ldpsql.engine.sample import selection
from ldpsql.estimators.base import hides_bias
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.planner.plan import QueryPlan, make_plans
from ldpsql.planner.where import Slice
from ldpsql.sql import domains
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql.wording.numbers import tell_forged
from ldpsql_device.errors import one_line
from ldpsql_device.schema import Dimension, Schema

_SHOWN = 20
_MOST_SUMS = 12
"""Of a row that are shown."""
_MOST_EXPLAINED = 64
"""Rows of an answer that are worked out, to say what a forged report can do to it."""


@dataclass(frozen=True)
class SliceReports:
    """How well the reports of one slice answer its plan.

    people: how many there are.  estimator: who answers; None for the default.  errors: standard
    errors of the first row's targets as estimated, shape (T,), or None where they were not worked
    out.  forged: the least and the most by which one more report moves each of them, shape (2, T);
    as predicted where None.
    """

    people: int
    estimator: str | None = None
    errors: Array | None = None
    forged: Array | None = None


def explain_statement(draft: Draft, evidence: Evidence) -> Result:
    """The plans of a statement in place of its answer."""
    lines, notes = list[str](), list[str]()
    for base in draft.statement.bases:
        lines += describe(base, draft, evidence)
        subjects = [draft.subjects[table] for table in base.tables]
        if not evidence.sources([subject.survey for subject in subjects]).predicts_errors:
            lines.append("the errors below are those of plain sums")
        for subject in subjects:
            plans = make_plans(base, subject.survey, draft.statement.sql)
            plan = plans[-1][1]
            notes += notes_on_query(plan)
            slices = range(len(plan.slices))
            reports = [_slice_reports(plan, place, subject, evidence) for place in slices]
            if draft.statement.mode == "explain verbose":
                lines += explain_verbose(plans, reports, subject.guarantee, evidence.confidence)
            else:
                lines += explain(plan, reports, subject.guarantee, evidence.confidence)
            default = next(iter(subject.survey.design.estimators))
            if subject.estimator != default:
                lines.append(
                    f"estimator: {subject.estimator}; predicted errors and parts are the "
                    f"{default} one's"
                )
    lines += _tell_forged(draft, evidence)
    shown = list(map(one_line, lines))  # a value of a stranger makes no line of its own
    table = pa.table({"plan": pa.array(shown, type=pa.string())})
    return make_result(draft, evidence, table, notes, explain="\n".join(shown))


def _tell_forged(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """The largest effect of one forged report on the numbers of an answer of few rows that are not
    sums.

    It depends on the answer, which is worked out for it.
    """
    relations = relate(draft, evidence).relations.values()
    is_small = sum(map(len, relations)) <= _MOST_EXPLAINED
    if not is_small or all(relation.is_plain for relation in relations):
        return
    result = answer(draft, evidence)
    for place, ends in result.forged().items():
        yield f"{result.columns[place].name}: {tell_forged(*ends)}"


def _slice_reports(
    plan: QueryPlan, place: int, subject: Subject, evidence: Evidence
) -> SliceReports:
    """The people of one slice, and the errors of its first row where public columns do not split
    it."""
    piece = plan.slices[place]
    people = evidence.people(subject, piece.condition)
    if plan.public_keys or not people or not piece.boxes or not plan.planned[place]:
        return SliceReports(people, subject.estimator)
    estimators = evidence.estimators(subject, selection(plan, piece))
    row = plan.planned[place][0]
    slopes = np.eye(len(row))[:_MOST_SUMS, :_MOST_SUMS]
    forged = estimators.influence((), row[:_MOST_SUMS], slopes)
    errors = estimators.answer_rows((), [row])[0].stderr
    return SliceReports(people, subject.estimator, errors, forged)


def explain(
    plan: QueryPlan,
    reports: Sequence[SliceReports],
    promised: StatedGuarantee | None = None,
    level: float = CONFIDENCE,
) -> list[str]:
    """The final plan: boxes, nodes, groups, standard errors, guarantee.

    reports: per slice.  promised: what people got, where that is not what the survey promises.
    level: of the intervals.
    """
    survey = plan.survey
    no_epsilon = f"no epsilon holds (nominal {survey.epsilon})"
    epsilon = f"epsilon {survey.epsilon}" if survey.design.guarantee.epsilon else no_epsilon
    lines = [
        f"survey {survey.table}: {survey.design.name}, {epsilon}",
        f"guarantee: {promised or survey.guarantee}",
    ]
    if plan.public_keys:
        lines.append(f"grouped by public columns: {', '.join(map(str, plan.public_keys))}")
    if len(plan.private_rows) > 1:
        lines.append(f"private groups: {len(plan.private_rows)} rows; the first is shown")
    for place, piece in enumerate(plan.slices):
        lines += _slice(piece, plan.schema, f" ({reports[place].people})")
        if piece.boxes:
            lines += _indent(_first_row(plan, place, reports[place], level))
    return lines


def explain_verbose(
    plans: Sequence[tuple[str, QueryPlan]],
    reports: Sequence[SliceReports],
    promised: StatedGuarantee | None = None,
    level: float = CONFIDENCE,
) -> list[str]:
    """The plan after every pass (`make_plans`), the last as by `explain`."""
    lines: list[str] = []
    for name, plan in plans[:-1]:
        shown = [line for piece in plan.slices for line in _slice(piece, plan.schema)]
        lines += [f"after {name}:", *_indent(shown)]
    name, final = plans[-1]
    return [*lines, f"after {name}:", *_indent(explain(final, reports, promised, level))]


def _slice(piece: Slice, schema: Schema, people: str = "") -> list[str]:
    lines = [f"box: {describe_box(box, schema)}" for box in piece.boxes[:_SHOWN]]
    if len(piece.boxes) > _SHOWN:
        lines.append(f"... {len(piece.boxes) - _SHOWN} more boxes")
    lines = lines or ["no box: nothing can match, an exact 0"]
    for number, boxes in enumerate(piece.filtered):
        shown = [f"box: {describe_box(box, schema)}" for box in boxes[:_SHOWN]]
        more = [f"... {len(boxes) - _SHOWN} more boxes"] if len(boxes) > _SHOWN else []
        lines += [f"filter {number + 1}:", *_indent(shown + more or ["no box"])]
    return [f"reports: {piece.condition or 'all reports'}{people}", *_indent(lines)]


def _first_row(plan: QueryPlan, place: int, reports: SliceReports, level: float) -> list[str]:
    """How the sums of the first row are answered, and how well."""
    design, (keys, _) = plan.survey.design, plan.private_rows[0]
    default, every = next(iter(design.estimators)), plan.survey.schedule.sample or 1
    estimator = reports.estimator or default
    lines = [f"group: {', '.join(map(str, keys))}"] if keys else []
    forged, asked = reports.forged, plan.planned[place][0][:_MOST_SUMS]
    if forged is None and reports.people and asked:
        alone = design.influence(asked, np.eye(len(asked)), reports.people)
        forged = None if alone is None else every * alone
    for number, target in enumerate(plan.targets[:_MOST_SUMS]):
        planned = plan.planned[place][0][number]
        lines.append(target.label)
        note = " per unit of the public column" if target.weight else ""
        is_known = not isinstance(design, Rounds) and not hides_bias(design, planned, default)
        if reports.people and is_known:
            stderr = every * float(np.sqrt(design.variance([planned], reports.people)[0]))
            lines.append(f"  predicted standard error: {_with_interval(stderr, level)}{note}")
        if hides_bias(design, planned, estimator):
            lines.append(f"  no error: {design.biases[estimator].text}")
        elif reports.errors is not None:
            shown = _with_interval(reports.errors[number], level)
            lines.append(f"  standard error of these reports: {shown}")
        if forged is not None:
            is_count = target.weight is None and target.measure is None and target.amounts is None
            unit = "people" if is_count else ""
            least, most = forged[:, number]
            lines.append(f"  {tell_forged(least, most, unit)}{note}")
        lines += _indent(design.describe(planned))
    if len(plan.targets) > _MOST_SUMS:
        lines.append(f"... {len(plan.targets) - _MOST_SUMS} more sums")
    return lines


def _with_interval(stderr: float, level: float) -> str:
    """A standard error, and the interval that stands as ± beside answers."""
    return f"{stderr:.4g} ({100 * level:g} % interval: ± {quantile(level) * stderr:.4g})"


def describe_box(box: Box, schema: Schema) -> str:
    """A box in the words of the schema: age in {30..45}, state in {NY}."""
    sides = [
        f"{dimension.name} in {_codes(side, dimension)}"
        for side, dimension in zip(box.sides, schema.dimensions, strict=True)
        if side is not None
    ]
    return ", ".join(sides) or "everything"


def _codes(side: CodeSet, dimension: Dimension) -> str:
    """A code set in the words of its dimension: {18..29, NULL}."""
    values = intersect(side, domains.present_codes(dimension))
    parts = [domains.extent(dimension.domain, low, high) for low, high in values[:_SHOWN]]
    if len(values) > _SHOWN:
        parts.append("...")
    if intersect(side, domains.null_codes(dimension)):
        parts.append("NULL")
    return "{" + ", ".join(parts) + "}"


def _indent(lines: Sequence[str]) -> list[str]:
    return [indent(line, "  ") for line in lines]
