"""Tables and notes as text: the one place for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from ldpsql.wording.texts import markdown_text, one_line

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
        wrap(one_line(name), heading_width) if heading_width else [one_line(name).rstrip()]
        for name in head
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
    """A table as Markdown. right: as of `table_lines`; numbers, which hold nobody's text."""
    sides = list(right)
    cells = [list(map(markdown_text, head)), ["---:" if at_right else ":---" for at_right in sides]]
    cells += [
        [
            one_line(c).strip() if at_right else markdown_text(c)
            for c, at_right in zip(row, sides, strict=True)
        ]
        for row in rows
    ]
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
        # Broken first, while a space that breaks no line is told from others.
        own = wrap(text, width - indent, break_long_words=False, break_on_hyphens=False)
        for number, part in enumerate(own or [""]):
            lines.append(f"{'' if number else one_line(label):<{indent}}{one_line(part)}")
    return lines


def fill(text: str, indent: str = "") -> list[str]:
    """Lines of a paragraph."""
    return [*map(one_line, wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent))]


def cut(text: str, width: int) -> str:
    """The text, or as much of it as has so many columns, with two points behind it."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415  (as above)

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 2).rstrip()}.."
