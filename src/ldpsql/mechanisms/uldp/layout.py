"""Public. Sees parameters. The cells of a record domain, the sensitive ranks of attributes first.

An attribute of a response is one dimension, or several taken as one: then a combination of codes is
sensitive if any of its codes is. Cells are numbered row by row over the dimensions' codes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.uldp.response import Apply, Response, Shape
from ldpsql_device.schema import RecordDomain

Mask = NDArray[np.bool_]


def sensitive_cells(domain: RecordDomain) -> Mask:
    """Which combinations of codes are sensitive in some dimension, shape `sizes`."""
    found = np.zeros(domain.sizes, dtype=bool)
    for j, size in enumerate(domain.sizes):
        side = np.zeros(size, dtype=bool)
        side[list(domain.sensitive_codes(j))] = True
        found |= side.reshape([-1 if i == j else 1 for i in range(len(domain.sizes))])
    return found


@dataclass(frozen=True, eq=False)
class Axis:
    """Consecutive dimensions as one attribute: is_sensitive of each combination of their codes."""

    is_sensitive: Mask

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The combination at each rank: the sensitive ones first."""
        return np.argsort(~self.is_sensitive, kind="stable")

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each combination."""
        return np.argsort(self.order)

    @property
    def held(self) -> int:
        """How many are sensitive."""
        return int(self.is_sensitive.sum())


def separate_axes(domain: RecordDomain) -> tuple[Axis, ...]:
    """Every dimension on its own."""
    sides = []
    for j, size in enumerate(domain.sizes):
        side = np.zeros(size, dtype=bool)
        side[list(domain.sensitive_codes(j))] = True
        sides.append(Axis(side))
    return tuple(sides)


def shape_of(axes: Sequence[Axis]) -> Shape:
    """The shape of a response over the axes together."""
    return Shape(tuple(len(a.is_sensitive) for a in axes), tuple(a.held for a in axes))


@dataclass(frozen=True, eq=False)
class Layout:
    """Axes in the order of the dimensions, and independent responses over consecutive ones."""

    axes: tuple[Axis, ...]
    responses: tuple[Response, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Combinations per axis."""
        return tuple(len(axis.is_sensitive) for axis in self.axes)

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.sizes)

    @cached_property
    def is_naming(self) -> Mask:
        """Which reports name a value that is not sensitive, so only those who hold it send them."""
        found = np.zeros(self.sizes, dtype=bool)
        for j, axis in enumerate(self.axes):
            found |= np.expand_dims(
                ~axis.is_sensitive, [i for i in range(len(self.axes)) if i != j]
            )
        return found.ravel()

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """First axis of each response, and the one after its last."""
        lengths = [len(response.shape.sizes) for response in self.responses]
        return list(pairwise([0, *np.cumsum(lengths).tolist()]))

    def ranks(self, cells: Codes) -> Codes:
        """Ranks (n, axes) of cells (n,)."""
        places = np.unravel_index(cells, self.sizes)
        return np.stack([a.rank[p] for a, p in zip(self.axes, places, strict=True)], axis=1)

    def cells_at(self, ranks: Codes) -> Codes:
        """Cells (n,) of ranks (n, axes)."""
        places = tuple(a.order[ranks[:, j]] for j, a in enumerate(self.axes))
        return np.asarray(np.ravel_multi_index(places, self.sizes), dtype=np.int64)

    def apply(self, what: Apply, values: Array) -> Array:
        """A method of every response in turn, on one value per cell, shape (cells, k)."""
        table = values.reshape(*self.sizes, -1)
        for j, axis in enumerate(self.axes):
            table = np.take(table, axis.order, axis=j)
        for response, (first, end) in zip(self.responses, self.spans, strict=True):
            span, front = range(first, end), range(end - first)
            turned = np.moveaxis(table, span, front)
            flat = turned.reshape(*turned.shape[: end - first], -1)
            table = np.moveaxis(what(response, flat).reshape(turned.shape), front, span)
        for j, axis in enumerate(self.axes):
            table = np.take(table, axis.rank, axis=j)
        return table.reshape(self.cells, -1)
