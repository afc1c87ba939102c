"""Contents of histograms as plain counts; histograms of reports are `ldpsql_lab.simulation`'s."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ldpsql.reports.report import Histogram
from ldpsql.store.base import Selection
from ldpsql.store.store import Store
from ldpsql_lab.simulation import histogram_of

__all__ = ["counts_of", "everything", "histogram_of"]


def counts_of(histogram: Histogram, types: int) -> Counter:
    """(report_type, rest of the row) -> people."""
    found: Counter = Counter()
    for report_type in range(types):
        rows = histogram.load(report_type)
        for *values, count in zip(*(c.tolist() for c in rows.columns), rows.counts, strict=True):
            found[(report_type, *values)] += int(count)
    return found


def everything(store: Store, table: str = "app") -> dict[tuple[Any, ...], int]:
    """(values of all public columns, row of the report) -> people, of a survey of `fake_survey`."""
    keys = tuple(column.name for column in store.survey(table).schema.public)
    return {
        (key, row): count
        for key, histogram in store.histograms(table, Selection(None, keys))
        for row, count in counts_of(histogram, 3).items()
    }
