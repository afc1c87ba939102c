"""Public. Sees parameters. A linear query as one weight per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.estimate import Array
from ldpsql.mechanisms.cell_query import known_lines, split_known

_SHOWN = 12


@dataclass(frozen=True, eq=False)
class TableQuery:
    """What is known of a query without asking, and the weight of every cell in the rest.

    known: coefficient of the number of people or of the total of the weight.  cells: shape
    (cells,).
    """

    known: float
    cells: Array
    weight: Weight | None

    @property
    def is_asked(self) -> bool:
        """Whether the reports must be asked."""
        return bool(self.cells.any())


def plan(query: LinearQuery, sizes: Sequence[int]) -> TableQuery:
    """The cells of a query over dimensions of the given sizes."""
    known, boxes = split_known(query)
    weights = np.zeros(tuple(sizes))
    for share, box in boxes:
        weights[np.ix_(*_sides(box, sizes))] += share
    return TableQuery(known, weights.ravel(), query.weight)


def _sides(box: Box, sizes: Sequence[int]) -> list[list[int]]:
    return [
        [
            code
            for low, high in (((0, size),) if side is None else side)
            for code in range(low, high)
        ]
        for side, size in zip(box.sides, sizes, strict=True)
    ]


def describe(planned: TableQuery) -> list[str]:
    """For EXPLAIN: which cells of the table are added up."""
    lines = known_lines(planned.known)
    asked = np.flatnonzero(planned.cells)
    if len(asked):
        shown = ", ".join(map(str, asked[:_SHOWN]))
        more = f", ... ({len(asked) - _SHOWN} more)" if len(asked) > _SHOWN else ""
        lines.append(f"cells {shown}{more} of {len(planned.cells)}")
    return lines
