"""Tables and notes as text: the one place for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from ldpsql.errors import pluralize

if TYPE_CHECKING:
    from pathlib import Path

    from ldpsql.randomize.table import Tally
    from ldpsql.reports.persons import PersonRule
    from ldpsql_device.schema import Attribute, Schema

Rows = Sequence[Sequence[str]]
WIDTH = 80
"""Columns of a terminal that nobody has widened."""
INDENT = 13
"""Columns of a label before a text."""


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
    # By hand: rich.table takes 48 times as long (.61 s for 5,000 rows, .013 s here) and .05 s more
    # to import, needs as many lines for this look, and cannot part the dashes of two columns.
    from rich.cells import cell_len  # noqa: PLC0415

    headings = [
        wrap(name, heading_width) if heading_width else [one_line(name).rstrip()] for name in head
    ]
    depth, columns = max(map(len, headings), default=0), list[list[str]]()
    for place, (heading, at_right) in enumerate(zip(headings, right, strict=True)):
        above = [*[""] * (depth - len(heading)), *heading]
        cells = [*above, *[""] * has_rule, *(one_line(row[place]) for row in rows)]
        widths = list(map(cell_len, cells))
        widest = max(widths)
        if has_rule:
            cells[depth], widths[depth] = "-" * widest, widest
        blanks = [" " * (widest - width) for width in widths]
        pairs = zip(blanks, cells, strict=True) if at_right else zip(cells, blanks, strict=True)
        columns.append(list(map("".join, pairs)))
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


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


def labelled_lines(
    facts: Iterable[tuple[str, str]], *, indent: int = INDENT, width: int = WIDTH
) -> list[str]:
    """Lines of a label, which may be empty, and a text in a second column, which is broken into
    lines of its own where it would be too long.

    indent: of the second column.  width: of a line.
    """
    lines = []
    for label, text in facts:
        own = wrap(text, width - indent, break_long_words=False, break_on_hyphens=False)
        for number, part in enumerate(own or [""]):
            lines.append(f"{'' if number else label:<{indent}}{part}")
    return lines


def fill(text: str, indent: str = "") -> list[str]:
    """Lines of a paragraph."""
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def cut(text: str, width: int) -> str:
    """The text, or as much of it as has so many columns, with two points behind it."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415  (as above)

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 2).rstrip()}.."


def one_line(text: str) -> str:
    """The text with a space for everything that does not print, escape sequences among it."""
    return "".join(character if character.isprintable() else " " for character in text)


def person_notes(
    data: Path, person: PersonRule | None, schema: Schema, tally: Tally | None = None
) -> list[str]:
    """What answers for a person who has several rows; without a rule, which column of a file looks
    as if persons had some. tally: of the reports that were made."""
    if person is None:
        from ldpsql.randomize.files import column_names  # noqa: PLC0415
        from ldpsql.reports.persons import find_identifier  # noqa: PLC0415

        found = find_identifier(column_names(data), schema)
        if found is None:
            return []
        name = one_line(found)
        return [
            f"every row of {data} counts as a person; if {name} tells persons apart, say "
            f'person = "{name}" under [survey]'
        ]
    if tally is None:
        return [person.describe()]
    notes = [f"{person.describe()}; there were {pluralize(tally.rows, 'row')}"]
    if tally.nameless:
        rows = "1 row has" if tally.nameless == 1 else f"{tally.nameless:,} rows have"
        notes.append(f"{rows} no {person.column}: taken for one person's")
    return notes


def misfit_notes(schema: Schema, tally: Tally) -> list[str]:
    """Which values of a table did not fit, by column, and what stands for them; columns of which
    no value fits come first."""
    from ldpsql_device.description import describe_missing, describe_outside  # noqa: PLC0415

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
        + ("; answers about it say nothing of these people" if count == tally.people > 1 else "")
        for name, count, what, code in sorted(notes, key=lambda note: note[1] < tally.people)
    ]


def zone_notes(data: Path, schema: Schema) -> list[str]:
    """How the moments of a file are read that have a time zone."""
    from ldpsql.randomize.files import zoned_columns  # noqa: PLC0415

    zoned = zoned_columns(schema, data)
    if not zoned:
        return []
    return [f"{', '.join(zoned)}: read as the clocks of their time zone showed it"]
