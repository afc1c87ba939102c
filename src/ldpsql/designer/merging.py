"""Codes that no declared query tells apart, as one bin: what is not asked need not be collected.

Predicates, groups and sums of a workload's SQL cut every ordered dimension; between two cuts all
values are alike to it, and a survey that collects them as one answers it with less noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ldpsql.designer.file import SurveyFile
from ldpsql.designer.questions import UndesignedSurvey, find_cuts
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension
from ldpsql_device.values import Ordered, float_edges, int_edges

_SHOWN = 12


def merge_codes(file: SurveyFile) -> tuple[SurveyFile, tuple[str, ...]]:
    """The file with the coarsest bins that its queries allow, and what to say of each dimension.

    Dimensions of type int and float are merged; not those that nothing asks about, which no report
    is spent on, and not those that declare sensitive values. SurveyError for a file whose
    [workload] has no queries, or asks for everything beside them.
    """
    if file.workload.classes:
        raise SurveyError(
            "edges can be taken from a [workload] of queries alone; its other keys ask about "
            "every value"
        )
    survey = UndesignedSurvey(file.table, file.published_schema)
    texts: Sequence[str] = (file.workload_options or {}).get("queries", ())
    found = [find_cuts(text, survey) for text in texts]
    dimensions, notes = [], []
    for place, dimension in enumerate(file.schema.dimensions):
        merged = _merge(dimension, frozenset[int]().union(*(cuts[place] for cuts in found)))
        dimensions.append(merged)
        if merged is not dimension and isinstance(merged.domain, Ordered):
            edges = list(merged.domain.edges)
            more = ", ..." if len(edges) > _SHOWN else ""
            notes.append(
                f"{dimension.name} is collected in {merged.domain.size} bins, edges = "
                f"[{', '.join(map(str, edges[:_SHOWN]))}{more}]: no declared query tells the "
                "values of a bin apart"
            )
    schema = replace(file.schema, dimensions=tuple(dimensions))
    return replace(file, schema=schema), tuple(notes)


def _merge(dimension: Dimension, cuts: frozenset[int]) -> Dimension:
    """The dimension with one code for all between two cuts; itself where that changes nothing."""
    domain = dimension.domain
    inner = sorted(cut for cut in cuts if 0 < cut < domain.size)
    is_number = isinstance(domain, Ordered) and domain.type in ("int", "float")
    if not is_number or not inner or dimension.sensitive or len(inner) + 1 == domain.size:
        return dimension
    assert isinstance(domain, Ordered)
    edges: list[Any] = [domain.edges[code] for code in (0, *inner, domain.size)]
    make = int_edges if domain.type == "int" else float_edges
    return replace(dimension, domain=make(edges))
