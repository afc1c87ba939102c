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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, groupby
from typing import Any, Literal, TypeVar

import numpy as np

from ldpsql.decoders.groups import whole
from ldpsql.decoders.marginals import Axes, CollectedMarginals
from ldpsql.decoders.oracles import Olh, prime_from
from ldpsql.recipes.base import AnyOptions, Promise, Recipe, Takes, Task
from ldpsql.recipes.oracles import LARGEST, odds_words, other_bit
from ldpsql.record_domain import RecordDomain
from ldpsql.shuffle import UNEVEN, Atom, Blanket, largest_local, merged, unary
from ldpsql.shuffle.accountant import balle_local
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
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

Atoms = tuple[Atom, ...]
O = TypeVar("O")  # noqa: E741
D = TypeVar("D", bound="MarginalDesign")
CERTAIN: Atoms = ((Fraction(1), Fraction(1), Fraction(1)),)
"""The blanket of a report that is the same for everybody."""
_DIGITS = Decimal("1e-9")
_SCALE = 10**40

# -- responses and their blankets ------------------------------------------------------------------


@dataclass(frozen=True)
class NamedAnswer:
    """Randomized response over so many answers, at least two, for odds n / 2^64."""

    answers: int
    odds: int

    @cached_property
    def truth(self) -> Fraction:
        """Probability of the true answer."""
        return Fraction(subset_words(1, self.answers, self.odds)[0], WORDS)

    @cached_property
    def least(self) -> Fraction:
        """Least probability of another one."""
        return Fraction(subset_words(1, self.answers, self.odds)[1], WORDS)

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
        rest = (self.answers - 1) * self.least
        alike = ((self.least, self.truth, self.truth), (rest, lie, lie))
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


def marginal_terms(marginals: Sequence[Axes], sizes: Sequence[int]) -> tuple[Term, ...]:
    """The cell, row by row, of the marginal that a face's one step chooses."""
    strides = np.zeros((len(marginals), len(sizes)), dtype=np.int64)
    for row, axes in enumerate(marginals):
        for place, axis in enumerate(axes):
            strides[row, axis] = math.prod(sizes[later] for later in axes[place + 1 :])
    return tuple(
        Term(axis, varying(0, column)) for axis, column in enumerate(strides.T) if column.any()
    )


def read_marginals(data: Mapping[str, Any]) -> tuple[tuple[Axes, ...], tuple[int, ...]]:
    """Marginals and weights from what a design's `to_json` wrote."""
    marginals = tuple(tuple(map(whole, axes)) for axes in data["marginals"])
    return marginals, tuple(map(whole, data["weights"]))


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    oracle: grr, padded, solh, oue or sue.  budgets: local epsilon of every marginal.  values:
    answers of a padded domain, hash values of SOLH; 0 for the others.  visible: whether whoever
    sees the reports may know who reports on which marginal, as where each has a shuffler of its
    own.
    """

    oracle: str
    budgets: tuple[Epsilon, ...]
    values: int = 0
    visible: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
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
        digit = self.digit(members)
        if self.oracle in ("oue", "sue"):
            own, other = bit_thresholds(self.oracle, budget)
            return Part((digit,), Bits((own,), (other,))), ()
        if self.oracle != "solh":
            return Part((digit,), Arcs(odds, (1,))), ()
        primes = [prime_from(self.sizes[number]) for number in members]
        prime, slope = varying(0, primes), varying(0, [prime - 1 for prime in primes])
        return Part((digit,), Arcs(odds, (1,)), Hash(prime, self.values, 0, 1)), (slope, prime)

    def digit(self, members: Sequence[int]) -> Digit:
        """The symbol of the marginal that a face's step chooses."""
        terms = marginal_terms([self.marginals[n] for n in members], self.domain.sizes)
        sizes = varying(0, [self.sizes[number] for number in members])
        return Digit(terms, self.values if self.oracle == "padded" else sizes)

    def describe_group(self, number: int) -> str:
        """A marginal in words."""
        names = " x ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"marginal of {names or 'nothing'} ({self.sizes[number]} nodes, {self.oracle})"

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of every question; faces have one step at most."""
        return tuple(
            Fraction(halves * choice, HALVES**2)
            for face, halves in zip(self.plan.faces, self.plan.face_choice.preimages, strict=True)
            for choice in (face.steps[0].choice.preimages if face.steps else (HALVES,))
        )

    def named(self, group: int) -> NamedAnswer:
        """The randomized response of a marginal of several cells."""
        return NamedAnswer(self.values or self.sizes[group], odds_words(self.budgets[group]))

    def atoms(self, group: int) -> tuple[Atoms, Fraction]:
        """(r, R0, R1) as in `Blanket` of a marginal's reports for two people at different cells of
        it, without the draw of the marginal; and how uneven these are."""
        oracle = self.answers[group].oracle
        if self.sizes[group] == 1:
            return CERTAIN, Fraction(0)
        if self.oracle in ("oue", "sue"):
            own, other = bit_thresholds(self.oracle, self.budgets[group])
            bits = unary(Fraction(own, WORDS), Fraction(other, WORDS), self.sizes[group])
            return bits.atoms, Fraction(0)
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

    def at(self: D, epsilon: Epsilon) -> D:
        """The same design with another local epsilon for every marginal."""
        return self.with_budgets([epsilon] * len(self.budgets))

    def with_budgets(self: D, budgets: Sequence[Epsilon]) -> D:
        """The same design with a local epsilon per marginal."""
        largest = max(budgets, key=lambda budget: budget.value)
        return replace(self, epsilon=largest, budgets=tuple(budgets))

    def keeping(self: D, central: Central) -> D:
        """With the largest common local epsilon that keeps a central promise."""
        return self.at(largest_local(lambda local: self.at(local).blankets(), central))

    @property
    def cell_variance(self) -> float:
        """Mean variance per report of a cell's frequency, for records spread evenly."""
        variances = []
        for answer, size in zip(self.answers, self.sizes, strict=True):
            p, q = answer.oracle.p, answer.oracle.q
            seen = q + (p - q) / size
            variances.append(seen * (1.0 - seen) / (p - q) ** 2)
        return float(np.mean(variances))

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides name, domain and epsilon."""
        budgets = [str(budget) for budget in self.budgets]
        rest = {"oracle": self.oracle, "budgets": budgets, "values": self.values}
        return {**super().to_json(), **rest}


# -- recipes ---------------------------------------------------------------------------------------

MOST_VALUES = 1 << 16
_QUICK_CELLS = 1 << 13


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
    """One line of the table above; oracle, visible: see `MarginalDesign`."""

    def __init__(self, name: str, oracle: str, visible: bool = False) -> None:
        self.name, self.oracle, self.visible = name, oracle, visible
        self.options = HashOptions if oracle == "solh" else MarginalOptions

    def make(self, task: Task[MarginalOptions]) -> MarginalDesign:
        """Every marginal at the whole epsilon; as many hash values as are best unshuffled."""
        values = getattr(task.options, "values", 0)
        return self._first(task, values or max(2, math.floor(task.epsilon.odds + 1)))

    def calibrate(self, task: Task[MarginalOptions], central: Central) -> MarginalDesign:
        """See `Recipe.calibrate`."""
        values = getattr(task.options, "values", 0)
        first = self._first(task, values or 2)
        if task.options.calibration == "published":
            people = central.people // len(first.marginals) if self.visible else central.people
            answers = first.sizes if self.visible else (max(first.sizes),) * len(first.sizes)
            return first.with_budgets([published_local(central, people, k) for k in answers])
        if self.oracle == "solh" and not values:
            return best_hash_values(first, central)
        if not self.visible:
            return first.keeping(central)

        @cache
        def budget(size: int) -> Epsilon:
            group = first.sizes.index(size)
            return largest_local(lambda e: (first.at(e).blanket_of(group),), central)

        return first.with_budgets([budget(size) for size in first.sizes])

    def _first(self, task: Task[MarginalOptions], values: int) -> MarginalDesign:
        """Every marginal at the whole epsilon; SurveyError for a published calibration that there
        is not.

        values: of the hash functions.
        """
        if task.options.calibration == "published":
            if self.oracle == "sue":
                raise SurveyError(
                    "sue-ms as published counts on every bit's being shuffled alone; here the bits "
                    "of a person travel together, and its bound does not hold for them: at 10^6 "
                    "people, epsilon 1 and delta 10^-6 the real delta is 0.48. Leave out "
                    "calibration"
                )
            if self.name not in ("srr-ms", "psrr-ss"):
                raise SurveyError(
                    f"{self.name} has no published calibration; leave out calibration"
                )
        marginals = choose_marginals(task.domain, task.options.ways, task.workload)
        if self.oracle == "padded":
            sizes = task.domain.sizes
            values = max(math.prod(sizes[axis] for axis in axes) for axes in marginals)
        elif self.oracle != "solh":
            values = 0
        ones, budgets = (1,) * len(marginals), (task.epsilon,) * len(marginals)
        return self._design(task.domain, task.epsilon, marginals, ones, budgets, values)

    def _design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        marginals: tuple[Axes, ...],
        weights: tuple[int, ...],
        budgets: tuple[Epsilon, ...],
        values: int,
    ) -> MarginalDesign:
        made = (self.name, domain, epsilon, marginals, weights)
        return MarginalDesign(*made, self.oracle, budgets, values, self.visible)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> MarginalDesign:
        """See `Recipe.remake`."""
        if data["oracle"] != self.oracle:
            raise SurveyError(f"{self.name} uses the oracle {self.oracle}")
        budgets, values = tuple(map(Epsilon.parse, data["budgets"])), whole(data["values"])
        return self._design(domain, epsilon, *read_marginals(data), budgets, values)


def best_hash_values(first: MarginalDesign, central: Central) -> MarginalDesign:
    """The design with the least mean variance of a cell's count that keeps a central promise.

    More values collide less, but randomized response lies more among many. The accountant says what
    each number allows; the variance for records spread evenly decides. Powers of two are tried,
    then one refinement around the best.
    """

    @cache
    def tried(values: int) -> MarginalDesign:
        return replace(first, values=values).keeping(central)

    def error(values: int) -> float:
        return tried(values).cell_variance

    best, values = 2, 4
    while values <= MOST_VALUES and error(values) <= error(best):
        best, values = values, 2 * values
    nearby = (round(best / math.sqrt(2)), best, round(best * math.sqrt(2)))
    return tried(min(filter(lambda number: number >= 2, nearby), key=error))


SRR_SS = Marginals("srr-ss", "grr")
PSRR_SS = Marginals("psrr-ss", "padded")
SOLH = Marginals("solh", "solh")
SRR_MS = Marginals("srr-ms", "grr", visible=True)
SUE_MS = Marginals("sue-ms", "sue", visible=True)
OUE_MS = Marginals("oue-ms", "oue", visible=True)
