"""Families of subsets of a cyclic group, and the table of a design, read from its plan.

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

In a plan a family is a question: its factors are digits with a modulus, theta_p is their sum, and
the response is a subset response. Source: docs/spec/fourier.md#1.1 and docs/spec/fourier.md#3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.group import Axes, Group, Integers, Look, Reals
from ldpsql.report import question_shares
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, Arcs, Comb, Face, Integer, Part, Plan, Subset, base_points

Base = Literal["arcs", "comb", "scrambled"]
LARGEST_PHASES = 1 << 24
LARGEST_SEED = 1 << 31
MOST_LISTED = 1 << 25
LARGEST_LOSS = 1.0 / (1 << 20)


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
        characters, parameters = self.characters[numbers], self.parameters[numbers]
        return replace(self, characters=characters, parameters=parameters)

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

    @property
    def steps(self) -> Integers:
        """a_pi of every axis, shape (F, axes): what one code adds to the phase of its factor.

        A code turns the character k_i of its axis by k_i / m_i of a circle, which are
        k_i r_p / m_i of the r_p phases.
        """
        turns = [
            self.characters[:, self.columns[axis]] * order // self.group.orders[axis]
            for factor, order in zip(self.factors, self.orders, strict=True)
            for axis in factor
        ]
        return np.stack(turns, axis=1)

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
        if self.base != "arcs":
            return base_points(self.base, self.orders, tuple(self.parameters[number].tolist()))
        flat = np.zeros((), dtype=np.int64)
        for order, length in zip(self.orders, self.parameters[number].tolist(), strict=True):
            flat = np.add.outer(flat * order, np.arange(length))
        return np.asarray(flat.ravel())

    def mask(self, number: int) -> NDArray[np.bool_]:
        """The base set of one family as an indicator over H, shape (|H|,)."""
        mask = np.zeros(self.phases, dtype=bool)
        mask[self.members(number)] = True
        return mask

    def check(self) -> None:
        """SurveyError unless every family is one: consistent orders, 1 <= |B| < |H|."""
        axes = [axis for factor in self.factors for axis in factor]
        if len(set(axes)) != len(axes) or not axes:
            raise SurveyError("the factors of a family must use an axis once")
        if not any(set(axes) <= set(block) for block in self.group.blocks):
            raise SurveyError("a family of the design lies outside its blocks")
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


@dataclass(frozen=True, eq=False)
class FamilyTable:
    """All families of a design, cluster after cluster, with the probability of each.

    shares: probabilities, shape (families,).
    """

    clusters: tuple[Cluster, ...]
    shares: Reals

    def __post_init__(self) -> None:
        listed = [c.phases * len(c) for c in self.clusters if c.base != "arcs"]
        if sum(listed) > MOST_LISTED:
            raise SurveyError("the listed families have too many points")
        for cluster in self.clusters:
            cluster.check()
        if len(self.shares) != sum(map(len, self.clusters)):
            raise SurveyError("every family needs a weight")

    @classmethod
    def of_plan(cls, plan: Plan, group: Group) -> FamilyTable:
        """The families that the questions of a plan are, in their order.

        SurveyError for a plan with other questions, and for one whose words are too coarse for its
        odds: what rounding leaves may change the probability of no set of points by more than
        LARGEST_LOSS, so that |X|^2 / s^2 is what reports inform.
        """
        looks, tables = group.looks()
        signs = len(group.orders) - group.dimensions
        if plan.sizes != (*group.sizes, *(2 for _ in range(signs))) or len(plan.odds) != 1:
            raise SurveyError("the attributes or the odds of the plan do not fit the design")
        if plan.tables != tables:
            raise SurveyError("the look-up tables of the plan do not fit the bins of the design")
        clusters = [cluster for face in plan.faces for cluster in _clusters(face, looks, group)]
        table = cls(tuple(clusters), question_shares(plan))
        odds = plan.odds[0] / WORDS
        if (table.sizes * odds + table.phases).max() / WORDS > LARGEST_LOSS:
            raise SurveyError("a family has too many phases for so large an epsilon")
        return table

    @cached_property
    def starts(self) -> Integers:
        """Number of the first family of every cluster, and of all of them, shape (clusters+1,)."""
        return np.cumsum([0, *(len(cluster) for cluster in self.clusters)])

    @cached_property
    def phases(self) -> Integers:
        """|H| of every family."""
        return np.repeat([c.phases for c in self.clusters], [len(c) for c in self.clusters])

    @cached_property
    def sizes(self) -> Integers:
        """|B| of every family."""
        return np.concatenate([cluster.sizes for cluster in self.clusters])


def _clusters(face: Face, looks: Sequence[Look], group: Group) -> list[Cluster]:
    """The families of one face: a cluster for each run of families with the same orders."""
    if len(face.steps) != 1 or face.steps[0].secret or face.coins or len(face.parts) != 1:
        raise _foreign()
    (part,), count = face.parts, face.choices
    base, numbers = _base_set(part)
    factors = tuple(tuple(term.attribute for term in digit.terms) for digit in part.digits)
    for digit in part.digits:
        if not digit.modulus or digit.plus != 0 or digit.table is not None:
            raise _foreign()
        for term in digit.terms:
            look = looks[term.attribute] if term.attribute < len(looks) else None
            if term.table is not None or (term.divide, term.cuts) != look:
                raise _foreign()
    orders = _columns([digit.radix for digit in part.digits], count)
    steps = _columns([t.coefficient for digit in part.digits for t in digit.terms], count)
    owner = [place for place, factor in enumerate(factors) for _ in factor]
    moduli = np.array([group.orders[axis] for factor in factors for axis in factor])
    # A step a is the character k = a m / r; what is not whole fits no character.
    scaled = steps * moduli
    if (scaled % orders[:, owner]).any():
        raise SurveyError("a character does not fit the order of its phase")
    characters = scaled // orders[:, owner]
    parameters = _columns(numbers, count)
    ends = np.flatnonzero((orders[1:] != orders[:-1]).any(axis=1)) + 1
    return [
        Cluster(
            base,
            factors,
            tuple(orders[start].tolist()),
            characters[start:end],
            parameters[start:end],
            group,
        )
        for start, end in pairwise([0, *ends.tolist(), count])
    ]


def _base_set(part: Part) -> tuple[Base, tuple[Integer, ...]]:
    """Kind and parameters of the base sets that a part answers with."""
    response = part.response
    if part.then is not None or not isinstance(response, Subset) or response.odds != 0:
        raise _foreign()
    if isinstance(response, Arcs):
        return "arcs", response.counts
    return ("comb" if isinstance(response, Comb) else "scrambled"), response.numbers


def _columns(integers: Sequence[Integer], count: int) -> Integers:
    """Integers of a face with one step as a table, shape (choices, integers)."""
    columns = [
        np.full(count, integer) if isinstance(integer, int) else integer.array
        for integer in integers
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)


def _foreign() -> SurveyError:
    return SurveyError("the plan holds a question that is not a family of a Fourier response")
