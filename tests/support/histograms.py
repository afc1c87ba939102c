"""Contents of histograms as plain counts; histograms of reports are `ldpsql_lab.simulation`'s."""

from __future__ import annotations

from collections import Counter

from ldpsql.reports.report import Histogram
from ldpsql_lab.simulation import histogram_of

__all__ = ["counts_of", "histogram_of"]


def counts_of(histogram: Histogram, types: int) -> Counter:
    """(report_type, rest of the row) -> people."""
    found: Counter = Counter()
    for report_type in range(types):
        rows = histogram.load(report_type)
        for *values, count in zip(*(c.tolist() for c in rows.columns), rows.counts, strict=True):
            found[(report_type, *values)] += int(count)
    return found
