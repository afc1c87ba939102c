"""Tables on a terminal that is too narrow for them."""

from __future__ import annotations

import os

import pytest

from ldpsql.cli import output

HEADER, NUMERIC = ["age", "count(*)"], [False, True]
ROWS = [["18..29", "12,000 ± 300"], ["30..39", "9,000 ± 310"]]


class Terminal:
    """Standard output as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "is_upright"), [(20, False), (19, True)])
def test_a_row_too_wide_stands_upright(
    columns: int, is_upright: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name and value per line; as a table while it fits."""
    monkeypatch.setattr(output.sys, "stdout", Terminal())
    size = os.terminal_size((columns, 24))
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda: size)
    lines = output._table(HEADER, ROWS, NUMERIC).splitlines()
    if is_upright:
        assert lines[:3] == ["-- row 1", "age       18..29", "count(*)  12,000 ± 300"]
        assert len(lines) == 6
    else:
        assert lines[0].split() == HEADER
        assert len(lines) == 4


def test_a_file_or_pipe_keeps_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal."""
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda: os.terminal_size((5, 24)))
    assert output._table(HEADER, ROWS, NUMERIC).splitlines()[0].split() == HEADER
