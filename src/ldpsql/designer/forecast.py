"""The expected error of a design before any data, what a wanted error takes, and their pictures.

A class of queries with few members is sampled whole, a larger one at points that are spread evenly
over it (an additive recurrence, fixed once for all: every design is judged by the same queries).
Errors are predicted for records spread evenly. Source: docs/spec/fourier.md#2.1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby, product
from typing import TypeVar

import numpy as np

from ldpsql.algebra.boxes import Box, CodeSet, LinearQuery, Side, Terms, multiply
from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain, space_levels
from ldpsql.algebra.workload import DeclaredQuery, Kind, QueryClass, Workload, count_levels
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import DesignValue, hides_bias
from ldpsql.limits import check
from ldpsql.mechanisms.fourier.group import Spectral
from ldpsql.mechanisms.fourier.recipe import group_of
from ldpsql.mechanisms.fourier.spectra import demand
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.rounds import Rounds
from ldpsql_device.epsilon import LARGEST_EPSILON, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import Error, SurveyError

DEFAULT_USERS = 100_000
MOST_CLASSES = 18
MOST_PER_CLASS = 48
MOST_LENGTHS, MOST_PLACES = 24, 16
MOST_FORGED = 3
"""Kinds of counts, and of sums, of which it is looked at what a forged report can do."""
HOPELESS = 3.0
"""A design whose error is more than so many times the best so far is not looked at any further."""
AT_ONCE = 24
"""Queries that are predicted together: designs share work between them."""
_SEED = 2019
_LARGEST_TABLE = 1 << 20
_Entry = TypeVar("_Entry")
_WORDS: dict[Kind, str] = {"range": "range", "prefix": "prefix", "equality": "="}


# -- sampled queries ------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledQueries:
    """Queries of one kind, whose mean variance stands for the kind.

    text: the kind in words.  group: a coarser kind, for short tables.  weight: share of the
    workload.  domain: of the queries.  is_about_middle: whether they are sums of a measure about
    the middle of its bounds, to be asked of a design with bounds -1 and 1.  unit: what is 1 in the
    workload's units.  shown: an error of the queries times this is in people or in units of the
    measure.  summed: the measure that is.  counted: for each sum of its numbers how many have
    them; empty for counts and for sums of squares.
    """

    text: str
    group: str
    weight: float
    queries: tuple[LinearQuery, ...]
    domain: RecordDomain
    is_about_middle: bool = False
    unit: float = 1.0
    shown: float = 1.0
    summed: str | None = None
    counted: tuple[LinearQuery, ...] = ()

    @property
    def is_count(self) -> bool:
        """Whether people are counted, and no measure is summed."""
        return self.summed is None

    @property
    def is_averaged(self) -> bool:
        """Whether each query, over the number of people in a box, is an average."""
        is_sum = bool(self.counted) and self.is_about_middle
        return is_sum and all(
            [share for share, _ in query.terms] == [1.0] and not query.terms[0][1].is_empty
            for query in self.counted
        )

    def over(self, domain: RecordDomain) -> SampledQueries:
        """The same over a domain that may have other levels of measures."""
        if domain.sizes == self.domain.sizes:
            return self
        queries, counted = (
            tuple(replace(q, terms=self.domain.refine(q.terms, domain)) for q in own)
            for own in (self.queries, self.counted)
        )
        return replace(self, queries=queries, counted=counted, domain=domain)

    @property
    def share_of_people(self) -> float:
        """The mean share of people, spread evenly, of whom a query is."""
        asked = self.counted or self.queries
        return float(np.mean([self.domain.share_of(box) for q in asked for _, box in q.terms]))

    @property
    def limit(self) -> str:
        """In words: what all people could make of such an answer at most."""
        if self.is_count:
            return "people"
        return "people x half the range" if self.is_about_middle else "people x largest bound"


def sample_queries(workload: Workload, budget: int) -> tuple[SampledQueries, ...]:
    """Samples of a workload, with about `budget` queries in all and at least one per class.

    Of many classes MOST_CLASSES are drawn (seeded), in proportion to their kinds; of a declared
    text there is one sample per target.
    """
    domain, classes = workload.domain, draw_classes(workload.classes)
    kinds = len(classes) + len({query.text for query in workload.queries})
    most = max(1, min(MOST_PER_CLASS, budget // max(kinds, 1)))
    samples = []
    for entry in classes:
        asked = [(i, kind) for i, kind in entry.predicates if i < domain.first_level_axis]
        of_level = entry.predicates[len(asked) :]
        what = " x ".join(f"{domain.names[i]} {_WORDS[kind]}" for i, kind in asked)
        number = len(asked)
        queries = tuple(
            LinearQuery(over_level(sides, of_level, domain), entry.measure)
            for sides in _sample_sides(replace(entry, predicates=tuple(asked)), domain, most)
        )
        name = _name_target(queries[0], domain)
        text = " by ".join(filter(None, [name, what]))
        if entry.measure is None and not of_level:
            text = what or "everybody"
        group = f"{name}, {number} predicate{'' if number == 1 else 's'}"
        samples.append(_sample(text, group, entry.weight, queries, domain))
    for number, declared in groupby(workload.queries, key=lambda query: query.text):
        targets: dict[tuple[str, float, float], list[DeclaredQuery]] = {}
        for query in declared:
            name = _name_target(as_linear(query), domain)
            targets.setdefault((name, query.level, query.contrast), []).append(query)
        for (name, level, contrast), members in targets.items():
            text = f"query {number}: {name}"
            weight = sum(query.weight for query in members)
            group = f"query {number}" if name == "COUNT" else text
            queries = tuple(map(as_linear, take_evenly(members, most)))
            samples.append(_sample(text, group, weight, queries, domain, level, contrast))
    return tuple(samples)


def as_linear(query: DeclaredQuery) -> LinearQuery:
    """A declared query as one of boxes, in the units of its terms."""
    terms = tuple((share, Box(sides)) for share, sides in query.terms)
    return LinearQuery(terms, query.measure, is_square=query.is_square)


def over_level(
    sides: tuple[Side, ...], of_level: Sequence[tuple[int, Kind]], domain: RecordDomain
) -> Terms:
    """A box as the terms of a count, or of what people count by a level of a measure that may be
    missing."""
    terms: Terms = ((1.0, Box(sides).normal(domain.sizes)),)
    for axis, kind in of_level:
        counted = count_levels(kind, domain.sizes[axis]).tolist()
        codes = (Box.of(len(sides), {axis: ((code, code + 1),)}) for code in range(len(counted)))
        terms = multiply(terms, tuple(zip(counted, codes, strict=True)))
    return terms


def _name_target(query: LinearQuery, domain: RecordDomain) -> str:
    if query.measure is not None:
        squares = ", squares" if query.is_square else ""
        return f"SUM({domain.measure_names[query.measure]}){squares}"
    found = read_levels(query, domain)
    if found is None:
        return "COUNT"
    axis, counted = found
    name = domain.names[axis]
    if _are_alike(counted):
        return f"COUNT({name})"
    return f"SUM({name})" + ", squares" * bool(counted[0] == counted[-1])


def read_levels(query: LinearQuery, domain: RecordDomain) -> tuple[int, Array] | None:
    """The axis of the measure that may be missing of which a query is, and what people at each of
    its levels count in the first of the boxes; None where it is of no such measure."""
    for axis in range(domain.first_level_axis, len(domain.sizes)):
        if by_box := _split_levels(query, axis, domain):
            return axis, next(iter(by_box.values()))
    return None


def _split_levels(query: LinearQuery, axis: int, domain: RecordDomain) -> dict[Box, Array]:
    """The amounts of people at each level of a measure, by boxes that leave its axis free; without
    those in which all codes count alike."""
    counted: dict[Box, Array] = {}
    for amount, box in query.terms:
        side = box.sides[axis]
        if side is not None:
            free = Box((*box.sides[:axis], None, *box.sides[axis + 1 :]))
            own = counted.setdefault(free, np.zeros(domain.sizes[axis] - 1))
            for low, high in side:
                own[low:high] += amount
    return counted


def _are_alike(counted: Array) -> bool:
    return bool(np.ptp(counted) == 0.0)


def _sample(
    text: str,
    group: str,
    weight: float,
    queries: tuple[LinearQuery, ...],
    domain: RecordDomain,
    level: float = 0.0,
    contrast: float = 1.0,
) -> SampledQueries:
    """A sample of one target, whose people count as `DeclaredQuery` says."""
    made = SampledQueries(text, group, weight, queries, domain)
    measure = queries[0].measure
    if measure is None:
        found = read_levels(queries[0], domain)
        if found is None or _are_alike(found[1]):
            return made
        return _sum_levels(made, *found, is_declared=level != 0.0)
    made = replace(made, summed=domain.measure_names[measure])
    low, high = domain.bounds[measure]
    half = (high - low) / 2.0
    if queries[0].is_square:
        return replace(made, is_about_middle=True, shown=half**2)
    made = replace(made, counted=tuple(replace(query, measure=None) for query in queries))
    if not level:
        return replace(made, is_about_middle=True, shown=half)
    return replace(made, unit=half / contrast)


def _sum_levels(
    made: SampledQueries, axis: int, counted: Array, *, is_declared: bool
) -> SampledQueries:
    """A sample of sums of a measure that may be missing, by what people at its levels count: the
    levels themselves; those of a class end at -1 and 1."""
    domain = made.domain
    low, high, count, how = domain.nullable[axis - domain.first_level_axis]
    made, half = replace(made, summed=domain.names[axis]), (high - low) / 2.0
    if counted[0] == counted[-1]:
        return replace(made, is_about_middle=True, shown=half**2)
    if counted[0] != -counted[-1]:
        return replace(made, shown=max(abs(low), abs(high)))
    # The highest level of a sum about the middle, in half of the distance of the bounds.
    highest = float(space_levels(-1.0, 1.0, count, how)[-1])
    top = highest if is_declared else 1.0
    present = Box.of(len(domain.sizes), {axis: ((0, count),)})
    of_people = tuple(
        LinearQuery(
            tuple(
                (float(own[-1]) / top, box & present)
                for box, own in _split_levels(query, axis, domain).items()
            )
        )
        for query in made.queries
    )
    return replace(made, is_about_middle=True, shown=half * highest / top, counted=of_people)


def draw_classes(classes: Sequence[QueryClass]) -> list[QueryClass]:
    """At most about MOST_CLASSES classes, each kind (target and number of predicates) keeping its
    weight."""
    if len(classes) <= MOST_CLASSES:
        return list(classes)
    random = np.random.default_rng(_SEED)
    kinds: dict[tuple[bool, int], list[QueryClass]] = {}
    for entry in classes:
        kinds.setdefault((entry.measure is None, len(entry.predicates)), []).append(entry)
    drawn: list[QueryClass] = []
    for members in kinds.values():
        take = min(len(members), max(2, MOST_CLASSES // len(kinds)))
        chosen = sorted(random.choice(len(members), take, replace=False).tolist())
        scale = sum(m.weight for m in members) / sum(members[i].weight for i in chosen)
        drawn += [replace(members[i], weight=members[i].weight * scale) for i in chosen]
    return drawn


def _sample_sides(entry: QueryClass, domain: RecordDomain, most: int) -> Iterator[tuple[Side, ...]]:
    """The sides of a class's queries, or of `most` of them."""
    axes = [(i, kind, domain.sizes[i]) for i, kind in entry.predicates]
    counts = [size * (size + 1) // 2 if kind == "range" else size for _, kind, size in axes]
    if math.prod(counts) <= most:
        chosen: Sequence[Sequence[int]] = list(product(*map(range, counts)))
    else:
        chosen = (_spread_points(most, len(counts)) * counts).astype(int).tolist()
    for numbers in chosen:
        sides: list[Side] = [None] * len(domain.sizes)
        for (i, kind, size), number in zip(axes, numbers, strict=True):
            sides[i] = predicate_of(kind, size, number)
        yield tuple(sides)


def predicate_of(kind: Kind, size: int, number: int) -> CodeSet:
    """A predicate by its number among those of a kind.

    Ranges are ordered by length, so that numbers spread evenly have lengths as they occur.
    """
    if kind == "equality":
        return ((number, number + 1),)
    if kind == "prefix":
        return ((0, number + 1),)
    # Counted from the longest range, of which there are 1, 2, 3, ... of every length: `shorter` is
    # the root of the largest triangular number that is at most `left`.
    left = size * (size + 1) // 2 - 1 - number
    shorter = (math.isqrt(8 * left + 1) - 1) // 2
    start = left - shorter * (shorter + 1) // 2
    return ((start, start + size - shorter),)


def _spread_points(count: int, axes: int) -> Array:
    """Points of the unit cube, shape (count, axes), one in every count-th of each axis."""
    # Steps by the powers of 1/g, where g^(axes + 1) = g + 1 (the golden ratio for one axis), fill
    # the cube evenly; their ranks on each axis are then put in the middles of equal parts.
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (axes + 1))
    steps = ratio ** -np.arange(1.0, axes + 1.0)
    ranks = ((np.outer(np.arange(count), steps)) % 1.0).argsort(axis=0).argsort(axis=0)
    return np.asarray((ranks + 0.5) / count)


def take_evenly(entries: Sequence[_Entry], most: int) -> list[_Entry]:
    """All entries, or `most` of them at even distances."""
    if len(entries) <= most:
        return list(entries)
    return [entries[(2 * i + 1) * len(entries) // (2 * most)] for i in range(most)]


# -- expected errors ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpectedError:
    """The expected standard error of one kind of query.

    error: in people or in units of the measure.  share: of what all people could make of the
    answer at most, which `limit` says in words.  average: of a sum about the middle of a measure's
    bounds, the error of the average of the people in question, in units of the measure, where that
    is about the middle; None for other kinds.
    """

    text: str
    error: float
    share: float
    limit: str
    average: float | None = None


@dataclass(frozen=True)
class Forecast:
    """The expected errors of a design on a workload with so many people.

    variances: mean variance of each sample's queries, in the workload's units (people for counts,
    people x half the distance of the bounds for sums about the middle, people x largest bound for
    sums of declared queries).
    """

    design: Design
    samples: tuple[SampledQueries, ...]
    people: int
    variances: tuple[float, ...]

    @classmethod
    def of(
        cls,
        design: Design,
        samples: Sequence[SampledQueries],
        people: int,
        best: float = math.inf,
    ) -> Forecast:
        """Predict, for records spread evenly. SurveyError where the design cannot answer, and as
        soon as it is certain that its error is more than HOPELESS times the best one so far.

        An answer with a bias that no error holds has no expected error, and neither has one from a
        grid that later rounds refine where people are.
        """
        if isinstance(design, Rounds):
            raise SurveyError(
                f"what {design.name} asks depends on the answers of earlier rounds, so its error "
                "depends on the people; ldpsql bench measures it on a table of your own"
            )
        samples = [sample.over(design.domain) for sample in samples]
        if design.biases:
            name = next(iter(design.estimators))
            for sample in samples:
                if any(hides_bias(design, design.prepare(q), name) for q in sample.queries):
                    raise SurveyError(
                        f"answers to {sample.text} are biased by an amount that reports do not "
                        "reveal"
                    )
        variances, sure, total = [], 0.0, sum(sample.weight for sample in samples)
        centered = design
        if any(sample.is_about_middle for sample in samples):
            centered = _center_measures(design)
        for part in _take_some(samples):
            check()
            asked = centered if part[0].is_about_middle else design
            found = asked.expected_variances([sample.queries for sample in part], people)
            for sample, variance in zip(part, found, strict=True):
                if not math.isfinite(variance):
                    raise SurveyError(f"it does not answer every query: {sample.text}")
                variances.append(variance / sample.unit**2)
                # What is left can only add to it.
                sure += sample.weight * variances[-1]
            require_chance(math.sqrt(sure / total), best)
        return cls(design, tuple(samples), people, tuple(variances))

    @property
    def error(self) -> float:
        """Root of the workload's mean variance, in its units."""
        return self._root_mean(range(len(self.samples)))

    @property
    def half_width(self) -> float:
        """Half the width of the interval of a typical count, as a share of the people.

        At the confidence that answers have by default. Of a typical sum, where the workload has no
        counts.
        """
        every = range(len(self.samples))
        counts = [i for i in every if self.samples[i].is_count]
        return quantile(CONFIDENCE) * self._root_mean(counts or every) / self.people

    def expect_errors(self, most: int) -> tuple[ExpectedError, ...]:
        """The expected errors by kind, or by coarser kinds if there are more than `most`."""
        kinds: dict[str, list[int]] = {}
        for i, sample in enumerate(self.samples):
            text = sample.text if len(self.samples) <= most else sample.group
            kinds.setdefault(text, []).append(i)
        errors = []
        for text, members in kinds.items():
            error, first = self._root_mean(members), self.samples[members[0]]
            shown = error * first.unit * first.shown
            average = self._average(members) if first.is_averaged else None
            errors.append(ExpectedError(text, shown, error / self.people, first.limit, average))
        return tuple(errors)

    def _average(self, members: Sequence[int]) -> float:
        """Root of the mean variance of the averages whose sums some samples are."""
        # To first order the error of S / n is that of S over n, where S is about the middle of the
        # bounds and the average lies there: n's own error is multiplied by the average, about 0.
        weights = [self.samples[i].weight for i in members]
        variances = [
            self.variances[i]
            * (self.samples[i].shown / self.people) ** 2
            / self.samples[i].share_of_people ** 2
            for i in members
        ]
        return math.sqrt(float(np.average(variances, weights=weights)))

    def find_forged(self) -> list[tuple[str, float]]:
        """The answers that one forged report moves, in words, and by how much at most: a typical
        count of each of a few kinds, and a typical sum and average of every measure.

        An average is moved as if it were in the middle of the measure's bounds.
        """
        found = [("a typical count", most) for most in self._find_forged(None)]
        for name in dict.fromkeys(each.summed for each in self.samples if each.summed):
            words = (f"a sum of {name}", f"an average of {name}")
            found += zip(words, self._find_forged(name), strict=False)
        return found

    def _find_forged(self, summed: str | None) -> list[float]:
        """Of typical counts; or of sums of a measure, and of averages where the count is known."""
        kinds = [
            sample
            for sample in self.samples
            if sample.summed == summed and (sample.is_count or sample.counted)
        ]
        typical = take_evenly(kinds, MOST_FORGED)
        if not typical:
            return []
        middles = [(own, len(own.queries) // 2) for own in typical]
        sums = [self.design.prepare(own.queries[place]) for own, place in middles]
        every = np.eye(len(typical))
        if summed is None:
            return [float(np.abs(self.design.influence(sums, every, self.people)).max())]
        domain, middle = self.design.domain, sum(self._find_bounds(summed)) / 2.0
        # A sum over levels is one about the middle, in half of the distance of the bounds.
        are_levels = np.array([own.queries[0].measure is None for own in typical])
        scaled = every * np.where(are_levels, [own.shown for own in typical], 1.0)
        more = every * np.where(are_levels, middle, 0.0)
        asked = [own.counted[place] for own, place in middles]
        try:
            both = [*sums, *map(self.design.prepare, asked)]
        except UnsupportedSQL:
            return [float(np.abs(self.design.influence(sums, scaled, self.people)).max())]
        shares = [sum(domain.share_of(box) for _, box in query.terms) for query in asked]
        averages = np.hstack([scaled, more - middle * every])
        averages /= self.people * np.array(shares)[:, None]
        return [
            float(np.abs(self.design.influence(both, slopes, self.people)).max())
            for slopes in (np.hstack([scaled, more]), averages)
        ]

    def _find_bounds(self, measure: str) -> tuple[float, float]:
        domain = self.design.domain
        named = dict(zip(domain.measure_names, domain.bounds, strict=True))
        levels = zip(domain.names[domain.first_level_axis :], domain.nullable, strict=True)
        return {**named, **{name: (low, high) for name, (low, high, *_) in levels}}[measure]

    def ratio(self, bound: float | None) -> float | None:
        """Expected error over the least possible one; None where no bound is known."""
        return self.error / math.sqrt(bound * self.people) if bound else None

    def _root_mean(self, members: Sequence[int]) -> float:
        """Root of the mean variance of some samples, weighted by their share of the workload."""
        weights = [self.samples[i].weight for i in members]
        return math.sqrt(float(np.average([self.variances[i] for i in members], weights=weights)))


def _take_some(samples: Sequence[SampledQueries]) -> Iterator[list[SampledQueries]]:
    """The samples in order, about AT_ONCE queries at a time, all of a part about the middle of the
    bounds or none."""
    for _, alike in groupby(samples, key=lambda sample: sample.is_about_middle):
        part: list[SampledQueries] = []
        for sample in alike:
            part.append(sample)
            if sum(len(own.queries) for own in part) >= AT_ONCE:
                yield part
                part = []
        if part:
            yield part


def _center_measures(design: Design) -> Design:
    """The same design with measures between -1 and 1, whose sums are those about the middle.

    Devices report a measure by its level between the bounds, so nothing else changes.
    """
    centered = replace(design.domain, bounds=tuple((-1.0, 1.0) for _ in design.domain.bounds))
    if centered == design.domain:
        return design
    # The plan as it is: to read it from JSON again takes longer than all the rest.
    data = {**design.to_json(), "plan": design.plan}
    made = mechanism(design.name).restore(centered, design.epsilon, data)
    made.reuse(design)
    return made


def require_chance(error: float, best: float) -> None:
    """SurveyError for a design whose error is more than HOPELESS times the best one so far."""
    if best and error > HOPELESS * best:
        raise SurveyError(f"its intervals are at least {error / best:.0f} times as wide")


def least_users(forecast: Forecast, half_width: float) -> int:
    """The fewest people whose typical count has an interval of at most this half-width (a share
    of the people): variances grow with their number, so half-widths shrink with its root."""
    return max(1, math.ceil(forecast.people * (forecast.half_width / half_width) ** 2))


def epsilons() -> list[Epsilon]:
    """All of three significant digits, ascending."""
    numbers = (Decimal(d).scaleb(place) for place in range(-5, 0) for d in range(100, 1000))
    return [Epsilon(n) for n in numbers if SMALLEST_EPSILON <= n <= LARGEST_EPSILON]


def least_epsilon(half_width: float, at: Callable[[Epsilon], Forecast]) -> Epsilon | None:
    """The smallest epsilon of three significant digits that gives this half-width; None if none
    up to 20 does.

    at: the forecast of a new design, which may cost a second each; about 12 are asked for.
    """

    def suffices(epsilon: Epsilon) -> bool:
        """Whether an epsilon gives the half-width; one at which there is no design does not."""
        try:
            return at(epsilon).half_width <= half_width
        except Error:
            return False

    known = epsilons()
    place = bisect_left(known, True, key=suffices)
    return known[place] if place < len(known) else None


# -- curves of a picture --------------------------------------------------------------------------


@dataclass(frozen=True)
class DimensionCurve:
    """One line of a panel.

    dimension: its number.  x: ascending, shape (k,).  y: shape (k,), all above 0.
    """

    dimension: int
    x: Array
    y: Array


def demand_curves(design: DesignValue, workload: Workload) -> tuple[DimensionCurve, ...]:
    """gamma_f, the mean of |q^(f)|^2 / N^2 over the workload, over f on each dimension alone.

    Frequency f turns f times around the circle on which a Fourier design lays the values of a
    dimension; for any other design on circles of the dimensions' own sizes, large ones in coarse
    bins. Source: docs/spec/fourier.md#1.2.
    """
    if isinstance(design, Spectral):
        group = design.group
    else:
        # Bins so coarse that the spectrum of any workload is a small computation.
        most = max(map(len, workload.supports), default=1)
        bins = int(_LARGEST_TABLE ** (1.0 / max(most, 1)))
        group = group_of(workload.domain, workload, max(bins, 2))
    return _curves_over_frequencies(demand(workload, group), group.dimensions)


def information_curves(design: DesignValue) -> tuple[DimensionCurve, ...]:
    """lambda_f, what one report tells about frequency f of each dimension alone, at most 1.

    None for designs that do not ask about frequencies. Source: docs/spec/fourier.md#2.1.
    """
    if not isinstance(design, Spectral):
        return ()
    return _curves_over_frequencies(design.spectral_information, design.group.dimensions)


def _curves_over_frequencies(
    faces: Mapping[tuple[int, ...], Array], dimensions: int
) -> tuple[DimensionCurve, ...]:
    """The faces of single axes, frequencies 1 .. order // 2; those of value 0 are left out."""
    curves = []
    for axis in range(dimensions):
        values = faces.get((axis,), np.zeros(0))
        values = values[: (len(values) + 1) // 2]  # frequencies f and order - f are conjugates
        places = np.flatnonzero(values > 0.0)
        if places.size:
            curves.append(DimensionCurve(axis, (places + 1).astype(np.float64), values[places]))
    return tuple(curves)


def error_curves(design: Design, people: int) -> tuple[DimensionCurve, ...]:
    """Expected standard error of a count over the length of a range, on each dimension alone.

    x: length in codes, 1 .. size - 1, at most MOST_LENGTHS.  y: root of the mean variance over at
    most MOST_PLACES places, as a share of the people, for records spread evenly. Lengths that the
    design does not answer are left out, and so is a dimension of which it answers none.
    """
    curves, sizes = [], design.domain.sizes
    for axis, size in enumerate(sizes):
        points = []
        # The whole dimension is known exactly.
        for length in _spread(1, size - 1, MOST_LENGTHS) if size > 1 else []:
            queries = []
            for start in _spread(0, size - length, MOST_PLACES):
                box = Box.of(len(sizes), {axis: ((start, start + length),)})
                queries.append(LinearQuery.count(box))
            try:
                planned = [design.prepare(query) for query in queries]
            except UnsupportedSQL:
                continue
            error = math.sqrt(float(np.mean(design.variance(planned, people)))) / people
            if math.isfinite(error):
                points.append((length, error))
        if points:
            x, y = np.array(points, dtype=np.float64).T
            curves.append(DimensionCurve(axis, x, y))
    return tuple(curves)


def _spread(first: int, last: int, most: int) -> list[int]:
    """At most so many whole numbers from first to last, both among them."""
    chosen = np.linspace(first, last, min(most, last - first + 1))
    return sorted({round(value) for value in chosen.tolist()})
