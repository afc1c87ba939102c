"""Mechanisms that ask each person about one marginal of several.

A *marginal* is a set of attributes whose combinations of codes are counted together. Each device
draws one of the survey's marginals, without looking at the record, and reports the own cell of it
through a frequency oracle. A question on some attributes is answered from every marginal that
holds them, independently, by inverse variance; questions whose attributes no marginal holds are
refused.

| name | oracle | who knows the marginal of a report |
|---|---|---|
| srr-ss | randomized response over the marginal's own cells | nobody: one shuffler |
| psrr-ss | the same over as many cells as the largest marginal has | nobody |
| solh | randomized response over a hash of the cell | nobody |
| srr-ms | as srr-ss, each marginal with a budget of its own | whoever runs a shuffler: one each |
| sue-ms, oue-ms | a bit for every cell | the same |

In the shuffle model a group's local budget follows from how well its reports hide among others, so
groups may differ in it, in how many answers there are (padding), or in how many values a hash has.
All of them are plain local mechanisms as well. Sources: Liu, Wang, Wang, Journal of Software 33(3),
2022; Wang et al., PVLDB 13(12), 2020 (SOLH); CALM: Zhang et al., CCS 2018, for marginals of several
attributes; docs/spec/shuffle.md#3.1, docs/spec/shuffle.md#3.3, docs/spec/shuffle.md#3.4,
docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, groupby
from typing import Any, Literal, TypeVar

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.base import Design, Estimators
from ldpsql.decoders.groups import whole
from ldpsql.decoders.linear import (
    Alternative,
    CellQuery,
    Codes,
    GroupCells,
    LinearEstimator,
    describe_known,
    split_known,
)
from ldpsql.decoders.marginals import (
    BIAS,
    EvenMarginals,
    Fit,
    FittedQuery,
    MarginalSource,
    MaxEntEstimator,
    UnbiasedEstimator,
)
from ldpsql.decoders.nodes import Answer, answers_of, list_nodes
from ldpsql.decoders.oracles import Olh, prime_from
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimate import Array
from ldpsql.recipes.base import AnyOptions, Promise, Recipe, Takes, Task
from ldpsql.recipes.oracles import LARGEST, odds_words, other_bit
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, question_shares
from ldpsql.shuffle import UNEVEN, Atom, Blanket, largest_local, merged, unary
from ldpsql.shuffle.accountant import balle_local
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central, Guarantee, local_guarantee
from ldpsql_device.plan import (
    HALVES,
    LARGEST_RADIX,
    WORDS,
    Arcs,
    Bits,
    Digit,
    Face,
    Hash,
    Integer,
    Part,
    Plan,
    Step,
    Term,
    subset_words,
    varying,
)

Axes = tuple[int, ...]
Atoms = tuple[Atom, ...]
O = TypeVar("O")  # noqa: E741
LARGEST_FIT = 10
"""Attributes of a conjunction that is fitted."""
LARGEST_MARGINAL = 1 << 24
ORACLES = ("grr", "padded", "solh", "oue", "sue")
_DIGITS = Decimal("1e-9")
_SCALE = 10**40

# -- responses and their blankets ------------------------------------------------------------------


@dataclass(frozen=True)
class NamedAnswer:
    """Randomized response over so many answers, at least two, for odds n / 2^64."""

    answers: int
    odds: int

    @cached_property
    def _words(self) -> tuple[int, int]:
        return subset_words(1, self.answers, self.odds)

    @property
    def truth(self) -> Fraction:
        """Probability of the true answer."""
        return Fraction(self._words[0], WORDS)

    @property
    def least(self) -> Fraction:
        """Least probability of another one."""
        return Fraction(self._words[1], WORDS)

    @property
    def other(self) -> Fraction:
        """Mean probability of another one."""
        return (1 - self.truth) / (self.answers - 1)

    @property
    def uneven(self) -> Fraction:
        """By how much one of them may be likelier than another, relatively: the last one has the
        words that rounding leaves."""
        return (1 - self.truth - (self.answers - 1) * self.least) / self.least

    @property
    def atoms(self) -> Atoms:
        """The blanket of two people who would truthfully answer differently.

        Under a record all other answers have their mean probability, which the real ones differ
        from by less than `uneven`; the blanket has the least.
        """
        least, other, rest = self.least, self.other, self.answers - 2
        pair = ((least, self.truth, other), (least, other, self.truth))
        return (*pair, (rest * least, rest * other, rest * other)) if rest else pair

    def hashed_atoms(self, collision: Fraction) -> Atoms:
        """The same for nodes that are hashed to the answers, and collide with this probability.

        A collision tells nothing: it leaves the mean of the accountant's sum and makes it narrower.
        So the least probability of one is the one to count with.
        """
        lie = 1 - self.truth
        alike = (
            (self.least, self.truth, self.truth),
            ((self.answers - 1) * self.least, lie, lie),
        )
        apart = scale(self.atoms, 1 - collision)
        return (*apart, *(scale(alike, collision) if collision else ()))


def least_collision(oracle: Olh) -> Fraction:
    """Least probability that two nodes have one hash value, a little rounded down.

    Exact for a drawn evenly from 1..P-1 and c from 0..P-1; 64-bit draws are even up to 2^-37.
    """
    values, prime = oracle.values, oracle.prime
    size, larger = divmod(prime, values)
    pairs = (values - larger) * size * (size - 1) + larger * (size + 1) * size
    return Fraction(pairs, prime * (prime - 1)) * (1 - Fraction(1, 1 << 30))


def bit_thresholds(oracle: str, epsilon: Epsilon) -> tuple[int, int]:
    """Words that set the bit of a person's own cell, and of another one, by OUE or SUE.

    SUE: the own bit has the largest t with (t / (2^64 - t))^2 <= e^epsilon, and another one is as
    likely set as the own is not. Source: Erlingsson, Pihur, Korolova 2014;
    docs/spec/shuffle.md#3.6.
    """
    if oracle == "oue":
        return WORDS // 2, other_bit(epsilon)
    root = Fraction(math.isqrt(int(epsilon.odds * _SCALE**2)), _SCALE)
    own = int(WORDS * root / (1 + root))
    return own, WORDS - own


def scale(atoms: Atoms, share: Fraction) -> Atoms:
    """The blanket's part of a channel that is entered with probability `share`."""
    return tuple((share * r, share * one, share * two) for r, one, two in atoms)


# -- designs ---------------------------------------------------------------------------------------


def choose_marginals(
    domain: RecordDomain, ways: int, workload: Workload | None
) -> tuple[Axes, ...]:
    """The sets of attributes to collect: all of `ways` attributes, or the workload's for 0.

    Attributes of one code tell nothing and are left out, unless there are no others.
    SurveyError where there are fewer attributes than ways.
    """
    asked = [axis for axis, size in enumerate(domain.sizes) if size > 1]
    if not asked:
        return ((),)
    if ways < 0 or ways > len(asked):
        raise SurveyError(
            f"ways must lie between 1 and the number of attributes, {len(asked)}, or be 0 for the "
            f"workload's, not {ways}"
        )
    if ways:
        return tuple(combinations(asked, ways))
    wanted = (workload or Workload.everyday(domain)).supports
    sets = {tuple(axis for axis in support if axis in asked) for support in wanted} - {()}
    if not sets:
        return tuple((axis,) for axis in asked)
    return tuple(sorted(s for s in sets if not any(set(s) < set(other) for other in sets)))


@dataclass(frozen=True)
class CollectedMarginals(Design[CellQuery]):
    """Questions broken into cells of marginals; how these are reported is left open.

    marginals: the attributes of each.  weights: whole numbers; each person is asked about one
    marginal, with a probability in proportion.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    marginals: tuple[Axes, ...]
    weights: tuple[int, ...]
    states_blankets = True

    def __post_init__(self) -> None:
        axes = range(len(self.domain.sizes))
        for marginal in self.marginals:
            if list(marginal) != sorted(set(marginal)) or not set(marginal) <= set(axes):
                raise SurveyError("a marginal of the design does not fit the schema")
        if len(self.weights) != len(self.marginals) or min(self.weights, default=0) < 1:
            raise SurveyError("every marginal needs a positive weight")
        if max(self.sizes) > LARGEST_MARGINAL:
            raise SurveyError(
                f"a marginal has {max(self.sizes)} cells, more than {LARGEST_MARGINAL}; "
                "use coarser bins or fewer attributes together"
            )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of every marginal."""
        sizes = self.domain.sizes
        return tuple(math.prod(sizes[axis] for axis in axes) for axes in self.marginals)

    def terms(self, members: Sequence[int]) -> tuple[Term, ...]:
        """The cell, row by row, of the marginal that a face's one step chooses among members."""
        strides = np.zeros((len(members), len(self.domain.sizes)), dtype=np.int64)
        for row, number in enumerate(members):
            step = 1
            for axis in reversed(self.marginals[number]):
                strides[row, axis] = step
                step *= self.domain.sizes[axis]
        return tuple(
            Term(axis, varying(0, column)) for axis, column in enumerate(strides.T) if column.any()
        )

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """How every question is answered."""
        return answers_of(self.plan)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; marginals are drawn without looking at it."""
        return local_guarantee(self.epsilon)

    @cached_property
    def fits(self) -> bool:
        """Whether conjunctions that were not collected can be fitted to those that were."""
        return any(len(marginal) > 1 for marginal in self.marginals)

    def holds(self, axes: Axes) -> bool:
        """Whether a question on these attributes together can be answered."""
        return bool(self._marginals_with(axes))

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The cells that answer a query, in every marginal that can.

        UnsupportedSQL for attributes that no marginal holds together; where there are marginals of
        several attributes, only once the unbiased estimator is asked.
        """
        known, boxes = split_known(free_full_sides(query, self.domain.sizes))
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        missing = [axes for axes in (axes_of(box) for _, box in boxes) if not self.holds(axes)]
        if not missing:
            return self.direct(known, boxes, query.weight)
        refusal = refuse_axes(self.domain, missing[0], self.name)
        is_fitted = self.fits and query.weight is None and max(map(len, missing)) <= LARGEST_FIT
        if not is_fitted or not all(self.holds((axis,)) for axes in missing for axis in axes):
            raise refusal
        fits = tuple(self._fit(share, box) for share, box in boxes)
        return FittedQuery(known, True, (), None, fits, refusal)

    def direct(
        self, known: float, boxes: Sequence[tuple[float, Box]], weight: Weight | None
    ) -> CellQuery:
        """The cells of boxes whose attributes were collected together."""
        return CellQuery(known, True, self._split(boxes), weight)

    def _fit(self, share: float, box: Box) -> Fit:
        """What the marginals tell of a box: all of it, or its parts on fewer attributes."""
        axes = axes_of(box)
        places = range(len(axes))
        subsets = [tuple(places)]
        if not self.holds(axes):
            every = (part for size in places for part in combinations(places, size) if part)
            subsets = [part for part in every if self.holds(tuple(axes[i] for i in part))]
        queries = []
        for part in subsets:
            kept = {axes[i] for i in part}
            sides = (side if axis in kept else None for axis, side in enumerate(box.sides))
            queries.append(self.direct(0.0, [(1.0, Box(tuple(sides)))], None))
        return Fit(share, len(axes), tuple(subsets), tuple(queries))

    def _split(self, boxes: Sequence[tuple[float, Box]]) -> tuple[Alternative, ...]:
        """Independent ways to answer the boxes; where none holds them all, one that takes the
        first marginal that holds each."""
        constrained = [axes_of(box) for _, box in boxes]
        union = tuple(sorted(set().union(*constrained)))
        together = self._marginals_with(union)
        if together:
            return tuple(self._cells([(group, boxes)]) for group in together)
        parts: dict[int, list[tuple[float, Box]]] = {}
        for part, axes in zip(boxes, constrained, strict=True):
            parts.setdefault(self._marginals_with(axes)[0], []).append(part)
        return (self._cells(sorted(parts.items())),)

    def _marginals_with(self, axes: Axes) -> list[int]:
        """The marginals that hold the attributes."""
        return [n for n, marginal in enumerate(self.marginals) if set(axes) <= set(marginal)]

    def _cells(self, parts: Sequence[tuple[int, Sequence[tuple[float, Box]]]]) -> Alternative:
        """The cells of boxes in the marginals that answer them."""
        alternative = []
        for group, boxes in parts:
            covers = [cells_in(box, self.marginals[group], self.domain.sizes) for _, box in boxes]
            weights = [
                np.full(len(cells), share) for (share, _), cells in zip(boxes, covers, strict=True)
            ]
            nodes, amounts = np.concatenate(covers), np.concatenate(weights)
            alternative.append(self.group_cells(group, nodes, amounts))
        return tuple(alternative)

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Weighted cells of a marginal as weighted nodes of a group of reports."""
        return GroupCells(marginal, cells, weights)

    @abstractmethod
    def describe_group(self, number: int) -> str:
        """What a group of reports is about, in words."""

    def describe(self, planned: CellQuery) -> list[str]:
        """The cells of each group used; what can only be fitted says so."""
        if isinstance(planned, FittedQuery):
            return [f"{planned.refusal.reason}: estimator maxent fits it to what was collected"]
        lines = describe_known(planned.known)
        for alternative in planned.alternatives:
            for cells in alternative:
                lines.append(f"{self.describe_group(cells.group)}: {list_nodes(cells.nodes)}")
        return lines

    def _reported(self, histogram: Histogram) -> MarginalSource:
        return MarginalSource(histogram=histogram, answers=self.answers)

    def estimator(self, histogram: Histogram) -> UnbiasedEstimator:
        """Unbiased, by the actual number of reports of each marginal."""
        return UnbiasedEstimator(self._reported(histogram))

    def fitted(self, histogram: Histogram) -> MaxEntEstimator:
        """Biased: conjunctions of any attributes."""
        return MaxEntEstimator(LinearEstimator(self._reported(histogram)))

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one, and `maxent` where marginals hold several attributes."""
        unbiased = {"unbiased": self.estimator}
        return {**unbiased, "maxent": self.fitted} if self.fits else unbiased

    @property
    def biases(self) -> Mapping[str, str]:
        """See `Design.biases`."""
        return {"maxent": BIAS} if self.fits else {}

    def spread_evenly(self) -> list[Array]:
        """The share of people at each node of each group of reports, where records are even."""
        return [np.full(size, 1.0 / size) for size in self.sizes]

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,); infinite for
        what was not collected."""
        shares = self.spread_evenly()
        source = EvenMarginals(people, question_shares(self.plan) * people, self.answers, shares)
        return np.diagonal(LinearEstimator(source).answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides name, domain and epsilon."""
        return {"marginals": [list(m) for m in self.marginals], "weights": list(self.weights)}


def read_marginals(data: Mapping[str, Any]) -> tuple[tuple[Axes, ...], tuple[int, ...]]:
    """Marginals and weights from what a design's `to_json` wrote."""
    marginals = tuple(tuple(map(whole, axes)) for axes in data["marginals"])
    return marginals, tuple(map(whole, data["weights"]))


def free_full_sides(query: LinearQuery, sizes: Sequence[int]) -> LinearQuery:
    """The same query with every full side left free."""
    return replace(query, terms=tuple((share, box.normal(sizes)) for share, box in query.terms))


def axes_of(box: Box) -> Axes:
    """The attributes that a box constrains."""
    return tuple(axis for axis, side in enumerate(box.sides) if side is not None)


def cells_in(box: Box, axes: Axes, sizes: Sequence[int]) -> Codes:
    """The cells of a marginal that lie in a box, flattened row-major, shape (c,)."""
    cells = np.zeros(1, dtype=np.int64)
    for axis in axes:
        side = box.sides[axis]
        runs = ((0, sizes[axis]),) if side is None else side
        codes = np.concatenate([np.arange(low, high, dtype=np.int64) for low, high in runs])
        cells = (cells[:, None] * sizes[axis] + codes).ravel()
    return cells


def refuse_axes(domain: RecordDomain, axes: Axes, mechanism: str) -> UnsupportedSQL:
    """The error for a question whose attributes no marginal holds, and what would have to be."""
    asked = " and ".join(domain.names[axis] for axis in axes)
    together, fewer = "", ""
    if len(axes) > 1:
        together = " together"
        fewer = "; where fewer at once will do, say so by max_predicates under [workload]"
    return UnsupportedSQL(
        f"this survey does not collect {asked}{together}",
        hint=f"design it with mechanism {mechanism} and the option ways = {len(axes)}, or ways = 0 "
        f"and a [workload] whose queries ask about {asked}{fewer}",
    )


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    oracle: one of ORACLES.  budgets: local epsilon of every marginal.  values: answers of a padded
    domain, hash values of SOLH; 0 for the others.  visible: whether whoever sees the reports may
    know who reports on which marginal, as where each has a shuffler of its own.
    """

    oracle: str
    budgets: tuple[Epsilon, ...]
    values: int = 0
    visible: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle not in ORACLES:
            raise SurveyError(f"the oracle of marginals is one of {', '.join(ORACLES)}")
        if len(self.budgets) != len(self.marginals):
            raise SurveyError("a design needs a budget for every marginal")
        if any(budget.value > self.epsilon.value for budget in self.budgets):
            raise SurveyError("a marginal's budget exceeds the epsilon of the design")
        if self.oracle == "padded" and self.values < max(self.sizes):
            raise SurveyError("a padded domain is at least as large as every attribute")
        if self.oracle == "solh" and not 2 <= self.values < LARGEST_RADIX:
            raise SurveyError("hash functions need at least 2 values, and less than 2^31")
        most = LARGEST.get({"solh": "olh", "sue": "oue"}.get(self.oracle, self.oracle))
        if most is not None and max(self.sizes) > most:
            raise SurveyError(
                f"a marginal has {max(self.sizes)} cells, more than the {most} of "
                f"{self.oracle.upper()}; use srr-ss, coarser bins or fewer attributes together"
            )

    @cached_property
    def plan(self) -> Plan:
        """A question per marginal, a face for neighbours of one budget."""
        budgets = list(dict.fromkeys(self.budgets))
        faces = []
        for budget, run in groupby(range(len(self.marginals)), self.budgets.__getitem__):
            members = list(run)
            weights = tuple(self.weights[number] for number in members)
            part, coins = self._ask(members, budget, budgets.index(budget))
            steps = (Step(weights),) if len(members) > 1 else ()
            faces.append(Face(sum(weights), (part,), steps, coins))
        return Plan(self.domain.sizes, tuple(map(odds_words, budgets)), tuple(faces))

    def _ask(
        self, members: Sequence[int], budget: Epsilon, odds: int
    ) -> tuple[Part, tuple[Integer, ...]]:
        """The part of a face, and its coins."""
        digit, response = self.digit(members), Arcs(odds, (1,))
        if self.oracle == "solh":
            primes = [prime_from(self.sizes[number]) for number in members]
            prime, slope = varying(0, primes), varying(0, [prime - 1 for prime in primes])
            return Part((digit,), response, Hash(prime, self.values, 0, 1)), (slope, prime)
        if self.oracle in ("oue", "sue"):
            own, other = bit_thresholds(self.oracle, budget)
            return Part((digit,), Bits((own,), (other,))), ()
        return Part((digit,), response), ()

    def digit(self, members: Sequence[int]) -> Digit:
        """The symbol of the marginal that a face's step chooses."""
        sizes = [self.sizes[number] for number in members]
        return Digit(
            self.terms(members), self.values if self.oracle == "padded" else varying(0, sizes)
        )

    def describe_group(self, number: int) -> str:
        """A marginal in words."""
        names = " x ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"marginal of {names or 'nothing'} ({self.sizes[number]} nodes, {self.oracle})"

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of every question."""
        return tuple(question_chances(self.plan))

    def named(self, group: int) -> NamedAnswer:
        """The randomized response of a marginal of several cells."""
        answers = self.values or self.sizes[group]
        return NamedAnswer(answers, odds_words(self.budgets[group]))

    def atoms(self, group: int) -> tuple[Atoms, Fraction]:
        """(r, R0, R1) as in `Blanket` of a marginal's reports for two people at different cells of
        it, without the draw of the marginal; and how uneven these are."""
        oracle = self.answers[group].oracle
        if self.sizes[group] == 1:
            return ((Fraction(1), Fraction(1), Fraction(1)),), Fraction(0)
        if self.oracle in ("oue", "sue"):
            own, other = bit_thresholds(self.oracle, self.budgets[group])
            chances = Fraction(own, WORDS), Fraction(other, WORDS)
            return unary(*chances, self.sizes[group]).atoms, Fraction(0)
        named = self.named(group)
        if isinstance(oracle, Olh):
            return named.hashed_atoms(least_collision(oracle)), named.uneven
        return named.atoms, named.uneven

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes; see `Design.blankets`."""
        groups = range(len(self.marginals))
        if self.visible:
            return tuple(dict.fromkeys(self.blanket_of(number) for number in groups))
        parts = [self.atoms(number) for number in groups]
        together = (
            atom
            for (atoms, _), chance in zip(parts, self.chances, strict=True)
            for atom in scale(atoms, chance)
        )
        return (Blanket(merged(together), uneven=UNEVEN + max(uneven for _, uneven in parts)),)

    def blanket_of(self, group: int) -> Blanket:
        """That of one marginal, where whoever looks knows who reports on it."""
        atoms, uneven = self.atoms(group)
        return Blanket(atoms, self.chances[group], UNEVEN + uneven)

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides name, domain and epsilon."""
        return {
            **super().to_json(),
            "oracle": self.oracle,
            "budgets": [str(budget) for budget in self.budgets],
            "values": self.values,
        }


def question_chances(plan: Plan) -> Iterator[Fraction]:
    """Exact probabilities of the questions of a plan whose faces have one step at most."""
    for face, halves in zip(plan.faces, plan.face_choice.preimages, strict=True):
        for choice in face.steps[0].choice.preimages if face.steps else (HALVES,):
            yield Fraction(halves * choice, HALVES**2)


# -- recipes ---------------------------------------------------------------------------------------

FIRST, MOST, STEPS = 2, 1 << 16, 1
"""Numbers of hash values tried: powers of two, then so many refinements around the best."""


def best_hash_values(calibrate: Callable[[int], MarginalDesign]) -> MarginalDesign:
    """The design with the least mean variance of a cell's count.

    More values collide less, but randomized response lies more among many. The accountant says what
    each number allows; the variance for records spread evenly decides.

    calibrate: the design with so many hash values.
    """
    tried: dict[int, MarginalDesign] = {}

    def error(values: int) -> float:
        if values not in tried:
            tried[values] = calibrate(values)
        return cell_variance(tried[values])

    best, values = FIRST, 2 * FIRST
    while values <= MOST and error(values) <= error(best):
        best, values = values, 2 * values
    for step in range(STEPS):
        factor = 2.0 ** (0.5 ** (step + 1))
        nearby = (round(best / factor), best, round(best * factor))
        best = min(filter(lambda number: number >= FIRST, nearby), key=error)
    return tried[best]


def cell_variance(design: MarginalDesign) -> float:
    """Mean variance per report of a cell's frequency, for records spread evenly."""
    variances = []
    for answer, size in zip(design.answers, design.sizes, strict=True):
        p, q = answer.oracle.p, answer.oracle.q
        seen = q + (p - q) / size
        variances.append(seen * (1.0 - seen) / (p - q) ** 2)
    return float(np.mean(variances))


def published_local(central: Central, people: int, answers: int) -> Epsilon:
    """The local epsilon of randomized response over so many answers, by so many people.

    As the mechanisms' authors calibrated it, from the closed form of Balle, Bell, Gascon, Nissim
    2019, which gives away most of what shuffling is worth; to compare with. The central epsilon
    where the theorem has no solution, or only a smaller one. Source: docs/spec/shuffle.md#1.
    """
    local = balle_local(float(central.epsilon), people, float(central.delta), answers)
    if local is None or local <= float(central.epsilon):
        return central.epsilon
    return Epsilon(Decimal(local).quantize(_DIGITS, rounding=ROUND_FLOOR))


@dataclass(frozen=True)
class MarginalOptions:
    """ways: attributes per marginal, 0 for those of the workload.

    calibration: of local budgets in the shuffle model; "published" as the authors did.
    """

    ways: int = 1
    calibration: Literal["tight", "published"] = "tight"


@dataclass(frozen=True)
class HashOptions(MarginalOptions):
    """values: of the hash functions; 0 for as many as are best."""

    values: int = 0


_QUICK_CELLS = 1 << 13


class MarginalRecipe(Recipe[O]):
    """COUNT over private dimensions, in the shuffle model or without."""

    takes = Takes(measures=False)
    estimator_names = ("unbiased", "maxent")
    calibrates = True

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """The defaults; to collect together what is asked for together.

        They are made for shuffled reports; for a local promise the second is tried for small
        domains only, where that takes little time.
        """
        yield {}
        is_small = math.prod(workload.domain.sizes) <= _QUICK_CELLS
        together = any(len(axes) > 1 for axes in workload.supports)
        if together and (is_small or not isinstance(promise, Epsilon)):
            yield {"ways": 0}


class Marginals(MarginalRecipe[MarginalOptions]):
    """One line of the table above.

    oracle: a key of `MAKERS`.  visible: see `MarginalDesign`.
    """

    def __init__(self, name: str, oracle: str, visible: bool = False) -> None:
        self.name, self.oracle, self.visible = name, oracle, visible
        self.options = HashOptions if oracle == "solh" else MarginalOptions

    def make(self, task: Task[MarginalOptions]) -> MarginalDesign:
        """Every marginal at the whole epsilon."""
        return self._first(task, task.epsilon, self._hash_values(task))

    def calibrate(self, task: Task[MarginalOptions], central: Central) -> MarginalDesign:
        """See `Recipe.calibrate`."""

        def common(values: int) -> MarginalDesign:
            first = self._first(task, central.epsilon, values)
            return at(first, largest_local(lambda e: at(first, e).blankets(), central))

        values, first = self._hash_values(task), self._first(task, central.epsilon, 2)
        if task.options.calibration == "published":
            people = central.people // len(first.marginals) if self.visible else central.people
            answers = first.sizes if self.visible else (max(first.sizes),) * len(first.sizes)
            return with_budgets(first, [published_local(central, people, k) for k in answers])
        if self.oracle == "solh" and not values:
            return best_hash_values(common)
        if not self.visible:
            return common(values)
        budgets = {
            size: largest_local(partial(_blanket_at, first, first.sizes.index(size)), central)
            for size in set(first.sizes)
        }
        return with_budgets(first, [budgets[size] for size in first.sizes])

    def _first(self, task: Task[MarginalOptions], epsilon: Epsilon, values: int) -> MarginalDesign:
        """Every marginal at an epsilon.

        values: of the hash functions, 0 for the best ones without a shuffler. SurveyError for a
        published calibration that there is not.
        """
        if task.options.calibration == "published":
            if self.oracle == "sue":
                raise SurveyError(
                    "sue-ms as published counts on every bit's being shuffled alone; here the bits "
                    "of a person travel together, and its bound does not hold for them: at 10^6 "
                    "people, epsilon 1 and delta 10^-6 the real delta is 0.48. Leave out "
                    "calibration"
                )
            if self.oracle not in ("grr", "padded") or self.name == "srr-ss":
                raise SurveyError(
                    f"{self.name} has no published calibration; leave out calibration"
                )
        marginals = choose_marginals(task.domain, task.options.ways, task.workload)
        if self.oracle == "solh":
            values = values or max(2, math.floor(epsilon.odds + 1))
        else:
            sizes = task.domain.sizes
            largest = max(math.prod(sizes[axis] for axis in axes) for axes in marginals)
            values = largest if self.oracle == "padded" else 0
        return MarginalDesign(
            self.name,
            task.domain,
            epsilon,
            marginals,
            (1,) * len(marginals),
            self.oracle,
            (epsilon,) * len(marginals),
            values,
            self.visible,
        )

    def _hash_values(self, task: Task[MarginalOptions]) -> int:
        return task.options.values if isinstance(task.options, HashOptions) else 0

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> MarginalDesign:
        """See `Recipe.remake`."""
        if data["oracle"] != self.oracle:
            raise SurveyError(f"{self.name} uses the oracle {self.oracle}")
        budgets, values = tuple(map(Epsilon.parse, data["budgets"])), whole(data["values"])
        return MarginalDesign(
            self.name,
            domain,
            epsilon,
            *read_marginals(data),
            self.oracle,
            budgets,
            values,
            self.visible,
        )


D = TypeVar("D", bound=MarginalDesign)


def at(design: D, epsilon: Epsilon) -> D:
    """The same design with another local epsilon for every marginal."""
    return replace(design, epsilon=epsilon, budgets=(epsilon,) * len(design.budgets))


def with_budgets(design: MarginalDesign, budgets: Sequence[Epsilon]) -> MarginalDesign:
    """The same design with a local epsilon per marginal."""
    largest = max(budgets, key=lambda budget: budget.value)
    return replace(design, epsilon=largest, budgets=tuple(budgets))


def _blanket_at(design: MarginalDesign, group: int, epsilon: Epsilon) -> tuple[Blanket, ...]:
    """The blanket of one marginal at an epsilon."""
    return (at(design, epsilon).blanket_of(group),)


SRR_SS = Marginals("srr-ss", "grr")
PSRR_SS = Marginals("psrr-ss", "padded")
SOLH = Marginals("solh", "solh")
SRR_MS = Marginals("srr-ms", "grr", visible=True)
SUE_MS = Marginals("sue-ms", "sue", visible=True)
OUE_MS = Marginals("oue-ms", "oue", visible=True)
