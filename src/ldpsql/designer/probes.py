"""Public. Sees parameters. Examples of a workload's queries, by which designs are compared.

A class of queries with few members is probed by all of them, a larger one by points that are
spread evenly over it (an additive recurrence, fixed once for all: every design sees the same
ones). Specification: fourier, section 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product

import numpy as np

from ldpsql.boxes import Box, CodeSet, LinearQuery, Side
from ldpsql.designer.wishes import Wishes
from ldpsql.estimate import Array
from ldpsql.workload import DeclaredQuery, Kind, QueryClass
from ldpsql_device.schema import RecordDomain

MOST_CLASSES = 18
MOST_PER_CLASS = 48
_SEED = 2019
_WORDS: dict[Kind, str] = {"range": "range", "prefix": "prefix", "equality": "="}


@dataclass(frozen=True)
class Probe:
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


def probes_of(wishes: Wishes, budget: int) -> tuple[Probe, ...]:
    """Probes of a workload, with about `budget` queries in all and at least one per class.

    Of many classes MOST_CLASSES are drawn (seeded), in proportion to their kinds.
    """
    workload = wishes.workload
    classes = _drawn(workload.classes)
    kinds = len(classes) + len(set(wishes.numbers))
    most = max(1, min(MOST_PER_CLASS, budget // max(kinds, 1)))
    found = [_of_class(entry, workload.domain, most) for entry in classes]
    numbered = zip(wishes.numbers, workload.queries, strict=True)
    for number, members in groupby(numbered, key=lambda pair: pair[0]):
        queries = [query for _, query in members]
        found += _of_queries(number, queries, workload.domain, most)
    return tuple(found)


def _drawn(classes: Sequence[QueryClass]) -> list[QueryClass]:
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


# -- classes --------------------------------------------------------------------------------------


def _of_class(entry: QueryClass, domain: RecordDomain, most: int) -> Probe:
    predicates = [f"{domain.names[i]} {_WORDS[kind]}" for i, kind in entry.predicates]
    what = " x ".join(predicates)
    number = f"{len(predicates)} predicate{'s' if len(predicates) != 1 else ''}"
    boxes = [Box(sides).normal(domain.sizes) for sides in _sides(entry, domain, most)]
    if entry.measure is None:
        queries = tuple(LinearQuery.count(box) for box in boxes)
        return Probe(what or "everybody", f"COUNT, {number}", entry.weight, queries)
    name = f"SUM({domain.measure_names[entry.measure]})"
    low, high = domain.bounds[entry.measure]
    return Probe(
        f"{name} by {what}" if what else name,
        f"{name}, {number}",
        entry.weight,
        tuple(LinearQuery.sum(entry.measure, box) for box in boxes),
        is_count=False,
        is_about_middle=True,
        shown=(high - low) / 2.0,
    )


def _sides(entry: QueryClass, domain: RecordDomain, most: int) -> Iterator[tuple[Side, ...]]:
    """The sides of a class's queries, or of `most` of them."""
    counts = [_count(kind, domain.sizes[i]) for i, kind in entry.predicates]
    if math.prod(counts) <= most:
        chosen: Sequence[tuple[int, ...]] = list(product(*map(range, counts)))
    else:
        chosen = [
            tuple(int(u * count) for u, count in zip(point, counts, strict=True))
            for point in _spread(most, len(counts)).tolist()
        ]
    for numbers in chosen:
        sides: list[Side] = [None] * len(domain.sizes)
        for (i, kind), number in zip(entry.predicates, numbers, strict=True):
            sides[i] = _predicate(kind, domain.sizes[i], number)
        yield tuple(sides)


def _count(kind: Kind, size: int) -> int:
    return size * (size + 1) // 2 if kind == "range" else size


def _predicate(kind: Kind, size: int, number: int) -> CodeSet:
    """A predicate by its number, ranges ordered by length, so that numbers spread evenly have
    lengths as they occur."""
    if kind == "equality":
        return ((number, number + 1),)
    if kind == "prefix":
        return ((0, number + 1),)
    left = size * (size + 1) // 2 - 1 - number
    shorter = (math.isqrt(8 * left + 1) - 1) // 2
    start = left - shorter * (shorter + 1) // 2
    return ((start, start + size - shorter),)


def _spread(count: int, axes: int) -> Array:
    """Points of the unit cube, shape (count, axes), one in every count-th of each axis.

    In the order of steps by the powers of the number g with g^(axes + 1) = g + 1, which fill the
    cube evenly.
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (axes + 1))
    steps = ratio ** -np.arange(1.0, axes + 1.0)
    ranks = ((np.outer(np.arange(count), steps)) % 1.0).argsort(axis=0).argsort(axis=0)
    return np.asarray((ranks + 0.5) / count)


# -- declared queries -----------------------------------------------------------------------------


def _of_queries(
    number: int, queries: Sequence[DeclaredQuery], domain: RecordDomain, most: int
) -> Iterator[Probe]:
    """One probe per target of the SQL text with this number."""
    targets: dict[tuple[int | None, float, float], list[DeclaredQuery]] = {}
    for query in queries:
        targets.setdefault((query.measure, query.level, query.contrast), []).append(query)
    for (measure, level, contrast), members in targets.items():
        chosen = [members[(2 * i + 1) * len(members) // (2 * most)] for i in range(most)]
        asked = tuple(_linear(query) for query in (chosen if len(members) > most else members))
        weight = sum(query.weight for query in members)
        text = f"query {number}"
        if measure is None:
            yield Probe(f"{text}: COUNT", text, weight, asked)
            continue
        low, high = domain.bounds[measure]
        half = (high - low) / 2.0
        yield Probe(
            f"{text}: SUM({domain.measure_names[measure]})",
            f"{text}: SUM({domain.measure_names[measure]})",
            weight,
            asked,
            is_count=False,
            is_about_middle=not level,
            unit=half / contrast if level else 1.0,
            shown=1.0 if level else half,
        )


def _linear(query: DeclaredQuery) -> LinearQuery:
    return LinearQuery(tuple((share, Box(sides)) for share, sides in query.terms), query.measure)
