"""An answer as analysts use it: in a notebook, as a DataFrame, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from ldpsql import extensions
from ldpsql.algebra.estimate import Estimates
from ldpsql.engine.result import Result
from ldpsql.terminal.text import table_lines
from ldpsql.wording.texts import html_text, lines_of, one_line
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

Value = bool | int | float | str | date | Decimal | None
Row = tuple[Value, ...]
_SHOWN = 60
"""The most rows that a notebook or a prompt shows."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to a question; at a prompt and in a notebook it shows itself.

    result: everything that the engine knows of it.
    """

    result: Result

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; they may repeat."""
        return tuple(column.name for column in self.result.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader, such as which numbers have no error bar, and why."""
        return self.result.notes

    @property
    def estimates(self) -> Estimates:
        """All estimates, row by row, with their covariance; NotSupportedError where there are
        none."""
        return self.result.estimates()

    def __len__(self) -> int:
        """How many rows."""
        return int(self.result.table.num_rows)

    def rows(self) -> list[Row]:
        """The rows, as `fetchall` gives them."""
        columns = (column.to_pylist() for column in self.result.table.columns)
        return list(zip(*columns, strict=True))  # an answer without columns has no rows

    def fetchall(self) -> list[Row]:
        """The rows, as `rows` gives them."""
        return self.rows()

    def show(self) -> None:
        """Print the table and the notes."""
        print(self)  # noqa: T201  (what the method is for)

    def arrow(self, *, intervals: bool = False) -> pa.Table:
        """An Arrow table, whose columns have distinct names.

        intervals: with `<name>_stderr`, `<name>_low` and `<name>_high` behind every estimate.
        """
        return self.result.distinct(intervals=intervals)

    def df(self, *, intervals: bool = False) -> pd.DataFrame:
        """A pandas DataFrame; intervals as of `arrow`. NotSupportedError without pandas."""
        _require("pandas", "df")
        return self.arrow(intervals=intervals).to_pandas()

    def to_df(self, *, intervals: bool = False) -> pd.DataFrame:
        """A pandas DataFrame, as `df` gives it."""
        return self.df(intervals=intervals)

    def pl(self, *, intervals: bool = False) -> pl.DataFrame:
        """A polars DataFrame; intervals as of `arrow`. NotSupportedError without polars."""
        _require("polars", "pl")
        import polars  # noqa: PLC0415  (optional)

        return polars.DataFrame(self.arrow(intervals=intervals))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table of `arrow()` for whatever reads Arrow: polars, DuckDB, pyarrow."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def plot(self) -> Figure:
        """A matplotlib figure: every estimate over the keys of the rows, with its intervals.

        NotSupportedError without matplotlib, and where there is nothing to draw.
        """
        return _pictures().draw_result(self.result)

    def __repr__(self) -> str:
        """The table and the notes, as the command line prints them."""
        if self.result.explain is not None:
            return lines_of(self.result.explain)
        shown = self.result.head(_SHOWN)
        notes = [f"note: {one_line(note)}" for note in self._notes_below()]
        return "\n".join([*table_lines(*shown.cells(), has_rule=True), *notes])

    def _repr_html_(self) -> str:
        """For notebooks: the table with ±, a picture with error bars, and the notes."""
        if self.result.explain is not None:
            return f"<pre>{html_text(self.result.explain)}</pre>"
        head, rows, right = self.result.head(_SHOWN).cells()
        parts = [_table(head, rows, right)]
        notes = self._notes_below()
        try:
            parts.append(_pictures().draw_svg(self.result))
        except NotSupportedError as error:
            if len(self) > 1:
                notes.append(f"no picture: {error}")
        parts += [f'<p style="margin:0;font-size:90%">{html_text(note)}</p>' for note in notes]
        return f'<div class="ldpsql">{"".join(parts)}</div>'

    def _notes_below(self) -> list[str]:
        """The notes, and how many rows are not shown."""
        left = len(self) - _SHOWN
        more = [f"{left:,} more rows are not shown; df() and rows() have all"] if left > 0 else []
        return [*more, *self.result.notes_for_readers()]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table, as notebooks style the tables of DataFrames."""
    sides = ["right" if at_right else "left" for at_right in right]

    def row(tag: str, cells: Sequence[str]) -> str:
        style = "padding:1px 8px;white-space:pre;font-variant-numeric:tabular-nums;text-align:"
        pairs = zip(cells, sides, strict=True)
        shown = (f'<{tag} style="{style}{side}">{html_text(cell)}</{tag}>' for cell, side in pairs)
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return (
        '<table border="0" class="dataframe" style="color:inherit">'
        f"<thead>{row('th', head)}</thead><tbody>{body}</tbody></table>"
    )


class _Pictures(Protocol):
    """The module that draws answers; see `workbench.charts`."""

    def draw_result(self, result: Result) -> Figure: ...

    def draw_svg(self, result: Result) -> str: ...


def _pictures() -> _Pictures:
    """NotSupportedError where the module that draws answers is not installed."""
    module: _Pictures = extensions.require("ldpsql.pictures", "answers", "the drawing of pictures")
    return module


def _require(package: str, method: str) -> None:
    try:
        import_module(package)
    except ImportError:
        needed = f"{method}() needs {package}: pip install ldpsql[{package}]"
        raise NotSupportedError(needed) from None
