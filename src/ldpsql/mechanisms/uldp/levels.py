"""Public. Sees parameters. The levels of JuRR-g: least total variance for records spread evenly.

A search over two numbers, each between 0 (the least level, which is JuRR) and 1 (the largest that
epsilon and the simplex allow): the best point of a grid, then steps along both axes and diagonals,
halved where none helps. Specification: uldp, section 6.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.uldp.response import Response, Shape
from ldpsql.mechanisms.uldp.tables import levelled_response, levels

_GRID = 12
_LEAST_STEP = 1e-6
_AROUND = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]

Point = tuple[float, float]


def best_levels(shape: Shape, odds: Fraction) -> tuple[int, int]:
    """Words of a fully sensitive cell for the two kinds of half-sensitive records."""
    least, most = levels(shape, odds)
    limit = min(most, SPACE // shape.cells(3))
    free = tuple(kind in shape.kinds for kind in (1, 2))

    def words(point: Point) -> tuple[int, int]:
        first, second = (
            min(most, least + int(part * (limit - least))) if is_free else least
            for part, is_free in zip(point, free, strict=True)
        )
        return first, second

    def cost(point: Point) -> float:
        response = levelled_response(shape, odds, words(point))
        return math.inf if response is None else total_variance(response)

    return words(_least(cost))


def total_variance(response: Response) -> float:
    """Variance of the estimates of all cells together, times people, for records spread evenly."""
    shape = response.shape
    even = np.full((*shape.sizes, 1), 1.0 / math.prod(shape.sizes))
    reports = response.backward(even)
    total = 0.0
    for kind in shape.kinds:
        cell = tuple(side.start for side in shape.block(kind))
        asked = np.zeros_like(even)
        asked[cell] = 1.0
        weights = response.solve(asked)
        members = even[shape.block(kind)].size
        total += members * (float((reports * weights**2).sum()) - float(even[cell][0]))
    return total


def _least(cost: Callable[[Point], float]) -> Point:
    """Where a function of two numbers from 0 to 1 is least, as far as steps of a compass find."""
    nodes = [number / _GRID for number in range(_GRID)]
    best, place = min((cost((x, y)), (x, y)) for x in nodes for y in nodes)
    step = 1.0 / _GRID
    while step > _LEAST_STEP:
        around = [
            (min(max(place[0] + step * x, 0.0), 1.0), min(max(place[1] + step * y, 0.0), 1.0))
            for x, y in _AROUND
        ]
        found, where = min((cost(point), point) for point in around)
        if found < best:
            best, place = found, where
        else:
            step /= 2.0
    return place
