"""An answer as bars with the whiskers of its intervals, for a terminal."""

from __future__ import annotations

import math

from rich.cells import cell_len

from ldpsql.engine.result import Result, are_numbers
from ldpsql.figures import Figure, significant
from ldpsql.text import cut, one_line, table_lines

_LEAST, _MOST = 8, 60  # letters of a bar
SIGNS, _ASCII = "█├─┤●│", "#|-|o|"
"""A bar; low end, line and high end of an interval; a value; zero."""


def bar_lines(result: Result, width: int, *, ascii_only: bool) -> list[str]:
    """A block for every estimate: a line for each row, with its keys, a bar from zero to the value,
    a whisker from the low to the high end of the interval, and the number; below, the axis.

    width: of the terminal, in columns; where it leaves no room, there is no bar.  ascii_only: for
    terminals that have no other letters.
    """
    numbers = are_numbers(result.table)
    keys = [place for place in range(len(numbers)) if place not in result.intervals]
    lines = list[str]()
    for shown in result.intervals:
        lines += [""] * bool(lines)
        lines += _block(result, keys, shown, width, _ASCII if ascii_only else SIGNS)
    return lines


def _block(result: Result, keys: list[int], shown: int, width: int, signs: str) -> list[str]:
    names, figures = result.table.column_names, result.figures(shown)
    numbers = are_numbers(result.table)
    texts = [[one_line(text) for text in (names[key], *result.texts(key))] for key in keys]
    labels = [one_line(text) for text in (names[shown], *result.texts(shown))]
    if signs == _ASCII:
        labels = [text.replace("±", "+/-") for text in labels]
    room = width - max(map(cell_len, labels)) - 2
    # Keys take what a short bar leaves them, the longest give way.
    longest = max(_LEAST, (room - _LEAST) // len(keys) - 2) if keys else 0
    texts = [[cut(text, longest) for text in column] for column in texts]
    room -= sum(max(map(cell_len, column)) + 2 for column in texts)
    columns, right = [*texts, labels], [*(numbers[key] for key in keys), True]
    if room >= _LEAST:
        columns.insert(-1, _bars(figures, min(room, _MOST), signs))
        right.insert(-1, False)
    head, *rows = zip(*columns, strict=True)
    if room >= _LEAST:
        rows.append(tuple([""] * len(keys) + [_axis(figures, min(room, _MOST)), ""]))
    return table_lines(head, rows, right)


def _ends(figures: list[Figure | None]) -> tuple[float, float]:
    """Of the axis: zero, and everything that is known."""
    known = [0.0]
    for figure in filter(None, figures):
        known += filter(math.isfinite, (figure.value, figure.low, figure.high))
    return min(known), max(known)


def _bars(figures: list[Figure | None], room: int, signs: str) -> list[str]:
    """An empty heading, and a bar for each row, so many letters long."""
    first, last = _ends(figures)
    body, low_end, whisker, high_end, point, zero_line = list(signs)

    def place(value: float) -> int:
        return round((value - first) / ((last - first) or 1.0) * (room - 1))

    lines = [""]
    for figure in figures:
        cells = [" "] * room
        if first < 0.0:
            cells[place(0.0)] = zero_line
        if figure is not None and math.isfinite(figure.value):
            start, end = sorted((place(0.0), place(figure.value)))
            cells[start : end + 1] = body * (end + 1 - start)
            if math.isfinite(figure.low) and math.isfinite(figure.high):
                low, high = place(figure.low), place(figure.high)
                if low < high:
                    cells[low : high + 1] = [low_end, *whisker * (high - low - 1), high_end]
                    cells[place(figure.value)] = point
        lines.append("".join(cells))
    return lines


def _axis(figures: list[Figure | None], room: int) -> str:
    """The numbers at the ends of the axis."""
    first, last = _ends(figures)
    left = f"-{significant(-first)}" if first < 0 else "0"
    right = significant(last)
    return f"{left}{right:>{room - len(left)}}" if len(left) + len(right) < room else ""
