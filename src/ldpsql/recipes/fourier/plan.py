"""The plan of a Fourier response: a face for every shape of families, a column for every number.

Families with the same factors and kind of base set are the choices of one step of one face, and
their orders, characters and lengths are columns over it. A weight is a short mantissa with an
exponent: it is most of what a family takes in a compressed survey, and rounding it raises the
expected error by a ten-thousandth at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from ldpsql.decoders.fourier.group import Axes, Group, Integers, Look, Reals
from ldpsql.recipes.fourier.components import Emitted
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import (
    LARGEST_RADIX,
    WORDS,
    Arcs,
    Comb,
    Digit,
    Face,
    Part,
    Plan,
    Scrambled,
    Step,
    Term,
    varying,
)

_BITS, _FEWER_BITS, _MANY_FAMILIES = 6, 4, 1 << 14
_LEAST_SHARE = 2.0**-30
"""Lighter weights are raised to this part of all: a device tells parts of 2^-32 apart."""


def plan_of(
    families: Iterable[Emitted], group: Group, epsilon: Epsilon, bits: int | None = None
) -> Plan:
    """The plan that asks the families with probabilities proportional to their weights.

    bits: of the mantissa of a weight. By default 6, and 4 for many families: errors of so many
    weights average out, as every frequency is informed by dozens of them.
    """
    faces = _merge(families)
    weights = np.concatenate([part.weights for parts in faces for part in parts])
    most = bits or (_BITS if len(weights) <= _MANY_FAMILIES else _FEWER_BITS)
    mantissas, exponents = round_weights(weights, most)
    looks, tables = group.looks()
    built, end = [], 0
    for parts in faces:
        start, end = end, end + sum(len(part.weights) for part in parts)
        step = Step(tuple(mantissas[start:end].tolist()), tuple(exponents[start:end].tolist()))
        built.append(Face(sum(step.choice.weights), (_part(parts, looks),), (step,)))
    signs = len(group.orders) - group.dimensions
    odds = int(epsilon.odds * WORDS)
    return Plan((*group.sizes, *(2 for _ in range(signs))), (odds,), tuple(built), tables)


def _merge(families: Iterable[Emitted]) -> list[list[Emitted]]:
    """Clusters of one shape together, in the order of the first of each.

    Not where the largest orders of all would make more phases than a symbol may have values.
    """
    faces: dict[tuple[str, tuple[Axes, ...], int], list[Emitted]] = {}
    for part in families:
        shape, number = (part.cluster.base, part.cluster.factors), 0
        while not _fits(faces.get((*shape, number), []), part):
            number += 1
        faces.setdefault((*shape, number), []).append(part)
    return list(faces.values())


def _fits(parts: Sequence[Emitted], other: Emitted) -> bool:
    orders = [part.cluster.orders for part in (*parts, other)]
    largest = [max(own) for own in zip(*orders, strict=True)]
    return bool(prod(largest) <= LARGEST_RADIX)


def round_weights(weights: Reals, bits: int) -> tuple[Integers, Integers]:
    """Mantissas below 2^bits and exponents from 0: whole weights in proportion to the given ones.

    Each is rounded to `bits` significant bits; very small ones are raised.
    """
    fractions, exponents = np.frexp(np.maximum(weights, weights.sum() * _LEAST_SHARE))
    mantissas = np.rint(fractions * (1 << bits)).astype(np.int64)
    # A fraction just below 1 is rounded up to 2^bits: half of that, and one more exponent.
    is_full = mantissas == 1 << bits
    mantissas[is_full] >>= 1
    exponents = exponents.astype(np.int64) + is_full
    return mantissas, exponents - exponents.min()


def _part(parts: Sequence[Emitted], looks: Sequence[Look]) -> Part:
    """Symbol and response of all families of a face, each integer a column over its one step."""
    clusters = [part.cluster for part in parts]
    first = clusters[0]
    orders = np.concatenate([np.tile(c.orders, (len(c), 1)) for c in clusters])
    steps = np.concatenate([cluster.steps for cluster in clusters])
    numbers = [varying(0, column) for column in np.concatenate([c.parameters for c in clusters]).T]
    digits = []
    for place, factor in enumerate(first.factors):
        terms = []
        for axis in factor:
            divide, cuts = looks[axis]
            coefficient = varying(0, steps[:, first.columns[axis]])
            terms.append(Term(axis, coefficient, divide=divide, cuts=cuts))
        digits.append(Digit(tuple(terms), varying(0, orders[:, place]), modulus=True))
    response: Arcs | Comb | Scrambled
    if first.base == "arcs":
        response = Arcs(0, tuple(numbers))
    else:
        response = (Comb if first.base == "comb" else Scrambled)(0, *numbers)
    return Part(tuple(digits), response)
