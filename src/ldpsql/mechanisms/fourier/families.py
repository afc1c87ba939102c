"""Families of subsets of a cyclic group, the table of a design, and their Fourier transforms.

Source: docs/spec/fourier.md#1.1, docs/spec/fourier.md#1.2 and docs/spec/fourier.md#3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, groupby, pairwise
from math import prod
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Group,
    Integers,
    Look,
    Reals,
    mirror,
)
from ldpsql.mechanisms.fourier.products import ProductFace, arc_transform, is_phase
from ldpsql.reports.report import question_shares
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import HALVES, WORDS, Arcs, Face, Integer, Plan, Subset, base_points

Base = Literal["arcs", "comb", "scrambled"]
LARGEST_PHASES = 1 << 24
MOST_LISTED = 1 << 25
LARGEST_LOSS = 1.0 / (1 << 20)
_TABULATED = 64
_FEW = 1 << 15
"""Phases of a batch of which all transforms are kept: without them a question that is asked alone
takes up to three times as long."""
_PACKED = "families"


@dataclass(frozen=True, eq=False)
class Cluster:
    """F families with the same factors; a family is a subset S of the group with its translates.

    A record enters through its *phase* only: one character per factor, theta_p(u) = sum_i a_pi u_i
    mod r_p. S is the preimage of a base set B inside the phase group H = Z_r1 x ... x Z_rP, a
    report is (family, phi), and its offset theta(u) - phi lies in B with odds e^epsilon : 1 per
    point.

    factors: the axes of every factor; disjoint.  orders: r_p per factor.
    characters: frequency of every factor's character, axis after axis, shape (F, axes).
    base: kind of B.  parameters: its numbers, a row per family:

        arcs       B = product of [0, L_p).                             (L_1, ..., L_P)
        comb       window and comb on one axis of order m.              (b, L1, L2)
        scrambled  {(c, o): (o + pi(c)) mod r < L}, pi a seeded          (L, seed, flips)
                   balanced map of the first P - 1 factors; with r = 1
                   a seeded subset of them of L elements
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

    @cached_property
    def axes(self) -> Axes:
        """The axes of all factors, ascending: the block that the families inform."""
        return tuple(sorted(chain(*self.factors)))

    @cached_property
    def phases(self) -> int:
        """|H|: how many reports a family has."""
        return prod(self.orders)

    @cached_property
    def columns(self) -> dict[int, int]:
        """Where `characters` keeps an axis."""
        return {axis: place for place, axis in enumerate(chain(*self.factors))}

    @property
    def turns(self) -> Integers:
        """a_pi of every axis, what one code adds to the phase of its factor, shape (F, axes).

        A code turns the character k_i of its axis by k_i / m_i of a circle, which are
        k_i r_p / m_i of the r_p phases.
        """
        orders = np.repeat(self.orders, list(map(len, self.factors)))
        return np.asarray(self.characters * orders // self.group.shape(tuple(self.columns)))

    @cached_property
    def sizes(self) -> Integers:
        """|B| of every family, shape (F,)."""
        if self.base == "arcs":
            return np.asarray(self.parameters.prod(axis=1))
        if self.base == "scrambled":
            others = prod(self.orders[:-1]) if self.orders[-1] > 1 else 1
            return self.parameters[:, 0] * others
        return np.array([np.count_nonzero(self.mask(number)) for number in range(len(self))])

    def moved(self, axes: Axes) -> tuple[int, ...]:
        """The factors along which what depends on some axes alone differs."""
        factors = enumerate(self.factors)
        return tuple(place for place, factor in factors if not set(factor).isdisjoint(axes))

    def axes_of(self, places: Iterable[int]) -> Axes:
        """The axes that some factors hold, ascending."""
        return tuple(sorted(chain(*(self.factors[place] for place in places))))

    def mask(self, number: int) -> NDArray[np.bool_]:
        """The base set of one family as an indicator over H, shape (|H|,)."""
        parameters = tuple(self.parameters[number].tolist())
        mask = np.zeros(self.phases, dtype=bool)
        if self.base == "arcs":
            mask.reshape(self.orders)[tuple(map(slice, parameters))] = True
        else:
            mask[base_points(self.base, self.orders, parameters)] = True
        return mask


class FamilyTable:
    """All families of a design, cluster after cluster, and then its questions in product form.

    shares, phases, sizes: of every family its probability, |H| and |B|, shape (families,).
    starts: number of the first family of every cluster, and of all of them, shape (clusters+1,).
    products: questions that are not listed one by one; they come after the families.
    """

    def __init__(
        self, clusters: Sequence[Cluster], shares: Reals, products: Sequence[ProductFace] = ()
    ) -> None:
        self._fill(clusters, shares, products)
        if (self.phases > LARGEST_PHASES).any():
            raise SurveyError("a family has at most 2^24 phases")
        if sum(c.phases * len(c) for c in clusters if c.base != "arcs") > MOST_LISTED:
            raise SurveyError("the listed families have too many points")
        for factors, alike in groupby(clusters, key=lambda cluster: cluster.factors):
            _check_families(factors, list(alike))
        none = np.zeros(0, dtype=np.int64)
        self.sizes = np.concatenate([none, *(cluster.sizes for cluster in clusters)])
        if (self.sizes >= self.phases).any():
            raise SurveyError("a base set must not be everything")

    def _fill(
        self, clusters: Sequence[Cluster], shares: Reals, products: Sequence[ProductFace]
    ) -> None:
        self.clusters, self.shares, self.products = tuple(clusters), shares, tuple(products)
        counts = list(map(len, clusters))
        self.starts = np.cumsum([0, *counts])
        self.phases = np.repeat(np.array([c.phases for c in clusters], dtype=np.int64), counts)

    @property
    def questions(self) -> int:
        """How many questions a device can draw."""
        return len(self.shares) + sum(face.questions for face in self.products)

    def pack(self) -> dict[str, Reals]:
        """The families as few arrays by name, of which `unpack` makes them again: of all with the
        same factors a row each of share, size, orders, characters and parameters. Nothing for
        questions in product form, of which a plan is short."""
        if self.products:
            return {}
        sides = np.column_stack([self.shares, self.sizes])
        starts, packed = iter(self.starts.tolist()), dict[str, Reals]()
        for (base, factors), alike in groupby(self.clusters, lambda own: (own.base, own.factors)):
            text = ";".join(",".join(map(str, factor)) for factor in factors)
            rows = [
                np.column_stack(
                    [
                        sides[first : first + len(own)],
                        np.tile(own.orders, (len(own), 1)),
                        own.characters,
                        own.parameters,
                    ]
                )
                for own, first in zip(alike, starts, strict=False)
            ]
            packed[f"{_PACKED} {len(packed)} {base} {text}"] = np.concatenate(rows).ravel()
        return packed

    @classmethod
    def unpack(cls, packed: Mapping[str, Reals], group: Group) -> Self | None:
        """The table that was packed, which was checked before; None where there is none."""
        clusters, shares, sizes = list[Cluster](), list[Reals](), list[Integers]()
        named = {int(name.split(" ")[1]): name for name in packed if name.startswith(_PACKED)}
        for _, name in sorted(named.items()):
            *_, base, text = name.split(" ")
            sides = (filter(None, own.split(",")) for own in text.split(";"))
            factors = tuple(tuple(map(int, own)) for own in sides)
            orders = 2 + len(factors)
            parameters = orders + sum(map(len, factors))
            width = parameters + (len(factors) if base == "arcs" else 3)
            rows = packed[name].reshape(-1, width)
            whole = rows.astype(np.int64)
            shares.append(rows[:, 0])
            sizes.append(whole[:, 1])
            columns = (whole[:, 2:orders], whole[:, orders:parameters], whole[:, parameters:])
            clusters += _split(cast(Base, base), factors, *columns, group)
        if not clusters:
            return None
        table = cls.__new__(cls)
        table._fill(clusters, np.concatenate(shares), ())
        table.sizes = np.concatenate(sizes)
        return table

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
        clusters: list[Cluster] = []
        products: list[ProductFace] = []
        chances = zip(plan.faces, plan.first_questions, plan.face_choice.preimages, strict=False)
        for face, first, halves in chances:
            if len(face.steps) > 1:
                products.append(ProductFace.of(face, looks, group, first, halves / HALVES))
            elif products:
                raise SurveyError("questions that are listed come before those in product form")
            else:
                clusters += _clusters(face, looks, group)
        families = products[0].first if products else plan.questions
        table = cls(clusters, question_shares(plan)[:families], products)
        odds = plan.odds[0] / WORDS
        most = [float((table.sizes * odds + table.phases).max(initial=0.0))]
        most += [face.base * odds + face.phases for face in products]
        if max(most) / WORDS > LARGEST_LOSS:
            raise SurveyError("a family has too many phases for so large an epsilon")
        return table


def _check_families(factors: tuple[Axes, ...], clusters: Sequence[Cluster]) -> None:
    """SurveyError unless the characters of all families fit the orders of their factors.

    That base sets are not empty, and that parameters fit their circles, is checked by the plan.
    """
    axes, group = list(chain(*factors)), clusters[0].group
    if len(set(axes)) != len(axes) or not axes:
        raise SurveyError("the factors of a family must use an axis once")
    if not any(set(axes) <= set(block) for block in group.blocks):
        raise SurveyError("a family of the design lies outside its blocks")
    characters = np.concatenate([cluster.characters for cluster in clusters])
    orders = np.repeat([cluster.orders for cluster in clusters], list(map(len, clusters)), axis=0)
    turned = characters * np.repeat(orders, list(map(len, factors)), axis=1)
    shape = group.shape(tuple(axes))
    # A character is a whole number of turns of its phase (`Cluster.turns`).
    if (turned % shape).any() or (characters < 0).any() or (characters >= shape).any():
        raise SurveyError("a character does not fit the order of its phase")


def _clusters(face: Face, looks: Sequence[Look], group: Group) -> list[Cluster]:
    """The families of one face: a cluster for each run of families with the same orders."""
    foreign = SurveyError("the plan holds a question that is not a family of a Fourier response")
    if len(face.steps) != 1 or face.steps[0].secret or face.coins or len(face.parts) != 1:
        raise foreign
    (part,), count = face.parts, face.choices
    response = part.response
    if part.then is not None or not isinstance(response, Subset) or response.odds != 0:
        raise foreign
    factors = tuple(tuple(term.attribute for term in digit.terms) for digit in part.digits)
    for digit in part.digits:
        if not is_phase(digit, looks):
            raise foreign

    def columns(integers: Sequence[Integer]) -> Integers:
        """As a table, shape (choices, integers)."""
        table = np.zeros((count, len(integers)), dtype=np.int64)
        for column, integer in enumerate(integers):
            table[:, column] = integer if isinstance(integer, int) else integer.array
        return table

    orders = columns([digit.radix for digit in part.digits])
    steps = columns([term.coefficient for digit in part.digits for term in digit.terms])
    # A step a is the character k = a m / r; what is not whole fits no character.
    scaled = steps * group.shape(tuple(chain(*factors)))
    divisors = np.repeat(orders, list(map(len, factors)), axis=1)
    if (scaled % divisors).any():
        raise SurveyError("a character does not fit the order of its phase")
    characters = scaled // divisors
    numbers = response.counts if isinstance(response, Arcs) else response.numbers
    return _split(cast(Base, response.kind), factors, orders, characters, columns(numbers), group)


def _split(
    base: Base,
    factors: tuple[Axes, ...],
    orders: Integers,
    characters: Integers,
    parameters: Integers,
    group: Group,
) -> list[Cluster]:
    """Families with the same factors, a row each: a cluster for each run with the same orders."""
    ends = np.flatnonzero((orders[1:] != orders[:-1]).any(axis=1)) + 1
    return [
        Cluster(base, factors, tuple(orders[a].tolist()), characters[a:b], parameters[a:b], group)
        for a, b in pairwise([0, *ends.tolist(), len(orders)])
    ]


@dataclass(frozen=True, eq=False)
class SpectraLayout:
    """How spectra lie one after the other: where that of every family begins, shape (f,), and how
    far apart its frequencies lie on every axis, shape (f, axes)."""

    starts: Integers
    strides: Integers

    def pick(self, rows: Integers) -> SpectraLayout:
        """Of some families."""
        return SpectraLayout(self.starts[rows], self.strides[rows])


@dataclass(frozen=True, eq=False)
class FamilyBatch:
    """Some families of one shape, which may be over different axes, few enough to be worked on at
    once.

    With x = 1 + (E - 1) 1_B on H, X its discrete Fourier transform and s = sum of x, a family of
    probability w gives the frequency f = h k the information w |X(h)|^2 / s^2. Real arrays over H
    are transformed by half spectra: the last factor keeps h = 0..r/2, and what is scattered to
    frequencies is completed by its mirror image.

    cluster: with as many axes in each factor as any of them has; a family has the character 0 on
    those that it lacks.  families: their numbers in the table, shape (f,).  odds: E.
    names: the axis of the group behind each axis of the cluster, -1 where a family lacks it, shape
    (f, axes).
    moved: the factors that hold axes that are asked about.  layout, layout_moved: of spectra over
    all axes of the families, and over those of these factors.
    """

    cluster: Cluster
    families: Integers
    odds: float
    names: Integers
    moved: tuple[int, ...]
    layout: SpectraLayout
    layout_moved: SpectraLayout
    _kept: dict[tuple[int, ...] | None, Integers] = field(default_factory=dict)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value per family, shaped to be broadcast over H."""
        return values.reshape((-1,) + (1,) * len(self.cluster.orders))

    def _harmonics(self, moved: tuple[int, ...] | None = None) -> tuple[Integers, ...]:
        """h on every factor, in the half that is kept; on factors that are not moved h = 0."""
        orders = self.cluster.orders
        return _list_harmonics(orders, tuple(range(len(orders))) if moved is None else moved)

    @property
    def _is_few(self) -> bool:
        """Whether transforms are kept: a sample is kept for long, so only where it is small."""
        return len(self.cluster) * self.cluster.phases <= _FEW

    @property
    def transform(self) -> Complexes:
        """X(h) / s of every family, half spectrum: (f, r_1, ..., r_P // 2 + 1)."""
        cluster = self.cluster
        if cluster.base == "arcs":
            return self._transform_arcs(self._harmonics())
        # Families that differ in their characters alone have the same base set.
        _, chosen, kinds = np.unique(
            cluster.parameters, axis=0, return_index=True, return_inverse=True
        )
        sets = self.transform_counts(np.array([cluster.mask(number) for number in chosen]))
        return self._scale(sets[kinds])

    def _transform_arcs(self, harmonics: Sequence[Integers]) -> Complexes:
        """`transform` at some harmonics of every factor, 0 first.

        The transform of a product of arcs is a product of geometric sums.
        """
        inside = np.ones(len(self.cluster), dtype=np.complex128)
        for place, own in enumerate(harmonics):
            order, lengths = self.cluster.orders[place], self.cluster.parameters[:, place]
            if order <= _TABULATED:
                side = _tabulate_arcs(order)[lengths, : len(own)]
            else:
                few, owner = np.unique(lengths, return_inverse=True)
                side = arc_transform(order, few[:, None], own)[owner]
            inside = inside[..., None] * side.reshape((len(side),) + (1,) * place + (-1,))
        return self._scale(inside)

    def _scale(self, inside: Complexes) -> Complexes:
        """X / s from B, in its place: X = DFT of 1 + (E - 1) 1_B, and the ones add |H| at h = 0 and
        nothing elsewhere."""
        cluster = self.cluster
        inside *= self.odds - 1.0
        inside.reshape(len(inside), -1)[:, 0] += cluster.phases
        inside /= self.spread(cluster.phases + (self.odds - 1.0) * cluster.sizes)
        return inside

    @property
    def power(self) -> Reals:
        """|X(h)|^2 / s^2; as `transform`."""
        transform = self.transform
        return np.asarray(transform.real**2 + transform.imag**2)

    @cached_property
    def _kept_transform(self) -> Complexes:
        return self.transform

    def places(self, moved: tuple[int, ...] | None = None) -> Integers:
        """Where f = h k lies among the spectra of all families, over all their axes or over those
        of the factors that are moved; as `transform`."""
        layout = self.layout if moved is None else self.layout_moved
        return self._walk(self._harmonics(moved), layout)

    def _keep_places(self, moved: tuple[int, ...] | None) -> Integers:
        """`places`, kept where they are few."""
        if not self._is_few:
            return self.places(moved)
        if moved not in self._kept:
            self._kept[moved] = self.places(moved)
        return self._kept[moved]

    def _walk(self, kept: Sequence[Integers], layout: SpectraLayout) -> Integers:
        """Where f = h k lies, from where f = 0 does."""
        cluster, circles, places, first = self.cluster, self._circles, layout.starts, 0
        for place, harmonics in enumerate(kept):
            last = first + len(cluster.factors[place])  # without axes for base sets chosen alone
            along = cluster.characters[:, first:last, None] * harmonics
            along %= circles[:, first:last, None]
            side = (layout.strides[:, None, first:last] @ along)[:, 0]
            places = places[..., None] + side.reshape((len(side),) + (1,) * place + (-1,))
            first = last
        return places

    @property
    def _circles(self) -> Integers:
        """The order of every axis of a family, 1 of those that it lacks, shape (f, axes)."""
        return np.array([*self.cluster.group.orders, 1])[self.names]

    @property
    def turns(self) -> Integers:
        """a_pi of every axis (`Cluster.turns`), whole numbers, 0 on axes that a family lacks."""
        orders = np.repeat(self.cluster.orders, list(map(len, self.cluster.factors)))
        return np.asarray(self.cluster.characters * orders // self._circles)

    def halves(self, moved: tuple[int, ...] | None = None) -> Reals:
        """1/2 where a half spectrum holds both h and -h (or they coincide), else 1."""
        order = self.cluster.orders[-1 if moved is None else moved[-1]]
        return np.where(2 * np.arange(order // 2 + 1) % order == 0, 0.5, 1.0)

    def transform_counts(
        self, counts: NDArray[Any], moved: tuple[int, ...] | None = None
    ) -> Complexes:
        """Half spectrum of real arrays over H, shape (f, |H|), or over some of its factors."""
        own = self.cluster.orders
        orders = own if moved is None else tuple(own[place] for place in moved)
        axes = range(1, 1 + len(orders))
        return np.fft.rfftn(counts.reshape(-1, *orders), axes=axes)

    def correlate(
        self, spectra: NDArray[Any], moved: tuple[int, ...] | None = None
    ) -> NDArray[np.floating]:
        """c of every phase, the correlation of X / s with spectra, shape (k, f, phases).

        spectra: q^ / (N lambda), one after the other, flat, shape (k, cells); the result is in
        their precision.
        moved: the factors over whose axes the spectra are, all by default; on others they are 0, c
        is the same everywhere along these, and H has one phase.
        """
        orders, harmonics = self.cluster.orders, self._harmonics(moved)
        if self._is_few or self.cluster.base != "arcs":
            some = (slice(None), *(slice(len(own)) for own in harmonics))
            transform = self._kept_transform[some]
        else:
            transform = self._transform_arcs(harmonics)
        # c(phi) = (1 / s) sum_u a(u) x(theta(u) - phi), with a = X^-1 q: in the Fourier domain of H
        # the product of a^ at f = h k with the conjugate of X. irfftn divides by |H|, which is
        # taken back.
        product = spectra[:, self._keep_places(moved)] * np.conj(transform).astype(spectra.dtype)
        factors = range(len(orders)) if moved is None else moved
        shape, axes = [orders[own] for own in factors], [2 + own for own in factors]
        cells: NDArray[np.floating] = np.fft.irfftn(product, s=shape, axes=axes)
        cells *= prod(shape)
        return cells.reshape(len(spectra), len(self.cluster), -1)

    def sum_unmoved(self, values: Reals) -> Reals:
        """Values of every phase, shape (f, |H|), summed over the factors that are not moved."""
        orders = self.cluster.orders
        still = tuple(1 + place for place in range(len(orders)) if place not in self.moved)
        return np.asarray(values.reshape(-1, *orders).sum(axis=still).reshape(len(values), -1))

    def scatter_over(self, values: Complexes, axes: Axes) -> Complexes:
        """Sum of half spectra over the factors that are moved, at their frequencies: dense over
        some axes of the group, summed over the frequencies of others."""
        group = self.cluster.group
        strides = np.zeros(len(group.orders) + 1, dtype=np.int64)  # the last for axes it lacks
        strides[list(axes)] = [group.cells(axes[n + 1 :]) for n in range(len(axes))]
        starts = np.zeros(len(self.cluster), dtype=np.int64)
        places = self._walk(self._harmonics(self.moved), SpectraLayout(starts, strides[self.names]))
        index, flat = places.ravel(), (values * self.halves(self.moved)).ravel()
        dense = np.bincount(index, flat.real, group.cells(axes)) + 1j * (
            np.bincount(index, flat.imag, group.cells(axes))
        )
        dense = dense.reshape(group.shape(axes))
        return np.asarray(dense + np.conj(mirror(dense)))


def mix(
    clusters: Sequence[Cluster], odds: float, chosen: Integers, asked: Axes, most: int
) -> tuple[tuple[Axes, ...], tuple[Axes, ...], list[FamilyBatch]]:
    """The axes over which spectra lie, and those over which spectra lie that are about what is
    asked; and the chosen families, those together that differ in their axes alone, for NumPy takes
    about as long for each as for all of them.

    chosen: numbers of families, ascending.  most: phases of a batch, if it has several families.
    """
    starts = list(accumulate(map(len, clusters), initial=0))
    bounds = np.searchsorted(chosen, starts)
    alike: dict[Any, list[tuple[Cluster, Integers]]] = {}
    for cluster, start, (low, high) in zip(clusters, starts, pairwise(bounds), strict=False):
        if low < high:
            kind, own = (cluster.base, cluster.orders, cluster.moved(asked)), chosen[low:high]
            alike.setdefault(kind, []).append((cluster.pick(own - start), own))
    found, begins, begins_moved = list[FamilyBatch](), dict[Axes, int](), dict[Axes, int]()
    for (_, _, moved), members in in_time(alike.items()):
        families = np.concatenate([own for _, own in members])
        own_clusters = [cluster for cluster, _ in members]
        joined, columns, names = _join(own_clusters)
        layout = _lay_out(own_clusters, columns, [own.axes for own in own_clusters], begins)
        about = [own.axes_of(moved) for own in own_clusters]
        layout_moved = _lay_out(own_clusters, columns, about, begins_moved)
        step = max(1, most // joined.phases)
        for first in range(0, len(families), step):
            rows = np.arange(first, min(first + step, len(families)))
            layouts = layout.pick(rows), layout_moved.pick(rows)
            picked = joined.pick(rows), families[rows]
            found.append(FamilyBatch(*picked, odds, names[rows], moved, *layouts))
    return tuple(begins), tuple(begins_moved), found


def _join(clusters: Sequence[Cluster]) -> tuple[Cluster, list[list[int]], Integers]:
    """Clusters of one shape as one; of each the columns that hold its axes; and of every column of
    a family the axis, -1 for none, shape (f, axes)."""
    factors = zip(*(cluster.factors for cluster in clusters), strict=True)
    firsts = [0, *accumulate(max(map(len, sides)) for sides in factors)]
    columns = [
        [
            at + n
            for at, factor in zip(firsts, cluster.factors, strict=False)
            for n in range(len(factor))
        ]
        for cluster in clusters
    ]
    shape = (sum(map(len, clusters)), firsts[-1])
    characters, names = np.zeros(shape, dtype=np.int64), np.full(shape, -1)
    for rows, cluster, own in zip(_rows_of(clusters), clusters, columns, strict=True):
        characters[rows, own] = cluster.characters
        names[rows, own] = tuple(cluster.columns)
    joined = replace(
        clusters[0],
        factors=tuple(tuple(range(*ends)) for ends in pairwise(firsts)),
        characters=characters,
        parameters=np.concatenate([cluster.parameters for cluster in clusters]),
    )
    return joined, columns, names


def _lay_out(
    clusters: Sequence[Cluster],
    columns: Sequence[Sequence[int]],
    axes: Sequence[Axes],
    begins: dict[Axes, int],
) -> SpectraLayout:
    """Of the families of clusters that are one, over some axes of each.

    begins: where the spectra over some axes begin; those of others come to lie behind them.
    """
    group, shape = clusters[0].group, (sum(map(len, clusters)), 1 + max(map(max, columns)))
    layout = SpectraLayout(np.empty(shape[0], dtype=np.int64), np.zeros(shape, dtype=np.int64))
    for rows, cluster, own, block in zip(_rows_of(clusters), clusters, columns, axes, strict=True):
        if block not in begins:
            begins[block] = sum(map(group.cells, begins))
        layout.starts[rows] = begins[block]
        # How far apart the frequencies of an axis lie in a dense array; 0 on axes beside it.
        strides = {axis: group.cells(block[n + 1 :]) for n, axis in enumerate(block)}
        layout.strides[rows, own] = [strides.get(axis, 0) for axis in cluster.columns]
    return layout


def _rows_of(clusters: Sequence[Cluster]) -> Iterator[slice]:
    """Of the families of each, one cluster after the other."""
    return (slice(*ends) for ends in pairwise(accumulate(map(len, clusters), initial=0)))


@lru_cache(maxsize=_TABULATED)
def _list_harmonics(orders: tuple[int, ...], moved: tuple[int, ...]) -> tuple[Integers, ...]:
    """h on every factor: all on those that are moved, half on the last of these, else h = 0."""
    kept = [np.arange(order if n in moved else 1) for n, order in enumerate(orders)]
    kept[moved[-1]] = np.arange(orders[moved[-1]] // 2 + 1)
    return tuple(kept)


@lru_cache(maxsize=_TABULATED)
def _tabulate_arcs(order: int) -> Complexes:
    """The transforms of arcs of every length at every harmonic, shape (order + 1, order): families
    of one shape are often few, and shapes many."""
    return arc_transform(order, np.arange(order + 1)[:, None], np.arange(order))
