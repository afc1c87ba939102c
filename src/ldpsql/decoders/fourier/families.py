"""Families of subsets of a cyclic group, and the table of a design.

A family is a subset S of the group with all its translates. A record enters through its *phase*
only: one character per factor, theta_p(u) = sum_i a_pi u_i mod r_p, the factors on disjoint sets
of axes. S is the preimage of a base set B inside the phase group H = Z_r1 x ... x Z_rP. A report
is (family, phi); its offset theta(u) - phi lies in B with odds e^epsilon : 1 per point.

Families of one *cluster* share the axes and orders of their factors and the kind of base set:

    arcs       B = product of [0, L_p).                             parameters (L_1, ..., L_P)
    comb       window and comb on one axis of order m.              parameters (b, L1, L2)
    scrambled  {(c, o): (o + pi(c)) mod r < L}, pi a seeded          parameters (L, seed, flips)
               balanced map of the first P - 1 factors; with r = 1
               a seeded subset of them of L elements

Source: docs/spec/fourier.md#1.1 and docs/spec/fourier.md#3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.group import Axes, Group, Integers
from ldpsql_device.errors import SurveyError

Base = Literal["arcs", "comb", "scrambled"]
BASES: tuple[Base, ...] = ("arcs", "comb", "scrambled")
LARGEST_PHASES = 1 << 24
UNITS = 1 << 32
LARGEST_SEED = 1 << 31
MOST_LISTED = 1 << 25


@dataclass(frozen=True, eq=False)
class Cluster:
    """F families with the same factors.

    base: kind of their base sets.
    factors: the axes of every factor; disjoint.
    orders: r_p per factor.
    characters: frequency of every factor's character, axis after axis, shape (F, axes).
    parameters: of the base sets, shape (F, number that the kind takes).
    group: the group they live in.
    """

    base: Base
    factors: tuple[Axes, ...]
    orders: tuple[int, ...]
    characters: Integers
    parameters: Integers
    group: Group

    def __len__(self) -> int:
        return len(self.characters)

    def pick(self, numbers: Integers) -> Cluster:
        """Some of the families."""
        return Cluster(
            self.base,
            self.factors,
            self.orders,
            self.characters[numbers],
            self.parameters[numbers],
            self.group,
        )

    def rename(self, names: Mapping[int, int]) -> Cluster:
        """The same families on other axes, of the same orders."""
        factors = tuple(tuple(names[axis] for axis in factor) for factor in self.factors)
        return replace(self, factors=factors)

    @property
    def axes(self) -> Axes:
        """The axes of all factors, ascending: the block that the families inform."""
        return tuple(sorted(axis for factor in self.factors for axis in factor))

    @property
    def phases(self) -> int:
        """|H|: how many reports a family has."""
        return prod(self.orders)

    @cached_property
    def columns(self) -> dict[int, int]:
        """Where `characters` keeps an axis."""
        axes = [axis for factor in self.factors for axis in factor]
        return {axis: place for place, axis in enumerate(axes)}

    @cached_property
    def steps(self) -> Integers:
        """a_pi of every axis, shape (F, axes): what one code adds to the phase of its factor."""
        steps = np.zeros_like(self.characters)
        for factor, order in zip(self.factors, self.orders, strict=True):
            for axis in factor:
                place = self.columns[axis]
                steps[:, place] = self.characters[:, place] * order // self.group.orders[axis]
        return steps

    @cached_property
    def sizes(self) -> Integers:
        """|B| of every family, shape (F,)."""
        if self.base == "arcs":
            return np.asarray(self.parameters.prod(axis=1))
        if self.base == "scrambled":
            others = prod(self.orders[:-1]) if self.orders[-1] > 1 else 1
            return self.parameters[:, 0] * others
        return np.array([len(self.members(number)) for number in range(len(self))])

    def members(self, number: int) -> Integers:
        """The base set of one family: flat indices in H, ascending, shape (|B|,)."""
        return np.flatnonzero(self.mask(number))

    def mask(self, number: int) -> NDArray[np.bool_]:
        """The base set of one family as an indicator over H, shape (|H|,)."""
        row = [int(value) for value in self.parameters[number]]
        if self.base == "arcs":
            inside = [np.arange(r) < length for r, length in zip(self.orders, row, strict=True)]
            mask = inside[0]
            for side in inside[1:]:
                mask = np.logical_and.outer(mask, side)
            return np.asarray(mask.ravel())
        if self.base == "comb":
            return comb_mask(self.orders[0], *row)
        return scrambled_mask(self.orders, *row)

    def check(self) -> None:
        """SurveyError unless every family is one: consistent orders, 1 <= |B| < |H|."""
        axes = [axis for factor in self.factors for axis in factor]
        if len(set(axes)) != len(axes) or not axes or self.base not in BASES:
            raise SurveyError("the factors of a family must use an axis once")
        if not 2 <= self.phases <= LARGEST_PHASES:
            raise SurveyError("a family has between 2 and 2^24 phases")
        for factor, order in zip(self.factors, self.orders, strict=True):
            for axis in factor:
                modulus = self.group.orders[axis]
                frequency = self.characters[:, self.columns[axis]]
                inside = (frequency >= 0) & (frequency < modulus)
                if not (inside & (frequency * order % modulus == 0)).all():
                    raise SurveyError("a character does not fit the order of its phase")
        if self.base == "comb" and len(self.factors) != 1:
            raise SurveyError("a window and comb lies on one axis")
        wanted = {"arcs": len(self.factors), "comb": 3, "scrambled": 3}[self.base]
        if self.parameters.shape != (len(self), wanted) or (self.parameters < 0).any():
            raise SurveyError("a family has the wrong parameters")
        if (self.parameters[:, :1] > self.phases).any() or (self.parameters > LARGEST_SEED).any():
            raise SurveyError("a parameter of a family is too large")
        if self.base == "arcs" and (self.parameters > np.array(self.orders)).any():
            raise SurveyError("an arc is longer than its circle")
        if ((self.sizes < 1) | (self.sizes >= self.phases)).any():
            raise SurveyError("a base set must be neither empty nor everything")


def comb_mask(order: int, tooth: int, window: int, width: int) -> NDArray[np.bool_]:
    """{u < L1} and {((b (u - L1 // 2) mod m) / gcd(b, m) + L2 // 2) mod r2 < L2}, shape (m,)."""
    u = np.arange(order)
    shared = int(np.gcd(tooth, order))
    teeth = order // shared
    place = (tooth * (u - window // 2) % order) // shared
    return np.asarray((u < window) & ((place + width // 2) % teeth < width))


def scrambled_mask(orders: Sequence[int], length: int, seed: int, flips: int) -> NDArray[np.bool_]:
    """The base set of a scrambled family over H, shape (|H|,).

    flips: bit i set where factor i of the scrambled ones is reflected (c to -c).
    """
    *shape, circle = orders
    ranks = scrambled_ranks(tuple(shape), seed, flips)
    if circle == 1:
        return np.asarray(ranks < length)
    turns = ranks * circle // len(ranks)
    return np.asarray(((np.arange(circle) + turns[:, None]) % circle < length).ravel())


def scrambled_ranks(shape: tuple[int, ...], seed: int, flips: int) -> Integers:
    """A random permutation of the elements of a product of circles, shape (product,).

    Drawn from the raw words of PCG64, whose stream numpy keeps from version to version.
    """
    words = np.random.PCG64(seed).random_raw(prod(shape))
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[np.argsort(words, kind="stable")] = np.arange(len(words))
    grid = ranks.reshape(shape)
    for axis in range(len(shape)):
        if flips >> axis & 1:
            grid = np.roll(np.flip(grid, axis), 1, axis)
    return np.asarray(grid.ravel())


@dataclass(frozen=True, eq=False)
class FamilyTable:
    """All families of a design, cluster after cluster, with the probability of each.

    weights: in units of 2^-32, shape (families,); they sum to 2^32.
    """

    clusters: tuple[Cluster, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        listed = [c.phases * len(c) for c in self.clusters if c.base != "arcs"]
        if sum(listed) > MOST_LISTED:
            raise SurveyError("the listed families have too many points")
        for cluster in self.clusters:
            cluster.check()
        if len(self.weights) != sum(map(len, self.clusters)):
            raise SurveyError("every family needs a weight")
        if sum(self.weights) != UNITS or min(self.weights) < 1:
            raise SurveyError("the weights of the families must be positive and sum to 2^32")

    @cached_property
    def starts(self) -> Integers:
        """Number of the first family of every cluster, and of all of them, shape (clusters+1,)."""
        return np.cumsum([0, *(len(cluster) for cluster in self.clusters)])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Probability of every family."""
        return np.array(self.weights) / UNITS

    @cached_property
    def phases(self) -> Integers:
        """|H| of every family."""
        return np.repeat([c.phases for c in self.clusters], [len(c) for c in self.clusters])

    @cached_property
    def sizes(self) -> Integers:
        """|B| of every family."""
        return np.concatenate([cluster.sizes for cluster in self.clusters])
