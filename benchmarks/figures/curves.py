"""Curves of a figure from its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.figures.cases import Row
from benchmarks.figures.verdicts import Value, band
from ldpsql.terminal.figures import Curve, Role


def exact(label: str, rows: Sequence[Row], x: str, y: str, role: Role = "predicted") -> Curve:
    """One column of the rows over another."""
    return Curve(label, [row[x] for row in rows], [row[y] for row in rows], role=role)


def sampled(
    label: str,
    rows: Sequence[Row],
    x: str,
    value_of: Callable[[Row], Value],
    role: Role = "measured",
) -> Curve:
    """A mean per row over a column, with the band of its standard errors."""
    values = [value_of(row) for row in rows]
    means = [value.mean for value in values]
    return Curve(label, [row[x] for row in rows], means, *band(values), role)
