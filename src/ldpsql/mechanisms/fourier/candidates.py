"""Which families a design may choose from, in bulk, for the optimiser.

t0 = 1 / (E + 1) is the share of its phases that a family's base set holds where nothing else
matters. Source: docs/spec/fourier.md#2.2 and docs/spec/fourier.md#2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import combinations, product
from math import gcd, prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpsql.mechanisms.fourier.families import Cluster, mix
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Axes, Integers, Reals
from ldpsql.mechanisms.fourier.products import arc_transform
from ldpsql_device.plan import LARGEST_LISTED

LARGEST_ACTIVE = 3
COMB_EPSILON, PAIR_EPSILON = 1.0, 0.75
_ARC_ENTRIES, _ALL_ARC_ENTRIES, _MANY_ARC_ENTRIES, _MANY_FACES = 1 << 23, 1 << 23, 1 << 21, 60
_ROWS, _FEWEST_ROWS = {2: 400, 3: 96, 4: 24, 5: 12}, 6
_PAIR_ROWS, _FEWEST_PAIRS, _PAIR_ENTRIES = 384, 9, 1 << 24
_ALL_PRODUCTS = 1 << 22
_GENERATORS = 3
_COMBS = 6144
_FEW_HARMONICS, _LOST = 32, 0.03
"""Harmonics up to which all are looked at, and the share of an arc's power that others may hold."""
_SCRAMBLED_CHARACTERS, _SCRAMBLED_SEEDS, _SUBSET_SEEDS = 64, 4, 96
_SCRAMBLED_CELLS = 1 << 16
_LISTED_ENTRIES, _ALL_LISTED_ENTRIES = 1 << 24, 1 << 26


@dataclass(frozen=True, eq=False)
class Emitted:
    """A cluster of families and the weight of each, shape (F,)."""

    cluster: Cluster
    weights: Reals


@dataclass(frozen=True, eq=False)
class ArcBundle:
    """Arcs of the characters of one face that have one order.

    characters: class coordinates, shape (n, axes).  lengths: of the arcs, shape (L,).
    harmonics: class of h k for h = 1, 2, ..., r//2 at most, shape (n, H).
    powers: of h and -h together, shape (L, H).
    """

    folding: Folding
    axes: Axes
    order: int
    characters: Integers
    lengths: Integers
    harmonics: Integers
    powers: Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """Characters x lengths."""
        return (len(self.characters), len(self.lengths))

    @property
    def copies(self) -> Integers:
        """Reflections of the character."""
        flips = _may_flip(self.characters, self.axes, self.folding).sum(axis=1)
        return np.asarray(1 << flips[:, None])

    @property
    def phases(self) -> Integers:
        """The order."""
        return np.array(self.order)

    def start(self, roots: Reals, total: float) -> Reals:
        """Proportional to sqrt(gamma) of the character: the best if harmonics did not overlap.

        roots: sqrt(gamma) by class.  total: their sum.
        """
        own = roots[self.harmonics[:, 0]] / len(self.lengths)
        return np.repeat(own[:, None], len(self.lengths), axis=1)

    def inform(self, weights: Reals, into: Reals) -> None:
        """lambda at h k += w |X(h)|^2 / s^2, shared evenly by the frequencies of the class."""
        shares = self.folding.frequencies.take(self.harmonics)
        np.add.at(into, self.harmonics, (weights @ self.powers) / shares)

    def gains(self, slope: Reals, counted: Reals) -> Reals:
        """sum_h |X(h)|^2 / s^2 slope at h k."""
        return np.asarray(slope.take(self.harmonics) @ self.powers.T)

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """As it is: a lost character may be needed again."""
        return self, weights

    def emit(self, weights: Reals) -> list[Emitted]:
        """One family per reflection of the character."""
        chosen, length = np.nonzero(weights)
        orders = np.full((len(chosen), 1), self.order)
        lengths, own = self.lengths[length][:, None], [self.characters[chosen]]
        return emit_arcs(self.folding, [self.axes], orders, lengths, own, weights[chosen, length])


@dataclass(frozen=True, eq=False)
class Factor:
    """Candidates for one factor of a product of arcs.

    axes: of the factor.  powers: |B^(h)|^2 / r^2 at every class of the factor's axes (zero
    included), averaged over reflections, shape (n, classes).  characters: (n, axes).
    orders, lengths: (n,).
    """

    axes: Axes
    powers: Reals
    characters: Integers
    orders: Integers
    lengths: Integers

    def pick(self, rows: Integers) -> Factor:
        """Some of the candidates, ascending."""
        if len(rows) == len(self.powers):
            return self
        characters, orders, lengths = self.characters[rows], self.orders[rows], self.lengths[rows]
        return Factor(self.axes, self.powers[rows], characters, orders, lengths)

    @property
    def fractions(self) -> Reals:
        """L / r of every candidate."""
        return self.lengths / self.orders


@dataclass(frozen=True, eq=False)
class Products:
    """Products of arcs on disjoint factors: boxes, and pair-arc x axis-arc.

    The transform of a product is the product of the factors' transforms, so its power is of rank
    one: one matrix product per factor does the work for all combinations of their candidates.
    axes: of all factors, ascending.
    scale: ((E - 1) / (1 + (E - 1) fraction))^2 of every combination, 0 for those left out.
    """

    folding: Folding
    axes: Axes
    factors: tuple[Factor, ...]
    scale: Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """Candidates of each factor."""
        return self.scale.shape

    @property
    def copies(self) -> Integers:
        """Two at most for every factor of two axes."""
        return np.array(2 ** sum(len(factor.axes) - 1 for factor in self.factors))

    @property
    def phases(self) -> Integers:
        """Product of the orders."""
        return np.asarray(reduce(np.multiply.outer, [factor.orders for factor in self.factors]))

    @property
    def work(self) -> int:
        """How many multiplications `inform` and `gains` take together."""
        left, done, total = self.scale.size, 1, 0
        for factor in self.factors:
            rows, classes = factor.powers.shape
            total += left * done * classes
            left, done = left // rows, done * classes
        return 2 * total

    @cached_property
    def classes(self) -> Integers:
        """Class numbers, one axis of the array per factor."""
        places = [self.axes.index(axis) for factor in self.factors for axis in factor.axes]
        by_factor = np.transpose(self.folding.numbers(self.axes), places)
        return by_factor.reshape([factor.powers.shape[1] for factor in self.factors])

    def start(self, roots: Reals, total: float) -> Reals:
        """Alike, a tenth of what the arcs of all classes have."""
        used = (self.scale > 0.0).astype(np.float64)
        return used / max(float(used.sum()), 1.0) * total * 0.1

    def inform(self, weights: Reals, into: Reals) -> None:
        """lambda at (f_1, ..., f_P) += sum over combinations of w scale prod_p power_p(f_p), per
        frequency, of one image, to the mean of the faces of its kind."""
        summed = weights * self.scale
        if not summed.size:
            return
        for factor in self.factors:
            # The first axis is summed over, and the new one is the last.
            summed = summed.reshape(len(factor.powers), -1).T @ factor.powers
        classes, found = self.classes.ravel(), summed.ravel()
        if len(self.folding.faces) < len(self.folding.group.faces):
            found = found / self.folding.alike.take(classes)
        # Twice as fast as into[classes] += found, and right where a class occurs more than once.
        np.add.at(into, classes, found)

    def gains(self, slope: Reals, counted: Reals) -> Reals:
        """The same products from the side of the frequencies, all members of a class counted."""
        gained = counted.take(self.classes)
        for factor in self.factors:
            gained = gained.reshape(factor.powers.shape[1], -1).T @ factor.powers.T
        return np.asarray(gained.reshape(self.shape) * self.scale)

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """Without the candidates of a factor that take part in nothing."""
        kept = tuple(np.unique(places) for places in np.nonzero(weights))
        factors = tuple(f.pick(rows) for f, rows in zip(self.factors, kept, strict=True))
        cut = np.ix_(*kept)
        return replace(self, factors=factors, scale=self.scale[cut]), weights[cut]

    def emit(self, weights: Reals) -> list[Emitted]:
        """Reflections inside factors of several axes."""
        chosen = np.nonzero(weights)
        pairs = list(zip(self.factors, chosen, strict=True))
        return emit_arcs(
            self.folding,
            [factor.axes for factor in self.factors],
            np.stack([factor.orders[own] for factor, own in pairs], axis=1),
            np.stack([factor.lengths[own] for factor, own in pairs], axis=1),
            [factor.characters[own] for factor, own in pairs],
            weights[chosen],
        )


@dataclass(frozen=True, eq=False)
class ListedSets(Products):
    """Families given one by one: of their one factor only the powers, |X(h)|^2 / s^2, count.

    cluster: as it will be emitted, all reflections of a candidate in it.
    candidate: which candidate each family of the cluster belongs to, shape (families,).
    """

    cluster: Cluster
    candidate: Integers

    @property
    def copies(self) -> Integers:
        """Families per candidate."""
        return np.bincount(self.candidate, minlength=len(self.scale))

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """Without the candidates that weigh nothing."""
        kept, own = np.flatnonzero(weights), np.flatnonzero(weights[self.candidate])
        found, left = super().drop(weights)
        candidate = np.searchsorted(kept, self.candidate[own])
        return replace(found, cluster=self.cluster.pick(own), candidate=candidate), left

    def emit(self, weights: Reals) -> list[Emitted]:
        """The families of the candidates with positive weight."""
        shares = (weights / self.copies)[self.candidate]
        kept = np.flatnonzero(shares)
        return [Emitted(self.cluster.pick(kept), shares[kept])]


Component = ArcBundle | Products
"""Many candidate families of one structure, with an array of one weight each.

It adds the information that the weights give every class of frequencies (`inform`), and takes the
slope gamma / lambda^2 back to a gain per candidate (`gains`): the transpose, up to the number of
frequencies in each class (`counted`: the slope times that number). The powers behind both are
|X(h)|^2 / s^2, averaged over the reflections of the axes. Under the symmetry of the folding it
stands for its images, which share its weights.
"""


def find_arcs(components: Sequence[Component], classes: int) -> NDArray[np.bool_]:
    """Which classes of frequencies have arcs of their own among candidates, shape (classes,)."""
    has_arc = np.zeros(classes, dtype=bool)
    for component in components:
        if isinstance(component, ArcBundle):
            has_arc[component.harmonics[:, 0]] = True
    return has_arc


def reflections(characters: Integers, axes: Axes, folding: Folding) -> tuple[Integers, Integers]:
    """(rows, characters) of every reflection that is neither the same nor the conjugate.

    Coordinates beyond the first that is not its own conjugate may change sign: the arcs of a
    character and of its conjugate are the same families.
    """
    orders = np.array(folding.group.shape(axes), dtype=np.int64)
    may_flip = _may_flip(characters, axes, folding)
    rows, changed = [], []
    for signs in product((False, True), repeat=len(axes)):
        flip = np.array(signs[::-1], dtype=bool)
        rows.append(np.flatnonzero((may_flip | ~flip).all(axis=1)))
        own = characters[rows[-1]]
        changed.append(np.where(flip, (orders - own) % orders, own))
    return np.concatenate(rows), np.concatenate(changed)


def _may_flip(characters: Integers, axes: Axes, folding: Folding) -> NDArray[np.bool_]:
    """Which coordinates change sign in reflections, shape (n, axes)."""
    orders = np.array(folding.group.shape(axes), dtype=np.int64)
    is_free = characters * 2 % orders != 0  # not its own conjugate
    return np.asarray(is_free & (np.cumsum(is_free, axis=1) > 1))


def emit_arcs(
    folding: Folding,
    factors: Sequence[Axes],
    orders: Integers,
    lengths: Integers,
    characters: Sequence[Integers],
    weights: Reals,
) -> list[Emitted]:
    """Products of arcs and their reflections, which share the weight; a cluster for all of the same
    orders.

    orders, lengths: shape (n, factors).  characters: per factor, shape (n, axes of it).
    """
    emitted = []
    for group in np.unique(orders, axis=0):
        rows = np.flatnonzero((orders == group).all(axis=1))
        own, owner = [chosen[rows] for chosen in characters], np.arange(len(rows))
        for place, axes in enumerate(factors):
            again, reflected = reflections(own[place], axes, folding)
            own, owner = [chosen[again] for chosen in own], owner[again]
            own[place] = reflected
        joined, ends = np.concatenate(own, axis=1), lengths[rows][owner]
        shape = tuple(map(int, group))
        cluster = Cluster("arcs", tuple(factors), shape, joined, ends, folding.group)
        copies = np.bincount(owner, minlength=len(rows))
        emitted.append(Emitted(cluster, (weights[rows] / copies)[owner]))
    return emitted


@dataclass(frozen=True, eq=False)
class ScrambledFamilies:
    """Scrambled families before they are made: all characters, lengths and seeds.

    listed: axes that are mapped at random.  part: the other axes, of which the characters are,
    shape (n, axes of it).  order: of the phase of these.
    """

    listed: Axes
    part: Axes
    characters: Integers
    order: int
    lengths: tuple[int, ...]
    seeds: int

    @property
    def axes(self) -> Axes:
        """All of them, ascending."""
        return tuple(sorted((*self.listed, *self.part)))

    @property
    def candidates(self) -> int:
        """Families, reflections aside."""
        return len(self.characters) * len(self.lengths) * self.seeds


# -- the dictionary -------------------------------------------------------------------------------


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
        """All candidates, in bulk; together they inform every frequency that is needed."""
        components: list[Component] = []
        faces = [face for face in self.folding.faces if self._weigh_needed(face).any()]
        entries, part = self._share_entries(faces), self._share_products(faces)
        pair_rows = min(int(_PAIR_ROWS * part**0.5), self._share_pairs(faces))
        for face in faces:
            components += self.over(face, entries, part)
            if self._has_pairs(face) and pair_rows >= _FEWEST_PAIRS:
                # Arcs of characters on two axes times arcs on the third, in all groupings.
                for lone in face:
                    both = tuple(axis for axis in face if axis != lone)
                    pair = self._pair_factor(both, pair_rows)
                    rows = max(int(96 * part**0.5), 3)
                    components.append(self._products((pair, self._axis_factor(lone, rows, 3))))
        components += self._listed()
        return [*components, *self._span(faces, components)]

    def over(self, face: Axes, entries: int = _ARC_ENTRIES, part: float = 1.0) -> list[Component]:
        """The candidates for one face but for those with arcs of two axes.

        entries: the most harmonics of arcs.  part: of the usual number of products.
        """
        if len(face) == 1:
            return [*self._arcs(face, entries), *self._combs(face)]
        most = max(int(_ROWS.get(len(face), _FEWEST_ROWS) * part ** (1.0 / len(face))), 1)
        widths = 6 if len(face) <= LARGEST_ACTIVE else 3
        factors = tuple(self._axis_factor(axis, most, widths) for axis in face)
        return [*self._arcs(face, entries), self._products(factors)]

    def _share_entries(self, faces: Sequence[Axes]) -> int:
        """The most harmonics that the arcs of one face may have, so that all of them together have
        _ALL_ARC_ENTRIES at most and few faces suffer; less where products of many faces tell of
        every face's axes, too."""
        wanted = []
        for face in faces:
            characters = np.argwhere(self._weigh_needed(face) > 0.0) + 1
            wanted.append(int((self._orders(face, characters) // 2).sum()))
        left = _MANY_ARC_ENTRIES if len(faces) > _MANY_FACES else _ALL_ARC_ENTRIES
        return min(_share_evenly(wanted, left), _ARC_ENTRIES)

    def _share_products(self, faces: Sequence[Axes]) -> float:
        """The part of the usual number of products that leaves _ALL_PRODUCTS of them at most."""
        signs, total = self.folding.group.dimensions, 0.0
        for face in faces:
            dimensions = sum(axis < signs for axis in face)
            if len(face) > 1:
                total += float(_ROWS.get(len(face), _FEWEST_ROWS)) ** dimensions
        return min(1.0, _ALL_PRODUCTS / max(total, 1.0))

    def _has_pairs(self, face: Axes) -> bool:
        """Whether arcs of two axes times arcs of the third are candidates of a face."""
        return len(face) == LARGEST_ACTIVE and self.odds > np.exp(PAIR_EPSILON) - 1e-9

    def _share_pairs(self, faces: Sequence[Axes]) -> int:
        """How many arcs each pair of axes may have, so that what they tell is _PAIR_ENTRIES numbers
        at most."""
        pairs = (
            prod(self.folding.shape(tuple(axis for axis in face if axis != lone)))
            for face in filter(self._has_pairs, faces)
            for lone in face
        )
        return _PAIR_ENTRIES // max(sum(pairs), 1)

    def _span(self, faces: Sequence[Axes], components: Sequence[Component]) -> list[Component]:
        """Products of arcs for the faces in which a needed frequency has no arc of its own.

        An arc whose length and order have no divisor in common, of a character that generates its
        circle, has no zero; a product of such arcs informs every frequency of its face.
        """
        is_missing = (self.demand > 0.0) & ~find_arcs(components, len(self.demand))
        found: list[Component] = []
        for face in faces:
            if is_missing[self.folding.numbers(face)[(slice(1, None),) * len(face)]].any():
                factors = tuple(self._generating_factor(axis, len(face)) for axis in face)
                found.append(self._products(factors, every=True))
        return found

    def _generating_factor(self, axis: int, factors: int) -> Factor:
        """A few characters of one axis that generate it, with lengths that share no divisor with
        its order: near those that make a product of so many factors hold its best share."""
        order = self.folding.group.orders[axis]
        wanted = np.geomspace(1.0, max(order // 2, 1), _GENERATORS)
        length = _coprime(round(order * self._least ** (1.0 / factors)), order)
        chosen = sorted({_coprime(round(each), order) for each in wanted.tolist()})
        return self._factor((axis,), np.array(chosen)[:, None], lambda _: np.unique([1, length]))

    @property
    def _least(self) -> float:
        return 1.0 / (self.odds + 1.0)

    def _weigh_needed(self, face: Axes) -> Reals:
        """gamma of the classes of a face, in the shape of the face."""
        own = self.folding.numbers(face)[tuple(slice(1, None) for _ in face)]
        return np.asarray(self.demand[own])

    # -- arcs ---------------------------------------------------------------------------------

    def _arcs(self, face: Axes, entries: int = _ARC_ENTRIES) -> Iterator[ArcBundle]:
        """Every character of the face that is needed, by order; the neediest if there are many."""
        characters = np.argwhere(self._weigh_needed(face) > 0.0) + 1
        need = self._weigh_needed(face)[tuple(characters.T - 1)]
        orders, numbers = self._orders(face, characters), self.folding.numbers(face)
        ranked = np.argsort(-need, kind="stable")
        # A character costs the optimiser r / 2 harmonics in every step.
        kept = np.sort(ranked[np.cumsum(orders[ranked] // 2) <= entries])
        for order in map(int, np.unique(orders[kept])):
            chosen = characters[kept[orders[kept] == order]]
            lengths, steps = self._arc_lengths(order), np.arange(1, order // 2 + 1)
            # X(h) = (E - 1) B(h), the arc's transform, for h != 0, and s = r + (E - 1) L.
            inside = np.abs(arc_transform(order, lengths[:, None], steps))
            sums = order + (self.odds - 1.0) * lengths[:, None]
            powers = 2.0 * ((self.odds - 1.0) * inside / sums) ** 2
            powers[:, 2 * steps == order] /= 2.0  # order / 2 is its own negative
            if len(kept) == len(ranked):
                # Every frequency has an arc of its own, and needs no late harmonics of others.
                most = _count_harmonics(powers)
                steps, powers = steps[:most], powers[:, :most]
            classes = (
                self.folding.fold(np.outer(own, steps), axis)
                for own, axis in zip(chosen.T, face, strict=True)
            )
            harmonics = numbers[tuple(classes)]
            yield ArcBundle(self.folding, face, order, chosen, lengths, harmonics, powers)

    def _orders(self, axes: Axes, characters: Integers) -> Integers:
        """Order of each character, shape (n,)."""
        moduli = np.array(self.folding.group.shape(axes), dtype=np.int64)
        return np.asarray(np.lcm.reduce(moduli // np.gcd(characters, moduli), axis=1))

    def _arc_lengths(self, order: int) -> Integers:
        """Around t0 r, and from there geometrically to r / 2."""
        ideal = self._least * order
        wanted = [np.floor(ideal), np.ceil(ideal)]
        wanted += [round(ideal * (0.5 / self._least) ** (i / 4)) for i in range(1, 5)]
        return np.unique(np.clip(wanted, 1, max(order // 2, 1)).astype(np.int64))

    # -- products -----------------------------------------------------------------------------

    def _products(self, factors: tuple[Factor, ...], *, every: bool = False) -> Products:
        """All combinations whose base sets hold a useful share of the phases, or one phase; every
        combination where asked."""
        fraction = reduce(np.multiply.outer, [factor.fractions for factor in factors])
        single = reduce(np.multiply.outer, [1.0 / factor.orders for factor in factors])
        used = (fraction >= self._least / 2.0) & (fraction <= 0.5)
        used |= np.isclose(fraction, single) | every
        # |X|^2 / s^2 = ((E - 1) / (1 + (E - 1) fraction))^2 prod_p |B_p|^2 / r_p^2
        scale = ((self.odds - 1.0) / (1.0 + (self.odds - 1.0) * fraction)) ** 2
        axes = tuple(sorted(axis for factor in factors for axis in factor.axes))
        return Products(self.folding, axes, factors, np.where(used, scale, 0.0))

    def _axis_factor(self, axis: int, rows: int, widths: int) -> Factor:
        """Characters of one axis with arcs; spaced geometrically where there are too many."""
        order = self.folding.group.orders[axis]
        if (order, rows, widths) not in self._kept:
            chosen = _space(1, order // 2, max(1, rows // widths))
            self._kept[order, rows, widths] = self._factor(
                (axis,), chosen[:, None], partial(self._box_lengths, widths=widths)
            )
        return replace(self._kept[order, rows, widths], axes=(axis,))

    def _pair_factor(self, pair: Axes, rows: int = _PAIR_ROWS) -> Factor:
        """Characters with both coordinates non-zero; the neediest if there are many."""
        need, most = self._weigh_needed(pair), max(rows // 3, 1)
        best = np.sort(np.argsort(-need.ravel(), kind="stable")[:most])
        characters = np.stack(np.unravel_index(best, need.shape), axis=1) + 1
        return self._factor(pair, characters, partial(self._box_lengths, widths=3))

    def _factor(
        self, axes: Axes, characters: Integers, lengths_of: Callable[[int], Integers]
    ) -> Factor:
        """Every character with arcs of the lengths for its order."""
        orders, numbers = self._orders(axes, characters), np.arange(len(characters))
        wanted = {order: lengths_of(order) for order in np.unique(orders).tolist()}
        lengths = [wanted[order] for order in orders.tolist()]
        owner = np.repeat(numbers, list(map(len, lengths)))
        powers = np.empty((len(owner), prod(self.folding.shape(axes))))
        for order, own in wanted.items():
            alike = np.flatnonzero(orders == order)
            found = self._indicator_powers(axes, characters[alike], order, own)
            powers[orders[owner] == order] = found.reshape(-1, powers.shape[1])
        return Factor(axes, powers, characters[owner], orders[owner], np.concatenate(lengths))

    def _box_lengths(self, order: int, widths: int) -> Integers:
        """Geometric between max(t0, 1/r) and a half."""
        shares = np.geomspace(min(max(self._least, 1.0 / order), 0.5), 0.5, widths)
        return np.unique(np.clip((shares * order).round().astype(np.int64), 1, max(order // 2, 1)))

    def _indicator_powers(
        self, axes: Axes, characters: Integers, order: int, lengths: Integers
    ) -> Reals:
        """|B^(h)|^2 / r^2 at the classes of the axes, per frequency, for characters (n, axes) of
        one order; shape (n, lengths, classes)."""
        steps, shape, count = np.arange(order), self.folding.shape(axes), len(characters)
        folded = [
            self.folding.fold(np.outer(own, steps), axis)
            for own, axis in zip(characters.T, axes, strict=True)
        ]
        cells = prod(shape)
        places = np.ravel_multi_index(folded, shape) + cells * np.arange(count)[:, None]
        total = np.empty((count, len(lengths), cells))
        # Harmonics h k may meet in a class: their sum is shared by the frequencies of the class.
        for place, inside in enumerate(arc_transform(order, lengths[:, None], steps)):
            power = np.broadcast_to(np.abs(inside / order) ** 2, places.shape)
            sums = np.bincount(places.ravel(), power.ravel(), count * cells)
            total[:, place] = sums.reshape(count, cells)
        return np.asarray(total / self.folding.members_over(axes))

    # -- listed families ----------------------------------------------------------------------

    def _combs(self, face: Axes) -> Iterator[ListedSets]:
        """Windows that are also combs, for a block of one axis at not too small an epsilon."""
        order = self.folding.group.orders[face[0]]
        is_used = face in self.folding.group.blocks and self.odds >= np.exp(COMB_EPSILON) - 1e-9
        if not is_used or not 4 <= order <= LARGEST_LISTED:
            return
        # 12 combs for each tooth at most, of order // 2 + 1 powers each.
        teeth = _space(2, order // 2, max(1, _COMBS * 513 // (12 * (order // 2 + 1))))
        rows = set()
        for tooth, wider, split in product(
            map(int, teeth), (1.0, 1.5, 2.25), (0.125, 0.375, 0.625, 0.875)
        ):
            # A window and a width whose shares of the circle multiply to the wanted one.
            share, circle = self._least * wider, order // gcd(tooth, order)
            window, width = round(order * share**split), round(circle * share ** (1.0 - split))
            if share <= 0.5 and 1 <= window <= order and 1 <= width < circle:
                rows.add((tooth, window, width))
        if rows:
            parameters = np.array(sorted(rows), dtype=np.int64)
            identity = np.ones((len(parameters), 1), dtype=np.int64)
            cluster = Cluster("comb", (face,), (order,), identity, parameters, self.folding.group)
            yield self._list(face, cluster, np.arange(len(parameters)))

    def _listed(self) -> Iterator[ListedSets]:
        """The families of all blocks that are given one by one, but for those of the most
        candidates where all of them would take too much memory."""
        described = [each for block in self.folding.blocks for each in self._scramble(block)]
        entries = [each.candidates * prod(self.folding.shape(each.axes)) for each in described]
        most = min(_share_evenly(entries, _ALL_LISTED_ENTRIES), _LISTED_ENTRIES)
        for each, own in zip(described, entries, strict=True):
            if own <= most:
                yield self._randomize(each)

    def _scramble(self, block: Axes) -> Iterator[ScrambledFamilies]:
        """Arcs along the needed characters of the other axes, whose start depends on the listed
        axes of a block by a random map, and random subsets of the listed axes."""
        signs = self.folding.group.dimensions
        listed = tuple(axis for axis in block if axis in self.listed)
        others = tuple(axis for axis in block if axis not in self.listed)
        cells = self.folding.group.cells(listed)
        if not listed or not 3 <= cells <= LARGEST_LISTED:
            return
        length = min(max(1, round(cells * self._least)), cells - 1)
        yield ScrambledFamilies(listed, (), np.zeros((1, 0), np.int64), 1, (length,), _SUBSET_SEEDS)
        for size in range(1, len(others) + 1):
            for part in combinations(others, size):
                if size <= LARGEST_ACTIVE - 1 or any(axis >= signs for axis in part):
                    yield from self._twist(listed, part, cells)

    def _twist(self, listed: Axes, part: Axes, cells: int) -> Iterator[ScrambledFamilies]:
        """Scrambled arcs."""
        need = self._weigh_needed(part)
        characters = np.argwhere(need > 0.0) + 1
        best = np.argsort(-need[tuple(characters.T - 1)], kind="stable")
        chosen = characters[best[:_SCRAMBLED_CHARACTERS]]
        orders = self._orders(part, chosen)
        for order in map(int, np.unique(orders)):
            if cells * order <= _SCRAMBLED_CELLS:
                lengths, own = tuple(self._box_lengths(order, 3).tolist()), chosen[orders == order]
                yield ScrambledFamilies(listed, part, own, order, lengths, _SCRAMBLED_SEEDS)

    def _randomize(self, given: ScrambledFamilies) -> ListedSets:
        """Scrambled families, with their reflections."""
        listed, part, group = given.listed, given.part, self.folding.group
        owners, reflected = reflections(given.characters, part, self.folding)
        rows, parameters, candidate = [], [], []
        combined = product(range(len(given.characters)), given.lengths, range(given.seeds))
        for place, (number, length, seed) in enumerate(combined):
            for character in reflected[owners == number]:
                for flips in range(1 << len(listed)):
                    rows.append(character)
                    parameters.append((length, seed, flips))
                    candidate.append(place)
        identity = np.ones((len(rows), len(listed)), dtype=np.int64)
        cluster = Cluster(
            "scrambled",
            (*((axis,) for axis in listed), part),
            (*group.shape(listed), given.order),
            np.concatenate([identity, np.array(rows).reshape(len(rows), len(part))], axis=1),
            np.array(parameters),
            group,
        )
        return self._list(given.axes, cluster, np.array(candidate))

    def _list(self, axes: Axes, cluster: Cluster, candidate: Integers) -> ListedSets:
        """Candidates with their powers, averaged over all reflections: they are those of any of
        their families, as these are reflections of each other."""
        folding, cells = self.folding, prod(self.folding.shape(axes))
        ones, count = np.unique(candidate, return_index=True)[1], int(candidate[-1]) + 1
        folded, powers = folding.places(axes), np.zeros((count, cells))
        # As many at once as have 2^20 phases or classes together.
        most = (1 << 20) * cluster.phases // max(cluster.phases, cells)
        *_, mixed = mix([cluster.pick(ones)], self.odds, np.arange(count), (), most)
        for batch in mixed:
            flat = folded[batch.places()] + batch.spread(
                (batch.families - batch.families[0]) * cells
            )
            # h and -h count, so half spectra double.
            value = 2.0 * batch.halves() * np.abs(batch.transform) ** 2
            own = np.bincount(flat.ravel(), value.ravel(), len(batch.families) * cells)
            powers[batch.families] = own.reshape(-1, cells)
        powers /= folding.members_over(axes)
        orders, lengths = np.full(count, cluster.phases), np.zeros(count, dtype=np.int64)
        factor = Factor(axes, powers, lengths[:, None], orders, lengths)
        return ListedSets(folding, axes, (factor,), np.ones(count), cluster, candidate)


def _count_harmonics(powers: Reals) -> int:
    """How many harmonics are looked at, of arcs with these powers, shape (lengths, harmonics): all
    of a few, and of many those that hold all but _LOST of what every arc tells."""
    summed = np.cumsum(powers, axis=1)
    is_enough = (summed >= (1.0 - _LOST) * summed[:, -1:]).all(axis=0)
    few = min(_FEW_HARMONICS, int(powers.shape[1]))
    return max(int(np.argmax(is_enough)) + 1, few)


def _share_evenly(wanted: Sequence[int], left: int) -> int:
    """The most that each may have, so that all of them have so much at most and few want more."""
    for place, own in enumerate(sorted(wanted)):
        share = left // (len(wanted) - place)
        if own > share:
            return share
        left -= own
    return max(wanted, default=0)


def _coprime(number: int, order: int) -> int:
    """The number from 1 to half of an order that shares no divisor with it and is nearest to a
    wanted one."""
    fitting = (k for k in range(1, max(order // 2, 1) + 1) if gcd(k, order) == 1)
    return min(fitting, key=lambda k: (abs(k - number), k))


def _space(first: int, last: int, most: int) -> Integers:
    """All whole numbers from first to last, or about so many, spaced geometrically."""
    if last - first < most:
        return np.arange(first, last + 1)
    return np.unique(np.geomspace(first, last, most).round().astype(np.int64))
