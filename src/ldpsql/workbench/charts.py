"""The picture of an answer: every estimate over the keys of its rows."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpsql.algebra.estimate import Array
from ldpsql.engine.result import Result, are_numbers
from ldpsql.terminal.figures import (
    Curve,
    Panel,
    Place,
    draw_figure,
    require_matplotlib,
    svg_of,
)
from ldpsql.wording.numbers import plain
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS, _MOST_CURVES, _MOST_KINDS = 6, 12, 60
_FIRST_YEAR, _LAST_YEAR = 1, 9999


def draw_result(result: Result) -> Figure:
    """A panel for each estimate; NotSupportedError without matplotlib, and where there is nothing
    to draw."""
    panels = _panels(result)
    require_matplotlib("a picture")
    title = ", ".join(survey.table for survey in result.surveys)
    title += f", with {100 * result.level:g} % intervals"
    if len(result.intervals) > len(panels):
        title += f" (the first {len(panels)} of {len(result.intervals)} estimates)"
    return draw_figure(title, panels, columns=2)


def draw_svg(result: Result) -> str:
    """The same as an SVG element for an HTML page; errors as of `draw_result`."""
    return svg_of(lambda: draw_result(result))


def _panels(result: Result) -> list[Panel]:
    table = result.table
    keys = [place for place in range(table.num_columns) if place not in result.intervals]
    if not (result.intervals and keys and table.num_rows > 1):
        raise NotSupportedError("a picture shows estimates of groups; GROUP BY a column")
    over, places = _axis(table, keys, result.coded)
    rows = _rows_of_curves(table, over, [key for key in keys if key != over], places)
    kinds = list(dict.fromkeys(place for place in places if isinstance(place, str)))
    if len(rows) > _MOST_CURVES or len(kinds) > _MOST_KINDS:
        raise NotSupportedError(
            f"a picture has at most {_MOST_CURVES} curves and {_MOST_KINDS} names on its axis, "
            f"not {len(rows)} and {len(kinds)}; ask for fewer groups"
        )
    names, panels = table.column_names, []
    for shown in sorted(result.intervals)[:_MOST_PANELS]:
        curves = (
            _curve(result, shown, label or names[shown], kinds or [*own], own)
            for label, own in rows.items()
        )
        panels.append(Panel(names[shown], names[over], names[shown], tuple(curves)))
    return panels


def _rows_of_curves(
    table: pa.Table, over: int, others: Sequence[int], places: Sequence[Place | None]
) -> dict[str, dict[Place, int]]:
    """The rows of every curve by their places on the axis, in the order of numbers and times; a
    curve has the values of the other keys."""
    order: Sequence[int] = range(table.num_rows)
    if not isinstance(places[0], str):
        order = pc.sort_indices(table.column(over)).to_pylist()
    columns = [table.column(key).to_pylist() for key in others]
    labels = [", ".join(map(plain, values)) for values in zip(*columns, strict=True)]
    rows: dict[str, dict[Place, int]] = {}
    for row in order:
        if (place := places[row]) is not None:
            rows.setdefault(labels[row] if labels else "", {})[place] = row
    return rows


def _axis(
    table: pa.Table, keys: Sequence[int], coded: Container[int]
) -> tuple[int, list[Place | None]]:
    """The key along which an answer is drawn, a time before a number before a text, and the place
    of every row; None for NULL among times and numbers, which has no place there. Times that are
    too near to the first or the last year are drawn as texts.

    coded: keys whose numbers only name something, as texts do.
    """
    numbers = are_numbers(table)

    def rank(key: int) -> int:
        kind = table.column(key).type
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return 0 if _has_room(table.column(key).to_pylist()) else 2
        return 1 if numbers[key] and key not in coded else 2

    key = min(keys, key=rank)
    values = table.column(key).to_pylist()
    if rank(key) == 0:
        return key, values
    if rank(key) == 1:
        return key, [None if value is None else float(value) for value in values]
    return key, list(map(plain, values))


def _has_room(times: Sequence[date | None]) -> bool:
    """Whether an axis of these times, with its margins, stays within the years from 1 to 9999, of
    which alone there are ticks."""
    years = [each.year for each in times if each is not None] or [_FIRST_YEAR]
    margin = 5 + (max(years) - min(years)) // 10
    return min(years) - margin >= _FIRST_YEAR and max(years) + margin <= _LAST_YEAR


def _curve(
    result: Result, shown: int, label: str, places: Sequence[Place], rows: Mapping[Place, int]
) -> Curve:
    """One estimate at some places; a gap where it is unknown."""
    bars, values = result.intervals[shown], result.table.column(shown).to_pylist()
    value = np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def at_places(numbers: Array) -> list[float]:
        known = [numbers[rows[place]] if place in rows else np.nan for place in places]
        return [float(number) if np.isfinite(number) else np.nan for number in known]

    return Curve(label, places, at_places(value), at_places(bars.low), at_places(bars.high))
