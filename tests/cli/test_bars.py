"""Answers as bars in a terminal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from rich.cells import cell_len

from ldpsql.cli.bars import bar_lines
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.result import Result


def answer(values, halves, **keys):
    """A result with one estimate, n, behind the keys."""
    value, half = np.array(values, dtype=float), np.array(halves, dtype=float)
    table = pa.table({**keys, "n": pa.array(value, from_pandas=True)})
    return Result(table, {len(keys): Interval(half / 1.96, value - half, value + half)})


def test_a_bar_ends_at_the_value_and_its_whisker_at_the_interval():
    result = answer([40.0, 80.0], [20.0, 20.0], sex=["f", "m"])
    # Five letters before the bar and thirteen behind it leave 51, one for every 2 of the axis.
    assert bar_lines(result, 69, ascii_only=True) == [
        f"sex  {'':51}  {'n':>11}",
        f"f    {'#' * 10}|{'-' * 9}o{'-' * 9}|{'':20}  40 +/- 20 ~",
        f"m    {'#' * 30}|{'-' * 9}o{'-' * 9}|  80 +/- 20",
        f"     0{'100':>50}",
    ]


def test_negative_numbers_go_the_other_way_from_zero():
    _, low, high, axis = bar_lines(answer([-50, 50], [5, 5], k=["a", "b"]), 70, ascii_only=True)
    zero = low.rindex("#")
    assert zero == high.index("#")
    assert low.index("o") < zero < high.index("o")
    assert axis.split() == ["-55", "55"]


def test_what_is_unknown_has_no_bar_and_what_is_exact_no_whisker():
    result = answer([np.nan, 10.0, 10.0], [np.nan, 0.0, np.inf], k=["a", "b", "c"])
    _, unknown, exact, endless, _ = bar_lines(result, 60, ascii_only=True)
    assert unknown.split() == ["a", "NULL"]
    assert set(exact.split()[1]) == {"#"}
    assert set(endless.split()[1]) == {"#"}


def test_every_estimate_has_a_block_and_all_keys_stand_in_each():
    one = answer([1.0, 2.0], [0.1, 0.1], k=["a", "b"], j=[1, 2])
    table = one.table.append_column("m", pa.array([3.0, 4.0]))
    both = Result(table, {**one.intervals, 3: one.intervals[2]})
    lines = bar_lines(both, 80, ascii_only=False)
    gap = lines.index("")
    assert [lines[0].split(), lines[gap + 1].split()] == [["k", "j", "n"], ["k", "j", "m"]]
    assert lines[1].split()[:2] == ["a", "1"]


@pytest.mark.parametrize("width", [20, 30, 40, 80, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_no_line_is_wider_than_the_terminal(width, ascii_only):
    keys = {
        "city": ["東京都千代田区丸の内", "Llanfairpwllgwyngyllgogerychwyrndrobwll"],
        "k": ["a", "b"],
    }
    result = answer([14720.0, 30510.0], [550.0, 550.0], **keys)
    lines = bar_lines(result, width, ascii_only=ascii_only)
    assert all(cell_len(line) <= max(width, 39) for line in lines)
    assert any("14720" in line for line in lines)
    assert len({cell_len(line) for line in lines[1:3]}) == 1  # wide letters stand for two
    assert all(line.isascii() for line in lines) or not ascii_only or "東" in "".join(lines)


def test_one_number_without_keys_is_a_bar_too():
    head, bar, _ = bar_lines(answer([5.0], [1.0]), 50, ascii_only=True)
    assert head.split() == ["n"]
    assert "o" in bar
