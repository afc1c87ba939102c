"""Questions in product form: faces of a plan with one step per axis, and what their reports tell.

Such a face stands for tens of thousands of questions, more than there are people. So nothing is
done question by question: what they tell follows from the steps, and reports are worked on one by
one. Source: docs/spec/fourier.md#13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Group,
    Integers,
    Look,
    Numbers,
    Reals,
    Spectrum,
    axes_of,
    mirror,
)
from ldpsql.mechanisms.fourier.questions import (
    MOST_ODDS,
    AllSpectra,
    MovedSpectrum,
    SampledSums,
    Spread,
    sum_pairs,
)
from ldpsql.reports.report import Pair, Rows
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import HALVES, Arcs, Digit, Face, Step, Varying

HARMONICS = 64
"""The order of a phase that several dimensions turn can be the product of theirs. Of its harmonics
so many are used; the others hold less than a hundredth of what it tells."""
POINTS = 1024
"""Reports of a sample of those to questions in product form."""
_AT_ONCE, _MOST_MOVED, _CELLS_AT_ONCE = 1 << 20, 1 << 23, 1 << 22
_PLACES_AT_ONCE = 1 << 18
"""Contributions that are transformed at once: they should fit a cache."""
_ROWS_AT_ONCE = 1 << 9
_CIRCLES = 4
"""Numbers that are transformed along circles in the time that one takes row by row, about."""


def size_arcs(orders: int | Integers, lengths: Integers, harmonics: Integers) -> Reals:
    """The real factor of sum over o < L of exp(-2 pi i h o / r) = e^(-i (L-1) a) sin(L a) / sin(a)
    with a = pi h / r, which is L where h is a multiple of r; shapes are broadcast."""
    angles = np.pi * harmonics / orders
    is_whole = harmonics % orders == 0
    sizes = np.sin(lengths * angles) / np.where(is_whole, 1.0, np.sin(angles))
    # sin of a multiple of pi is only nearly 0, and what is never informed must be recognised.
    sizes = np.where(lengths * harmonics % orders == 0, 0.0, sizes)
    return np.where(is_whole, lengths, sizes)


def arc_transform(orders: int | Integers, lengths: Integers, harmonics: Integers) -> Complexes:
    """sum over o < L of exp(-2 pi i h o / r); shapes are broadcast."""
    turns = np.exp(-1j * ((lengths - 1) * (np.pi * harmonics / orders)))
    return np.asarray(size_arcs(orders, lengths, harmonics) * turns)


@dataclass(frozen=True, eq=False)
class ArcRows:
    """Arcs of one factor with reported phases, a row each: [0, length) on a circle of `orders`.

    characters: shape (n, axes).  orders, lengths, phases: shape (n,).
    """

    characters: Integers
    orders: Integers
    lengths: Integers
    phases: Integers

    def pick(self, rows: Integers | slice) -> ArcRows:
        """Some of them."""
        return ArcRows(
            self.characters[rows], self.orders[rows], self.lengths[rows], self.phases[rows]
        )

    def distinct(self) -> tuple[ArcRows, Integers]:
        """Every row once, and which of these each row is, shape (n,)."""
        columns = [*self.characters.T, self.lengths, self.phases]
        key = np.zeros(len(self.orders), dtype=np.int64)
        for column in columns:  # below the axes' orders and the radix: far less than 2^63 together
            key = key * (int(column.max(initial=0)) + 1) + column
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        return self.pick(first), place

    def turned(self) -> ArcRows:
        """Each of them at every phase of its circle."""
        rows = np.repeat(np.arange(len(self.orders)), self.orders)
        phases = np.concatenate([np.arange(order) for order in self.orders])
        return replace(self.pick(rows), phases=phases)

    def transform(self, most: int) -> Complexes:
        """B^(h) exp(-2 pi i h phi / r) for h = 0 .. most, 0 beyond r / 2; shape (n, most + 1)."""
        # Few rows differ in order and length, on which the sizes of the geometric sums depend.
        pairs, place = np.unique(self.orders << 32 | self.lengths, return_inverse=True)
        orders, lengths = (pairs >> 32)[:, None], (pairs & 0xFFFFFFFF)[:, None]
        harmonics = np.arange(most + 1)
        sizes = np.where(2 * harmonics > orders, 0.0, size_arcs(orders, lengths, harmonics))
        # e^(-i (L-1) a) with a = pi h / r, turned by the phase, are all powers of one number.
        turns = np.exp(-1j * np.pi * (self.lengths - 1 + 2 * self.phases) / self.orders)
        powers = np.empty((len(turns), most + 1), dtype=np.complex128)
        powers[:, 0], powers[:, 1:] = 1.0, turns[:, None]
        np.multiply.accumulate(powers, axis=1, out=powers)
        powers *= sizes.take(place, axis=0)
        return powers

    def halves(self, most: int) -> Reals:
        """1/2 where h and -h are one (0, and r / 2), else 1, shape (n, most + 1)."""
        harmonics = np.arange(most + 1)
        is_own = (harmonics == 0) | (2 * harmonics == self.orders[:, None])
        return np.where(is_own, 0.5, 1.0)

    def coordinates(self, axis: int, order: int, most: int) -> Integers:
        """h k mod the order of one of the axes, shape (n, most + 1)."""
        return np.asarray(np.outer(self.characters[:, axis], np.arange(most + 1)) % order)


@dataclass(frozen=True, eq=False)
class ArcFactor:
    """One digit of a product face: a phase modulo `radix`, favoured in the interval of `length`.

    characters: on every axis, one per choice of the axis' step, or a single one where it has none.
    shares: of these choices.  has_step: by axis.

    The order r of a character may be a part of the radix, r = radix / g. Then a record's phase is a
    multiple of g, and a reported phase phi tells by (phi mod g, phi // g): given the first, its
    *class*, the second answers an arc on the circle of r, whose length is the number of offsets
    below `length` that the class allows: length / g, rounded down or up.
    """

    orders: tuple[int, ...]
    axes: Axes
    characters: tuple[Integers, ...]
    shares: tuple[Reals, ...]
    has_step: tuple[bool, ...]
    radix: int
    length: int

    @classmethod
    def of(
        cls, digit: Digit, length: int, steps: Sequence[Step], first: int, group: Group
    ) -> ArcFactor | None:
        """A digit that is a phase, of which every axis has the next step from the first on or none;
        None if it is something else. SurveyError for characters that do not fit the radix."""
        if not isinstance(digit.radix, int):
            return None
        columns, shares, has_step = list[Integers](), list[Reals](), list[bool]()
        for turn in (term.coefficient for term in digit.terms):
            has_step.append(isinstance(turn, Varying))
            if not isinstance(turn, Varying):
                columns.append(np.array([turn], dtype=np.int64))
                shares.append(np.ones(1))
                continue
            if turn.step != first or steps[first].secret:
                return None
            columns.append(turn.array)
            shares.append(np.array(steps[first].preimages, dtype=np.float64) / HALVES)
            first += 1
        axes = tuple(term.attribute for term in digit.terms)
        orders = group.shape(axes)
        # A turn a is the character k = a m / radix; what is not whole fits no character.
        scaled = [own * order for own, order in zip(columns, orders, strict=True)]
        if any((own % digit.radix).any() for own in scaled):
            raise SurveyError("a character does not fit the order of its phase")
        characters = tuple(own // digit.radix for own in scaled)
        return cls(orders, axes, characters, tuple(shares), tuple(has_step), digit.radix, length)

    @property
    def is_long(self) -> bool:
        """Whether several of its axes have steps."""
        return sum(self.has_step) > 1

    @property
    def harmonics(self) -> int:
        """The largest that is used."""
        return min(self.radix // 2, HARMONICS) if self.is_long else self.radix // 2

    def _divisors(self, characters: Integers) -> Integers:
        """g of every character, shape (n,)."""
        turns = characters * self.radix // np.array(self.orders)
        return np.asarray(np.gcd.reduce(np.gcd(turns, self.radix), axis=1))

    def read(self, characters: Integers, phases: Integers) -> ArcRows:
        """The arcs that reported phases answer to, shape (n,)."""
        divisors = self._divisors(characters)
        own = phases % divisors
        # Offsets of a class are -own modulo g; so many are below `length`.
        lengths = (self.length + divisors - 1 - -own % divisors) // divisors
        orders = self.radix // divisors
        return ArcRows(characters, orders, lengths, (phases // divisors + (own > 0)) % orders)

    @cached_property
    def classes(self) -> tuple[ArcRows, Integers, Integers]:
        """The arcs of every character, rounded down and up: (arcs, number of classes of phases that
        answer each, number of its character), characters as a grid, the last axis fastest."""
        grid = np.meshgrid(*self.characters, indexing="ij")
        characters = np.stack([own.ravel() for own in grid], axis=1)
        divisors = self._divisors(characters)
        down, more = np.divmod(self.length, divisors)
        lengths = np.stack([down, down + 1], axis=1).ravel()
        counts = np.stack([divisors - more, more], axis=1).ravel()
        kept = np.flatnonzero((lengths > 0) & (counts > 0))
        owner, lengths = kept // 2, lengths[kept]
        orders = (self.radix // divisors)[owner]
        rows = ArcRows(characters[owner], orders, lengths, np.zeros_like(lengths))
        return rows, counts[kept], owner

    @property
    def chances(self) -> Reals:
        """The probability of every character, in the order of the grid."""
        return np.asarray(reduce(np.multiply.outer, self.shares, np.ones(())).ravel())

    def half(self, rows: ArcRows) -> Complexes:
        """Transforms over the frequencies of the axes, of the first axis up to half of its order,
        shape (n, order // 2 + 1, cells of the others).

        For factors that are not long: all axes but the first have order 2, where f is -f.
        """
        (order, *others), most, size = self.orders, self.harmonics, prod(self.orders[1:])
        values, first = rows.transform(most), rows.coordinates(0, order, most)
        place = np.zeros_like(first)
        for axis, own in enumerate(others, 1):
            place = place * own + rows.coordinates(axis, own, most)
        is_far = 2 * first > order
        place += np.where(is_far, order - first, first) * size
        width = (order // 2 + 1) * size
        place[2 * np.arange(most + 1) > rows.orders[:, None]] = width
        dense = np.zeros((len(values), width + 1), dtype=np.complex128)
        np.put_along_axis(dense, place, np.where(is_far, values.conj(), values), axis=1)
        return dense[:, :width].reshape(len(values), -1, size)

    def halve(self, rows: ArcRows) -> Complexes:
        """The same in rows, shape (n, cells of the half), what is its own negative halved."""
        half, size = self.half(rows).reshape(len(rows.orders), -1), prod(self.orders[1:])
        half[:, :size] *= 0.5
        if self.orders[0] % 2 == 0:
            half[:, -size:] *= 0.5
        return half

    def full(self, rows: ArcRows) -> Complexes:
        """`half` over all frequencies, shape (n, cells)."""
        half = self.half(rows)
        other = half[:, 1 : (self.orders[0] + 1) // 2][:, ::-1].conj()
        return np.concatenate([half, other], axis=1).reshape(len(half), -1)

    def flat(self, rows: ArcRows) -> Integers:
        """Where f = h k lies in a flat array over the axes, shape (n, harmonics + 1)."""
        place = np.zeros((len(rows.orders), self.harmonics + 1), dtype=np.int64)
        for axis, order in enumerate(self.orders):
            place = place * order + rows.coordinates(axis, order, self.harmonics)
        return place


@dataclass(frozen=True, eq=False)
class ProductFace:
    """The questions of one face of a plan: products of one or two arcs, one step for every axis.

    Either the first factor is long and the second, if there is one, has no step; or both have one.
    first: number of the first question.  shape: choices per step.  share: probability of the face.
    """

    group: Group
    factors: tuple[ArcFactor, ...]
    first: int
    shape: tuple[int, ...]
    share: float

    @classmethod
    def of(
        cls, face: Face, looks: Sequence[Look], group: Group, first: int, share: float
    ) -> ProductFace:
        """SurveyError unless the face is one."""
        (part, *others), steps = face.parts, list(face.steps)
        response, factors, used = part.response, list[ArcFactor](), 0
        foreign = SurveyError("the plan holds a question that is not in product form")
        is_plain = not others and not face.coins and part.then is None
        if not is_plain or not isinstance(response, Arcs) or response.odds != 0:
            raise foreign
        for digit, length in zip(part.digits, response.counts, strict=True):
            if not isinstance(length, int) or not is_phase(digit, looks):
                raise foreign
            own = ArcFactor.of(digit, length, steps, used, group)
            if own is None:
                raise foreign
            factors.append(own)
            used += sum(own.has_step)
        made = cls(group, tuple(factors), first, face.shape, share)
        if used != len(steps) or not made._is_supported():
            raise foreign
        return made

    def _is_supported(self) -> bool:
        axes, steps = self.named, [sum(factor.has_step) for factor in self.factors]
        rest = self.factors[1:] if steps[0] > 1 else self.factors
        is_known = steps == [1, 1] or (steps[0] > 1 and steps[1:] in ([], [0]))
        # What has no step is not moved: signs of measures.
        is_known &= all(
            axis >= self.group.dimensions
            for factor in self.factors
            for axis, stepped in zip(factor.axes, factor.has_step, strict=True)
            if not stepped
        )
        is_known &= all(set(own.orders[1:]) <= {2} for own in rest)
        is_known &= steps != [1, 1] or all(own.has_step[0] for own in rest)
        is_known &= len(set(axes)) == len(axes) and self.group.block_of(axes) is not None
        characters = zip(
            chain(*(own.characters for own in self.factors)),
            chain(*(own.orders for own in self.factors)),
            strict=True,
        )
        is_known &= all(own.min() > 0 and own.max() < order for own, order in characters)
        return bool(is_known and all(own.length < own.radix for own in self.factors))

    @property
    def named(self) -> list[int]:
        """The axes of the factors, one factor after the other."""
        return list(chain(*(factor.axes for factor in self.factors)))

    @cached_property
    def axes(self) -> Axes:
        """Of all factors, ascending."""
        return tuple(sorted(self.named))

    @property
    def questions(self) -> int:
        """How many there are."""
        return prod(self.shape)

    @property
    def phases(self) -> int:
        """How many answers a question has."""
        return prod(factor.radix for factor in self.factors)

    @property
    def base(self) -> int:
        """How many of them are the likelier ones."""
        return prod(factor.length for factor in self.factors)

    @property
    def is_long(self) -> bool:
        """Whether the first factor is."""
        return self.factors[0].is_long

    def arrange(self, dense: Numbers) -> Numbers:
        """An array over the factors' axes, factor by factor, as one over `axes`."""
        return np.asarray(np.transpose(self.reshape_to_axes(dense), np.argsort(self.named)))

    def line_up(self, dense: Numbers) -> Numbers:
        """The inverse: an array over `axes`, flat, as one over the cells of each factor, of which
        there are two; a copy, with 0 at f = 0."""
        places = [self.axes.index(axis) for axis in self.named]
        shaped = np.transpose(dense.reshape(self.group.shape(self.axes)), places)
        lined = np.array(shaped.reshape(prod(self.factors[0].orders), -1))
        lined[0, 0] = 0.0
        return lined

    def information(self, odds: float) -> Reals:
        """lambda of its questions, which they tell of every frequency, dense over the axes.

        A class of phases is reported with probability s_c / s, where s_c is the sum of x over the
        class, and tells |X_c(h)|^2 / s_c^2 at f = h k: together |X_c(h)|^2 / (s s_c).
        """
        first, counts, owner = self.factors[0].classes
        weights = counts * self.factors[0].chances[owner]
        if len(self.factors) > 1:
            second, copies, again = self.factors[1].classes
            power = np.abs(self.factors[1].full(second)) ** 2
            power *= (copies * self.factors[1].chances[again])[:, None]
        else:
            ones = np.ones(1, dtype=np.int64)
            second, power = ArcRows(ones[:, None], ones, ones, 0 * ones), np.ones((1, 1))
        sums = np.multiply.outer(first.orders, second.orders).astype(np.float64)
        sums += (odds - 1.0) * np.multiply.outer(first.lengths, second.lengths)
        # What the second factor tells, by row of the first.
        other = (weights[:, None] / sums) @ power
        factor, cells = self.factors[0], prod(self.factors[0].orders)
        if factor.is_long:
            dense = np.zeros((cells, power.shape[1]))
            step = max(1, _AT_ONCE // (factor.harmonics + 1))
            for start in in_time(range(0, len(counts), step)):
                part = slice(start, start + step)
                rows = first.pick(part)
                own = np.abs(rows.transform(factor.harmonics)) ** 2 * rows.halves(factor.harmonics)
                places = factor.flat(rows).ravel()
                for column in range(power.shape[1]):
                    each = (own * other[part, column, None]).ravel()
                    dense[:, column] += np.bincount(places, each, cells)
            shaped = self.reshape_to_axes(dense)
            dense = shaped + mirror(shaped)
        else:
            dense = (np.abs(factor.full(first)) ** 2).T @ other
        total = self.phases + (odds - 1.0) * self.base
        dense = dense.ravel() * (self.share * (odds - 1.0) ** 2 / total)
        dense[0] = self.share
        return np.asarray(self.arrange(dense))

    def reshape_to_axes(self, dense: Numbers) -> Numbers:
        """An array over the cells of each factor as one over their axes."""
        return dense.reshape([order for factor in self.factors for order in factor.orders])

    def sample(self, points: int, odds: float) -> tuple[ProductReports, Reals]:
        """About so many reports as they are if people are spread evenly, and the share of all
        reports that each stands for; every report once, if these are not more."""
        cells = self.questions * self.phases
        if cells <= points:
            flat = np.arange(cells)
            questions, phases = np.divmod(flat, self.phases)
            chances = reduce(
                np.multiply.outer, (own for f in self.factors for own in f.shares), np.ones(())
            ).ravel()[questions]
        else:
            # Evenly spread points of a unit cube: multiples of powers of the root of
            # x^(d+1) = x + 1, modulo 1, where d is the number of coordinates.
            steps = [
                own
                for f in self.factors
                for own, stepped in zip(f.shares, f.has_step, strict=True)
                if stepped
            ]
            root = 2.0
            for _ in range(64):
                root = (1.0 + root) ** (1.0 / (len(steps) + 2))
            turns = np.power(root, -np.arange(1.0, len(steps) + 2))
            places = (0.5 + np.outer(turns, np.arange(1, points + 1))) % 1.0
            choices = [
                np.minimum(np.searchsorted(np.cumsum(own), place, "right"), len(own) - 1)
                for own, place in zip(steps, places, strict=False)
            ]
            questions = np.ravel_multi_index(choices, self.shape)
            phases = (places[-1] * self.phases).astype(np.int64)
            chances = np.full(points, self.phases / points)
        reports = self.read(self.first + questions, phases, odds)
        total = self.phases + (odds - 1.0) * self.base
        shares = self.share * chances * reports.sums / (total * reports.phases)
        return reports, shares

    def long_ends(self, asked: Complexes, odds: float, known: Sequence[float]) -> list[float]:
        """The least and the most for some of the characters each, by a transform over phases."""
        first, *others = self.factors
        every, ends = first.classes[0], [*known]
        right, orders = np.ones((1, 1), dtype=np.complex128), np.ones(1, dtype=np.int64)
        lengths = orders
        for factor in others:
            turned = factor.classes[0].turned()
            right, orders, lengths = factor.full(turned).conj(), turned.orders, turned.lengths
        for start in in_time(range(0, len(every.orders), _ROWS_AT_ONCE)):
            rows = every.pick(slice(start, start + _ROWS_AT_ONCE))
            for order in np.unique(rows.orders).tolist():
                own = rows.pick(np.flatnonzero(rows.orders == order))
                values, places = own.transform(first.harmonics).conj(), first.flat(own)
                for row, count, length in zip(right, orders, lengths, strict=True):
                    # The half spectrum, over the circle, of what a report of a phase contributes.
                    circle = np.fft.irfft(values * (asked[places] @ row), n=order, norm="forward")
                    scale = (odds - 1.0) / (count * order + (odds - 1.0) * length * own.lengths)
                    circle *= scale[:, None]
                    ends += [float(circle.min()), float(circle.max())]
        return ends

    def split_ends(self, asked: Complexes, odds: float, known: Sequence[float]) -> list[float]:
        """The same for pairs of characters, those first whose frequencies weigh most together; not
        for pairs that could not contribute more if all of their frequencies added up."""
        one, other = (factor.classes[0] for factor in self.factors)
        ends = [*known]
        sums = np.multiply.outer(one.orders, other.orders)
        sums = sums + (odds - 1.0) * np.multiply.outer(one.lengths, other.lengths)
        scale = 2.0 * (odds - 1.0) / sums
        first, second = self.factors
        heads, tails = first.halve(one).conj(), second.full(other)
        asked = asked[: heads.shape[1]]
        most = np.abs(heads) @ np.abs(asked) @ np.abs(tails).T * scale
        for pair in in_time(np.argsort(-most, axis=None).tolist()):
            a, b = np.unravel_index(pair, most.shape)
            if most[a, b] <= min(-min(ends), max(ends)):
                break
            left = first.halve(one.pick(slice(a, a + 1)).turned()).conj()
            right = second.full(other.pick(slice(b, b + 1)).turned()).conj()
            amounts = (left @ asked @ right.T).real * scale[a, b]
            ends += [float(amounts.min()), float(amounts.max())]
        return ends

    def find(self, rows: Rows) -> Integers:
        """The places of the reports to its questions."""
        number = rows.columns[0] - self.first
        return np.flatnonzero((number >= 0) & (number < self.questions))

    def read(self, questions: Integers, phases: Integers, odds: float) -> ProductReports:
        """Reports by question and phase, shape (n,) each."""
        choices = iter(np.unravel_index(questions - self.first, self.shape))
        digits = np.unravel_index(phases, [factor.radix for factor in self.factors])
        rows, orders, lengths = [], np.ones(len(phases)), np.ones(len(phases))
        for factor, digit in zip(self.factors, digits, strict=True):
            columns = [
                own[next(choices)] if stepped else np.full(len(phases), own[0])
                for own, stepped in zip(factor.characters, factor.has_step, strict=True)
            ]
            rows.append(factor.read(np.stack(columns, axis=1), digit))
            orders, lengths = orders * rows[-1].orders, lengths * rows[-1].lengths
        return ProductReports(self, rows, orders, orders + (odds - 1.0) * lengths, odds)


@dataclass(frozen=True, eq=False)
class ProductReports:
    """Reports to the questions of a product face.

    One report is worth u(f) = scale x the product over the factors of B^(h) exp(-2 pi i h phi / r),
    at f = h k: the transform of x / s, moved. Decoding adds up u, and a report contributes the sum
    of q^(f) conj(u(f)) / lambda_f to a query, besides what everybody does at f = 0.

    rows: per factor.  phases, sums: |H| and s of the class of every report, shape (n,).  odds: E.
    """

    face: ProductFace
    rows: Sequence[ArcRows]
    phases: Reals
    sums: Reals
    odds: float

    @cached_property
    def scale(self) -> Reals:
        """(E - 1) / s of every report, shape (n,)."""
        return np.asarray((self.odds - 1.0) / self.sums)

    def decode(self, weights: Reals) -> Complexes:
        """The sum of u in these weights, shape (n,), over the face's axes; their sum at f = 0."""
        face, (first, *others) = self.face, self.face.factors
        if face.is_long:
            cells = prod(first.orders), prod(order for own in others for order in own.orders)
            dense = np.zeros(cells, dtype=np.complex128)
            step = max(1, _AT_ONCE // (first.harmonics + 1))
            for start in in_time(range(0, len(weights), step)):
                part = slice(start, start + step)
                values, places, other = self._long(part)
                values *= weights[part, None]
                for column in range(dense.shape[1]):
                    flat = (values * other[:, column, None]).ravel()
                    dense[:, column] += np.bincount(places.ravel(), flat.real, len(dense))
                    dense[:, column] += 1j * np.bincount(places.ravel(), flat.imag, len(dense))
        else:
            dense = self._decode_split(weights)
        shaped = face.reshape_to_axes(dense)
        both = (shaped + np.conj(mirror(shaped))).ravel()
        both[0] = weights.sum()
        return np.asarray(face.arrange(both))

    def _long(self, part: slice) -> tuple[Complexes, Integers, Complexes]:
        """Of some reports: u of the long factor (n, harmonics + 1), half where f is -f, where it
        lies, and what the other factor multiplies it by (n, cells of it)."""
        first, *others = self.face.factors
        rows = self.rows[0].pick(part)
        values = rows.transform(first.harmonics)
        values *= rows.halves(first.harmonics) * self.scale[part, None]
        other = np.ones((len(values), 1), dtype=np.complex128)
        for factor in others:
            distinct, place = self.rows[1].pick(part).distinct()
            other = factor.full(distinct)[place]
        return values, first.flat(rows), other

    def _decode_split(self, weights: Reals) -> Complexes:
        """Sum of the outer products of both factors' transforms: shape (cells of the first, those
        of the second), of the smaller one the half with f = 0 and f = order / 2 of its first axis
        halved."""
        factors, own = self.face.factors, weights * self.scale
        small, large = sorted(range(2), key=lambda number: prod(factors[number].orders))
        one, other = factors[small], factors[large]
        firsts, place = self.rows[small].distinct()
        left, rows = one.halve(firsts), self.rows[large]
        dense = np.zeros((prod(one.orders), prod(other.orders)), dtype=np.complex128)
        half = dense[: left.shape[1]]
        arcs, owner = replace(rows, phases=np.zeros_like(rows.phases)).distinct()
        if int(arcs.orders.sum()) * len(half) <= _CIRCLES * len(own) * dense.shape[1]:
            _add_circles(half, left, place, own, other, arcs, owner, rows.phases)
        else:
            _add_rows(half, left, place, own, other, rows)
        return dense if small == 0 else np.ascontiguousarray(dense.T)

    @cached_property
    def _kept(self) -> tuple[Complexes, Integers, Complexes]:
        """Factors of u from which contributions follow: of long factors `_long`; of split ones both
        transforms."""
        if self.face.is_long:
            return self._long(slice(None))
        one, other = self.face.factors
        half = one.halve(self.rows[0]) * self.scale[:, None]
        return half, np.zeros(0, dtype=np.int64), other.full(self.rows[1])

    def contributions(self, divided: NDArray[np.complexfloating]) -> Reals:
        """Contributions of the reports to queries, shape (k, n), besides f = 0.

        divided: q^ / (N lambda) over the face's axes, flat.
        """
        values, places, other = self._kept
        found = np.empty((len(divided), len(self.scale)))
        for number, spectrum in enumerate(divided):
            asked = self.face.line_up(spectrum)
            if self.face.is_long:
                summed = np.einsum("nhc,nc->nh", asked[places], other.conj())
                found[number] = 2.0 * np.einsum("nh,nh->n", summed, values.conj()).real
            else:
                asked = asked[: values.shape[1]]
                rows, columns = (np.flatnonzero(asked.any(axis=axis)) for axis in (1, 0))
                summed = values[:, rows].conj() @ asked[np.ix_(rows, columns)]
                found[number] = 2.0 * np.einsum("nc,nc->n", summed, other[:, columns].conj()).real
        return found

    def move_rows(
        self, divided: NDArray[np.complexfloating], moved: Axes
    ) -> Iterator[tuple[slice, Sequence[Reals]]]:
        """Contributions to queries as these move, for some of the reports after the other: which,
        and of every query shape (n, *orders of those of the face's axes that are among `moved`).

        Of many reports or places every second or third report is left out, and so on.
        """
        own = tuple(axis for axis in self.face.axes if axis in moved)
        if not own:
            yield slice(None), list(self.contributions(divided))
            return
        places, count = self.face.group.cells(own), len(self.scale)
        stride = -(-count * places // _MOST_MOVED)
        step = max(1, _PLACES_AT_ONCE // places) * stride
        move = self._move_long if self.face.is_long else self._move_split
        asked = [self.face.line_up(spectrum) for spectrum in divided]
        for start in in_time(range(0, count, step)):
            part = slice(start, min(start + step, count), stride)
            yield part, [move(spectrum, own, part) for spectrum in asked]

    def _move_long(self, asked: Complexes, moved: Axes, part: slice) -> Reals:
        """The inverse transform of conj(q^) u / lambda over the axes that move; if these are
        several, by way of the phase, on whose circle it is a function."""
        values, places, other = (own[part] for own in self._kept)
        factor, rows = self.face.factors[0], self.rows[0].pick(part)
        summed = values * np.einsum("nhc,nc->nh", asked[places].conj(), other)
        columns = [factor.axes.index(axis) for axis in moved]
        count, most = len(summed), factor.harmonics
        if len(moved) == 1:
            order = factor.orders[columns[0]]
            flat = rows.coordinates(columns[0], order, most) + np.arange(count)[:, None] * order
            dense = np.bincount(flat.ravel(), summed.real.ravel(), count * order) + 1j * (
                np.bincount(flat.ravel(), summed.imag.ravel(), count * order)
            )
            return np.asarray(2.0 * np.fft.ifft(dense.reshape(count, order)).real * order)
        # A real inverse transform counts what lies strictly between 0 and half of the circle twice.
        summed[:, 0] *= 2.0
        if 2 * most == factor.radix:
            summed[:, -1] *= 2.0
        circle = np.fft.irfft(summed, n=factor.radix, axis=1) * factor.radix
        shape = [count, *(factor.orders[column] for column in columns)]
        phase = np.zeros((count, *(1 for _ in moved)), dtype=np.int64)
        for place, column in enumerate(columns, 1):
            order = factor.orders[column]
            turns = rows.characters[:, column] * (factor.radix // order)
            own = np.outer(turns, np.arange(order)) % factor.radix
            phase = phase + own.reshape(
                [n if axis in (0, place) else 1 for axis, n in enumerate(shape)]
            )
        phase -= factor.radix * (phase >= factor.radix)
        phase += np.arange(count).reshape([-1, *(1 for _ in moved)]) * factor.radix
        return np.asarray(circle.ravel().take(phase))

    def _move_split(self, asked: Complexes, moved: Axes, part: slice) -> Reals:
        """The same for two factors; one that stays is summed over first."""
        values, other = self._kept[0][part], self._kept[2][part]
        one, second = self.face.factors
        asked = asked[: values.shape[1]].conj()
        rows, columns = (np.flatnonzero(asked.any(axis=axis)) for axis in (1, 0))
        found: Complexes
        if one.axes[0] not in moved:
            found = np.zeros_like(other)
            found[:, columns] = values[:, rows] @ asked[np.ix_(rows, columns)]
            spectra = _add_signs(found * other, second)
            return np.asarray(2.0 * np.fft.ifft(spectra, norm="forward").real)
        if second.axes[0] not in moved:
            found = np.zeros_like(values)
            found[:, rows] = other[:, columns] @ asked[np.ix_(rows, columns)].T
            return _move_half(_add_signs(found * values, one), one.orders[0])
        half, order = one.orders[0] // 2 + 1, second.orders[0]
        grid = asked.reshape(half, -1, order, prod(second.orders[1:]))
        # The frequencies of signs that are asked about are added up before any transform.
        heads, tails = (own.reshape(len(own), n, -1) for own, n in ((values, half), (other, order)))
        found = np.zeros((len(values), half, order), dtype=np.complex128)
        for sign, again in np.argwhere(grid.any(axis=(0, 2))):
            moving = grid[:, sign, :, again] * tails[:, None, :, again]
            moving *= heads[:, :, sign, None]
            found += moving
        places = _move_half(np.fft.ifft(found, norm="forward", out=found), one.orders[0])
        if one.axes[0] < second.axes[0]:
            return places
        return np.ascontiguousarray(places.swapaxes(1, 2))  # it is read several times


@dataclass(frozen=True, eq=False)
class ProductQuestions:
    """The questions of some product faces, as `Questions`. odds: E."""

    group: Group
    faces: Sequence[ProductFace]
    odds: float

    @property
    def shares(self) -> Iterator[tuple[Axes, float]]:
        """By face."""
        return ((face.axes, face.share) for face in self.faces)

    def information(self) -> Iterator[tuple[Axes, Reals]]:
        """Face by face."""
        return ((face.axes, face.information(self.odds)) for face in in_time(self.faces))

    def decode(self, sets: Sequence[Rows], pair: Pair) -> Iterator[tuple[Axes, Complexes]]:
        """Face by face and set by set."""
        for face in in_time(self.faces):
            sums = np.zeros((len(sets), *self.group.shape(face.axes)), dtype=np.complex128)
            for into, rows in zip(sums, sets, strict=True):
                mine = face.find(rows)
                if len(mine):
                    questions, phases = (own[mine] for own in rows.columns)
                    reports = face.read(questions, phases, self.odds)
                    into[:] = reports.decode(rows.moment(*pair)[mine])
            yield face.axes, sums

    def extremes(self, spectra: Sequence[Spectrum], known: Reals) -> Reals:
        """Transforms per character come first, and spare most of the others."""
        found = known.copy()
        for face in sorted(self.faces, key=lambda face: not face.is_long):
            find = face.long_ends if face.is_long else face.split_ends
            for number, own in enumerate(self.group.spread(spectra, face.axes)):
                ends = find(face.line_up(own), self.odds, found[:, number].tolist())
                found[:, number] = min(ends), max(ends)
        return found

    def contribute(
        self, asked: Sequence[MovedSpectrum], each: AllSpectra, reports: Rows, found: Reals
    ) -> None:
        """Of every query by itself."""
        spectra = each() if self.faces else ()
        for face in in_time(self.faces):
            mine = face.find(reports)
            if set(axes_of(spectra)).isdisjoint(face.axes) or not len(mine):
                continue
            dense = self.group.spread(spectra, face.axes)
            step = max(1, _CELLS_AT_ONCE // dense.shape[1])
            for first in in_time(range(0, len(mine), step)):
                part = mine[first : first + step]
                questions, phases = (own[part] for own in reports.columns)
                found[:, part] += face.read(questions, phases, self.odds).contributions(dense)

    def sample(
        self, faces: frozenset[Axes], worth: Mapping[Axes, float]
    ) -> Iterator[SampledProducts]:
        """POINTS reports, or twice as many where single ones weigh too much, shared out by what
        they are worth."""
        useful = [own for own in self.faces if worth.get(own.axes, 0.0) > 0.0]
        total = sum(own.share * worth[own.axes] for own in useful)
        points = POINTS * (2 if self.odds > MOST_ODDS else 1)
        for own in useful:
            count = round(points * own.share * worth[own.axes] / total) + 1
            yield SampledProducts(*own.sample(count, self.odds))


@dataclass(frozen=True, eq=False)
class SampledProducts:
    """Reports to questions of one face in product form, as `SampledReports`. shares: (n,)."""

    reports: ProductReports
    shares: Reals
    zero_apart = True

    @property
    def cells(self) -> int:
        """Every report is one."""
        return len(self.shares)

    def expect(self, people: Spread) -> Reals:
        """Reports beyond the mean of a question's phases, shape (n,)."""
        found = self.reports.contributions(people(self.reports.face.axes))[0]
        return np.asarray(found * self.shares)

    def contribute(self, divided: Spread) -> Reals:
        """Contributions of every report, shape (k, n)."""
        return self.reports.contributions(divided(self.reports.face.axes))

    def add_translates(
        self, first: Complexes, second: Complexes, sampled: SampledSums, moved: Axes
    ) -> None:
        """From the contributions of every report to the query at every place."""
        axes, kinds = self.reports.face.axes, sampled.kinds
        shape = self.reports.face.group.shape(tuple(axis for axis in moved if axis in axes))
        once = np.zeros((len(kinds), *shape))
        twice = np.zeros((len(kinds), len(kinds), *shape))
        assert sampled.divided is not None
        for part, amounts in self.reports.move_rows(sampled.divided(axes), moved):
            scale = len(self.shares) / len(self.shares[:: part.step])
            more = {pair: own[part] * scale for pair, own in sampled.excess.items()}

            def total(pair: Pair, values: Numbers, more: Mapping[Pair, Reals] = more) -> Numbers:
                return np.asarray(np.tensordot(more[pair], values, 1))

            sum_pairs(kinds, sampled.whole, amounts, total, once, twice)
        # Along axes that the face does not have, nothing changes: the frequency is 0 there.
        there = tuple(slice(None) if axis in axes else 0 for axis in moved)
        last = tuple(range(-len(shape), 0))
        first[(slice(None), *there)] += np.fft.fftn(once, axes=last, norm="forward")
        second[(slice(None), slice(None), *there)] += np.fft.fftn(twice, axes=last, norm="forward")


def _add_circles(
    half: Complexes,
    left: Complexes,
    place: Integers,
    weights: Reals,
    other: ArcFactor,
    arcs: ArcRows,
    owner: Integers,
    phases: Integers,
) -> None:
    """Add up outer products of rows of `left` and transforms of another factor's arcs, one row of
    `left` by `place` and one arc by `owner` and its phase per report: a transform along the phases
    of every arc, (cells of the half, those of the other factor).

    arcs: shape (a,), at phase 0.
    """
    bounds = np.concatenate([[0], np.cumsum(arcs.orders)])
    cells = bounds[owner] + phases
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], bounds)
    transforms, columns = arcs.transform(other.harmonics), np.ascontiguousarray(left.T)
    # Some arcs at once, with as many phases or reports as are held at once.
    most = max(1, _AT_ONCE // len(half))
    groups = np.cumsum(np.maximum(arcs.orders, np.diff(ends))) // most
    for number in in_time(np.unique(groups).tolist()):
        first, last = np.searchsorted(groups, [number, number + 1]).tolist()
        some, size = order[ends[first] : ends[last]], int(bounds[last] - bounds[first])
        own, rows, at = weights[some], place[some], cells[some] - bounds[first]
        summed = np.empty((size, len(half)), dtype=np.complex128)
        for column, values in enumerate(columns):
            summed.real[:, column] = np.bincount(at, values.real[rows] * own, size)
            summed.imag[:, column] = np.bincount(at, values.imag[rows] * own, size)
        for arc in range(first, last):
            circle, low = int(arcs.orders[arc]), bounds[arc] - bounds[first]
            spectra = np.fft.fft(summed[low : low + circle], axis=0)
            turn = transforms[arc, : circle // 2 + 1]
            spectra *= np.concatenate([turn, turn[1 : (circle + 1) // 2][::-1].conj()])[:, None]
            harmonics, flat = np.arange(circle), np.zeros(circle, dtype=np.int64)
            for axis, extent in enumerate(other.orders):
                flat = flat * extent + arcs.characters[arc, axis] * harmonics % extent
            half[:, flat] += spectra.T


def _add_rows(
    half: Complexes,
    left: Complexes,
    place: Integers,
    weights: Reals,
    other: ArcFactor,
    rows: ArcRows,
) -> None:
    """The same row by row, for few reports of many phases; those with the same row of `left`
    together."""
    seconds, again = rows.distinct()
    table, order = other.full(seconds), np.argsort(place, kind="stable")
    step = max(1, _AT_ONCE // table.shape[1])
    for start in in_time(range(0, len(order), step)):
        some = order[start : start + step]
        heads, starts = np.unique(place[some], return_index=True)
        summed = np.add.reduceat(table[again[some]] * weights[some, None], starts, axis=0)
        half += left[heads].T @ summed


def _add_signs(dense: Complexes, factor: ArcFactor) -> Complexes:
    """Over the frequencies of a factor's first axis: the others stay where they are."""
    return np.asarray(dense.reshape(len(dense), -1, prod(factor.orders[1:])).sum(axis=2))


def _move_half(half: Complexes, order: int) -> Reals:
    """From the second axis, half of the frequencies of an axis, those that are their own negatives
    halved, to its places."""
    half[:, 0] *= 2.0
    if order % 2 == 0:
        half[:, -1] *= 2.0
    return np.asarray(np.fft.irfft(half, n=order, axis=1, norm="forward"))


def is_phase(digit: Digit, looks: Sequence[Look]) -> bool:
    """Whether a digit is a sum of multiples of elements of the group, modulo its radix."""
    is_sum = digit.modulus and digit.plus == 0 and digit.table is None
    return is_sum and all(
        term.table is None and (term.divide, term.cuts) == looks[term.attribute]
        for term in digit.terms
    )
