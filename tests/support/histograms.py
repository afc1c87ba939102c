"""Contents of histograms as plain counts; histograms of reports are `ldpsql.bench.memory`'s."""

from __future__ import annotations

from collections import Counter

from ldpsql.bench.memory import histogram_of
from ldpsql.report import Histogram

__all__ = ["counts_of", "histogram_of"]


def counts_of(histogram: Histogram, selectors: int) -> Counter:
    """(selector, rest of the row) -> people."""
    found: Counter = Counter()
    for selector in range(selectors):
        rows = histogram.load(selector)
        for *values, count in zip(*(c.tolist() for c in rows.columns), rows.counts, strict=True):
            found[(selector, *values)] += int(count)
    return found
