"""The dictionary's candidates, in bulk, for the optimiser.

Each component holds many candidate families of one structure, and does two things with one weight
per candidate: it adds the information that the weights give every class of frequencies, and it
takes the slope gamma / lambda^2 back to a gain per candidate. The powers behind both are
|X(h)|^2 / s^2, averaged over the reflections of the axes. Source: docs/spec/fourier.md#2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ldpsql.decoders.fourier.families import Cluster
from ldpsql.decoders.fourier.group import Axes, Integers
from ldpsql.decoders.fourier.transforms import Reals
from ldpsql.recipes.fourier.folding import Folding


@dataclass(frozen=True, eq=False)
class Emitted:
    """A cluster of families and the weight of each, shape (F,)."""

    cluster: Cluster
    weights: Reals


class Component(Protocol):
    """Candidates with one weight each, in an array of shape `shape`.

    Each stands for its images under the symmetry of the folding, which share its weight.
    """

    @property
    def axes(self) -> Axes:
        """The axes that the families inform."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights."""
        ...

    @property
    def copies(self) -> Integers:
        """Families of a candidate: its reflections; broadcasts to `shape`."""
        ...

    @property
    def phases(self) -> Integers:
        """Phases of each family of a candidate; broadcasts to `shape`."""
        ...

    def start(self, demand: Reals) -> Reals:
        """Unnormalised weights to begin with; demand is gamma by class."""
        ...

    def inform(self, weights: Reals, into: Reals) -> None:
        """Add the information of the weights, by class."""
        ...

    def gains(self, slope: Reals) -> Reals:
        """sum_f power_f slope_f of every candidate, shape `shape`."""
        ...

    def narrowed(self, weights: Reals) -> tuple[Component, Reals]:
        """The component and its weights without candidates that weigh nothing, as far as its
        structure allows."""
        ...

    def emit(self, weights: Reals) -> list[Emitted]:
        """The families behind the positive weights, reflections included."""
        ...


@dataclass(frozen=True, eq=False)
class ArcBundle:
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
        """Proportional to sqrt(gamma) of the character."""
        own = np.sqrt(demand[self.harmonics[:, 0]])
        return np.repeat(own[:, None], len(self.lengths), axis=1) / len(self.lengths)

    def inform(self, weights: Reals, into: Reals) -> None:
        """Scatter h k."""
        values = (weights @ self.powers).ravel()
        found = np.bincount(self.harmonics.ravel(), values, len(into))
        into += found / (self.folding.multiplicity * self.folding.alike)

    def gains(self, slope: Reals) -> Reals:
        """Gather h k."""
        return np.asarray(slope[self.harmonics] @ self.powers.T)

    def narrowed(self, weights: Reals) -> tuple[Component, Reals]:
        """As it is: a lost character may be needed again."""
        return self, weights

    def emit(self, weights: Reals) -> list[Emitted]:
        """One family per reflection of the character."""
        which, length = np.nonzero(weights)
        parts = reflections(self.characters[which], self.axes, self.folding)
        characters = np.concatenate([found for _, found in parts])
        rows = np.concatenate([row for row, _ in parts])
        copies = np.bincount(rows, minlength=len(which))
        cluster = Cluster(
            "arcs",
            (self.axes,),
            (self.order,),
            characters,
            self.lengths[length][rows][:, None],
            self.folding.group,
        )
        return [Emitted(cluster, (weights[which, length] / copies)[rows])]


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

    def picked(self, rows: Integers) -> Factor:
        """Some of the candidates."""
        return Factor(
            self.axes,
            self.characters[rows],
            self.orders[rows],
            self.lengths[rows],
            self.powers[rows],
        )

    @property
    def fractions(self) -> Reals:
        """L / r of every candidate."""
        return self.lengths / self.orders


@dataclass(frozen=True, eq=False)
class Products:
    """Products of arcs on disjoint factors: boxes, and pair-arc x axis-arc.

    scale: ((E - 1) / (1 + (E - 1) fraction))^2 of every combination, 0 for those left out.
    """

    folding: Folding
    factors: tuple[Factor, ...]
    scale: Reals

    @property
    def shape(self) -> tuple[int, ...]:
        """Candidates of each factor."""
        return self.scale.shape

    @cached_property
    def axes(self) -> Axes:
        """Of all factors."""
        return tuple(sorted(axis for factor in self.factors for axis in factor.axes))

    @cached_property
    def _classes(self) -> Integers:
        """Class numbers, one axis of the array per factor."""
        axes = tuple(axis for factor in self.factors for axis in factor.axes)
        order = np.argsort(axes)
        dense = self.folding.numbers(tuple(sorted(axes)))
        back = np.transpose(dense, np.argsort(order))
        return back.reshape([factor.powers.shape[1] for factor in self.factors])

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
        """Alike."""
        used = (self.scale > 0.0).astype(np.float64)
        return used / max(float(used.sum()), 1.0) * float(np.sqrt(demand).sum()) * 0.1

    def inform(self, weights: Reals, into: Reals) -> None:
        """One matrix product per factor."""
        found = weights * self.scale
        for factor in self.factors:
            found = np.tensordot(found, factor.powers, axes=(0, 0))
        _spread(found, self._classes, self.folding, into)

    def gains(self, slope: Reals) -> Reals:
        """One matrix product per factor."""
        classes = self._classes
        found = slope[classes] * self.folding.multiplicity[classes]
        for factor in self.factors:
            found = np.tensordot(found, factor.powers, axes=(0, 1))
        return np.asarray(found * self.scale)

    def narrowed(self, weights: Reals) -> tuple[Component, Reals]:
        """Without the candidates of a factor that take part in nothing."""
        everything = range(weights.ndim)
        kept = tuple(
            np.flatnonzero(weights.any(axis=tuple(p for p in everything if p != place)))
            for place in everything
        )
        factors = tuple(f.picked(rows) for f, rows in zip(self.factors, kept, strict=True))
        cut = np.ix_(*kept)
        return Products(self.folding, factors, self.scale[cut]), weights[cut]

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
        characters = [f.characters[c] for f, c in zip(self.factors, picked, strict=True)]
        lengths = np.stack([f.lengths[c] for f, c in zip(self.factors, picked, strict=True)], 1)
        rows = np.arange(len(weights))
        for place, factor in enumerate(self.factors):
            parts = reflections(characters[place], factor.axes, self.folding)
            again = np.concatenate([row for row, _ in parts])
            characters[place] = np.concatenate([found for _, found in parts])
            for other in range(len(self.factors)):
                if other != place:
                    characters[other] = characters[other][again]
            rows = rows[again]
        copies = np.bincount(rows, minlength=len(weights))
        cluster = Cluster(
            "arcs",
            tuple(factor.axes for factor in self.factors),
            tuple(map(int, orders)),
            np.concatenate(characters, axis=1),
            lengths[rows],
            self.folding.group,
        )
        return Emitted(cluster, (weights / copies)[rows])


@dataclass(frozen=True, eq=False)
class Listed:
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
        """Alike."""
        return np.full(self.shape, 0.1 * float(np.sqrt(demand).sum()) / max(len(self.powers), 1))

    @cached_property
    def _classes(self) -> Integers:
        """Class numbers, flat."""
        return self.folding.numbers(self.axes).ravel()

    def inform(self, weights: Reals, into: Reals) -> None:
        """One matrix product."""
        _spread(weights @ self.powers, self._classes, self.folding, into)

    def gains(self, slope: Reals) -> Reals:
        """One matrix product."""
        scaled = slope[self._classes] * self.folding.multiplicity[self._classes]
        return np.asarray(self.powers @ scaled)

    def narrowed(self, weights: Reals) -> tuple[Component, Reals]:
        """Without the candidates that weigh nothing."""
        kept = np.flatnonzero(weights)
        own = np.flatnonzero(np.isin(self.candidate, kept))
        candidate = np.searchsorted(kept, self.candidate[own])
        cluster = self.cluster.picked(own)
        found = Listed(self.folding, self.axes, cluster, candidate, self.powers[kept])
        return found, weights[kept]

    def emit(self, weights: Reals) -> list[Emitted]:
        """The families of the candidates with positive weight."""
        shares = (weights / self.copies)[self.candidate]
        kept = np.flatnonzero(shares)
        return [Emitted(self.cluster.picked(kept), shares[kept])]


def _spread(values: Reals, classes: Integers, folding: Folding, into: Reals) -> None:
    """Add information per frequency, of one image, to the mean of the faces of its kind."""
    if len(folding.faces) == len(folding.group.faces):
        into[classes.ravel()] += values.ravel()
    else:
        found = np.bincount(classes.ravel(), values.ravel(), len(into))
        into += found / folding.alike


def reflections(
    characters: Integers, axes: Axes, folding: Folding
) -> list[tuple[Integers, Integers]]:
    """(rows, characters) of every reflection that is neither the same nor the conjugate.

    Coordinates beyond the first that is not its own conjugate may change sign.
    """
    orders = np.array(folding.group.shape(axes))
    free = characters * 2 % orders != 0
    parts = []
    for signs in range(1 << len(axes)):
        flip = np.array([signs >> place & 1 == 1 for place in range(len(axes))])
        first = np.where(free.any(axis=1), free.argmax(axis=1), -1)
        allowed = ~(flip & ~free).any(axis=1)
        allowed &= ~np.isin(first, np.flatnonzero(flip))
        rows = np.flatnonzero(allowed)
        if rows.size:
            changed = np.where(flip, (orders - characters[rows]) % orders, characters[rows])
            parts.append((rows, changed))
    return parts
