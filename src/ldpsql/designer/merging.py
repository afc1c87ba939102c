"""Codes that no declared query tells apart, as one: what is not asked need not be collected.

Predicates, groups and sums of a workload's SQL cut every ordered dimension, and divide the values
of every category; between two cuts, and within a part, all values are alike to it, and a survey
that collects them as one answers it with less noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import CodeSet
from ldpsql.designer.file import SurveyFile, read_texts
from ldpsql.designer.questions import UndesignedSurvey, find_sides
from ldpsql.errors import list_some
from ldpsql_device.description import Edges, quote, values_of
from ldpsql_device.schema import OTHER, Dimension
from ldpsql_device.values import Domain, Listed, float_edges, int_edges, time_edges

_SHOWN = 12


def merge_codes(file: SurveyFile) -> tuple[SurveyFile, tuple[str, ...]]:
    """The file with the coarsest bins that its queries allow, and what to say of each dimension.

    Dimensions that nothing asks about, on which no report is spent, and those with sensitive values
    stay as they are.
    """
    survey = UndesignedSurvey(file.table, file.published_schema)
    texts = enumerate(read_texts(file.workload_options or {}), 1)
    found = [find_sides(text, number, survey) for number, text in texts]
    dimensions, notes = [], []
    for place, dimension in enumerate(file.schema.dimensions):
        sides = frozenset[CodeSet]().union(*(own[place] for own in found))
        merged = dimension if dimension.sensitive else merge(dimension, sides)
        dimensions.append(merged)
        if merged is not dimension:
            notes.append(
                f"{dimension.name} is collected in {_describe(merged.domain)}: no declared query "
                "tells the values of a bin apart"
            )
    schema = replace(file.schema, dimensions=tuple(dimensions))
    return replace(file, schema=schema), tuple(notes)


def merge(dimension: Dimension, sides: Iterable[CodeSet]) -> Dimension:
    """The dimension with one code for all that no side tells apart; itself where that changes
    nothing, or leaves one code."""
    domain = dimension.domain
    if isinstance(domain, Listed):
        parts = _divide(dimension.declared, sides)
        count = len(set(parts))
        if not 1 < count < dimension.declared:
            return dimension
        # The code of other values stays their own.
        own = [*parts, *range(count, count + domain.size - dimension.declared)]
        merged = tuple(_number([own[code] for code in domain.codes]))
        return replace(dimension, domain=replace(domain, merged=merged))
    cuts = {end for side in sides for interval in side for end in interval}
    inner = sorted(cut for cut in cuts if 0 < cut < domain.size)
    if not inner or len(inner) + 1 == domain.size:
        return dimension
    edges: list[Any] = [Edges(domain)[code] for code in (0, *inner, domain.size)]
    if domain.type in ("date", "timestamp"):
        return replace(dimension, domain=time_edges(domain.type, edges))
    make, scale = int_edges if domain.type == "int" else float_edges, "log" * domain.is_log or None
    return replace(dimension, domain=make(edges, scale))


def _divide(size: int, sides: Iterable[CodeSet]) -> list[int]:
    """The parts of codes 0 .. size-1 that are in the same sides, numbered as they first occur."""
    part, used = np.zeros(size, dtype=np.int64), 1
    for side in sorted(sides):
        inside = np.concatenate([np.arange(low, min(high, size)) for low, high in side])
        # What lies inside of a part becomes a new one.
        known, place = np.unique(part[inside], return_inverse=True)
        part[inside] = used + place
        used += len(known)
    return _number(part.tolist())


def _number(parts: Sequence[int]) -> list[int]:
    """The same parts, numbered 0, 1, ... as they first occur."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(part, len(numbers)) for part in parts]


def _describe(domain: Domain) -> str:
    """The bins, so many of them at most, and so many values of each."""
    more = ", ..." if domain.size > _SHOWN else ""
    if isinstance(domain, Listed):
        bins = (_list_values(values_of(domain, c)) for c in range(min(domain.size, _SHOWN)))
        return f"{domain.size} bins, {' | '.join(bins)}{more}"
    edges = ", ".join(map(str, Edges(domain)[: _SHOWN + 1]))
    return f"{domain.size} bins, edges = [{edges}{more}]"


def _list_values(values: Sequence[Any]) -> str:
    """The values of a bin, the first ones where there are many."""
    shown = [OTHER if value == OTHER else quote(value) for value in values[:_SHOWN]]
    return list_some(shown, _SHOWN, count=len(values))
