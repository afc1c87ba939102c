"""The dictionary: which families a design may choose from.

t0 = 1 / (E + 1) is the share of its phases that a family's base set holds where nothing else
matters. Source: docs/spec/fourier.md#2.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import gcd, prod

import numpy as np

from ldpsql.decoders.fourier.families import Batch, Cluster, arc_transform
from ldpsql.decoders.fourier.group import Axes, Integers, Reals
from ldpsql.recipes.fourier.components import (
    ArcBundle,
    Component,
    Factor,
    ListedSets,
    Products,
    reflections,
)
from ldpsql.recipes.fourier.folding import Folding

LARGEST_ACTIVE = 3
COMB_EPSILON, PAIR_EPSILON = 1.0, 0.75
_ARC_ENTRIES = 1 << 23
_ROWS = {2: 400, 3: 96}
_PAIR_ROWS = 384
_COMBS = 6144
_SCRAMBLED_CHARACTERS, _SCRAMBLED_SEEDS, _SUBSET_SEEDS = 64, 4, 96
_SCRAMBLED_CELLS = 1 << 16
_LISTED_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Candidates for one workload at one epsilon.

    demand: gamma by class.  odds: E.  listed: axes asked by equality only.
    """

    folding: Folding
    demand: Reals
    odds: float
    listed: frozenset[int]
    _kept: dict[tuple[int, int, int], Factor] = field(default_factory=dict)
    """Factors over one axis, by its order: axes of one order have the same ones."""

    def components(self) -> list[Component]:
        """All candidates, in bulk."""
        components: list[Component] = []
        for face in self.folding.faces:
            if not self._needed(face).any():
                continue
            components += self._arcs(face)
            if len(face) == 1:
                components += self._combs(face)
            elif len(face) <= LARGEST_ACTIVE:
                components += self._boxes(face)
            if len(face) == LARGEST_ACTIVE and self.odds > np.exp(PAIR_EPSILON) - 1e-9:
                components += self._pair_products(face)
        for block in self.folding.blocks:
            components += self._scrambled(block)
        return components

    @property
    def _least(self) -> float:
        return 1.0 / (self.odds + 1.0)

    def _needed(self, face: Axes) -> Reals:
        """gamma of the classes of a face, in the shape of the face."""
        own = self.folding.numbers(face)[tuple(slice(1, None) for _ in face)]
        return np.asarray(self.demand[own])

    # -- arcs ---------------------------------------------------------------------------------

    def _arcs(self, face: Axes) -> Iterator[ArcBundle]:
        """Every character of the face that is needed, by order; the neediest if there are many."""
        characters = np.argwhere(self._needed(face) > 0.0) + 1
        need = self._needed(face)[tuple(characters.T - 1)]
        orders = self._orders(face, characters)
        ranked = np.argsort(-need, kind="stable")
        # A character costs the optimiser r / 2 harmonics in every step.
        kept = np.sort(ranked[np.cumsum(orders[ranked] // 2) <= _ARC_ENTRIES])
        for order in np.unique(orders[kept]):
            chosen = characters[kept[orders[kept] == order]]
            lengths = self._arc_lengths(int(order))
            yield ArcBundle(
                self.folding,
                face,
                int(order),
                chosen,
                lengths,
                self._harmonics(face, chosen, int(order)),
                self._pair_powers(int(order), lengths),
            )

    def _orders(self, axes: Axes, characters: Integers) -> Integers:
        """Order of each character, shape (n,)."""
        own = [
            order // np.gcd(characters[:, place], order)
            for place, order in enumerate(self.folding.group.shape(axes))
        ]
        return np.asarray(np.lcm.reduce(own, axis=0))

    def _harmonics(self, axes: Axes, characters: Integers, order: int) -> Integers:
        """Class numbers of h k for h = 1..order//2, shape (n, order//2)."""
        numbers = self.folding.numbers(axes)
        steps = np.arange(1, order // 2 + 1)
        coordinates = tuple(
            self.folding.fold(np.outer(characters[:, place], steps), axis)
            for place, axis in enumerate(axes)
        )
        return np.asarray(numbers[coordinates])

    def _pair_powers(self, order: int, lengths: Integers) -> Reals:
        """|X(h)|^2 / s^2 of h and -h together for h = 1..order//2, shape (L, order//2).

        X(h) = (E - 1) B(h), the arc's transform, for h != 0, and s = r + (E - 1) L.
        """
        inside = np.abs(arc_transform(order, lengths, np.arange(1, order // 2 + 1)))
        sums = order + (self.odds - 1.0) * lengths[:, None]
        powers = 2.0 * ((self.odds - 1.0) * inside / sums) ** 2
        if order % 2 == 0:
            powers[:, -1] /= 2.0  # order / 2 is its own negative
        return np.asarray(powers)

    def _arc_lengths(self, order: int) -> Integers:
        """Around t0 r, and from there geometrically to r / 2."""
        ideal = self._least * order
        wanted = [np.floor(ideal), np.ceil(ideal)]
        wanted += [round(ideal * (0.5 / self._least) ** (i / 4)) for i in range(1, 5)]
        return np.unique(np.clip(wanted, 1, max(order // 2, 1)).astype(np.int64))

    # -- products -----------------------------------------------------------------------------

    def _boxes(self, face: Axes) -> Iterator[Products]:
        """Products of arcs, one per axis."""
        factors = tuple(self._axis_factor(axis, _ROWS[len(face)], 6) for axis in face)
        yield self._products(factors)

    def _pair_products(self, face: Axes) -> Iterator[Products]:
        """Arcs of characters on two axes times arcs on the third, in all groupings."""
        for lone in face:
            pair = tuple(axis for axis in face if axis != lone)
            yield self._products((self._pair_factor(pair), self._axis_factor(lone, 96, 3)))

    def _products(self, factors: tuple[Factor, ...]) -> Products:
        """All combinations whose base sets hold a useful share of the phases, or one phase."""
        fraction, single = np.ones(()), np.ones(())
        for factor in factors:
            fraction = np.multiply.outer(fraction, factor.fractions)
            single = np.multiply.outer(single, 1.0 / factor.orders)
        used = (fraction >= self._least / 2.0) & (fraction <= 0.5)
        used |= np.isclose(fraction, single)
        # |X|^2 / s^2 = ((E - 1) / (1 + (E - 1) fraction))^2 prod_p |B_p|^2 / r_p^2
        scale = ((self.odds - 1.0) / (1.0 + (self.odds - 1.0) * fraction)) ** 2
        axes = tuple(sorted(axis for factor in factors for axis in factor.axes))
        return Products(self.folding, axes, factors, np.where(used, scale, 0.0))

    def _axis_factor(self, axis: int, rows: int, widths: int) -> Factor:
        """Characters of one axis with arcs; spaced geometrically where there are too many."""
        order = self.folding.group.orders[axis]
        if (order, rows, widths) not in self._kept:
            chosen = _spaced(1, order // 2, max(1, rows // widths))
            self._kept[order, rows, widths] = self._factor((axis,), chosen[:, None], widths)
        return replace(self._kept[order, rows, widths], axes=(axis,))

    def _pair_factor(self, pair: Axes) -> Factor:
        """Characters with both coordinates non-zero; the neediest if there are many."""
        shape = [size - 1 for size in self.folding.shape(pair)]
        characters = np.argwhere(np.ones(shape, dtype=bool)) + 1
        need = self._needed(pair)[tuple(characters.T - 1)]
        best = np.sort(np.argsort(-need, kind="stable")[: _PAIR_ROWS // 3])
        return self._factor(pair, characters[best], 3)

    def _factor(self, axes: Axes, characters: Integers, widths: int) -> Factor:
        """Every character with arcs of its lengths."""
        orders = self._orders(axes, characters)
        rows = [
            (character, order, int(length))
            for character, order in zip(characters, map(int, orders), strict=True)
            for length in self._box_lengths(order, widths)
        ]
        chosen, orders_of_rows, lengths = (np.array(column) for column in zip(*rows, strict=True))
        powers = np.array([self._indicator_power(axes, *row) for row in rows])
        return Factor(axes, chosen, orders_of_rows, lengths, powers)

    def _box_lengths(self, order: int, widths: int) -> Integers:
        """Geometric between max(t0, 1/r) and a half."""
        shares = np.geomspace(min(max(self._least, 1.0 / order), 0.5), 0.5, widths)
        return np.unique(np.clip((shares * order).round().astype(np.int64), 1, max(order // 2, 1)))

    def _indicator_power(self, axes: Axes, character: Integers, order: int, length: int) -> Reals:
        """|B^(h)|^2 / r^2 at the classes of the axes, per frequency, shape (classes,)."""
        steps = np.arange(order)
        shape = self.folding.shape(axes)
        places = np.zeros(order, dtype=np.int64)
        for coordinate, axis, classes in zip(character, axes, shape, strict=True):
            places = places * classes + self.folding.fold(coordinate * steps, axis)
        power = np.abs(arc_transform(order, np.array([length]), steps)[0] / order) ** 2
        # Harmonics h k may meet in a class: their sum is shared by the frequencies of the class.
        members = self.folding.members_over(axes)
        return np.asarray(np.bincount(places, power, prod(shape)) / members)

    # -- listed families ----------------------------------------------------------------------

    def _combs(self, face: Axes) -> Iterator[ListedSets]:
        """Windows that are also combs, for a block of one axis at not too small an epsilon."""
        (axis,) = face
        order = self.folding.group.orders[axis]
        alone = face in self.folding.group.blocks
        if not alone or self.odds < np.exp(COMB_EPSILON) - 1e-9 or order < 4:
            return
        # 12 combs for each tooth at most, of order // 2 + 1 powers each.
        teeth = _spaced(2, order // 2, max(1, _COMBS * 513 // (12 * (order // 2 + 1))))
        rows = [
            row
            for tooth in map(int, teeth)
            for share in (1.0, 1.5, 2.25)
            if self._least * share <= 0.5
            for row in self._comb_splits(order, tooth, self._least * share)
        ]
        if rows:
            parameters = np.array(sorted(set(rows)), dtype=np.int64)
            identity = np.ones((len(parameters), 1), dtype=np.int64)
            cluster = Cluster("comb", (face,), (order,), identity, parameters, self.folding.group)
            yield self._listed(face, cluster, np.arange(len(parameters)))

    @staticmethod
    def _comb_splits(order: int, tooth: int, share: float) -> Iterator[tuple[int, int, int]]:
        """(tooth, window, width) whose shares of the circle multiply to the wanted one."""
        teeth = order // gcd(tooth, order)
        for split in (0.125, 0.375, 0.625, 0.875):
            window = round(order * share**split)
            width = round(teeth * share ** (1.0 - split))
            if 1 <= window <= order and 1 <= width < teeth:
                yield tooth, window, width

    def _scrambled(self, block: Axes) -> Iterator[ListedSets]:
        """Arcs whose start depends on the listed axes of a block by a random map."""
        signs = self.folding.group.dimensions
        listed = tuple(axis for axis in block if axis in self.listed)
        others = tuple(axis for axis in block if axis not in self.listed)
        cells = self.folding.group.cells(listed)
        if not listed or cells < 3:
            return
        yield from self._subsets(listed, cells)
        for size in range(1, len(others) + 1):
            for part in combinations(others, size):
                if size <= LARGEST_ACTIVE - 1 or any(axis >= signs for axis in part):
                    yield from self._twisted(listed, part, cells)

    def _subsets(self, listed: Axes, cells: int) -> Iterator[ListedSets]:
        """Random subsets of the listed axes."""
        length = min(max(1, round(cells * self._least)), cells - 1)
        seeds = range(_SUBSET_SEEDS)
        yield from self._random(listed, (), np.zeros((1, 0), np.int64), 1, [length], seeds)

    def _twisted(self, listed: Axes, part: Axes, cells: int) -> Iterator[ListedSets]:
        """Scrambled arcs along the needed characters of the other axes."""
        need = self._needed(part)
        characters = np.argwhere(need > 0.0) + 1
        if not len(characters):
            return
        best = np.argsort(-need[tuple(characters.T - 1)], kind="stable")
        chosen = characters[best[:_SCRAMBLED_CHARACTERS]]
        orders = self._orders(part, chosen)
        for order in np.unique(orders):
            if cells * order > _SCRAMBLED_CELLS:
                continue
            lengths = [int(length) for length in self._box_lengths(int(order), 3)]
            own = chosen[orders == order]
            yield from self._random(listed, part, own, int(order), lengths, range(_SCRAMBLED_SEEDS))

    def _random(
        self,
        listed: Axes,
        part: Axes,
        characters: Integers,
        order: int,
        lengths: list[int],
        seeds: range,
    ) -> Iterator[ListedSets]:
        """Scrambled families of every character, length and seed, with their reflections."""
        group = self.folding.group
        rows, parameters, candidate = [], [], []
        parts = (
            reflections(characters, part, self.folding)
            if part
            else [(np.zeros(1, np.int64), characters)]
        )
        count = 0
        for number, length, seed in product(range(len(characters)), lengths, seeds):
            for owners, changed in parts:
                for place in np.flatnonzero(owners == number):
                    for flips in range(1 << len(listed)):
                        rows.append(changed[place])
                        parameters.append((length, seed, flips))
                        candidate.append(count)
            count += 1
        identity = np.ones((len(rows), len(listed)), dtype=np.int64)
        cluster = Cluster(
            "scrambled",
            (*((axis,) for axis in listed), part),
            (*group.shape(listed), order),
            np.concatenate([identity, np.array(rows).reshape(len(rows), len(part))], axis=1),
            np.array(parameters),
            group,
        )
        axes = tuple(sorted((*listed, *part)))
        entries = count * prod(self.folding.shape(axes))
        if entries <= _LISTED_ENTRIES:
            yield self._listed(axes, cluster, np.array(candidate))

    def _listed(self, axes: Axes, cluster: Cluster, candidate: Integers) -> ListedSets:
        """Candidates with their powers, averaged over their families and all reflections."""
        copies = np.bincount(candidate)
        powers = np.zeros((len(copies), prod(self.folding.shape(axes))))
        step = max(1, (1 << 20) // cluster.phases)
        for first in range(0, len(cluster), step):
            numbers = np.arange(first, min(first + step, len(cluster)))
            batch = Batch(cluster.pick(numbers), numbers, self.odds)
            self._add_powers(batch, candidate[numbers], axes, powers)
        powers /= copies[:, None]
        return ListedSets(self.folding, axes, cluster, candidate, powers)

    def _add_powers(self, batch: Batch, owners: Integers, axes: Axes, powers: Reals) -> None:
        """Powers of a batch by class, per frequency; h and -h count, so half spectra double."""
        shape = self.folding.shape(axes)
        places = self.folding.places(axes)[batch.frequencies]
        members = self.folding.members_over(axes)
        value = 2.0 * batch.halves * np.abs(batch.transform) ** 2
        flat = places + (owners * prod(shape)).reshape((-1,) + (1,) * (places.ndim - 1))
        summed = np.bincount(flat.ravel(), value.ravel(), powers.size).reshape(powers.shape)
        powers += summed / members


def _spaced(first: int, last: int, most: int) -> Integers:
    """All whole numbers from first to last, or about so many, spaced geometrically."""
    if last - first < most:
        return np.arange(first, last + 1)
    return np.unique(np.geomspace(first, last, most).round().astype(np.int64))
