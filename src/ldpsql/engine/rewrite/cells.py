"""The last pass: boxes to what the survey's mechanism answers."""

from __future__ import annotations

from dataclasses import replace

from ldpsql.engine.plan import QueryPlan, linear


def cells(plan: QueryPlan) -> QueryPlan:
    """Turn the linear query of every slice, row and target into the design's own form.

    Mechanisms that answer from tree nodes cover each box with the fewest nodes; mechanisms that
    answer boxes take them as they are.
    """
    design, schema = plan.survey.design, plan.survey.schema
    planned = tuple(
        tuple(
            tuple(design.prepare(linear(piece, box, target, schema)) for target in plan.targets)
            for _, box in plan.private_rows
        )
        for piece in plan.slices
    )
    return replace(plan, planned=planned)
