"""Public. Sees parameters. The axes of a synthetic table: columns, cut into bins and groups.

A dimension is asked alone in up to 256 *bins* of neighbouring codes (a category in all its values),
and together with others in a few *groups* of bins that hold about as many people each. Groups keep
tables of several columns small; the column alone is kept bin by bin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import CodeSet, code_set
from ldpsql.estimate import Array
from ldpsql_device.attributes import Dimension

Integers = NDArray[np.int64]
Kind = Literal["dimension", "measure", "public"]

LARGEST_BINS, LARGEST_LISTED = 256, 2048
LEAST_BINS = 8
LEAST_GROUPS, LARGEST_GROUPS = 4, 16


@dataclass(frozen=True)
class Axis:
    """One factor of the model.

    kind, index, name: a dimension or measure of the schema by its index; the public columns
    together are one axis.  size: number of cells.  sides: the codes of each cell, for a dimension.
    """

    kind: Kind
    index: int
    name: str
    size: int
    sides: tuple[CodeSet, ...] = ()


@dataclass(frozen=True)
class Bins:
    """A dimension cut into bins: bin b holds the codes edges[b] .. edges[b + 1] - 1.

    shares: of the people per bin, (m,), not negative, sum 1.  group: the group of each bin, (m,).
    """

    index: int
    name: str
    edges: Integers
    shares: Array
    group: Integers

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def cells(self) -> tuple[CodeSet, ...]:
        """The codes of each bin."""
        return tuple(((int(a), int(b)),) for a, b in zip(self.edges, self.edges[1:], strict=False))

    @property
    def axis(self) -> Axis:
        """The axis whose cells are the groups."""
        sides = tuple(
            code_set(self.cells[b][0] for b in np.flatnonzero(self.group == g))
            for g in range(self.groups)
        )
        return Axis("dimension", self.index, self.name, self.groups, sides)

    def adapted(self, groups: Array) -> Bins:
        """The same bins with shares that add up to those of the groups, (groups,)."""
        held = np.bincount(self.group, self.shares, self.groups)
        codes = np.diff(self.edges)
        width = np.bincount(self.group, codes, self.groups)
        spread = np.where(
            held[self.group] > 0,
            self.shares / np.where(held > 0, held, 1.0)[self.group],
            codes / width[self.group],
        )
        return replace(self, shares=spread * groups[self.group])

    @cached_property
    def _order(self) -> tuple[Integers, Array, Integers]:
        """Bins by group, their cumulative shares, and the first place of every group."""
        order = np.argsort(self.group, kind="stable")
        cumulative = np.concatenate([[0.0], np.cumsum(self.shares[order])])
        first = np.searchsorted(self.group[order], np.arange(self.groups + 1))
        return order, cumulative, first

    def draw(self, groups: Integers, random: np.random.Generator) -> Integers:
        """Codes of people whose groups are given: bins by their shares, codes evenly."""
        order, cumulative, first = self._order
        low, high = cumulative[first[groups]], cumulative[first[groups + 1]]
        at = low + random.random(len(groups)) * (high - low)
        place = np.searchsorted(cumulative, at, side="right") - 1
        bins = order[np.clip(place, first[groups], first[groups + 1] - 1)]
        return random.integers(self.edges[bins], self.edges[bins + 1])


def bins_of(index: int, dimension: Dimension, noise: float = 0.0) -> Bins:
    """Equal bins of a dimension, in one group so far.

    noise: standard error of the share of one bin; where it is larger than the even share of a
    bin, fewer bins are taken. Values without neighbours (a category's, NULL) stay alone.
    """
    ordered = dimension.size - dimension.alone
    most = LARGEST_BINS
    if noise > 0:
        most = int(np.clip(0.5 / noise, LEAST_BINS, LARGEST_BINS))
    alone = min(dimension.alone, LARGEST_LISTED)
    edges = [_even(0, ordered, most), _even(ordered, dimension.size, max(alone, 1))]
    both = np.unique(np.concatenate(edges))
    size = len(both) - 1
    shares, group = np.full(size, 1.0 / size), np.zeros(size, dtype=np.int64)
    return Bins(index, dimension.name, both, shares, group)


def _even(low: int, high: int, most: int) -> Integers:
    """Edges of bins of equal width, at most so many."""
    if high <= low:
        return np.array([low], dtype=np.int64)
    width = -(-(high - low) // most)
    return np.append(np.arange(low, high, width), high).astype(np.int64)


def grouped(bins: Bins, dimension: Dimension, noise: float, largest: int = LARGEST_GROUPS) -> Bins:
    """The bins with groups of about equally many people.

    noise: standard error of one bin's share; the more noise, the fewer groups.  largest: number of
    groups, one more for NULL not counted. Neighbours go together where codes have neighbours;
    others by their shares, so that large ones stay alone.
    """
    most = largest if noise <= 0 else int(1.0 / np.sqrt(noise))
    most = max(min(most, largest), LEAST_GROUPS)
    if bins.size <= most:
        return replace(bins, group=np.arange(bins.size))
    alone = bins.edges[:-1] >= dimension.size - dimension.alone
    is_category = bool(alone.all())
    order = np.argsort(-bins.shares, kind="stable") if is_category else np.arange(bins.size)
    together = order if is_category else order[~alone]
    group = np.empty(bins.size, dtype=np.int64)
    group[alone] = most + np.arange(int(alone.sum()))  # NULL keeps a group of its own
    group[together] = _equal_parts(bins.shares[together], most)
    return replace(bins, group=np.unique(group, return_inverse=True)[1].astype(np.int64))


def _equal_parts(shares: Array, parts: int) -> Integers:
    """Consecutive parts of about equal shares: the part in which the middle of each lies."""
    total = float(shares.sum())
    weights = shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))
    middle = np.cumsum(weights) - weights / 2.0
    return np.minimum((middle * parts).astype(np.int64), parts - 1)
