"""The expected error of a design on a workload, before any data, and what a wanted error takes.

A class of queries with few members is sampled whole, a larger one at points that are spread evenly
over it (an additive recurrence, fixed once for all: every design is judged by the same queries).
Errors are predicted for records spread evenly. Source: docs/spec/fourier.md#2.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import groupby, product
from typing import TypeVar

import numpy as np

from ldpsql.bounds import Bound
from ldpsql.boxes import Box, CodeSet, LinearQuery, Side
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.estimate import CONFIDENCE, quantile
from ldpsql.numerics import Array
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.workload import DeclaredQuery, Kind, QueryClass, Workload
from ldpsql_device.epsilon import LARGEST_EPSILON, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import Error, SurveyError

DEFAULT_USERS = 100_000
MOST_CLASSES = 18
MOST_PER_CLASS = 48
_SEED = 2019
_BATCH = 8
_Entry = TypeVar("_Entry")
_WORDS: dict[Kind, str] = {"range": "range", "prefix": "prefix", "equality": "="}


# -- sampled queries ------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledQueries:
    """Queries of one kind, whose mean variance stands for the kind.

    text: the kind in words.  group: a coarser kind, for short tables.  weight: share of the
    workload.  is_about_middle: whether the queries are sums of a measure about the middle of its
    bounds, to be asked of a design with bounds -1 and 1.  unit: what is 1 in the workload's units.
    shown: an error of the queries times this is in people or in units of the measure.
    """

    text: str
    group: str
    weight: float
    queries: tuple[LinearQuery, ...]
    is_count: bool = True
    is_about_middle: bool = False
    unit: float = 1.0
    shown: float = 1.0

    @property
    def limit(self) -> str:
        """In words: what all people could make of such an answer at most."""
        if self.is_count:
            return "people"
        return "people x half the range" if self.is_about_middle else "people x largest bound"


def sample_queries(workload: Workload, budget: int) -> tuple[SampledQueries, ...]:
    """Samples of a workload, with about `budget` queries in all and at least one per class.

    Of many classes MOST_CLASSES are drawn (seeded), in proportion to their kinds.
    """
    classes = _draw_classes(workload.classes)
    kinds = len(classes) + len({query.text for query in workload.queries})
    most = max(1, min(MOST_PER_CLASS, budget // max(kinds, 1)))
    samples = [_sample_class(entry, workload.domain, most) for entry in classes]
    for number, members in groupby(workload.queries, key=lambda query: query.text):
        samples += _sample_text(number, list(members), workload.domain, most)
    return tuple(samples)


def _draw_classes(classes: Sequence[QueryClass]) -> list[QueryClass]:
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


def _sample_class(entry: QueryClass, domain: RecordDomain, most: int) -> SampledQueries:
    what = " x ".join(f"{domain.names[i]} {_WORDS[kind]}" for i, kind in entry.predicates)
    number = len(entry.predicates)
    predicates = "1 predicate" if number == 1 else f"{number} predicates"
    boxes = [Box(sides).normal(domain.sizes) for sides in _sample_sides(entry, domain, most)]
    if entry.measure is None:
        queries = tuple(LinearQuery.count(box) for box in boxes)
        text = what or "everybody"
        return SampledQueries(text, f"COUNT, {predicates}", entry.weight, queries)
    name = f"SUM({domain.measure_names[entry.measure]})"
    low, high = domain.bounds[entry.measure]
    return SampledQueries(
        f"{name} by {what}" if what else name,
        f"{name}, {predicates}",
        entry.weight,
        tuple(LinearQuery.sum(entry.measure, box) for box in boxes),
        is_count=False,
        is_about_middle=True,
        shown=(high - low) / 2.0,
    )


def _sample_sides(entry: QueryClass, domain: RecordDomain, most: int) -> Iterator[tuple[Side, ...]]:
    """The sides of a class's queries, or of `most` of them."""
    sizes = [domain.sizes[i] for i, _ in entry.predicates]
    kinds = [kind for _, kind in entry.predicates]
    counts = [
        size * (size + 1) // 2 if kind == "range" else size
        for kind, size in zip(kinds, sizes, strict=True)
    ]
    if math.prod(counts) <= most:
        chosen: Sequence[Sequence[int]] = list(product(*map(range, counts)))
    else:
        chosen = (_spread_points(most, len(counts)) * counts).astype(int).tolist()
    for numbers in chosen:
        sides: list[Side] = [None] * len(domain.sizes)
        for (i, kind), size, number in zip(entry.predicates, sizes, numbers, strict=True):
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


def _sample_text(
    number: int, queries: Sequence[DeclaredQuery], domain: RecordDomain, most: int
) -> Iterator[SampledQueries]:
    """Samples of one SQL text, one per target in it."""
    targets: dict[tuple[int | None, float, float], list[DeclaredQuery]] = {}
    for query in queries:
        targets.setdefault((query.measure, query.level, query.contrast), []).append(query)
    for (measure, level, contrast), members in targets.items():
        asked = tuple(
            LinearQuery(tuple((share, Box(sides)) for share, sides in query.terms), query.measure)
            for query in take_evenly(members, most)
        )
        weight = sum(query.weight for query in members)
        text = f"query {number}"
        if measure is None:
            yield SampledQueries(f"{text}: COUNT", text, weight, asked)
            continue
        low, high = domain.bounds[measure]
        half = (high - low) / 2.0
        yield SampledQueries(
            f"{text}: SUM({domain.measure_names[measure]})",
            f"{text}: SUM({domain.measure_names[measure]})",
            weight,
            asked,
            is_count=False,
            is_about_middle=not level,
            unit=half / contrast if level else 1.0,
            shown=1.0 if level else half,
        )


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
    answer at most, which `limit` says in words.
    """

    text: str
    error: float
    share: float
    limit: str


@dataclass(frozen=True)
class Forecast:
    """What a design is expected to do on a workload with so many people.

    variances: mean variance of each sample's queries, in the workload's units (people for counts,
    people x half the distance of the bounds for sums about the middle, people x largest bound for
    sums of declared queries).
    """

    design: Design
    samples: tuple[SampledQueries, ...]
    people: int
    variances: tuple[float, ...]

    @classmethod
    def of(cls, design: Design, samples: Sequence[SampledQueries], people: int) -> Forecast:
        """Predict, for records spread evenly. SurveyError where the design cannot answer."""
        variances = [0.0] * len(samples)
        for is_about_middle in (False, True):
            places = [i for i, s in enumerate(samples) if s.is_about_middle == is_about_middle]
            if places:
                asked = _center_measures(design) if is_about_middle else design
                means = _mean_variances(asked, [samples[i] for i in places], people)
                for i, mean in zip(places, means, strict=True):
                    variances[i] = mean
        return cls(design, tuple(samples), people, tuple(variances))

    @cached_property
    def error(self) -> float:
        """Root of the workload's mean variance, in its units."""
        return _root_mean(list(zip(self.samples, self.variances, strict=True)))

    @property
    def half_width(self) -> float:
        """Half the width of the interval of a typical count, as a share of the people.

        At the confidence that answers have by default. Of a typical sum, where the workload has no
        counts.
        """
        pairs = list(zip(self.samples, self.variances, strict=True))
        counts = [pair for pair in pairs if pair[0].is_count]
        return quantile(CONFIDENCE) * _root_mean(counts or pairs) / self.people

    def expected(self, most: int) -> tuple[ExpectedError, ...]:
        """The expected errors by kind, or by coarser kinds if there are more than `most`."""
        kinds: dict[str, list[tuple[SampledQueries, float]]] = {}
        for sample, variance in zip(self.samples, self.variances, strict=True):
            text = sample.text if len(self.samples) <= most else sample.group
            kinds.setdefault(text, []).append((sample, variance))
        errors = []
        for text, members in kinds.items():
            error, first = _root_mean(members), members[0][0]
            shown = error * first.unit * first.shown
            errors.append(ExpectedError(text, shown, error / self.people, first.limit))
        return tuple(errors)

    def ratio(self, bound: Bound | None) -> float | None:
        """Expected error over the least possible one; None where no bound is known."""
        if bound is None or not bound.noise:
            return None
        return self.error / math.sqrt(bound.noise * self.people)


def _root_mean(pairs: Sequence[tuple[SampledQueries, float]]) -> float:
    """Root of the mean variance, samples weighted by their share of the workload."""
    weights = [sample.weight for sample, _ in pairs]
    return math.sqrt(float(np.average([variance for _, variance in pairs], weights=weights)))


def _mean_variances(
    design: Design, samples: Sequence[SampledQueries], people: int
) -> Iterator[float]:
    """Mean variance of each sample's queries in the workload's units.

    Designs share work between queries, but also compute the covariance of all with all, hence
    the batches.
    """
    planned = [design.prepare(query) for sample in samples for query in sample.queries]
    batches = [planned[start : start + _BATCH] for start in range(0, len(planned), _BATCH)]
    variances = np.concatenate([design.variance(batch, people) for batch in batches])
    ends = np.cumsum([len(sample.queries) for sample in samples])
    for sample, part in zip(samples, np.split(variances, ends[:-1]), strict=True):
        mean = float(np.mean(part)) / sample.unit**2
        if not math.isfinite(mean):
            raise SurveyError(f"it does not answer every query: {sample.text}")
        yield mean


def _center_measures(design: Design) -> Design:
    """The same design with measures between -1 and 1, whose sums are those about the middle.

    Devices report only to which of its bounds a measure was rounded, so nothing else changes.
    """
    centered = replace(design.domain, bounds=tuple((-1.0, 1.0) for _ in design.domain.bounds))
    if centered == design.domain:
        return design
    return mechanism(design.name).restore(centered, design.epsilon, design.to_json())


# -- what a wanted precision takes ----------------------------------------------------------------

_PER_DECADE = 900  # epsilons of three significant digits between powers of ten


def least_users(forecast: Forecast, half_width: float) -> int:
    """The fewest people whose typical count has an interval of at most this half-width (a share
    of the people): variances grow with their number, so half-widths shrink with its root."""
    return max(1, math.ceil(forecast.people * (forecast.half_width / half_width) ** 2))


def least_epsilon(
    forecast: Forecast, half_width: float, at: Callable[[Epsilon], Forecast]
) -> Epsilon | None:
    """The smallest epsilon of three significant digits that gives this half-width to as many
    people as in `forecast`; None if none up to 20 does.

    at: the forecast of a new design, which may cost a second each. The search starts where the
    error of one randomized bit would be the wanted one, and is a bisection from there.
    """
    known: dict[int, bool] = {}

    def suffices(place: int) -> bool:
        """Whether an epsilon gives the half-width; one at which there is no design does not."""
        if place not in known:
            try:
                known[place] = at(epsilon_at(place)).half_width <= half_width
            except Error:
                known[place] = False
        return known[place]

    # The precision of one randomized bit is (E - 1)^2 / E = (2 sinh(epsilon / 2))^2.
    wanted = math.sinh(float(forecast.design.epsilon) / 2.0) * forecast.half_width / half_width
    guess = min(max(2.0 * math.asinh(wanted), float(SMALLEST_EPSILON)), float(LARGEST_EPSILON))
    first, last = place_of(Epsilon(SMALLEST_EPSILON)), place_of(Epsilon(LARGEST_EPSILON))
    low = high = place_of(Epsilon.parse(f"{guess:.3g}"))
    # Ever larger steps find a bracket: `low` does not suffice (or lies before the first epsilon),
    # `high` does, or is the last one.
    step = 8
    if suffices(high):
        while low >= first and suffices(low):
            low, high, step = max(low - step, first - 1), low, 4 * step
    else:
        while high < last and not suffices(high):
            low, high, step = high, min(high + step, last), 4 * step
        if not suffices(high):
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return epsilon_at(high)


def epsilon_at(place: int) -> Epsilon:
    """The epsilons of three significant digits in order; place 0 is 0.001."""
    decade, step = divmod(place, _PER_DECADE)
    return Epsilon(Decimal(100 + step).scaleb(decade - 5))


def place_of(epsilon: Epsilon) -> int:
    """The place of an epsilon, or of the next smaller one."""
    decade = math.floor(epsilon.value.log10())
    step = int(epsilon.value.scaleb(2 - decade)) - 100
    return (decade + 3) * _PER_DECADE + step
