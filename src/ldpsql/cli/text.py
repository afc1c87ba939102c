"""Numbers with error bars, and tables, as text: the one place for every command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from ldpsql.errors import pluralize

if TYPE_CHECKING:
    from ldpsql_device.schema import Attribute, Schema
    from ldpsql_device.table import Tally

_ENDLESS, _END = 1_000_000, "\u200b"
"""Columns of a table's terminal; a character without width that is in no cell (`one_line`)."""
WEAK = 5.0  # an answer is weak where its standard error exceeds a fifth of its value
Rows = Sequence[Sequence[str]]


def table_lines(
    head: Sequence[str],
    rows: Rows,
    right: Sequence[bool],
    *,
    has_rule: bool = False,
    heading_width: int | None = None,
) -> list[str]:
    """Lines of aligned columns. Line breaks and control characters of a cell become spaces.

    right: which columns are aligned at the right, as numbers are.  has_rule: whether a rule stands
    under the headings.  heading_width: break longer headings into lines, which stand at the bottom.
    """
    from rich.console import Console  # noqa: PLC0415  (machines are answered without it)
    from rich.rule import Rule  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for name, at_right in zip(head, right, strict=True):
        heading = "\n".join(wrap(name, heading_width)) if heading_width else one_line(name)
        justify: Literal["left", "right"] = "right" if at_right else "left"
        table.add_column(Text(heading), justify=justify, vertical="bottom", no_wrap=True)
    if has_rule:
        table.add_row(*[Rule(characters="-", style="") for _ in head])
    if rows:  # as one row with a line for each, which is done in a fraction of the time
        # Blanks at the end, which keep room for the mark of a weak number, would be stripped.
        columns = [[one_line(cell) + _END for cell in column] for column in zip(*rows, strict=True)]
        table.add_row(*[Text("\n".join(column)) for column in columns])
    console = Console(width=_ENDLESS, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as captured:
        console.print(table)
    return [line.replace(_END, "").rstrip() for line in captured.get().splitlines()]


def upright_lines(head: Sequence[str], rows: Rows) -> list[str]:
    """Row by row, name and value on a line of their own, for a terminal too narrow for a table."""
    cells: list[Sequence[str]] = []
    for number, row in enumerate(rows, start=1):
        cells += [(f"-- row {number}", ""), *zip(head, map(str.strip, row), strict=True)]
    return table_lines(cells[0], cells[1:], [False, False]) if cells else []


def markdown_lines(head: Sequence[str], rows: Rows, right: Sequence[bool]) -> list[str]:
    """A table as Markdown."""
    cells = [[one_line(c).replace("|", "\\|").strip() for c in row] for row in (head, *rows)]
    cells.insert(1, ["---:" if at_right else ":---" for at_right in right])
    return [f"| {' | '.join(row)} |" for row in cells]


def labelled_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of a label, which may be empty, and a text in a second column."""
    return [f"{label:<13}{text}" for label, text in facts]


def one_line(text: str) -> str:
    """The text with a space for everything that does not print, escape sequences among it."""
    return "".join(character if character.isprintable() else " " for character in text)


@dataclass(frozen=True)
class Figure:
    """An estimate, its standard error, and its interval; NaN where unknown.

    typical: the typical error of a post-processed estimate, else None.
    """

    value: float
    stderr: float
    low: float
    high: float
    typical: float | None = None

    @property
    def is_weak(self) -> bool:
        """Whether the standard error exceeds a fifth of the value, or nothing of the interval was
        possible, so that only the nearest possible number is left of it."""
        return self.stderr * WEAK > abs(self.value) or self.is_impossible

    @property
    def is_impossible(self) -> bool:
        """Whether no possible number was within the interval."""
        return self.low == self.high and self.stderr > 0

    def count_needed(self, reports: int) -> float:
        """How many reports would make it strong, if it is weak with `reports`."""
        return reports * (WEAK * self.stderr / self.value) ** 2 if self.value else math.inf

    def __str__(self) -> str:
        """`value ± half-width`, or `value [low, high]` where the interval is lopsided.

        The typical error follows, `(typ. x)`. Rounded to two significant digits of the
        half-width. Without an error bar only where value, error and interval agree that there is
        no error.
        """
        if self.typical is None:
            return self._with_bar()
        if math.isfinite(self.typical) and self.typical > 0:
            return f"{self._with_bar()} (typ. {format_number(self.typical, _places(self.typical))})"
        return f"{self._with_bar()} (typ. {'0' if self.typical == 0 else '?'})"

    def _with_bar(self) -> str:
        half = (self.high - self.low) / 2
        if not math.isfinite(half):
            return f"{number(self.value)} ± ?"
        if self.low == self.value == self.high and self.stderr == 0:
            return number(self.value)
        if half <= 0 or not self.low <= self.value <= self.high:
            return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"
        places = _places(half)
        value = format_number(self.value, places)
        if abs((self.high - self.value) - (self.value - self.low)) <= 0.2 * half:
            return f"{value} ± {format_number(half, places)}"
        return f"{value} [{format_number(self.low, places)}, {format_number(self.high, places)}]"


def _places(value: float) -> int:
    """Decimal places that show two significant digits."""
    return 1 - math.floor(math.log10(value))


def format_number(value: float, places: int) -> str:
    """A number with this many decimal places; negative ones round to tens, hundreds, ..."""
    text = f"{round(value, places):.{max(places, 0)}f}"
    return text.lstrip("-") if not any(digit in "123456789" for digit in text) else text


def number(value: float) -> str:
    """A number with up to ten digits, and no exponent where it is not needed."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.10g}"


def significant(value: float) -> str:
    """A number with three significant digits, never with an exponent."""
    return number(round(value, _places(value) + 1 if value > 0 else 0))


def plain(value: Any) -> str:
    """Any other value of a result: NULL, true, 2026-01-31."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(value)


def about(count: float) -> str:
    """A count rounded up to two significant digits: about this many."""
    scale = 10 ** max(0, math.floor(math.log10(max(count, 1))) - 1)
    return f"{math.ceil(count / scale) * scale:d}"


def misfit_notes(schema: Schema, tally: Tally) -> list[str]:
    """Which values of a table did not fit, by column, and what stands for them."""
    from ldpsql_device.describe import describe_missing, describe_outside  # noqa: PLC0415

    bounded = {measure.name: measure for measure in schema.measures}
    clamped, outside, missing = (
        counts.items() for counts in (tally.clamped, tally.outside, tally.missing)
    )
    columns: dict[str, Attribute] = {column.name: column for column in schema.attributes[::-1]}
    notes = [
        *((n, c, "outside its bounds", describe_outside(bounded[n])) for n, c in clamped),
        *((n, c, "outside its domain", describe_outside(columns[n])) for n, c in outside),
        *((n, c, "missing or unreadable", describe_missing(columns[n])) for n, c in missing),
    ]
    return [
        f"{count:,} of {pluralize(tally.people, 'value')} of {name} ({count / tally.people:.2%}) "
        f"{'was' if count == 1 else 'were'} {what}: counted as {code}"
        for name, count, what, code in notes
    ]
