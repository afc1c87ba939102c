"""Tables of text."""

from __future__ import annotations

import pytest

from ldpsql.terminal.text import one_line, table_lines, upright_lines

HEAD = ["state", "count(*)"]
ROWS = [["CA", "1234 ± 10"], ["a longer name", "7"]]


@pytest.mark.parametrize("has_rule", [False, True])
def test_columns_are_aligned(has_rule: bool) -> None:
    head, *rows = table_lines(HEAD, ROWS, [False, True], has_rule=has_rule)
    assert head == "state           count(*)"
    assert rows[:-2] == ["-------------  ---------"] * has_rule
    assert rows[-2:] == ["CA             1234 ± 10", "a longer name          7"]


def test_wide_characters_take_two_columns() -> None:
    lines = table_lines(["city", "n"], [["東京", "1"], ["Rome", "10"]], [False, True])
    assert lines == ["city   n", "東京   1", "Rome  10"]


def test_long_headings_are_broken_and_stand_at_the_bottom() -> None:
    lines = table_lines(
        ["a", "standard error of a count"], [["x", "1"]], [False, True], heading_width=14
    )
    assert lines == ["   standard error", "a      of a count", "x               1"]


def test_nothing_breaks_a_row() -> None:
    assert one_line("x\x1b[31m\ny") == "x [31m y"
    lines = upright_lines(["a\nb"], [["\x1b[2J"], [" 7 "]])
    assert lines == ["-- row 1", "a b        [2J", "-- row 2", "a b       7"]
    assert upright_lines(["a"], []) == []


def test_markup_and_emoji_codes_are_text_and_blanks_at_the_end_stay() -> None:
    lines = table_lines(["[b]n", "x"], [["[red]1  ", "y"], [":smile: ~", "z"]], [True, False])
    assert lines == ["     [b]n  x", " [red]1    y", ":smile: ~  z"]
