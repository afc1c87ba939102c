"""Tables of text: the one place that lays them out, for every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from unicodedata import category, east_asian_width

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
    heads = [wrap(name, heading_width) if heading_width else [one_line(name)] for name in head]
    deepest = max(map(len, heads))
    top = zip(*([""] * (deepest - len(lines)) + lines for lines in heads), strict=True)
    cells = [*map(list, top), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if has_rule:
        cells.insert(deepest, ["-" * width for width in widths])
    lines = []
    for row in cells:
        padded = [
            " " * (width - _width(cell)) + cell if at_right else cell + " " * (width - _width(cell))
            for cell, width, at_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character, none for a mark on the one before."""
    if text.isascii():
        return len(text)
    marks = sum(category(character) in ("Mn", "Me") for character in text)
    return len(text) - marks + sum(east_asian_width(character) in "WF" for character in text)


def upright_lines(head: Sequence[str], rows: Rows) -> list[str]:
    """Row by row, name and value on a line of their own, for a terminal too narrow for a table."""
    lines = []
    for number, row in enumerate(rows, start=1):
        first, *others = [[name, cell.strip()] for name, cell in zip(head, row, strict=True)]
        lines += [f"-- row {number}", *table_lines(first, others, [False, False])]
    return lines


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
