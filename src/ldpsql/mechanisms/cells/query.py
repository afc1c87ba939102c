"""Public. Sees parameters. A linear query as a weight for every cell.

A cell is a combination of codes, and of the signs of the private measures where there are any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ldpsql.boxes import LinearQuery, Side, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import known_lines, split_known
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True, eq=False)
class CellSum(PlannedQuery):
    """What a person in each cell counts, shape (cells,), beside what is known without asking.

    known: coefficient of the number of people, or of the total of the weight.
    """

    known: float
    amounts: Array
    weight: Weight | None

    @property
    def is_asked(self) -> bool:
        """Whether the reports must be asked."""
        return bool(self.amounts.any())


def shape_of(domain: RecordDomain) -> tuple[int, ...]:
    """Codes of every dimension, then two signs of every measure."""
    return (*domain.sizes, *(2 for _ in domain.bounds))


def check_cells(domain: RecordDomain, most: int, mechanism: str) -> None:
    """SurveyError for a domain of more cells than a mechanism takes."""
    cells = math.prod(shape_of(domain))
    if cells > most:
        signs = ", signs of measures included," if domain.bounds else ""
        raise SurveyError(
            f"{mechanism} is for at most {most} combinations of codes{signs} and there are "
            f"{cells}; use wider bins, fewer attributes, or fourier"
        )


def cells_of(domain: RecordDomain, codes: Codes) -> Codes:
    """The cell of every record; codes: shape (n, dimensions + measures)."""
    if not codes.shape[1]:
        return np.zeros(len(codes), dtype=np.int64)
    found = np.ravel_multi_index(tuple(codes.T), shape_of(domain))
    return np.asarray(found, dtype=np.int64)


def planned(query: LinearQuery, domain: RecordDomain) -> CellSum:
    """A query by cells."""
    known, boxes = split_known(query)
    total = np.zeros(shape_of(domain))
    for share, box in boxes:
        axes = [_indicator(side, size) for side, size in zip(box.sides, domain.sizes, strict=True)]
        axes += [
            np.array(domain.bounds[m]) if m == query.measure else np.ones(2)
            for m in range(len(domain.bounds))
        ]
        total += share * reduce(np.multiply.outer, axes, np.ones(()))
    return CellSum(known, total.ravel(), query.weight)


def described(query: CellSum, domain: RecordDomain) -> list[str]:
    """For EXPLAIN: how many cells of the table are summed."""
    lines = known_lines(query.known)
    if query.is_asked:
        shape = " x ".join(map(str, shape_of(domain)))
        lines.append(f"{np.count_nonzero(query.amounts)} of {shape} cells")
    return lines


def _indicator(side: Side, size: int) -> Array:
    inside = np.zeros(size)
    for low, high in ((0, size),) if side is None else side:
        inside[low:high] = 1.0
    return inside
