"""Designs in product form: a few weights per axis instead of tens of thousands of families.

The demand of a class of queries is a product on every face, and so is nearly the best plan for it.
Where two dimensions are asked together, characters are drawn axis by axis, each axis by a table of
weights of its own. Few shapes suffice, their lengths being those of the share t0 = 1 / (E + 1):

    arcs        of characters on both dimensions, and on a measure's sign
    boxes       an arc on either dimension; with a measure, one of them turns its sign as well
    arc x sign  an arc on both dimensions, and the sign by itself

What is asked of one dimension alone has listed families. Source: docs/spec/fourier.md#13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import lcm, prod

import numpy as np

from ldpsql.algebra.workload import Workload
from ldpsql.limits import check
from ldpsql.mechanisms.fourier.candidates import Component, Dictionary, Emitted
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Axes, Group, Integers, Look, Reals
from ldpsql.mechanisms.fourier.optimise import find_equality_axes
from ldpsql.mechanisms.fourier.products import ArcFactor
from ldpsql.mechanisms.fourier.spectra import demand
from ldpsql_device.plan import MOST_QUESTIONS, Arcs, Digit, Face, Integer, Part, Step, Term, Varying

_STEPS, _CAREFUL = 200, 20
_FEW_STEPS, _MOST_ENTRIES = 40, 1 << 27
"""Steps that are taken in any case, and harmonics of long shapes that all steps may go through: the
last steps of many are worth half a percent of the error."""
_TURN, _GAIN = 10, 2e-4
"""Steps end where so many lower the expected variance by less than this part."""
_HARMONICS = 32
"""Harmonics of arcs that weights are chosen by; the design's own information has all it uses."""
_MOST_LISTED, _FAINT = 256, 1e-6
_LEAST_SHARE = 2e-3
"""Shapes of several factors that fewer people would draw are left out."""
_LIGHTEST = 2.0**-30
"""Lighter weights are raised to this part of all: a device tells parts of 2^-32 apart."""


def round_weights(weights: Reals, bits: int) -> tuple[Integers, Integers]:
    """Mantissas below 2^bits and exponents from 0: whole weights in proportion to the given ones.

    Each is rounded to `bits` significant bits; very small ones are raised.
    """
    fractions, exponents = np.frexp(np.maximum(weights, weights.sum() * _LIGHTEST))
    mantissas = np.rint(fractions * (1 << bits)).astype(np.int64)
    # A fraction just below 1 is rounded up to 2^bits: half of that, and one more exponent.
    is_full = mantissas == 1 << bits
    mantissas[is_full] >>= 1
    exponents = exponents.astype(np.int64) + is_full
    return mantissas, exponents - exponents.min()


@dataclass(frozen=True, eq=False)
class Shape:
    """Questions of one shape: one factor with steps on both dimensions, or two with one each.

    factors: with the characters 1 .. order / 2 of every dimension; those of signs are 1.
    """

    folding: Folding
    factors: tuple[ArcFactor, ...]
    odds: float

    @property
    def is_long(self) -> bool:
        """Whether the first factor has both steps."""
        return self.factors[0].is_long

    @cached_property
    def stepped(self) -> Axes:
        """The axes with steps, in their order."""
        pairs = chain(*(zip(f.axes, f.has_step, strict=True) for f in self.factors))
        return tuple(axis for axis, has_step in pairs if has_step)

    @cached_property
    def tables(self) -> tuple[int, ...]:
        """Choices of every step."""
        return tuple(self.folding.group.orders[axis] // 2 for axis in self.stepped)

    @property
    def questions(self) -> int:
        """How many there are: the second table of a long shape counts for both signs (`face`)."""
        one, other = self.tables
        second = self.folding.group.orders[self.stepped[1]]
        return one * (second - 1 if self.is_long else other)

    @cached_property
    def _scale(self) -> float:
        """(E - 1)^2 / s^2."""
        radices = prod(factor.radix for factor in self.factors)
        lengths = prod(factor.length for factor in self.factors)
        return ((self.odds - 1.0) / (radices + (self.odds - 1.0) * lengths)) ** 2

    def powers(self, factor: ArcFactor, most: int) -> tuple[Integers, Reals]:
        """Characters (n, axes) and sum of |B^(h)|^2 over the classes of each, times their number,
        shape (n, most + 1).

        A class c has the share s_c / s of the answers and tells |B_c^|^2 / s_c^2. All s_c are taken
        to be s / g here, so that a product tells the product of what its factors tell.
        """
        rows, counts, owner = factor.classes
        characters = np.zeros((owner.max() + 1, len(factor.axes)), dtype=np.int64)
        characters[owner] = rows.characters
        power = np.abs(rows.transform(most)) ** 2
        power *= (counts * (factor.radix // rows.orders))[:, None]
        # -h besides h, where they are two.
        power *= np.where(rows.halves(most) == 1.0, 2.0, 1.0)
        total = np.zeros((len(characters), most + 1))
        np.add.at(total, owner, power)
        return characters, total

    @cached_property
    def entries(self) -> tuple[Integers, Reals, Reals]:
        """Of a long shape: which class each harmonic of each character informs, how much, and how
        much of that is each frequency's."""
        first, *others = self.factors
        most = min(first.radix // 2, _HARMONICS)
        characters, power = self.powers(first, most)
        axes = tuple(sorted(chain(*(factor.axes for factor in self.factors))))
        numbers = self.folding.numbers(axes)
        classes, powers = [], []
        # The sign by itself has the frequencies 0 and 1, of the same power.
        for sign in (0, 1) if others else (0,):
            places = []
            for axis in axes:
                if axis in first.axes:
                    own = characters[:, first.axes.index(axis)]
                    places.append(self.folding.fold(np.outer(own, np.arange(most + 1)), axis))
                else:
                    places.append(np.full(power.shape, sign))
            classes.append(numbers[tuple(places)])
            powers.append(power)
        joined = np.concatenate(classes, axis=1)
        values = np.concatenate(powers, axis=1) * self._scale
        values[joined == self.folding.classes] = 0.0
        return joined, values, values / self.folding.frequencies[joined]

    @cached_property
    def sides(self) -> tuple[Integers, list[Reals]]:
        """Of a split shape: class numbers over the classes of both factors, and what every
        character of each factor tells per frequency, shape (choices, classes of the factor)."""
        axes = tuple(chain(*(factor.axes for factor in self.factors)))
        ascending = tuple(sorted(axes))
        numbers = np.transpose(self.folding.numbers(ascending), [ascending.index(a) for a in axes])
        sides = []
        for factor in self.factors:
            most = factor.radix // 2
            characters, power = self.powers(factor, most)
            folded = [
                self.folding.fold(np.outer(own, np.arange(most + 1)), axis)
                for own, axis in zip(characters.T, factor.axes, strict=True)
            ]
            shape = self.folding.shape(factor.axes)
            places = np.ravel_multi_index(folded, shape)
            side = np.zeros((len(characters), prod(shape)))
            np.add.at(side, (np.arange(len(side))[:, None], places), power)
            sides.append(side / self.folding.members_over(factor.axes))
        shape = tuple(side.shape[1] for side in sides)
        return numbers.reshape(shape), sides

    def start(self, needed: Reals) -> tuple[float, list[Reals]]:
        """A weight and tables to begin with."""
        if self.is_long:
            # The first harmonics, without a sign and with it: either may be needed alone.
            classes = self.entries[0]
            firsts = classes[:, 1 :: classes.shape[1] // len(self.factors)]
            own = np.sqrt(needed[firsts].sum(axis=1)).reshape(self.tables)
            own += 1e-6 * own.max()
            return float(own.sum()), [own.sum(axis=1 - n) / own.sum() for n in (0, 1)]
        tables = [1.0 / np.arange(1, size + 1) for size in self.tables]
        return 0.1 * float(np.sqrt(needed).sum()), [own / own.sum() for own in tables]

    def inform(self, weight: float, tables: Sequence[Reals], into: Reals) -> None:
        """Add what the questions tell of every class of frequencies."""
        one, other = tables
        if self.is_long:
            classes, _, shared = self.entries
            values = np.outer(weight * one, other).reshape(-1, 1) * shared
            # In place: there may be many shapes, each of which informs few of all classes.
            np.add.at(into, classes, values)
        else:
            numbers, (left, right) = self.sides
            found = np.multiply.outer(one @ left, other @ right)
            np.add.at(into, numbers, weight * self._scale * found)

    def gains(self, tables: Sequence[Reals], slope: Reals) -> list[Reals]:
        """Of every choice of either table, the mean over the other one's."""
        one, other = tables
        if self.is_long:
            classes, powers, _ = self.entries
            gains = np.einsum("ij,ij->i", slope[classes], powers).reshape(self.tables)
            return [gains @ other, one @ gains]
        numbers, (left, right) = self.sides
        own = slope[numbers] * (self.folding.multiplicity[numbers] * self._scale)
        return [left @ (own @ (other @ right)), right @ ((one @ left) @ own)]

    def face(self, weight: int, tables: Sequence[Reals], looks: Sequence[Look], bits: int) -> Face:
        """The face of a plan. Characters of a long factor's second axis have both signs.

        bits: of the mantissas of the tables' weights.
        """
        steps: list[Step] = []
        digits = []
        for factor in self.factors:
            terms = []
            for place, axis in enumerate(factor.axes):
                order, turn = factor.orders[place], factor.radix // factor.orders[place]
                column: Integer = turn
                if factor.has_step[place]:
                    weights = tables[len(steps)]
                    characters = np.arange(1, order // 2 + 1)
                    if factor.is_long and steps:
                        # The character order / 2 is its own negative.
                        again = characters[2 * characters < order]
                        doubled = np.where(2 * characters == order, 2.0, 1.0) * weights
                        weights = np.concatenate([doubled, weights[: len(again)]])
                        characters = np.concatenate([characters, order - again])
                    column = Varying(len(steps), tuple((characters * turn).tolist()))
                    mantissas, exponents = round_weights(weights, bits)
                    steps.append(Step(tuple(mantissas.tolist()), tuple(exponents.tolist())))
                divide, cuts = looks[axis]
                terms.append(Term(axis, column, divide=divide, cuts=cuts))
            digits.append(Digit(tuple(terms), factor.radix, modulus=True))
        lengths = tuple(factor.length for factor in self.factors)
        return Face(weight, (Part(tuple(digits), Arcs(0, lengths)),), tuple(steps))


def list_shapes(folding: Folding, face: Axes, odds: float) -> Iterator[Shape]:
    """The shapes for two dimensions and at most one sign."""
    group, share = folding.group, 1.0 / (odds + 1.0)
    signs = tuple(axis for axis in face if axis >= group.dimensions)
    # The smaller dimension first: its rows are what reports are summed by.
    dimensions = sorted((a for a in face if a not in signs), key=lambda a: group.orders[a])
    small, large = ((axis,) for axis in dimensions)

    def shape(*factors: tuple[Axes, float]) -> Shape:
        return Shape(folding, tuple(_factor(group, *own) for own in factors), odds)

    root = min(share**0.5, 0.5)
    # The second dimension of a long factor has twice the choices.
    yield shape(((*large, *small, *signs), share))
    if not signs:
        yield shape((small, root), (large, root))
    else:
        yield shape((small, root), ((*large, *signs), root))
        yield shape(((*small, *signs), root), (large, root))
        yield shape(((*large, *small), min(2.0 * share, 0.5)), (signs, 0.5))


def _factor(group: Group, axes: Axes, share: float) -> ArcFactor:
    orders = group.shape(axes)
    radix = lcm(*orders)
    has_step = tuple(axis < group.dimensions for axis in axes)
    characters = tuple(
        np.arange(1, order // 2 + 1) if stepped else np.ones(1, dtype=np.int64)
        for order, stepped in zip(orders, has_step, strict=True)
    )
    length = min(max(round(share * radix), 1), max(radix // 2, 1))
    shares = tuple(np.full(len(own), 1.0 / len(own)) for own in characters)
    return ArcFactor(orders, axes, characters, shares, has_step, radix, length)


@dataclass(frozen=True, eq=False)
class ProductDesign:
    """Listed families with their weights, and shapes with a weight and tables each."""

    listed: Sequence[Emitted]
    shapes: Sequence[tuple[float, Shape, Sequence[Reals]]]

    @property
    def questions(self) -> int:
        """How many there are."""
        families = sum(len(part.weights) for part in self.listed)
        return families + sum(shape.questions for _, shape, _ in self.shapes)


def has_product_form(group: Group) -> bool:
    """Whether pairs of dimensions are asked together, and no more of them."""
    return max(sum(axis < group.dimensions for axis in block) for block in group.blocks) == 2


def design_product(group: Group, workload: Workload, odds: float) -> ProductDesign | None:
    """A design in product form; None where there is none (`has_product_form`), and where that would
    be more questions than a plan may have."""
    if not has_product_form(group):
        return None
    wanted = demand(workload, group)
    folding = Folding(group)
    needed = folding.fold_faces(wanted)
    dictionary = Dictionary(folding, needed, odds, find_equality_axes(workload))
    listed: list[Component] = []
    shapes: list[Shape] = []
    for face in folding.faces:
        if sum(axis < group.dimensions for axis in face) == 2:
            shapes += list_shapes(folding, face, odds) if wanted[face].any() else ()
        elif wanted[face].any():
            listed += dictionary.over(face)
    if sum(shape.questions for shape in shapes) > MOST_QUESTIONS:
        return None
    found = _Search(folding, needed, listed, shapes).solve()
    return found if found.questions <= MOST_QUESTIONS else None


class _Search:
    """Multiplicative steps of all weights: of families, of shapes, and of the tables of shapes."""

    def __init__(
        self,
        folding: Folding,
        needed: Reals,
        listed: Sequence[Component],
        shapes: Sequence[Shape],
    ) -> None:
        self.folding, self.needed, self.listed, self.shapes = folding, needed, listed, shapes
        roots = np.sqrt(needed)
        total = float(roots.sum())
        self.families = [own.start(roots, total).reshape(own.shape) for own in listed]
        starts = [shape.start(needed) for shape in shapes]
        self.weights = [weight for weight, _ in starts]
        self.tables = [tables for _, tables in starts]

    def solve(self) -> ProductDesign:
        """The design after at most _STEPS steps, or fewer where one costs much."""
        before = np.inf
        entries = sum(shape.entries[0].size for shape in self.shapes if shape.is_long)
        for step in range(max(_FEW_STEPS, min(_STEPS, _MOST_ENTRIES // max(entries, 1)))):
            check()
            self._scale()
            is_fast = step >= _CAREFUL and step % 2 == 1
            objective = self._step(0.9 if is_fast else 0.5, 0.6 if step % 2 else 0.4)
            if step % _TURN == 0:
                if before - objective < _GAIN * objective:
                    break
                before = objective
        self._prune()
        self._scale()
        emitted = [
            part
            for c, own in zip(self.listed, self.families, strict=True)
            if own.any()
            for part in c.emit(own)
        ]
        shapes = zip(self.weights, self.shapes, self.tables, strict=True)
        return ProductDesign(emitted, [own for own in shapes if own[0]])

    def _scale(self) -> None:
        total = sum(float(own.sum()) for own in self.families) + sum(self.weights)
        self.families = [own / total for own in self.families]
        self.weights = [own / total for own in self.weights]

    def _information(self) -> Reals:
        information = np.zeros(len(self.needed))
        for component, own in zip(self.listed, self.families, strict=True):
            component.inform(own, information)
        for weight, shape, tables in zip(self.weights, self.shapes, self.tables, strict=True):
            shape.inform(weight, tables, information)
        return information

    def _step(self, power: float, table_power: float) -> float:
        """Change all weights by their gains; F before."""
        information, is_needed = self._information(), self.needed > 0.0
        slope = np.zeros(len(self.needed))
        own = self.needed[is_needed] / information[is_needed]
        slope[is_needed] = own / information[is_needed]
        objective = float((self.folding.frequencies[is_needed] * own).sum())
        counted, families = slope * self.folding.multiplicity, []
        for component, weights in zip(self.listed, self.families, strict=True):
            own_gains = component.gains(slope, counted).reshape(weights.shape)
            families.append(weights * (own_gains / objective) ** power)
        self.families = families
        for number, shape in enumerate(self.shapes):
            tables, changed = self.tables[number], []
            gains = shape.gains(tables, slope)
            mean = float(gains[0] @ tables[0])
            for table, gain in zip(tables, gains, strict=True):
                moved = table * (gain / mean) ** table_power
                changed.append(moved / moved.sum())
            self.tables[number] = changed
            self.weights[number] *= (mean / objective) ** 0.5
        return objective

    def _prune(self) -> None:
        """Leave the heaviest families, unless some frequency needs the others, and the shapes that
        enough people draw; those of one factor inform every frequency of their face."""
        shapes = zip(self.weights, self.shapes, strict=True)
        light = [len(shape.factors) > 1 and own < _LEAST_SHARE for own, shape in shapes]
        self.weights = [
            0.0 if own else weight for own, weight in zip(light, self.weights, strict=True)
        ]
        weights = np.concatenate([np.zeros(1), *(own.ravel() for own in self.families)])
        least = np.sort(weights)[-min(_MOST_LISTED, len(weights))]
        least = max(float(least), _FAINT * float(weights.max()))
        full, families = self._information(), self.families
        self.families = [np.where(own >= least, own, 0.0) for own in families]
        is_lost = (self._information() < 1e-3 * full) & (self.needed > 0.0)
        if is_lost.any():
            self.families = families
