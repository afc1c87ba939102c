"""Which questions a survey should answer best.

A workload is a mixture of *query classes* (every predicate of a kind on some dimensions, each
equally likely) and of declared queries. A design minimises its expected error. Dimensions enter
through the Gram matrix of one predicate, G = mean of q q' over the predicates q of the kind (q is
1 inside and 0 outside), of which designs on cyclic groups need the spectrum only.
Sources: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any, Literal

import numpy as np

from ldpsql.algebra.boxes import Box, Side
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql_device.errors import SurveyError

Kind = Literal["range", "prefix", "equality", "level", "present"]
KINDS: tuple[Kind, ...] = ("range", "prefix", "equality")
"""Those that may be declared."""
OF_LEVELS: tuple[Kind, ...] = ("level", "present")
"""Those of measures that may be missing, whose last code is that of NULL: "level" counts a person
by the level, from -1 to 1, and 0 for NULL; "present" by whether there is one."""
DEFAULT_PREDICATES = 2
RATIO_COUNT, RATIO_SUM = 0.25, 0.75
"""How a mean weighs its count and its sum about the middle (docs/spec/fourier.md#7)."""


@dataclass(frozen=True)
class QueryClass:
    """All queries with one predicate of a kind on each of some dimensions, equally likely.

    weight: share of the workload.  predicates: (dimension, kind), ascending; empty for none.
    measure: None for a count; else the sum of the measure about the middle of its bounds, in
    units of half their distance.
    """

    weight: float
    predicates: tuple[tuple[int, Kind], ...]
    measure: int | None = None


@dataclass(frozen=True)
class DeclaredQuery:
    """One query: a person inside a box counts coefficient x (level + contrast x sign).

    weight: share of the workload.  terms: (coefficient, sides) with one side per dimension.
    measure: whose sign (+1 upper bound, -1 lower bound), or None; then contrast is 0.
    text: the number of the SQL text that asks it, from 1; 0 where none does. Not part of a design.
    is_square: whether a person counts the square of the measure's distance from the middle of its
    bounds instead, in units of the square of half their distance; then level is 0 and contrast 1.
    """

    weight: float
    terms: tuple[tuple[float, tuple[Side, ...]], ...]
    measure: int | None = None
    level: float = 1.0
    contrast: float = 0.0
    text: int = field(default=0, compare=False)
    is_square: bool = False

    @property
    def constrained(self) -> tuple[int, ...]:
        """The dimensions that some term constrains, ascending."""
        used = {i for _, sides in self.terms for i, side in enumerate(sides) if side is not None}
        return tuple(sorted(used))


@dataclass(frozen=True)
class Workload:
    """A mixture of classes and queries over one record domain; the weights sum to 1.

    max_predicates: the largest number of dimensions that one query may constrain.
    """

    domain: RecordDomain
    classes: tuple[QueryClass, ...]
    queries: tuple[DeclaredQuery, ...] = ()
    max_predicates: int = DEFAULT_PREDICATES

    def __post_init__(self) -> None:
        weights = [entry.weight for entry in self.classes]
        weights += [query.weight for query in self.queries]
        if not weights or min(weights) <= 0.0 or abs(sum(weights) - 1.0) > 1e-9:
            raise ValueError("the weights of a workload are positive and sum to 1")

    @classmethod
    def everyday(
        cls,
        domain: RecordDomain,
        kinds: Mapping[int, Kind] | None = None,
        max_predicates: int = DEFAULT_PREDICATES,
    ) -> Workload:
        """Predicates on every one and every several dimensions, counts and sums alike.

        kinds: of the predicates on a dimension; "range" where it is not named. Dimensions of one
        code cannot be asked about. The sum of a measure that may be missing is wanted as part of a
        mean, and so is the number of people who have a value.
        """
        chosen = {i: (kinds or {}).get(i, "range") for i in domain.asked}
        most = min(max_predicates, len(chosen))
        subsets = [s for k in range(1, most + 1) for s in combinations(chosen.items(), k)] or [()]
        targets: list[tuple[float, tuple[tuple[int, Kind], ...], int | None]]
        targets = [(1.0, (), measure) for measure in (None, *range(len(domain.bounds)))]
        for axis in range(domain.first_level_axis, len(domain.sizes)):
            targets += [
                (RATIO_SUM, ((axis, "level"),), None),
                (RATIO_COUNT, ((axis, "present"),), None),
            ]
        total = len(subsets) * sum(share for share, _, _ in targets)
        classes = tuple(
            QueryClass(share / total, (*predicates, *of_level), measure)
            for predicates, (share, of_level, measure) in product(subsets, targets)
        )
        return cls(domain, classes, (), max(max_predicates, 1))

    def over(self, domain: RecordDomain) -> Workload:
        """The same workload over a domain that may have other levels of measures."""
        if domain.sizes == self.domain.sizes:
            return replace(self, domain=domain)
        queries = []
        for query in self.queries:
            terms = tuple((share, Box(sides)) for share, sides in query.terms)
            fine = self.domain.refine(terms, domain)
            queries.append(replace(query, terms=tuple((share, box.sides) for share, box in fine)))
        return replace(self, domain=domain, queries=tuple(queries))

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for a design's JSON; `from_json` is the inverse."""
        return {
            "classes": [
                [entry.weight, [list(pair) for pair in entry.predicates], entry.measure]
                for entry in self.classes
            ],
            "queries": [
                [query.weight, query.measure, query.level, query.contrast, list(query.terms)]
                + [True] * query.is_square
                for query in self.queries
            ],
            "max_predicates": self.max_predicates,
        }

    @classmethod
    def from_json(cls, domain: RecordDomain, data: Mapping[str, Any]) -> Workload:
        """SurveyError where the data do not fit the domain."""
        classes = tuple(
            QueryClass(float(weight), tuple((i, kind) for i, kind in predicates), measure)
            for weight, predicates, measure in data["classes"]
        )
        queries = tuple(
            DeclaredQuery(
                float(weight),
                tuple((float(share), _read_sides(sides, domain)) for share, sides in terms),
                measure,
                float(level),
                float(contrast),
                is_square=rest == [True],
            )
            for weight, measure, level, contrast, terms, *rest in data["queries"]
        )
        for entry in classes:
            for dimension, kind in entry.predicates:
                _check_index(dimension, domain.sizes, "dimension")
                if kind not in KINDS + OF_LEVELS:
                    raise SurveyError(f"a workload has no predicates of the kind {kind!r}")
        for measure in [entry.measure for entry in classes] + [query.measure for query in queries]:
            if measure is not None:
                _check_index(measure, domain.bounds, "measure")
        return cls(domain, classes, queries, int(data["max_predicates"]))

    @property
    def squared(self) -> frozenset[int]:
        """The measures of which it asks squares."""
        asked = (query.measure for query in self.queries if query.is_square)
        return frozenset(measure for measure in asked if measure is not None)

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """The largest sets of dimensions that one query constrains, ascending."""
        used = {tuple(i for i, _ in entry.predicates) for entry in self.classes}
        used |= {query.constrained for query in self.queries}
        return tuple(sorted(s for s in used if not any(set(s) < set(other) for other in used)))


def _check_index(index: Any, known: Sequence[Any], what: str) -> None:
    if type(index) is not int or not 0 <= index < len(known):
        raise SurveyError(f"a workload asks about an unknown {what}")


def _read_sides(sides: Sequence[Any], domain: RecordDomain) -> tuple[Side, ...]:
    """One code set or None per dimension, inside its codes."""
    checked: list[Side] = []
    for side, size in zip(sides, domain.sizes, strict=True):
        intervals = None if side is None else tuple((int(low), int(high)) for low, high in side)
        if intervals is not None and any(not 0 <= low < high <= size for low, high in intervals):
            raise SurveyError("a workload asks about codes outside a dimension")
        checked.append(intervals)
    return tuple(checked)


def gram(kind: Kind, size: int) -> Array:
    """Mean of q q' over the predicates of a kind on codes 0..size-1, shape (size, size)."""
    index = np.arange(size, dtype=np.float64)
    if kind in OF_LEVELS:
        counted = count_levels(kind, size)
        return np.outer(counted, counted)
    if kind == "equality":
        return np.eye(size) / size
    # Entry (i, j) is the share of predicates that hold both codes: prefixes that end at or after
    # max(i, j); ranges that start at or before min(i, j) and end at or after max(i, j).
    largest = np.maximum.outer(index, index)
    if kind == "prefix":
        return np.asarray((size - largest) / size)
    smallest = np.minimum.outer(index, index)
    return np.asarray((smallest + 1) * (size - largest) / (size * (size + 1) / 2))


def count_levels(kind: Kind, size: int) -> Array:
    """What a person at each code of a measure that may be missing counts, shape (size,)."""
    counted = np.zeros(size)
    counted[:-1] = 1.0 if kind == "present" else np.linspace(-1.0, 1.0, size - 1)
    return counted


@lru_cache(maxsize=256)
def spectrum(kind: Kind, size: int, order: int) -> Array:
    """E |q^(f)|^2 / order^2 over the predicates of a kind, f = 0..order-1, shape (order,).

    The codes 0..size-1 are the first of a cyclic group of `order` elements.
    """
    # Wiener and Khinchin: |q^(f)|^2 is the transform of the cyclic autocorrelation of q, whose
    # mean over the predicates is the sum of G along each diagonal, both lags s and -s. With
    # n = size - s pairs at lag s, the sums of the Gram's entries are those of 1 .. n (prefixes) and
    # of i (n + 1 - i) for i = 1 .. n (ranges), in closed form.
    left = size - np.arange(size, dtype=np.float64)
    if kind in OF_LEVELS:
        counted = count_levels(kind, size)
        products = np.correlate(counted, counted, "full")[size - 1 :]
    elif kind == "equality":
        products = (left == size).astype(np.float64)
    elif kind == "prefix":
        products = left * (left + 1) / (2 * size)
    else:
        products = left * (left + 1) * (left + 2) / 6 / (size * (size + 1) / 2)
    cyclic = np.zeros(order)
    lags = np.arange(size)
    np.add.at(cyclic, lags, products)
    np.add.at(cyclic, (order - lags[1:]) % order, products[1:])
    # A spectrum is not negative; the transform leaves rounding errors of either sign.
    powers = np.clip(np.fft.fft(cyclic).real, 0.0, None) / order**2
    powers.setflags(write=False)
    return powers
