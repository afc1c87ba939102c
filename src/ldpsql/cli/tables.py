"""Tables of text: the one place that lays them out, for every command.

Where every character is one column wide and no heading is broken into lines, that takes a dozen
lines. Anything else is left to rich, which a plain question does not load: importing it takes a
tenth of the time that such a question needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Rows = Sequence[Sequence[str]]
_NARROW = 0x300  # up to here a printable character is one column wide
_GAP = 2


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
    under the headings.  heading_width: break longer headings into lines.
    """
    cells = [[one_line(cell) for cell in row] for row in (head, *rows)]
    is_narrow = all(character < chr(_NARROW) for row in cells for cell in row for character in cell)
    if heading_width is not None or not is_narrow:
        return _rich_lines(cells, right, has_rule, heading_width)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if has_rule:
        cells.insert(1, ["-" * width for width in widths])
    return [
        (" " * _GAP)
        .join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(row, widths, right, strict=True)
        )
        .rstrip()
        for row in cells
    ]


def _rich_lines(
    cells: list[list[str]], right: Sequence[bool], has_rule: bool, heading_width: int | None
) -> list[str]:
    """The same by rich, which knows how wide characters are and breaks headings."""
    import io  # noqa: PLC0415
    from textwrap import fill  # noqa: PLC0415

    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    head, *rows = cells
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for name, at_right in zip(head, right, strict=True):
        heading = name if heading_width is None else fill(name, heading_width)
        table.add_column(
            Text(heading),
            justify="right" if at_right else "left",
            vertical="bottom",
            no_wrap=True,
        )
    for row in [["-" * width for width in widths]] * has_rule + rows:
        table.add_row(*map(Text, row))
    text = io.StringIO()
    width = 2 * sum(widths) + _GAP * len(widths)  # never fewer columns than it takes
    Console(file=text, width=width, color_system=None).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


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
