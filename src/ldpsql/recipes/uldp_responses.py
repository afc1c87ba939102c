"""The integers of responses with sensitive values, rounded to the safe side.

With E = e^epsilon, r_T = 2^64 - sum over T' above T of m_T' w_T' words are left for the cells of
kind T, and each of them gets w_T = ceil(r_T / (E + m_T - 1)); the true one gets what the others
leave, which is at most E w_T. Source: docs/spec/uldp.md#2, docs/spec/uldp.md#6.1,
docs/spec/uldp.md#6.3, docs/spec/uldp.md#6.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql.decoders.uldp import Axis, Kind, Response, Shape, shape_over
from ldpsql_device.epsilon import LARGEST_EPSILON
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS

_LEAST_LEFT = WORDS >> 24
"""Words that the truth must keep: below this a channel tells next to nothing."""
_STEP = 10_000


def single_response(axis: Axis, odds: Fraction) -> Response:
    """uRR over one attribute."""
    response = joint_response(shape_over((axis,)), odds)
    assert response is not None, "one attribute leaves room for the truth at every epsilon"
    return response


def joint_response(shape: Shape, odds: Fraction) -> Response | None:
    """JuRR for any number of attributes; None where epsilon is too small for it."""
    shares: dict[Kind, int] = {}
    for kind in reversed(shape.kinds):
        left = WORDS - sum(shape.cells(other) * shares[other] for other in shape.above(kind))
        if left < _LEAST_LEFT:
            return None
        if kind:
            shares[kind] = _share(left, shape.cells(kind), odds)
    words = {
        (kind, target): shares[target]
        for kind in shape.kinds
        for target in (kind, *shape.above(kind))
        if target
    }
    return Response(shape, words)


def least_epsilon(shape: Shape) -> str:
    """The smallest epsilon, in steps of 1/10000, at which `joint_response` exists."""
    low, high = 0.0, float(LARGEST_EPSILON)
    while high - low > 1.0 / (100 * _STEP):
        middle = (low + high) / 2
        if joint_response(shape, Fraction(math.exp(middle))) is None:
            low = middle
        else:
            high = middle
    return f"{math.ceil(high * _STEP) / _STEP:.4f}"


def level_limits(shape: Shape, odds: Fraction) -> tuple[int, int]:
    """Of two attributes: least and largest words per fully sensitive cell of any record."""
    least = _share(WORDS, shape.cells(3), odds)
    return least, int(odds * least)


def levelled_response(shape: Shape, odds: Fraction, own: tuple[int, int]) -> Response | None:
    """JuRR-g: half-sensitive records have fully sensitive cells of their own probability.

    own: their words, for records that are sensitive in the first attribute and in the second.
    None where nothing is left for the truth. SurveyError outside what the odds allow.
    """
    least, most = level_limits(shape, odds)
    if not all(least <= level <= most for level in own):
        raise SurveyError("the levels of the response are not those that epsilon allows")
    words: dict[tuple[Kind, Kind], int] = {}
    left = WORDS - least * shape.cells(3)
    for kind in shape.kinds:
        level = own[kind - 1] if kind in (1, 2) else least
        words[kind, 3] = level
        if kind in (1, 2):
            rest = WORDS - level * shape.cells(3)
            if rest < _LEAST_LEFT:
                return None
            words[kind, kind] = _share(rest, shape.cells(kind), odds)
            left -= words[kind, kind] * shape.cells(kind)
    if 0 in shape.kinds:
        if left < _LEAST_LEFT:
            return None
        words.update({(0, kind): words[kind, kind] for kind in shape.kinds if kind in (1, 2)})
    return Response(shape, words)


def _share(left: int, cells: int, odds: Fraction) -> int:
    """Words of each of so many cells, so that the true one has at most `odds` times as many."""
    return math.ceil(left / (odds + cells - 1))


# -- the levels of JuRR-g ----------------------------------------------------------------------

_GRID = 12
_LEAST_STEP = 1e-6
_AROUND = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]

Point = tuple[float, float]


def best_levels(shape: Shape, odds: Fraction) -> tuple[int, int]:
    """Words of a fully sensitive cell for the two kinds of half-sensitive records.

    Those with the least total variance for records spread evenly, by a search over two numbers,
    each between 0 (the least level, which is JuRR) and 1 (the largest that epsilon and the simplex
    allow).
    """
    least, most = level_limits(shape, odds)
    limit = min(most, WORDS // shape.cells(3))
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

    return words(_search(cost))


def total_variance(response: Response) -> float:
    """Variance of the estimates of all cells together, times people, for records spread evenly.

    All cells of a kind have the same, so one of each is looked at: with u the weights of reports
    for it, sum over reports of their probability times u^2, less the share of the cell.
    """
    shape = response.shape
    even = np.full((*shape.sizes, 1), 1.0 / math.prod(shape.sizes))
    reports = response.apply(even, back=True)
    total = 0.0
    for kind in shape.kinds:
        cell = tuple(side.start for side in shape.block(kind))
        asked = np.zeros_like(even)
        asked[cell] = 1.0
        weights = response.solve(asked)
        members = even[shape.block(kind)].size
        total += members * (float((reports * weights**2).sum()) - float(even[cell][0]))
    return total


def _search(cost: Callable[[Point], float]) -> Point:
    """Where a function of two numbers from 0 to 1 is least: the best point of a grid, then steps
    along both axes and diagonals, halved where none helps."""
    nodes = [number / _GRID for number in range(_GRID)]
    best, place = min((cost((x, y)), (x, y)) for x in nodes for y in nodes)
    step = 1.0 / _GRID
    while step > _LEAST_STEP:
        around = [
            (min(max(place[0] + step * x, 0.0), 1.0), min(max(place[1] + step * y, 0.0), 1.0))
            for x, y in _AROUND
        ]
        lowest, where = min((cost(point), point) for point in around)
        if lowest < best:
            best, place = lowest, where
        else:
            step /= 2.0
    return place
