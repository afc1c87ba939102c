"""The .sql files in tests/planner: SQL, and what a pass makes of it, in comments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from support.sql_survey import APP, base_of

from ldpsql.algebra.boxes import Box
from ldpsql.planner.plan import QueryPlan, boxes, cells, disjoin
from ldpsql.survey import Survey

FOLDER = Path(__file__).parents[1] / "planner"
_SHOWN_ROWS = 6


def compiled(sql: str) -> QueryPlan:
    """The plan of the only base query after the first pass."""
    return boxes(base_of(sql), APP, sql)


@cache
def designed() -> Survey:
    """The same columns, answered from tree nodes."""
    return Survey.of("app", APP.schema, "1", "hgrr")


def in_cells(sql: str) -> QueryPlan:
    """The plan of the only base query after the last pass."""
    return cells(replace(disjoin(compiled(sql)), survey=designed()))


PLANNERS: dict[str, Callable[[str], QueryPlan]] = {
    "boxes": compiled,
    "disjoin": lambda sql: disjoin(compiled(sql)),
    "cells": in_cells,
}


def rendered(name: str) -> str:
    """The file of a pass as it should be."""
    blocks = []
    for block in (FOLDER / f"{name}.sql").read_text().split("\n\n"):
        lines = block.strip().splitlines()
        sql = "\n".join(line for line in lines if not line.startswith("-- "))
        plan = shown(PLANNERS[name](sql))
        blocks.append("\n".join([sql, *(f"-- {line}" for line in plan.splitlines())]))
    return "\n\n".join(blocks) + "\n"


def shown(plan: QueryPlan) -> str:
    """A plan as text: slices with their boxes, then the rows where there are keys.

    Behind the last pass also how the design answers each sum of the first row.
    """
    lines = []
    for place, piece in enumerate(plan.slices):
        lines.append(f"where {piece.condition or 'anybody'}")
        lines += [f"  {_box(box)}" for box in piece.boxes] or ["  nobody"]
        for number, planned in enumerate(plan.planned[place][0] if plan.planned else ()):
            lines.append(f"  {plan.targets[number].label}")
            lines += [f"    {line}" for line in plan.survey.design.describe(planned)]
    if plan.query.keys:
        public = ", ".join(plan.public_keys) or "no public column"
        lines.append(f"{len(plan.private_rows)} rows, by {public}")
        for values, inside in plan.private_rows[:_SHOWN_ROWS]:
            lines.append(f"  {values}: {' or '.join(map(_box, inside))}")
    return "\n".join(lines)


def _box(box: Box) -> str:
    sides = []
    for dimension, side in zip(APP.schema.dimensions, box.sides, strict=True):
        if side is not None:
            sides.append(f"{dimension.name} {' '.join(f'{low}..{high - 1}' for low, high in side)}")
    return ", ".join(sides) or "everybody"
