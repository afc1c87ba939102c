"""Public. Sees parameters. EXPLAIN: a plan as text.

The text depends on the survey, the question and the counts of the reports only, so it is the same
from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql import domains
from ldpsql.boxes import Box, CodeSet, intersect
from ldpsql.engine.plan import Plan, Slice, Target
from ldpsql.estimate import Array
from ldpsql.survey import Survey
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import Dimension

Trace = Sequence[tuple[str, Plan]]
_SHOWN = 20


@dataclass(frozen=True)
class Asked:
    """What the reports of one slice say about its plan.

    people: reports.  errors: standard errors of the first row's targets as estimated, shape (T,),
    or None where they were not worked out.
    """

    people: int
    errors: Array | None = None


def explain(plan: Plan, asked: Sequence[Asked], promised: Guarantee | None = None) -> list[str]:
    """The final plan: boxes, nodes, groups, standard errors, guarantee.

    asked: per slice.  promised: what people got, where that is not what the survey promises.
    """
    survey = plan.survey
    lines = [
        f"survey {survey.table}: {survey.design.name}, {_epsilon(survey)}",
        f"guarantee: {promised or survey.guarantee}",
    ]
    lines += _keys(plan)
    for number, piece in enumerate(plan.slices):
        lines += _slice(plan, piece, asked[number].people)
        if piece.boxes:
            lines += _first_row(plan, number, asked[number])
    return lines


def _epsilon(survey: Survey) -> str:
    if survey.design.guarantee.epsilon is None:
        return f"no epsilon holds (nominal {survey.epsilon})"
    return f"epsilon {survey.epsilon}"


def explain_verbose(
    trace: Trace, asked: Sequence[Asked], promised: Guarantee | None = None
) -> list[str]:
    """The plan after every pass, then as `explain`."""
    lines: list[str] = []
    for name, plan in trace[:-1]:
        lines.append(f"after {name}:")
        for piece in plan.slices:
            lines += _indent(_slice_boxes(plan, piece))
    name, final = trace[-1]
    return [*lines, f"after {name}:", *_indent(explain(final, asked, promised))]


def _keys(plan: Plan) -> list[str]:
    lines = []
    if plan.public_keys:
        lines.append(f"grouped by public columns: {', '.join(plan.public_keys)}")
    if len(plan.private_rows) > 1:
        lines.append(f"private groups: {len(plan.private_rows)} rows; the first is shown")
    return lines


def _slice(plan: Plan, piece: Slice, people: int) -> list[str]:
    condition = piece.condition or "all reports"
    return [f"reports: {condition} ({people})", *_indent(_boxes(plan, piece))]


def _slice_boxes(plan: Plan, piece: Slice) -> list[str]:
    return [f"reports: {piece.condition or 'all reports'}", *_indent(_boxes(plan, piece))]


def _boxes(plan: Plan, piece: Slice) -> list[str]:
    lines = [f"box: {describe_box(box, plan.survey)}" for box in piece.boxes[:_SHOWN]]
    if len(piece.boxes) > _SHOWN:
        lines.append(f"... {len(piece.boxes) - _SHOWN} more boxes")
    return lines or ["no box: nothing can match, an exact 0"]


def _first_row(plan: Plan, number: int, asked: Asked) -> list[str]:
    design = plan.survey.design
    keys, _ = plan.private_rows[0]
    lines = []
    if keys:
        lines.append(f"  group: {', '.join(map(str, keys))}")
    for place, (target, planned) in enumerate(
        zip(plan.targets, plan.planned[number][0], strict=True)
    ):
        lines.append(f"  {describe_target(target, plan.survey)}")
        if asked.people:
            stderr = float(np.sqrt(design.variance([planned], asked.people)[0]))
            note = " per unit of the public column" if target.weight else ""
            lines.append(f"    predicted standard error: {stderr:.4g}{note}")
        if asked.errors is not None:
            lines.append(f"    standard error of these reports: {asked.errors[place]:.4g}")
        lines += _indent(design.describe(planned), 4)
    return lines


def describe_target(target: Target, survey: Survey) -> str:
    """A sum in words: COUNT(*), SUM(hours)."""
    if target.measure is not None:
        return f"SUM({survey.schema.measures[target.measure].name})"
    if target.weight is not None:
        verb = "SUM" if target.weight.kind == "value" else "COUNT"
        return f"{verb}({target.weight.column}), public"
    if target.present is not None:
        return f"COUNT({survey.schema.dimensions[target.present].name})"
    return "COUNT(*)"


def describe_box(box: Box, survey: Survey) -> str:
    """A box in the words of the schema: age in [30, 45], state in {NY}."""
    sides = [
        f"{dimension.name} in {_codes(side, dimension)}"
        for side, dimension in zip(box.sides, survey.schema.dimensions, strict=True)
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


def _indent(lines: Sequence[str], width: int = 2) -> list[str]:
    return [" " * width + line for line in lines]
