"""Public. Sees parameters. What a picture of a designed survey shows, as numbers.

Three families of curves, one curve per dimension: which frequencies the workload needs, how much
one report tells about them, and how the error of a count grows with the length of a range.
Frequencies are those of the circle on which a Fourier design lays the values of a dimension;
frequency f turns f times around it. Specification: fourier, sections 1.2 and 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Side
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.group import Group
from ldpsql.decoders.fourier.queries import demand
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Design
from ldpsql.recipes.fourier.recipe import group_of
from ldpsql.workload import Workload
from ldpsql_device.errors import UnsupportedSQL

MOST_LENGTHS, MOST_PLACES = 24, 16
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True)
class Curve:
    """One line of a panel.

    dimension: its number.  x: ascending, shape (k,).  y: shape (k,), all above 0.
    """

    dimension: int
    x: Array
    y: Array


def demand_curves(design: Design, workload: Workload) -> tuple[Curve, ...]:
    """gamma_f, the mean of |q^(f)|^2 / N^2 over the workload, over f on each dimension alone.

    On the circles of a Fourier design; for any other on circles of the dimensions' own sizes,
    large ones in coarse bins.
    """
    group = design.group if isinstance(design, FourierDesign) else _circles(workload)
    needed = demand(workload, group)
    return tuple(_over_frequencies(needed, range(group.dimensions)))


def information_curves(design: Design) -> tuple[Curve, ...]:
    """lambda_f, what one report tells about frequency f of each dimension alone, at most 1.

    None for designs that are not Fourier responses.
    """
    if not isinstance(design, FourierDesign):
        return ()
    known = design.collected.information
    return tuple(_over_frequencies(known, range(design.group.dimensions)))


def _over_frequencies(faces: dict[tuple[int, ...], Array], axes: range) -> Iterator[Curve]:
    """The faces of single axes, frequencies 1 .. order // 2; those of value 0 are left out."""
    for axis in axes:
        if (axis,) in faces:
            values = faces[(axis,)][: (len(faces[(axis,)]) + 1) // 2]
            kept = np.flatnonzero(values > 0.0)
            if kept.size:
                yield Curve(axis, (kept + 1).astype(np.float64), values[kept])


def _circles(workload: Workload) -> Group:
    """A group on which the spectrum of any workload is a small computation."""
    most = max(map(len, workload.supports), default=1)
    bins = int(_LARGEST_TABLE ** (1.0 / max(most, 1)))
    return group_of(workload.domain, workload, max(bins, 2))


def error_curves(design: Design, people: int) -> tuple[Curve, ...]:
    """Expected standard error of a count over the length of a range, on each dimension alone.

    x: length in codes, 1 .. size - 1, at most MOST_LENGTHS.  y: root of the mean variance over at
    most MOST_PLACES places, as a share of the people, for records spread evenly. Lengths that the
    design does not answer are left out, and so is a dimension of which it answers none.
    """
    found = []
    for axis, size in enumerate(design.domain.sizes):
        pairs = [(length, _error(design, axis, length, people)) for length in _lengths(size)]
        pairs = [(length, error) for length, error in pairs if math.isfinite(error)]
        if pairs:
            x, y = zip(*pairs, strict=True)
            found.append(Curve(axis, np.array(x, dtype=np.float64), np.array(y)))
    return tuple(found)


def _lengths(size: int) -> list[int]:
    """Evenly over all lengths but the whole, which is known exactly."""
    if size < 2:
        return []
    return _evenly(1, size - 1, MOST_LENGTHS)


def _evenly(first: int, last: int, most: int) -> list[int]:
    """At most so many whole numbers from first to last, both among them."""
    chosen = np.linspace(first, last, min(most, last - first + 1))
    return sorted({round(value) for value in chosen.tolist()})


def _error(design: Design, axis: int, length: int, people: int) -> float:
    """Root of the mean variance over the places of a range, as a share; inf if not answered."""
    sizes = design.domain.sizes
    queries = []
    for start in _evenly(0, sizes[axis] - length, MOST_PLACES):
        sides: list[Side] = [None] * len(sizes)
        sides[axis] = ((start, start + length),)
        queries.append(LinearQuery.count(Box(tuple(sides))))
    try:
        planned = [design.prepare(query) for query in queries]
    except UnsupportedSQL:
        return math.inf
    return math.sqrt(float(np.mean(design.variance(planned, people)))) / people
