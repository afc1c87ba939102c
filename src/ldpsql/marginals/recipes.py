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
| arr-ss | randomized response over the cells of all marginals | nobody; it is not reported |
| ft | the parity of a set of binary attributes | nobody |

In the shuffle model a group's local budget follows from how well its reports hide among others, so
groups may differ in it, in how many answers there are (padding), or in how many values a hash has.
All of them are plain local mechanisms as well. Sources: Liu, Wang, Wang, Journal of Software 33(3),
2022; Wang et al., PVLDB 13(12), 2020 (SOLH); CALM: Zhang et al., CCS 2018, for marginals of several
attributes; docs/spec/shuffle.md#3.1, docs/spec/shuffle.md#3.3, docs/spec/shuffle.md#3.4,
docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from functools import cache
from itertools import combinations
from typing import Any, Literal, TypeVar

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.numerics import epsilon_of
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import AnyDesign
from ldpsql.estimators.groups import whole
from ldpsql.marginals.decoder import Axes, CollectedMarginals
from ldpsql.marginals.designs import ArrDesign, MarginalDesign, WalshDesign
from ldpsql.mechanisms.base import AnyOptions, Promise, Recipe, Takes, Task
from ldpsql.shuffle.accountant import balle_local, largest_local
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central

O = TypeVar("O")  # noqa: E741
Collected = tuple[str, RecordDomain, Epsilon, tuple[Axes, ...], tuple[int, ...]]
"""Name, domain, epsilon, marginals and their weights: what all designs begin with."""
_DIGITS = Decimal("1e-9")
MOST_VALUES = 1 << 16
MOST_MARGINALS, MOST_SETS, MOST_COMPARED = 1 << 14, 1 << 10, 1 << 7
"""Sets of attributes that are collected, those that are covered, and of these so many, evenly
spread, by which numbers of attributes are compared."""
MOST_COVERED, MORE_WAYS, MOST_CELLS = 4, 4, 1 << 14
"""Attributes that are covered together at most; by how many more a marginal is tried, and with how
many cells."""
_QUICK_CELLS = 1 << 13


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
        _require_few(asked, ways, MOST_MARGINALS, "collected")
        return tuple(combinations(asked, ways))
    wanted = (workload or Workload.everyday(domain)).supports
    sets = {tuple(axis for axis in support if axis in asked) for support in wanted} - {()}
    if not sets:
        return tuple((axis,) for axis in asked)
    return tuple(sorted(s for s in sets if not any(set(s) < set(other) for other in sets)))


def cover_sets(asked: Axes, ways: int, cover: int) -> tuple[Axes, ...]:
    """Few sets of `ways` attributes that together hold every set of `cover` attributes.

    Greedily: a set begins with the first attributes that no set holds together yet, and grows by
    the attribute that completes most of those that are left, the least used one among equals.
    Source: the covering designs of CALM (Zhang et al., CCS 2018).
    """
    used = dict.fromkeys(asked, 0)
    # By all attributes of a set but one: those that make it a set that is left.
    completing: dict[Axes, set[int]] = {}
    for part in combinations(asked, cover):
        for at in range(cover):
            completing.setdefault(part[:at] + part[at + 1 :], set()).add(part[at])
    found: list[Axes] = []
    for first in combinations(asked, cover):
        if first[-1] not in completing[first[:-1]]:
            continue
        chosen = list(first)
        completed: Counter[int] = Counter()
        new = list(combinations(first, cover - 1))
        while len(chosen) < ways:
            for part in new:
                completed.update(completing[part])
            best = min(
                (axis for axis in asked if axis not in chosen),
                key=lambda axis: (-completed[axis], used[axis], axis),
            )
            # Parts without the attribute that was added have been counted.
            rest = combinations(chosen, cover - 2) if cover > 1 else ()
            new = [tuple(sorted((*part, best))) for part in rest]
            chosen.append(best)
        axes = tuple(sorted(chosen))
        found.append(axes)
        for part in combinations(axes, cover):
            for at in range(cover):
                completing[part[:at] + part[at + 1 :]].discard(part[at])
        for axis in axes:
            used[axis] += 1
    return tuple(found)


def _require_few(asked: Sequence[int], ways: int, most: int, what: str) -> None:
    """SurveyError where there are too many sets of so many attributes."""
    if math.comb(len(asked), ways) > most:
        raise SurveyError(
            f"{len(asked)} attributes have more than {most:,} sets of {ways}, too many to be "
            f"{what}: take sets of another size, or fewer columns"
        )


def choose_cover(
    domain: RecordDomain,
    options: MarginalOptions,
    make: Callable[[tuple[Axes, ...]], CollectedMarginals],
) -> tuple[Axes, ...]:
    """The marginals of CALM: `cover_sets` for `ways` attributes, or for the number of them with the
    least expected variance of a count of `cover` attributes.

    More attributes in a marginal have more cells, in which there is more noise; fewer make more
    marginals, each of which fewer people are asked about. What is expected is the mean, over the
    sets of `cover` attributes, of the variance of a count of one cell, for people spread evenly.
    make: a design of some marginals. SurveyError where no such sets can be.
    """
    asked = tuple(axis for axis, size in enumerate(domain.sizes) if size > 1)
    cover, ways = options.cover, options.ways
    if not 1 <= cover <= min(len(asked), MOST_COVERED):
        raise SurveyError(
            f"cover must lie between 1 and {min(len(asked), MOST_COVERED)}, for {len(asked)} "
            f"attributes, not {cover}"
        )
    _require_few(asked, cover, MOST_SETS, "covered")
    if ways and not cover <= ways <= len(asked):
        raise SurveyError(
            f"ways must lie between cover, {cover}, and the number of attributes, {len(asked)}, or "
            f"be 0 for the best, not {ways}"
        )
    if ways:
        return cover_sets(asked, ways, cover)
    places, sets = range(len(domain.sizes)), list(combinations(asked, cover))
    queries = [
        LinearQuery.count(Box(tuple(((0, 1),) if axis in axes else None for axis in places)))
        for axes in sets[:: -(-len(sets) // MOST_COMPARED)]
    ]
    best: tuple[float, tuple[Axes, ...]] | None = None
    for number in range(cover, min(len(asked), cover + MORE_WAYS) + 1):
        marginals = cover_sets(asked, number, cover)
        if max(math.prod(domain.sizes[axis] for axis in axes) for axes in marginals) > MOST_CELLS:
            break
        try:
            error = make(marginals).expected_variances([queries], 1)[0]
        except SurveyError:
            break  # more cells than its oracle can serve
        if best is None or error < best[0]:
            best = error, marginals
    if best is None:
        raise SurveyError(f"{cover} attributes together have more than {MOST_CELLS} cells")
    return best[1]


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
    """ways: attributes per marginal, 0 for those of the workload, or for the best with `cover`.

    calibration: of local budgets in the shuffle model; "published" as the authors did.
    cover: few marginals, as CALM has them, which together hold every set of so many attributes;
    0 for all marginals of `ways` attributes.
    """

    ways: int = 1
    calibration: Literal["tight", "published"] = "tight"
    cover: int = 0


@dataclass(frozen=True)
class HashOptions(MarginalOptions):
    """values: of the hash functions; 0 for as many as are best."""

    values: int = 0


class MarginalRecipe(Recipe[O]):
    """COUNT over private dimensions, in the shuffle model or without."""

    takes = Takes(measures=False)
    estimator_names: tuple[str, ...] = ("unbiased", "smooth", "maxent", "calm")
    calibrates = True
    is_worst_when_even = True

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

    def make(self, task: Task[O]) -> AnyDesign:
        """Every marginal at the whole epsilon."""
        return self._design(task, None)

    def calibrate(self, task: Task[O], central: Central) -> AnyDesign:
        """A design that keeps a central promise, with the largest local epsilon that does."""
        return self._design(task, central)

    def _design(self, task: Task[O], central: Central | None) -> CollectedMarginals:
        def build(marginals: tuple[Axes, ...]) -> CollectedMarginals:
            weights = (1,) * len(marginals)
            made = (self.name, task.domain, task.epsilon, marginals, weights)
            return self.finish(self.build(made, self.data(task, marginals)), task.options, central)

        return build(self.collect(task, build))

    def collect(
        self, task: Task[Any], build: Callable[[tuple[Axes, ...]], CollectedMarginals]
    ) -> tuple[Axes, ...]:
        """The marginals that the options ask for; build: a design of some."""
        if task.options.cover:
            return choose_cover(task.domain, task.options, build)
        return choose_marginals(task.domain, task.options.ways, task.workload)

    def data(self, task: Task[Any], marginals: tuple[Axes, ...]) -> AnyOptions:
        """The arguments of `build` besides those that all have."""
        return {}

    def build(self, made: Collected, data: AnyOptions) -> CollectedMarginals:
        """A design from what all have and the rest of its data."""
        raise NotImplementedError

    def finish(self, first: Any, options: Any, central: Central | None) -> CollectedMarginals:
        """The design with the budgets that keep a promise, from one at the whole epsilon."""
        made: CollectedMarginals = first if central is None else first.keep_central(central)
        return made

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """The design again, from the collector's part of a survey."""
        marginals = tuple(tuple(map(whole, axes)) for axes in data["marginals"])
        weights = tuple(map(whole, data["weights"]))
        design = self.build((self.name, domain, epsilon, marginals, weights), data)
        # A version that writes more says nothing against what another one wrote.
        if any(data.get(key, value) != value for key, value in design.to_json().items()):
            raise SurveyError(f"the design does not fit {self.name}")
        return design


class Marginals(MarginalRecipe[MarginalOptions]):
    """One line of the table above; oracle, visible: see `MarginalDesign`."""

    def __init__(self, name: str, oracle: str, visible: bool = False) -> None:
        self.name, self.oracle, self.visible = name, oracle, visible
        self.options = HashOptions if oracle == "solh" else MarginalOptions

    def data(self, task: Task[Any], marginals: tuple[Axes, ...]) -> AnyOptions:
        """As many answers as the largest marginal has where all have so many, and as many hash
        values as are best unshuffled; SurveyError for a published calibration that there is not."""
        if task.options.calibration == "published":
            self._require_published()
        if self.oracle == "padded":
            sizes = task.domain.sizes
            return {"values": max(math.prod(sizes[axis] for axis in axes) for axes in marginals)}
        if self.oracle == "solh":
            return {"values": task.options.values or max(2, math.floor(task.epsilon.odds + 1))}
        return {"values": 0}

    def finish(
        self, first: MarginalDesign, options: MarginalOptions, central: Central | None
    ) -> MarginalDesign:
        """A design that keeps a central promise, with the largest local epsilon that does."""
        if central is None:
            return first
        if options.calibration == "published":
            people = central.people // len(first.marginals) if self.visible else central.people
            answers = first.sizes if self.visible else (max(first.sizes),) * len(first.sizes)
            return first.with_budgets([published_local(central, people, k) for k in answers])
        if isinstance(options, HashOptions) and not options.values:
            return find_best_hash_values(first, central)
        if not self.visible:
            return first.keep_central(central)

        @cache
        def budget(size: int) -> Epsilon:
            group = first.sizes.index(size)
            return largest_local(lambda e: (first.at(e).blanket_of(group),), central)

        return first.with_budgets([budget(size) for size in first.sizes])

    def _require_published(self) -> None:
        if self.oracle == "sue":
            raise SurveyError(
                "as published, sue-ms assumes that every bit is shuffled on its own; here the bits "
                "of a person travel together, and its bound does not hold for them: at 10^6 "
                "people, epsilon 1 and delta 10^-6 the real delta is 0.48. Leave out calibration"
            )
        if self.name not in ("srr-ms", "psrr-ss"):
            raise SurveyError(f"{self.name} has no published calibration; leave out calibration")

    def build(self, made: Collected, data: AnyOptions) -> MarginalDesign:
        """With a budget per marginal, the whole epsilon unless `data` says so."""
        _, _, epsilon, marginals, _ = made
        given, values = data.get("budgets", [str(epsilon)] * len(marginals)), whole(data["values"])
        budgets = tuple(map(Epsilon.parse, given))
        return MarginalDesign(*made, self.oracle, budgets, values, self.visible)


def find_best_hash_values(first: MarginalDesign, central: Central) -> MarginalDesign:
    """The design with the least mean variance of a cell's count that keeps a central promise.

    More values collide less, but randomized response lies more among many. The accountant says what
    each number allows; the variance for records spread evenly decides. Powers of two are tried,
    then one refinement around the best.
    """

    @cache
    def try_sizes(values: int) -> MarginalDesign:
        return replace(first, values=values).keep_central(central)

    def error(values: int) -> float:
        return try_sizes(values).cell_variance

    best, values = 2, 4
    while values <= MOST_VALUES and error(values) <= error(best):
        best, values = values, 2 * values
    nearby = (round(best / math.sqrt(2)), best, round(best * math.sqrt(2)))
    return try_sizes(min(filter(lambda number: number >= 2, nearby), key=error))


@dataclass(frozen=True)
class ArrOptions(MarginalOptions):
    """sum_to_one: see `ArrDesign`."""

    sum_to_one: bool = False


class ArrSs(MarginalRecipe[ArrOptions]):
    """COUNT over private dimensions."""

    name = "arr-ss"
    is_worst_when_even = False
    options = ArrOptions

    def data(self, task: Task[ArrOptions], marginals: tuple[Axes, ...]) -> AnyOptions:
        """Whether sums are held to what everybody adds up to."""
        return {"sum_to_one": task.options.sum_to_one}

    def finish(self, first: ArrDesign, options: ArrOptions, central: Central | None) -> ArrDesign:
        """The randomized response as truthful as the promise allows; as `calibration` says."""
        if options.calibration == "tight":
            return first if central is None else first.keep_central(central)
        answered = first.epsilon
        if central is not None:
            answered = published_local(central, central.people, first.starts[-1])
        return first.at(local_budget(answered, len(first.marginals)))

    def build(self, made: Collected, data: AnyOptions) -> ArrDesign:
        """A design of these marginals at a local epsilon."""
        return ArrDesign(*made, data["sum_to_one"] is True)


def local_budget(answered: Epsilon, marginals: int) -> Epsilon:
    """The local epsilon of randomized response with budget `answered` over a secret marginal:
    ln(1 + (e - 1) / d), rounded up. Source: docs/spec/shuffle.md#3.2."""
    return Epsilon(epsilon_of(1 + (answered.odds - 1) / marginals))


@dataclass(frozen=True)
class FtOptions:
    """ways: attributes per marginal, 0 for those of the workload."""

    ways: int = 2


class Ft(MarginalRecipe[FtOptions]):
    """COUNT over private binary attributes."""

    name = "ft"
    estimator_names = ("unbiased", "maxent")
    takes = Takes(measures=False, codes=2, instead="srr-ss")
    options = FtOptions

    def collect(
        self, task: Task[Any], build: Callable[[tuple[Axes, ...]], CollectedMarginals]
    ) -> tuple[Axes, ...]:
        """All sets of attributes inside the marginals."""
        ways = task.options.ways
        ways = min(ways, sum(size > 1 for size in task.domain.sizes)) or ways
        inside: set[Axes] = set()
        for axes in choose_marginals(task.domain, ways, task.workload):
            for size in range(1, len(axes) + 1):
                _require_few(axes, size, MOST_MARGINALS, "collected")
                inside.update(combinations(axes, size))
                if len(inside) > MOST_MARGINALS:
                    raise SurveyError(
                        f"more than {MOST_MARGINALS:,} sets of attributes are inside the marginals,"
                        " too many to be collected: take smaller ones, or fewer columns"
                    )
        return tuple(sorted(inside, key=lambda axes: (len(axes), axes))) or ((),)

    def build(self, made: Collected, data: AnyOptions) -> WalshDesign:
        """A design of these marginals at a local epsilon."""
        _, _, epsilon, marginals, _ = made
        budgets = (epsilon,) * len(marginals)
        return WalshDesign(*made, "grr", budgets)


SRR_SS, PSRR_SS = Marginals("srr-ss", "grr"), Marginals("psrr-ss", "padded")
SOLH = Marginals("solh", "solh")
SRR_MS = Marginals("srr-ms", "grr", visible=True)
SUE_MS = Marginals("sue-ms", "sue", visible=True)
OUE_MS = Marginals("oue-ms", "oue", visible=True)
ARR_SS, FT = ArrSs(), Ft()
