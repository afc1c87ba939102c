"""The usual charts over the periods of a survey, and their page."""

from __future__ import annotations

from datetime import date
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from support.command_line import refusal, run
from support.surveys import category, integer, measure, public, survey_toml

import ldpsql
from ldpsql.designer import design
from ldpsql.randomize import table as randomizing
from ldpsql.wording.numbers import Figure
from ldpsql.workbench.timelines.choice import _join_small, _subtract, chart_survey, compare_last
from ldpsql.workbench.timelines.page import write_timelines
from ldpsql_device.errors import DataError
from ldpsql_device.policy import Policy
from ldpsql_lab.simulation import SeededEntropy

MONTHS = [date(2026, month, 1) for month in (1, 2, 3, 4)]
TODAY = date(2026, 4, 20)
NASTY = "<script>alert(1)</script>"
TOML = survey_toml(
    category("version", "1.0", "2.0", NASTY),
    '[dimension.used_export]\ntype = "bool"\n',
    integer("runs", 0, 9),
    measure("spend", 0, 10),
    public("os", "text"),
    mechanism="fourier",
    epsilon="4",
    period="month",
)


def people(month: int) -> pa.Table:
    rng, count = np.random.default_rng(month), 600 if month != 2 else 5
    return pa.table(
        {
            "version": rng.choice(["1.0", "2.0", NASTY], count),
            "used_export": rng.random(count) < 0.2 * month,
            "runs": rng.integers(0, 10, count),
            "spend": rng.random(count) * 10,
            "os": [("linux", NASTY, "mac")[0 if n % 2 else n % 3] for n in range(count - 1)]
            + ["plan9"],
        }
    )


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """Three months that have ended, one of few people, and the one that is running."""
    survey = design(TOML)
    path = tmp_path_factory.mktemp("timelines") / "app.duckdb"
    with ldpsql.connect(path, new=True) as opened, pytest.MonkeyPatch.context() as patch:
        for month in MONTHS:
            patch.setattr(randomizing, "utc_today", lambda month=month: month)
            drawn, _ = randomizing.randomize_batch(
                survey,
                people(month.month),
                SeededEntropy(month.month),
                policy=Policy(4, public={"os", "period"}),
            )
            opened.ingest(drawn, survey=survey)
        opened.path = path
        yield opened


@pytest.fixture(scope="module")
def charts(connection):
    survey = connection.surveys[0]
    return chart_survey(connection.session, survey, TODAY, most=26, min_people=20)


def test_charts_are_the_answers_to_the_sql_that_they_name(connection, charts):
    assert charts.periods == [MONTHS[0], MONTHS[2]]  # the second has few people, the last runs
    assert charts.hidden == 1
    assert not charts.refused
    titles = [timeline.title for timeline in charts.timelines]
    assert titles[1:] == ["Used", "version", "runs", "spend", "os"]
    for timeline in charts.timelines[1:-1]:
        result = connection.session.execute(timeline.sql)
        days = result.table.column(0).to_pylist()
        assert list(timeline.lines) == result.table.column_names[1:]
        for place, figures in enumerate(timeline.lines.values(), 1):
            assert figures == dict(zip(days, result.figures(place), strict=True))
            assert list(figures) == charts.periods


def test_people_who_count_for_others_are_no_more_people():
    """Of a survey that asks one in four, five who answered stand for twenty, and are five."""
    survey = design(TOML.replace('period = "month"', 'period = "month"\nsample = "1/4"'))
    with ldpsql.connect() as opened, pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomizing, "utc_today", lambda: MONTHS[1])
        policy = Policy(4, public={"os", "period"})
        drawn, _ = randomizing.randomize_batch(survey, people(2), SeededEntropy(2), policy=policy)
        opened.ingest(drawn, survey=survey)
        for least, is_shown in ((5, True), (6, False)):
            try:
                chart_survey(opened.session, survey, TODAY, most=26, min_people=least)
            except DataError:
                assert not is_shown
            else:
                assert is_shown


def test_the_number_of_periods_is_limited_from_the_latest(connection):
    survey = connection.surveys[0]
    charts = chart_survey(connection.session, survey, TODAY, most=1, min_people=0)
    assert charts.periods == [MONTHS[2]]
    assert list(compare_last(charts, charts)) == []


def test_a_page_shows_the_numbers_and_runs_nothing(charts):
    page = write_timelines(charts, charts, TODAY, 20)
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    assert NASTY in unescape(page)
    used = charts.timelines[1].lines["used_export"]
    for figure in used.values():
        assert str(figure) in page
    assert "plan9" not in page
    assert page.count("<svg") == len(charts.timelines)


def test_differences_are_those_of_who_answered(connection, charts):
    """Who they were is no part of the chance: intervals are narrower, numbers the same."""
    survey = connection.surveys[0]
    with ldpsql.connect(connection.path, read_only=True, census=True) as counted:
        respondents = chart_survey(counted.session, survey, TODAY, most=2, min_people=20)
    wide = {each[:2]: each[2:] for each in compare_last(charts, charts)}
    narrow = {each[:2]: each[2:] for each in compare_last(charts, respondents)}
    assert wide.keys() == narrow.keys()
    some = 0
    for key, (old, new, difference) in narrow.items():
        assert (old, new) == wide[key][:2]
        assert difference.value == pytest.approx(wide[key][2].value, rel=1e-9, abs=1e-9)
        ends = [each.high - each.low for each in (difference, wide[key][2])]
        assert ends[0] <= ends[1] * (1 + 1e-9)
        some += ends[0] < 0.999 * ends[1]
    assert some > 3


def test_a_difference_has_the_interval_of_both():
    new, old = Figure(10.0, 1.0, 7.0, 14.0), Figure(6.0, 1.0, 3.0, 10.0)
    assert _subtract(new, old) == Figure(4.0, 2**0.5, 4.0 - 5.0, 4.0 + 5.0)
    assert _subtract(Figure(5.0, 0.0, 5.0, 5.0), Figure(3.0, 0.0, 3.0, 3.0)).low == 2.0


def test_intervals_of_differences_cover():
    """Of independent normal estimates whose errors differ; half of such an interval does not."""
    rng, count = np.random.default_rng(20), 4_000
    held, narrow = 0, 0
    for a, b in rng.normal(size=(count, 2)) * (1.0, 3.0):
        one = Figure(a, 1.0, a - 1.96, a + 1.96)
        other = Figure(b, 3.0, b - 3 * 1.96, b + 3 * 1.96)
        own = _subtract(one, other)
        held += own.low <= 0 <= own.high
        narrow += abs(own.value) <= (own.high - own.low) / 4
    # Five standard errors of a share of .95, alpha 6e-7.
    slack = 5 * (0.95 * 0.05 / count) ** 0.5
    assert abs(held / count - 0.95) < slack < abs(narrow / count - 0.95)


@pytest.mark.parametrize("seed", range(20))
def test_no_group_of_few_is_shown_or_left_over(seed):
    """Neither by itself, nor as what remains of everybody."""
    rng = np.random.default_rng(seed)
    sizes = sorted(rng.integers(1, 60, rng.integers(1, 15)).tolist(), reverse=True)
    groups = [(str(place), Figure(size, 0.0, size, size)) for place, size in enumerate(sizes)]
    shown = _join_small(groups, 20, [label for label, _ in groups[:8]])
    assert all(figure.value >= 20 for figure in shown.values())
    left = sum(sizes) - sum(figure.value for figure in shown.values())
    assert left == 0 or not shown
    named = [label for label in shown if label != "(others)"]
    assert len(named) == len(groups) or len(groups) - len(named) >= 2 or not shown


def test_everybody_is_in_a_line_whatever_the_values_are_called():
    """Also where others have most people in the next period, and where values look like names of
    lines: no value, and all others."""
    names = [None, "NULL", "(others)", *(f"{kind}{n}" for kind in "ab" for n in range(8))]
    sizes = dict.fromkeys(names, 22)
    survey = design(TOML)
    with ldpsql.connect() as opened, pytest.MonkeyPatch.context() as patch:
        for month, most in ((1, "a"), (3, "b")):
            counts = {name: size + 10 * str(name).startswith(most) for name, size in sizes.items()}
            os = [name for name, count in counts.items() for _ in range(count)]
            asked = people(1).slice(0, len(os)).set_column(4, "os", pa.array(os, pa.string()))
            patch.setattr(randomizing, "utc_today", lambda month=month: date(2026, month, 1))
            drawn, _ = randomizing.randomize_batch(
                survey, asked, SeededEntropy(month), policy=Policy(4, public={"os", "period"})
            )
            opened.ingest(drawn, survey=survey)
        own = chart_survey(opened.session, survey, TODAY, most=26, min_people=20)
    lines = own.timelines[-1].lines
    assert list(lines)[-1] == "(others)"
    assert len(lines) == 9
    for day in own.periods:
        shown = sum(figures[day].value for figures in lines.values() if day in figures)
        assert shown == own.timelines[0].lines["answered"][day].value
    with ldpsql.connect() as opened, pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomizing, "utc_today", lambda: date(2026, 1, 1))
        os = [None] * 100 + ["NULL"] * 200 + ["(others)"] * 150 + [f"small{n}" for n in range(50)]
        asked = people(1).slice(0, 500).set_column(4, "os", pa.array(os, pa.string()))
        drawn, _ = randomizing.randomize_batch(
            survey, asked, SeededEntropy(1), policy=Policy(4, public={"os", "period"})
        )
        opened.ingest(drawn, survey=survey)
        own = chart_survey(opened.session, survey, TODAY, most=26, min_people=20)
    found = {label: figures[MONTHS[0]].value for label, figures in own.timelines[-1].lines.items()}
    assert found == {'"NULL"': 200, '"(others)"': 150, "NULL": 100, "(others)": 50}


def test_a_survey_without_periods_and_periods_of_few_are_refused(connection):
    survey = connection.surveys[0]
    with pytest.raises(DataError, match="and that at least 5,000 people answered"):
        chart_survey(connection.session, survey, TODAY, most=26, min_people=5000)
    once = design(TOML.replace('period = "month"\n', ""))
    with pytest.raises(DataError, match="is answered once, so there is nothing to draw over time"):
        chart_survey(connection.session, once, TODAY, most=26, min_people=0)


def test_what_cannot_be_asked_is_left_out_and_said(tmp_path):
    """A mechanism for few columns has no quantiles of the others."""
    survey = design(TOML)
    with ldpsql.connect() as opened:
        drawn, _ = randomizing.randomize_batch(
            survey, people(1), SeededEntropy(1), policy=Policy(4, public={"os", "period"})
        )
        opened.ingest(drawn, survey=survey)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "ldpsql.workbench.timelines.choice._QUANTILES", {"median": "no_such_column"}
            )
            later = date(2400, 1, 1)
            charts = chart_survey(opened.session, survey, later, most=26, min_people=20)
    assert "runs" in charts.refused
    assert "runs" not in [timeline.title for timeline in charts.timelines]
    assert "What is not shown" in write_timelines(charts, charts, later, 20)


def test_the_command_writes_one_file(connection, tmp_path):
    target = tmp_path / "charts.html"
    shown = run("report", "app", "-o", target, "--db", connection.path)
    assert shown.exit_code == 0
    assert "6 charts of" in shown.stderr
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "who they were is no part of the chance" in page
    assert "app" in refusal(run("report", "nobody", "-o", target, "--db", connection.path), 1)
