"""What linear queries count single records for, from their definition."""

from __future__ import annotations

from collections.abc import Sequence

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain


def _lies_in(record: Sequence[int], box: Box) -> bool:
    """Whether the codes of a record, and whatever follows them, are those of a box."""
    return all(
        side is None or any(low <= code < high for low, high in side)
        for side, code in zip(box.sides, record, strict=False)
    )


def count_record(query: LinearQuery, record: Sequence[int], domain: RecordDomain) -> float:
    """What a record, its codes and then the levels of its measures, adds to the true answer."""
    total = sum(share for share, box in query.terms if _lies_in(record, box))
    if query.measure is not None:
        level = record[len(domain.sizes) + query.measure]
        total *= domain.level_values(query.measure)[level]
    return float(total)
