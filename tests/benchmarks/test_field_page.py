"""The page on the field says what the stored results say."""

from __future__ import annotations

import copy
import csv
import json
import math
import re
from pathlib import Path

import pytest

from benchmarks import field_page
from benchmarks.field import __main__ as field
from benchmarks.field import ranges
from benchmarks.field.work import TABLES
from benchmarks.figures.verdicts import Value, is_above


def test_the_page_is_what_the_stored_results_say() -> None:
    """Every verdict is judged anew; other words fail."""
    stored = field_page.read()
    assert field_page.PAGE.read_text("utf-8") == field_page.text_of(stored)
    for name, text in field_page.data_of(stored).items():
        assert (field_page.DATA / name).read_text("utf-8") == text


def test_other_numbers_make_another_page() -> None:
    """The negative control: with ten times its error, ours is lower nowhere."""
    stored = field_page.read()
    turned = copy.deepcopy(stored)
    columns = turned["parts"]["ranges"]
    is_ours = [name == ranges.UNBIASED for name in columns["name"]]
    pairs = zip(columns["error"], is_ours, strict=True)
    columns["error"] = [error * 100 if own else error for error, own in pairs]
    before, after = (field_page.votes_of(one, "error")["HIO"] for one in (stored, turned))
    assert True in before.values()
    assert True not in after.values()
    assert field_page.text_of(turned) != field_page.PAGE.read_text("utf-8")


def test_each_verdict_is_that_of_its_rows() -> None:
    """From the data file's own means and standard errors, by the test that it names."""
    text = (field_page.DATA / "ranges.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    by_case = {(r["shape"], r["table"], r["epsilon"], r["name"]): r for r in rows}
    words = {word: vote for vote, word in field_page.WORDS.items()}
    judged = 0
    for row in rows:
        if row["name"] == row["ours"]:
            assert row["error of ours"] == "itself"
            continue
        ours = by_case[row["shape"], row["table"], row["epsilon"], row["ours"]]
        theirs, own = (
            Value(float(r["error"]), float(r["error stderr"]), int(r["runs"])) for r in (row, ours)
        )
        cases = sum(r["name"] == row["name"] for r in rows)
        assert is_above(theirs, own, cases=cases) is words[row["error of ours"]]
        judged += 1
    assert judged > 100


def test_ratios_are_told_where_all_cases_say_so() -> None:
    """A mechanism with ten times our errors in every survey is less accurate; one with ours is not
    told to be."""
    ours = {"shape": "s", "table": "t", "name": ranges.UNBIASED}
    rows = [
        {**ours, "name": name, "epsilon": str(e), "error": factor * e * (1 + seed / 10)}
        for name, factor in ((ranges.UNBIASED, 1.0), ("HIO", 10.0), ("WF", 1.0))
        for e in (1, 2)
        for seed in range(4)
    ]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    stored = {"parts": {"ranges": columns}}
    ratio, vote = field_page.ratio_of(stored, "HIO", "s")
    assert (ratio, vote) == (pytest.approx(10.0), True)
    assert field_page.ratio_of(stored, "WF", "s") == (pytest.approx(1.0), None)
    columns["error"] = [1 / error for error in columns["error"]]
    assert field_page.ratio_of(stored, "HIO", "s")[1] is False


def test_every_mechanism_is_there_at_every_epsilon() -> None:
    """Of ranges and both attacks, in one, two and three dimensions, made-up and real tables."""
    stored = field_page.read()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored["date"])
    epsilons = {"0.5", "1", "2"}
    for part in ("ranges", "reconstruction", "re-identification"):
        found = {(r["name"], r["epsilon"]) for r in field_page.rows_of(stored, part)}
        assert found == {(name, e) for name in ranges.NAMES for e in epsilons}
    cases = field_page.rows_of(stored, "ranges")
    assert len({row["shape"] for row in cases}) == 3
    assert {bool(t.file) for t in TABLES if t.name in {row["table"] for row in cases}} == {
        True,
        False,
    }
    for part in ("values", "means"):
        assert {row["epsilon"] for row in field_page.rows_of(stored, part)} == epsilons


def test_rates_of_reconstruction_keep_to_epsilon() -> None:
    """No report of an epsilon-LDP mechanism makes a guess better than e^epsilon times a blind
    one."""
    for row in field_page.rows_of(field_page.read(), "reconstruction"):
        assert row["even"] <= row["even_blind"] * math.exp(float(row["epsilon"])) * (1 + 1e-6)
        assert row["real"] >= row["real_blind"] * (1 - 1e-6)


def test_a_run_keeps_its_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny run leaves rows; the next one measures nothing."""
    monkeypatch.setattr(ranges, "NAMES", ("HDG", "SW-EMS"))
    arguments = ["--tables", "1", "--people", "300", "--runs", "2", "--part", "ranges"]
    field.main([*arguments, "-o", str(tmp_path)])
    kept = json.loads((tmp_path / "field.json").read_text())
    assert kept["parameters"]["people"] == 300
    assert kept["parameters"]["cases"] == [2, 2]
    assert kept["parts"]["ranges"]["seed"] == [0, 1] * 2
    capsys.readouterr()
    field.main([*arguments, "--list", "-o", str(tmp_path)])
    assert capsys.readouterr().err.startswith("0 cases to measure")


@pytest.mark.parametrize("name", ["HaarHRR", "HDG", "SW-EMS"])
def test_errors_are_measured_against_the_table(name: str) -> None:
    """At a large epsilon and many people every mechanism comes near; at a small one it does not."""
    (near,) = ranges.measure(name, TABLES[0], "6", 20_000, [1])
    (far,) = ranges.measure(name, TABLES[0], "0.1", 2_000, [1])
    assert near["error"] < 1e-3 < far["error"]
    assert near["w1"] < 0.03
    assert 0.0 <= near["deciles"] < 0.05
