"""The dictionary's candidates, in bulk, for the optimiser.

Each component holds many candidate families of one structure, and does two things with one weight
per candidate: it adds the information that the weights give every class of frequencies, and it
takes the slope gamma / lambda^2 back to a gain per candidate. The powers behind both are
|X(h)|^2 / s^2, averaged over the reflections of the axes. Source: docs/spec/fourier.md#2.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ldpsql.decoders.fourier.families import Cluster
from ldpsql.decoders.fourier.group import Axes, Integers, Reals
from ldpsql.recipes.fourier.folding import Folding


@dataclass(frozen=True, eq=False)
class Emitted:
    """A cluster of families and the weight of each, shape (F,)."""

    cluster: Cluster
    weights: Reals


class Component(ABC):
    """Candidates with one weight each, in an array of shape `shape`.

    Each stands for its images under the symmetry of the folding, which share its weight.
    axes: that the families inform.
    """

    folding: Folding
    axes: Axes

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights."""

    @property
    @abstractmethod
    def copies(self) -> Integers:
        """Families of a candidate: its reflections; broadcasts to `shape`."""

    @property
    @abstractmethod
    def phases(self) -> Integers:
        """Phases of each family of a candidate; broadcasts to `shape`."""

    @abstractmethod
    def start(self, demand: Reals) -> Reals:
        """Unnormalised weights to begin with; demand is gamma by class."""

    @abstractmethod
    def inform(self, weights: Reals, into: Reals) -> None:
        """Add the information of the weights, by class."""

    @abstractmethod
    def gains(self, slope: Reals) -> Reals:
        """sum_f power_f slope_f of every candidate, shape `shape`: the transpose of `inform`, up
        to the number of frequencies in each class."""

    @abstractmethod
    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """The component and its weights without candidates that weigh nothing, as far as its
        structure allows."""

    @abstractmethod
    def emit(self, weights: Reals) -> list[Emitted]:
        """The families behind the positive weights, reflections included."""


@dataclass(frozen=True, eq=False)
class ArcBundle(Component):
    """Arcs of the characters of one face that have one order.

    characters: class coordinates, shape (n, axes).  lengths: of the arcs, shape (L,).
    harmonics: class of h k for h = 1..r//2, shape (n, r//2).
    powers: of h and -h together, shape (L, r//2).
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
        copies = np.zeros(len(self.characters), dtype=np.int64)
        for rows, _ in reflections(self.characters, self.axes, self.folding):
            copies[rows] += 1
        return copies[:, None]

    @property
    def phases(self) -> Integers:
        """The order."""
        return np.array(self.order)

    def start(self, demand: Reals) -> Reals:
        """Proportional to sqrt(gamma) of the character: the best if harmonics did not overlap."""
        own = np.sqrt(demand[self.harmonics[:, 0]])
        return np.repeat(own[:, None], len(self.lengths), axis=1) / len(self.lengths)

    def inform(self, weights: Reals, into: Reals) -> None:
        """lambda at h k += w |X(h)|^2 / s^2, shared evenly by the frequencies of the class."""
        values = (weights @ self.powers).ravel()
        summed = np.bincount(self.harmonics.ravel(), values, len(into))
        into += summed / (self.folding.multiplicity * self.folding.alike)

    def gains(self, slope: Reals) -> Reals:
        """sum_h |X(h)|^2 / s^2 slope at h k."""
        return np.asarray(slope[self.harmonics] @ self.powers.T)

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """As it is: a lost character may be needed again."""
        return self, weights

    def emit(self, weights: Reals) -> list[Emitted]:
        """One family per reflection of the character."""
        chosen, length = np.nonzero(weights)
        parts = reflections(self.characters[chosen], self.axes, self.folding)
        rows = np.concatenate([row for row, _ in parts])
        cluster = Cluster(
            "arcs",
            (self.axes,),
            (self.order,),
            np.concatenate([characters for _, characters in parts]),
            self.lengths[length][rows][:, None],
            self.folding.group,
        )
        copies = np.bincount(rows, minlength=len(chosen))
        return [Emitted(cluster, (weights[chosen, length] / copies)[rows])]


@dataclass(frozen=True, eq=False)
class Factor:
    """Candidates for one factor of a product of arcs.

    axes: of the factor.  characters: (n, axes).  orders, lengths: (n,).
    powers: |B^(h)|^2 / r^2 at every class of the factor's axes (zero included), averaged over
    reflections, shape (n, classes).
    """

    axes: Axes
    characters: Integers
    orders: Integers
    lengths: Integers
    powers: Reals

    def pick(self, rows: Integers) -> Factor:
        """Some of the candidates."""
        characters, orders, lengths = self.characters[rows], self.orders[rows], self.lengths[rows]
        return Factor(self.axes, characters, orders, lengths, self.powers[rows])

    @property
    def fractions(self) -> Reals:
        """L / r of every candidate."""
        return self.lengths / self.orders


@dataclass(frozen=True, eq=False)
class Products(Component):
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

    @cached_property
    def _classes(self) -> Integers:
        """Class numbers, one axis of the array per factor."""
        axes = tuple(axis for factor in self.factors for axis in factor.axes)
        dense = self.folding.numbers(self.axes)
        by_factor = np.transpose(dense, [self.axes.index(axis) for axis in axes])
        return by_factor.reshape([factor.powers.shape[1] for factor in self.factors])

    @property
    def copies(self) -> Integers:
        """Two at most for every factor of two axes."""
        return np.array(2 ** sum(len(factor.axes) - 1 for factor in self.factors))

    @property
    def phases(self) -> Integers:
        """Product of the orders."""
        phases = np.ones((), dtype=np.int64)
        for factor in self.factors:
            phases = np.multiply.outer(phases, factor.orders)
        return phases

    def start(self, demand: Reals) -> Reals:
        """Alike, a tenth of what the arcs of all classes have."""
        used = (self.scale > 0.0).astype(np.float64)
        return used / max(float(used.sum()), 1.0) * float(np.sqrt(demand).sum()) * 0.1

    def inform(self, weights: Reals, into: Reals) -> None:
        """lambda at (f_1, ..., f_P) += sum over combinations of w scale prod_p power_p(f_p)."""
        summed = weights * self.scale
        for factor in self.factors:
            summed = np.tensordot(summed, factor.powers, axes=(0, 0))
        _add_by_class(summed, self._classes, self.folding, into)

    def gains(self, slope: Reals) -> Reals:
        """The same products from the side of the frequencies, all members of a class counted."""
        gained = slope[self._classes] * self.folding.multiplicity[self._classes]
        for factor in self.factors:
            gained = np.tensordot(gained, factor.powers, axes=(0, 1))
        return np.asarray(gained * self.scale)

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """Without the candidates of a factor that take part in nothing."""
        everything = range(weights.ndim)
        kept = tuple(
            np.flatnonzero(weights.any(axis=tuple(p for p in everything if p != place)))
            for place in everything
        )
        factors = tuple(f.pick(rows) for f, rows in zip(self.factors, kept, strict=True))
        cut = np.ix_(*kept)
        return type(self)(self.folding, self.axes, factors, self.scale[cut]), weights[cut]

    def emit(self, weights: Reals) -> list[Emitted]:
        """Clusters by the orders of the factors; reflections inside factors of several axes."""
        chosen = np.nonzero(weights)
        orders = np.stack([f.orders[c] for f, c in zip(self.factors, chosen, strict=True)], axis=1)
        emitted = []
        for group in np.unique(orders, axis=0):
            rows = np.flatnonzero((orders == group).all(axis=1))
            picked = [c[rows] for c in chosen]
            emitted.append(self._cluster(group, picked, weights[tuple(picked)]))
        return emitted

    def _cluster(self, orders: Integers, picked: list[Integers], weights: Reals) -> Emitted:
        """Families of the same orders; picked: the candidate of each factor, shape (F,) each."""
        characters = [f.characters[c] for f, c in zip(self.factors, picked, strict=True)]
        lengths = np.stack([f.lengths[c] for f, c in zip(self.factors, picked, strict=True)], 1)
        rows = np.arange(len(weights))
        for place, factor in enumerate(self.factors):
            parts = reflections(characters[place], factor.axes, self.folding)
            again = np.concatenate([row for row, _ in parts])
            reflected = np.concatenate([own for _, own in parts])
            characters = [own[again] for own in characters]
            characters[place] = reflected
            rows = rows[again]
        cluster = Cluster(
            "arcs",
            tuple(factor.axes for factor in self.factors),
            tuple(map(int, orders)),
            np.concatenate(characters, axis=1),
            lengths[rows],
            self.folding.group,
        )
        copies = np.bincount(rows, minlength=len(weights))
        return Emitted(cluster, (weights / copies)[rows])


@dataclass(frozen=True, eq=False)
class ListedSets(Component):
    """Families given one by one, with their powers.

    cluster: as it will be emitted, all reflections of a candidate in it.
    candidate: which candidate each family of the cluster belongs to, shape (families,).
    powers: at every class over `axes`, averaged over a candidate's families, (candidates, cells).
    """

    folding: Folding
    axes: Axes
    cluster: Cluster
    candidate: Integers
    powers: Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """Candidates."""
        return (len(self.powers),)

    @property
    def copies(self) -> Integers:
        """Families per candidate."""
        return np.bincount(self.candidate, minlength=len(self.powers))

    @property
    def phases(self) -> Integers:
        """Of the cluster."""
        return np.array(self.cluster.phases)

    def start(self, demand: Reals) -> Reals:
        """Alike, a tenth of what the arcs of all classes have."""
        return np.full(self.shape, 0.1 * float(np.sqrt(demand).sum()) / max(len(self.powers), 1))

    @cached_property
    def _classes(self) -> Integers:
        """Class numbers, flat."""
        return self.folding.numbers(self.axes).ravel()

    def inform(self, weights: Reals, into: Reals) -> None:
        """One matrix product."""
        _add_by_class(weights @ self.powers, self._classes, self.folding, into)

    def gains(self, slope: Reals) -> Reals:
        """One matrix product, all members of a class counted."""
        return np.asarray(
            self.powers @ (slope[self._classes] * self.folding.multiplicity[self._classes])
        )

    def drop(self, weights: Reals) -> tuple[Self, Reals]:
        """Without the candidates that weigh nothing."""
        kept = np.flatnonzero(weights)
        own = np.flatnonzero(np.isin(self.candidate, kept))
        candidate = np.searchsorted(kept, self.candidate[own])
        cluster, powers = self.cluster.pick(own), self.powers[kept]
        return type(self)(self.folding, self.axes, cluster, candidate, powers), weights[kept]

    def emit(self, weights: Reals) -> list[Emitted]:
        """The families of the candidates with positive weight."""
        shares = (weights / self.copies)[self.candidate]
        kept = np.flatnonzero(shares)
        return [Emitted(self.cluster.pick(kept), shares[kept])]


def _add_by_class(values: Reals, classes: Integers, folding: Folding, into: Reals) -> None:
    """Add information per frequency, of one image, to the mean of the faces of its kind."""
    if len(folding.faces) == len(folding.group.faces):
        # Every face stands for itself: each class occurs once, and indices need no summing.
        into[classes.ravel()] += values.ravel()
    else:
        into += np.bincount(classes.ravel(), values.ravel(), len(into)) / folding.alike


def reflections(
    characters: Integers, axes: Axes, folding: Folding
) -> list[tuple[Integers, Integers]]:
    """(rows, characters) of every reflection that is neither the same nor the conjugate.

    Coordinates beyond the first that is not its own conjugate may change sign: the arcs of a
    character and of its conjugate are the same families.
    """
    orders = np.array(folding.group.shape(axes))
    is_free = characters * 2 % orders != 0  # not its own conjugate
    first = np.where(is_free.any(axis=1), is_free.argmax(axis=1), -1)
    parts = []
    for signs in range(1 << len(axes)):
        flip = np.array([signs >> place & 1 == 1 for place in range(len(axes))])
        allowed = ~(flip & ~is_free).any(axis=1) & ~np.isin(first, np.flatnonzero(flip))
        rows = np.flatnonzero(allowed)
        if rows.size:
            changed = np.where(flip, (orders - characters[rows]) % orders, characters[rows])
            parts.append((rows, changed))
    return parts
