"""What a picture of a designed survey shows, as numbers.

Three families of curves, one curve per dimension: which frequencies the workload needs, how much
one report tells about them, and how the error of a count grows with the length of a range.
Frequencies are those of the circle on which a Fourier design lays the values of a dimension;
frequency f turns f times around it. Sources: docs/spec/fourier.md#1.2, docs/spec/fourier.md#2.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Side
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.fourier.queries import demand
from ldpsql.errors import UnsupportedSQL
from ldpsql.numerics import Array
from ldpsql.recipes.fourier.recipe import group_of
from ldpsql.workload import Workload

MOST_LENGTHS, MOST_PLACES = 24, 16
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True)
class DimensionCurve:
    """One line of a panel.

    dimension: its number.  x: ascending, shape (k,).  y: shape (k,), all above 0.
    """

    dimension: int
    x: Array
    y: Array


def demand_curves(design: Design, workload: Workload) -> tuple[DimensionCurve, ...]:
    """gamma_f, the mean of |q^(f)|^2 / N^2 over the workload, over f on each dimension alone.

    On the circles of a Fourier design; for any other on circles of the dimensions' own sizes,
    large ones in coarse bins.
    """
    known = design.spectral_information
    if known is not None:
        group, _ = known
    else:
        # Bins so coarse that the spectrum of any workload is a small computation.
        most = max(map(len, workload.supports), default=1)
        bins = int(_LARGEST_TABLE ** (1.0 / max(most, 1)))
        group = group_of(workload.domain, workload, max(bins, 2))
    return _curves_over_frequencies(demand(workload, group), group.dimensions)


def information_curves(design: Design) -> tuple[DimensionCurve, ...]:
    """lambda_f, what one report tells about frequency f of each dimension alone, at most 1.

    None for designs that do not ask about frequencies.
    """
    known = design.spectral_information
    if known is None:
        return ()
    group, information = known
    return _curves_over_frequencies(information, group.dimensions)


def _curves_over_frequencies(
    faces: Mapping[tuple[int, ...], Array], dimensions: int
) -> tuple[DimensionCurve, ...]:
    """The faces of single axes, frequencies 1 .. order // 2; those of value 0 are left out."""
    curves = []
    for axis in range(dimensions):
        values = faces.get((axis,), np.zeros(0))
        values = values[: (len(values) + 1) // 2]  # frequencies f and order - f are conjugates
        places = np.flatnonzero(values > 0.0)
        if places.size:
            curves.append(DimensionCurve(axis, (places + 1).astype(np.float64), values[places]))
    return tuple(curves)


def error_curves(design: Design, people: int) -> tuple[DimensionCurve, ...]:
    """Expected standard error of a count over the length of a range, on each dimension alone.

    x: length in codes, 1 .. size - 1, at most MOST_LENGTHS.  y: root of the mean variance over at
    most MOST_PLACES places, as a share of the people, for records spread evenly. Lengths that the
    design does not answer are left out, and so is a dimension of which it answers none.
    """
    curves = []
    for axis, size in enumerate(design.domain.sizes):
        # The whole dimension is known exactly.
        lengths = _spread(1, size - 1, MOST_LENGTHS) if size > 1 else []
        pairs = [(length, _error_of_ranges(design, axis, length, people)) for length in lengths]
        pairs = [(length, error) for length, error in pairs if math.isfinite(error)]
        if pairs:
            x, y = zip(*pairs, strict=True)
            curves.append(DimensionCurve(axis, np.array(x, dtype=np.float64), np.array(y)))
    return tuple(curves)


def _spread(first: int, last: int, most: int) -> list[int]:
    """At most so many whole numbers from first to last, both among them."""
    chosen = np.linspace(first, last, min(most, last - first + 1))
    return sorted({round(value) for value in chosen.tolist()})


def _error_of_ranges(design: Design, axis: int, length: int, people: int) -> float:
    """Root of the mean variance over the places of a range, as a share; inf if not answered."""
    sizes = design.domain.sizes
    queries = []
    for start in _spread(0, sizes[axis] - length, MOST_PLACES):
        sides: list[Side] = [None] * len(sizes)
        sides[axis] = ((start, start + length),)
        queries.append(LinearQuery.count(Box(tuple(sides))))
    try:
        planned = [design.prepare(query) for query in queries]
    except UnsupportedSQL:
        return math.inf
    return math.sqrt(float(np.mean(design.variance(planned, people)))) / people
