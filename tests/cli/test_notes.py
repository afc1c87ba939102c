"""Notes on a terminal and in a file."""

from __future__ import annotations

import sys

import pytest

from ldpsql.errors import UnsupportedSQL
from ldpsql.terminal.failure import report
from ldpsql.terminal.notes import show_notes

LONG = "answers about 249,000,000 people, raked to age (age.csv), sex (sex.csv) and\nthe well-known"


@pytest.mark.parametrize("width", [20, 40, 200])
def test_a_terminal_gets_whole_words(monkeypatch, capsys, width):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    show_notes([LONG, "short"])
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines[:-1]).split()
    assert words == ["note:", *LONG.split()]
    assert lines[-1] == "note: short"


def test_a_file_gets_a_line_for_each(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    show_notes([LONG, "short"])
    whole = LONG.replace("\n", " ")
    assert capsys.readouterr() == ("", f"note: {whole}\nnote: short\n")


def test_errors_too(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    report(UnsupportedSQL(LONG))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).split() == ["ldpsql:", "error:", *LONG.split()]
