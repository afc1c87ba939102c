"""The columns of a synthetic table: cut into cells for the model, and drawn back from cells.

A dimension is asked alone in up to 256 *bins* of neighbouring codes (a category in all its values),
and together with others in a few *groups* of bins that hold about as many people each. Groups keep
tables of several columns small; the column alone is kept bin by bin. A measure has two cells, its
bounds, and one more for NULL where it may be missing. Public values travel in clear, so their joint
distribution is known exactly: people are drawn from its combinations, and a few public columns with
few combinations are one more axis, on which private columns may depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpsql.algebra.boxes import CodeSet, code_set
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import count_unordered
from ldpsql.reports.arrow_types import arrow_type
from ldpsql_device.schema import RESERVED_PREFIX, Dimension, Measure
from ldpsql_device.values import Listed

Integers = NDArray[np.int64]
Kind = Literal["dimension", "measure", "public"]

LARGEST_BINS, LARGEST_LISTED, LEAST_BINS = 256, 2048, 8
LEAST_GROUPS, LARGEST_GROUPS = 4, 16
LARGEST_PUBLIC = 16
PEOPLE = f"{RESERVED_PREFIX}people"
_STEEPEST = 1e4
NULL_CELL = 2
"""Of a measure."""


@dataclass(frozen=True)
class ModelAxis:
    """One factor of the model.

    kind, index, name: a dimension or measure of the schema by its index; the public columns
    together are one axis.  size: number of cells.  sides: the codes of each cell, for a dimension.
    Cells of a measure are its lower and its upper bound, and that of NULL if it may be missing.
    """

    kind: Kind
    index: int
    name: str
    size: int
    sides: tuple[CodeSet, ...] = ()


class StratifiedSampler:
    """Draws items by their weights, each from a given stratum."""

    def __init__(self, stratum: Integers, weights: Array | Integers, strata: int) -> None:
        """stratum, weights: of every item, (n,)."""
        # Stratum after stratum: items; weights before each; where a stratum begins.
        self._order = np.argsort(stratum, kind="stable")
        self._before = np.concatenate([[0.0], np.cumsum(weights[self._order], dtype=np.float64)])
        self._first = np.searchsorted(stratum[self._order], np.arange(strata + 1))

    def draw(self, strata: Integers, random: np.random.Generator) -> Integers:
        """One item of each of these strata, by inversion of the cumulative weights."""
        first, after = self._first[strata], self._first[strata + 1]
        low, high = self._before[first], self._before[after]
        at = low + random.random(len(strata)) * (high - low)
        place = np.searchsorted(self._before, at, side="right") - 1
        # Rounding may carry a point over either end of its stratum.
        return np.asarray(self._order[np.clip(place, first, after - 1)])


# -- dimensions -----------------------------------------------------------------------------------


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
    def axis(self) -> ModelAxis:
        """The axis whose cells are the groups."""
        sides = tuple(
            code_set(self.cells[b][0] for b in np.flatnonzero(self.group == g))
            for g in range(self.groups)
        )
        return ModelAxis("dimension", self.index, self.name, self.groups, sides)

    def adapt(self, groups: Array) -> Bins:
        """The same bins with shares that add up to those of the groups, (groups,)."""
        held = np.bincount(self.group, self.shares, self.groups)
        codes = np.diff(self.edges)
        width = np.bincount(self.group, codes, self.groups)
        # Within a group by the bins' own shares; by codes where the group had no people.
        spread = np.where(
            held[self.group] > 0,
            self.shares / np.where(held > 0, held, 1.0)[self.group],
            codes / width[self.group],
        )
        return replace(self, shares=spread * groups[self.group])

    @cached_property
    def _sampler(self) -> StratifiedSampler:
        return StratifiedSampler(self.group, self.shares, self.groups)

    def draw(self, groups: Integers, random: np.random.Generator) -> Integers:
        """Codes of people whose groups are given: bins by their shares, codes evenly."""
        bins = self._sampler.draw(groups, random)
        return random.integers(self.edges[bins], self.edges[bins + 1])


def cut_bins(index: int, dimension: Dimension, noise: float = 0.0) -> Bins:
    """Equal bins of a dimension, in one group so far.

    noise: standard error of the share of one bin; where it is larger than the even share of a
    bin, fewer bins are taken. Values without neighbours (a category's, NULL) stay alone.
    """
    ordered = dimension.size - count_unordered(dimension)
    most = int(np.clip(0.5 / noise, LEAST_BINS, LARGEST_BINS)) if noise > 0 else LARGEST_BINS
    listed = max(min(count_unordered(dimension), LARGEST_LISTED), 1)
    edges = {dimension.size}
    for low, high, count in ((0, ordered, most), (ordered, dimension.size, listed)):
        edges.update(range(low, high, max(-(-(high - low) // count), 1)))
    size = len(edges) - 1
    shares, group = np.full(size, 1.0 / size), np.zeros(size, dtype=np.int64)
    return Bins(index, dimension.name, np.array(sorted(edges), dtype=np.int64), shares, group)


def group_bins(
    bins: Bins, dimension: Dimension, noise: float, largest: int = LARGEST_GROUPS
) -> Bins:
    """The bins with groups of about equally many people.

    noise: standard error of one bin's share; the more noise, the fewer groups.  largest: number of
    groups, one more for NULL not counted. Neighbours go together where codes have neighbours;
    others by their shares, so that large ones stay alone.
    """
    most = largest if noise <= 0 else int(1.0 / np.sqrt(noise))
    most = max(min(most, largest), LEAST_GROUPS)
    if bins.size <= most:
        return replace(bins, group=np.arange(bins.size))
    unordered = bins.edges[:-1] >= dimension.size - count_unordered(dimension)
    is_category = bool(unordered.all())
    by_share = np.argsort(-bins.shares, kind="stable")
    together = by_share if is_category else np.flatnonzero(~unordered)
    shares = bins.shares[together]
    total = float(shares.sum())
    weights = shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))
    middle = np.cumsum(weights) - weights / 2.0  # a bin belongs where the middle of its people does
    group = np.empty(bins.size, dtype=np.int64)
    group[unordered] = most + np.arange(int(unordered.sum()))  # NULL keeps a group of its own
    group[together] = np.minimum((middle * most).astype(np.int64), most - 1)
    return replace(bins, group=np.unique(group, return_inverse=True)[1].astype(np.int64))


def values_of(dimension: Dimension, codes: Integers, random: np.random.Generator) -> pa.Array:
    """A value per code: evenly among those that share the code; NULL for the code of NULL."""
    domain, kind = dimension.domain, arrow_type(dimension)
    if isinstance(domain, Listed):
        order = np.argsort(domain.codes, kind="stable")  # values that share a code stand together
        sizes = np.bincount(np.array(domain.codes))
        starts, sizes = np.append(np.cumsum(sizes) - sizes, len(order)), np.append(sizes, 1)
        drawn = starts[codes] + random.integers(0, sizes[codes])
        nulls = pa.nulls(1, kind)  # the code of NULL is the last one
        return pa.concat_arrays([pa.array(domain.values, kind).take(pa.array(order)), nulls]).take(
            pa.array(drawn)
        )
    missing = codes >= domain.size
    known = np.where(missing, 0, codes)
    low, high = domain.edge_array[known], domain.edge_array[known + 1]
    if domain.is_discrete:
        points = random.integers(low, high)
    else:
        points = np.minimum(low + random.random(len(codes)) * (high - low), high)
    storage = {"date": pa.int32(), "timestamp": pa.int64()}.get(domain.type, kind)
    return pa.array(points, mask=missing).cast(storage).cast(kind)


# -- measures -------------------------------------------------------------------------------------


def amounts_of(
    measure: Measure, chances: Array, random: np.random.Generator, cells: Integers | None = None
) -> pa.Array:
    """Amounts between a measure's bounds with mean low + (high - low) * chance, person by person;
    NULL in the third of the cells.

    Their law is the one of greatest entropy with that mean: a truncated exponential.
    """
    low, high = measure.bounds
    fractions = truncated_exponential(chances, random.random(len(chances)))
    amounts = np.clip(low + (high - low) * fractions, low, high)
    return pa.array(amounts, pa.float64(), mask=None if cells is None else cells == NULL_CELL)


def truncated_exponential(means: Array, uniform: Array) -> Array:
    """Quantiles at `uniform` of the law on [0, 1] with density ~ exp(t x) and these means."""
    # Means below the middle are mirrored, so that t >= 0 and exp(-t) cannot overflow.
    upper = means >= 0.5
    # Slopes t >= 0 and the means 1 / (1 - exp(-t)) - 1 / t that they give, both ascending. For
    # small t the two terms cancel; three terms of the series are exact to 1e-12 there.
    t = np.concatenate([[0.0], np.geomspace(1e-3, _STEEPEST, 8000)])
    small, large = np.minimum(t, 0.05), np.maximum(t, 0.05)
    series = 0.5 + small / 12.0 - small**3 / 720.0
    mean = np.where(t < 0.05, series, -1.0 / np.expm1(-large) - 1.0 / large)
    slopes = np.interp(np.where(upper, means, 1.0 - means), mean, t)
    at = np.where(upper, uniform, 1.0 - uniform)
    # The quantile is 1 + log(u + (1 - u) exp(-t)) / t, and u itself in the limit t -> 0.
    is_flat = slopes < 1e-6
    safe = np.where(is_flat, 1.0, slopes)
    curved = 1.0 + np.log(np.maximum(at + (1.0 - at) * np.exp(-safe), 1e-300)) / safe
    quantiles = np.where(is_flat, at, np.clip(curved, 0.0, 1.0))
    return np.where(upper, quantiles, 1.0 - quantiles)


# -- public columns -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicPeople:
    """Combinations of public values.

    values: the public columns, one row per combination.  counts: people per combination, (r,).
    keys: the columns of the public axis.  cell: the cell of each combination on it, (r,).
    """

    values: pa.Table
    counts: Integers
    keys: tuple[str, ...]
    cell: Integers

    @classmethod
    def of(cls, combinations: pa.Table) -> PublicPeople:
        """From the store's `public_people`.

        The axis takes column after column as long as it has at most 16 cells; in ascending order
        of their values, NULL last, which is the order of the store's histograms.
        """
        values = combinations.drop_columns([PEOPLE])
        counts = combinations.column(PEOPLE).to_numpy().astype(np.int64)
        keys: list[str] = []
        cell = np.zeros(len(counts), dtype=np.int64)
        for name in values.column_names:
            tried = _number_cells(values, [*keys, name])
            if tried.max(initial=0) < LARGEST_PUBLIC:
                keys, cell = [*keys, name], tried
        return cls(values, counts, tuple(keys), cell)

    @property
    def independent(self) -> tuple[str, ...]:
        """Columns with so many values that private columns cannot depend on them."""
        return tuple(name for name in self.values.column_names if name not in self.keys)

    @property
    def shares(self) -> Array:
        """Shares of the people by cell of the axis, exact."""
        return np.asarray(np.bincount(self.cell, self.counts) / self.counts.sum())

    @cached_property
    def _sampler(self) -> StratifiedSampler:
        return StratifiedSampler(self.cell, self.counts, int(self.cell.max(initial=0)) + 1)

    def draw(self, cells: Integers, random: np.random.Generator) -> pa.Table:
        """Public values of people whose cells are given."""
        return self.values.take(pa.array(self._sampler.draw(cells, random)))


def _number_cells(values: pa.Table, keys: Sequence[str]) -> Integers:
    """The cell of each row: combinations of the keys' values in ascending order, NULL last."""
    ranks = [
        pc.rank(values.column(key), sort_keys="ascending", tiebreaker="dense").to_numpy()
        for key in keys
    ]
    cells = np.unique(np.stack(ranks), axis=1, return_inverse=True)[1]
    return cells.reshape(-1).astype(np.int64)
