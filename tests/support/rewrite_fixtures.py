"""Reads and writes the pairs "SQL; plan" of the .sql files in engine/rewrite.

Run this file to write the plans anew after an intended change; the difference is then to be read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.sql_survey import APP, base_of

from ldpsql.boxes import Box
from ldpsql.engine.plan import Plan
from ldpsql.engine.rewrite.boxes import boxes
from ldpsql.engine.rewrite.disjoin import disjoin

FOLDER = Path(__file__).parents[1] / "engine" / "rewrite"
_SHOWN_ROWS = 6


def compiled(sql: str) -> Plan:
    """The plan of the only base query after the first pass."""
    return boxes(base_of(sql), APP, sql)


PLANNERS: dict[str, Callable[[str], Plan]] = {
    "boxes": compiled,
    "disjoin": lambda sql: disjoin(compiled(sql)),
}


def pairs(name: str) -> list[tuple[str, str]]:
    """SQL and expected plan, pair by pair."""
    found = []
    for block in (FOLDER / f"{name}.sql").read_text().split("\n\n"):
        lines = block.strip().splitlines()
        sql = "\n".join(line for line in lines if not line.startswith("-- "))
        plan = "\n".join(line[3:] for line in lines if line.startswith("-- "))
        found.append((sql, plan))
    return found


def shown(plan: Plan) -> str:
    """A plan as text: slices with their boxes, then the rows where there are keys."""
    lines = []
    for piece in plan.slices:
        lines.append(f"where {piece.condition or 'anybody'}")
        lines += [f"  {_box(box)}" for box in piece.boxes] or ["  nobody"]
    if plan.query.keys:
        public = ", ".join(plan.public_keys) or "no public column"
        lines.append(f"{len(plan.private_rows)} rows, by {public}")
        lines += [f"  {values}: {_box(box)}" for values, box in plan.private_rows[:_SHOWN_ROWS]]
    return "\n".join(lines)


def _box(box: Box) -> str:
    sides = []
    for dimension, side in zip(APP.schema.dimensions, box.sides, strict=True):
        if side is not None:
            sides.append(f"{dimension.name} {' '.join(f'{low}..{high - 1}' for low, high in side)}")
    return ", ".join(sides) or "everybody"


def rewrite(name: str) -> None:
    """Write the plans of one file anew."""
    blocks = []
    for sql, _ in pairs(name):
        plan = shown(PLANNERS[name](sql))
        blocks.append("\n".join([sql, *(f"-- {line}" for line in plan.splitlines())]))
    (FOLDER / f"{name}.sql").write_text("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    for file in PLANNERS:
        rewrite(file)
