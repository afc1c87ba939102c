"""Public. Sees parameters. The integers of the responses, rounded to the safe side.

With E = e^epsilon, r_T = 2^64 - sum over T' above T of m_T' w_T' words are left for the cells of
kind T, and each of them gets w_T = ceil(r_T / (E + m_T - 1)); the true one gets what the others
leave, which is at most E w_T. Specification: uldp, sections 2, 6.1, 6.3 and 6.4.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.uldp.response import Mask, Response, Shape
from ldpsql_device.epsilon import LARGEST_EPSILON
from ldpsql_device.errors import SurveyError

LARGEST_ATTRIBUTES = 6
_LEAST_LEFT = SPACE >> 24
_STEP = Fraction(1, 10_000)


def joint_response(shape: Shape, odds: Fraction) -> Response | None:
    """JuRR for any number of attributes; None where epsilon is too small for it."""
    shares: dict[Mask, int] = {}
    for kind in reversed(shape.kinds):
        left = SPACE - sum(shape.cells(mask) * shares[mask] for mask in shape.above(kind))
        if left < _LEAST_LEFT:
            return None
        if kind:
            shares[kind] = _share(left, shape.cells(kind), odds)
    return Response(
        shape,
        {
            (kind, mask): shares[mask]
            for kind in shape.kinds
            for mask in (kind, *shape.above(kind))
            if mask
        },
    )


def least_epsilon(shape: Shape) -> str:
    """The smallest epsilon, in steps of 1/10000, at which `joint_response` exists."""
    low, high = 0.0, float(LARGEST_EPSILON)
    while high - low > float(_STEP) / 100:
        middle = (low + high) / 2
        if joint_response(shape, Fraction(math.exp(middle))) is None:
            low = middle
        else:
            high = middle
    return f"{math.ceil(high / float(_STEP)) * float(_STEP):.4f}"


def levels(shape: Shape, odds: Fraction) -> tuple[int, int]:
    """Of two attributes: least and largest words per fully sensitive cell of any record."""
    least = _share(SPACE, shape.cells(3), odds)
    return least, int(odds * least)


def levelled_response(shape: Shape, odds: Fraction, own: tuple[int, int]) -> Response | None:
    """JuRR-g: half-sensitive records have fully sensitive cells of their own probability.

    own: their words, for records that are sensitive in the first attribute and in the second.
    None where nothing is left for the truth. SurveyError outside what the odds allow.
    """
    least, most = levels(shape, odds)
    if not all(least <= level <= most for level in own):
        raise SurveyError("the levels of the response are not those that epsilon allows")
    words: dict[tuple[Mask, Mask], int] = {}
    left = SPACE - least * shape.cells(3)
    for kind in shape.kinds:
        level = own[kind - 1] if kind in (1, 2) else least
        words[kind, 3] = level
        if kind in (1, 2):
            rest = SPACE - level * shape.cells(3)
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
    exact = left / (odds + cells - 1)
    return -(-exact.numerator // exact.denominator)
