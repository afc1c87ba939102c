"""EXPLAIN: what will be asked of which reports, in the words of the schema."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from support.shoppers import shoppers
from support.surveys import STATE, integer, measure, public, survey_toml

from ldpsql.algebra.boxes import Box
from ldpsql.algebra.estimate import quantile
from ldpsql.designer import design
from ldpsql.engine.explain import (
    SliceReports,
    describe_box,
    explain,
    explain_verbose,
)
from ldpsql.parser import parse
from ldpsql.planner.plan import PASSES, QueryPlan, make_plans

SURVEY = design(
    survey_toml(
        *(integer("age", 1, 60), STATE, measure("pay", 0, 100)),
        *(public("shop", "text"), public("price", "float")),
        epsilon="2.0",
        mechanism="hgrr",
    )
)


def trace(sql: str) -> list[tuple[str, QueryPlan]]:
    """The plan after every pass."""
    statement = parse(sql, None, lambda _: SURVEY)
    (base,) = statement.bases
    return make_plans(base, SURVEY, sql)


def explained(sql: str, people: int = 1000) -> list[str]:
    """The text for a number of reports in every slice."""
    plan = trace(sql)[-1][1]
    return explain(plan, [SliceReports(people)] * len(plan.slices))


def test_a_plan_names_survey_guarantee_reports_and_boxes() -> None:
    """From top to bottom."""
    lines = explained("SELECT SUM(pay) FROM app WHERE age BETWEEN 5 AND 9 AND shop = 'north'")
    assert lines[:2] == ["survey app: hgrr, epsilon 2", "guarantee: 2-LDP"]
    assert lines[2].startswith("reports: ")
    assert "shop" in lines[2]
    assert lines[2].endswith("(1000)")
    assert lines[3] == "  box: age in {5..9}"
    assert lines[4] == "  SUM(pay)"


@pytest.mark.parametrize("people", [100, 40_000])
def test_the_predicted_error_is_that_of_the_design(people: int) -> None:
    """For as many reports as there are; four significant digits."""
    sql = "SELECT AVG(pay) FROM app WHERE age < 20"
    plan = trace(sql)[-1][1]
    found = [
        re.findall(r": ([\d.e+]+) \(90 % interval: ± ([\d.e+]+)\)", line)[0]
        for line in explain(plan, [SliceReports(people)], level=0.9)
        if "predicted standard error" in line
    ]
    errors, halves = np.array(found, dtype=float).T
    expected = np.sqrt(SURVEY.design.variance(plan.planned[0][0], people))
    assert len(errors) == 2
    assert errors == pytest.approx(expected, rel=1e-3)
    assert halves == pytest.approx(quantile(0.9) * expected, rel=1e-3)


def test_without_reports_nothing_is_predicted() -> None:
    """An empty survey still has a plan."""
    lines = explained("SELECT COUNT(*) FROM app WHERE age = 3", people=0)
    assert "reports: all reports (0)" in lines
    assert not any("predicted" in line for line in lines)


@pytest.mark.parametrize("where", ["age BETWEEN 9 AND 5", "age > 99", "FALSE", "state = NULL"])
def test_what_cannot_match_has_no_box(where: str) -> None:
    """An empty range asks nobody, and so predicts nothing."""
    lines = explained(f"SELECT COUNT(*) FROM app WHERE {where}")
    assert lines[2:] == ["reports: all reports (1000)", "  no box: nothing can match, an exact 0"]


def test_what_a_forged_report_adds_is_people_in_counts_alone() -> None:
    """Sums of a measure, of a public column and of a dimension have units of their own."""
    lines = explained("SELECT COUNT(*), SUM(pay), SUM(price), SUM(age) FROM app WHERE age < 9")
    of_people = {
        above: " people, or " in line
        for above, line in pairwise(line for line in lines if "predicted" not in line)
        if "one forged report" in line
    }
    assert of_people == {
        "  COUNT(*)": True,
        "  SUM(pay)": False,
        "  SUM(price), public": False,
        '  SUM("age")': False,
    }


def test_what_each_filter_takes_stands_below_it() -> None:
    """In the order in which they are asked, and that one takes nothing is said."""
    lines = explained(
        "SELECT COUNT(*) FILTER (WHERE age < 5), COUNT(*) FILTER (WHERE age > 99) FROM app"
    )
    start = lines.index("  filter 1:")
    shown = ["  filter 1:", "    box: age in {1..4}", "  filter 2:", "    no box"]
    assert lines[start : start + 4] == shown


def test_groups_are_counted_and_the_first_is_shown() -> None:
    """Public keys by name; private ones with how many there are."""
    lines = explained("SELECT state, shop, COUNT(*) FROM app GROUP BY state, shop")
    assert "grouped by public columns: shop" in lines
    assert "private groups: 4 rows; the first is shown" in lines
    assert sum(line.startswith("  group: ") for line in lines) == 1


def test_a_long_list_of_boxes_is_cut() -> None:
    """Twenty, and how many more."""
    pairs = " OR ".join(
        f"(age = {2 * n + 1} AND state = '{('CA', 'NY', 'WA')[n % 3]}')" for n in range(23)
    )
    plan = trace(f"SELECT COUNT(*) FROM app WHERE {pairs}")[0][1]
    (piece,) = plan.slices
    lines = explain_verbose(
        [("boxes", plan), *trace("SELECT COUNT(*) FROM app")], [SliceReports(10)]
    )
    assert len(piece.boxes) == 23
    assert sum("box: " in line for line in lines[: lines.index("after boxes:", 1)]) == 20
    assert "    ... 3 more boxes" in lines


def test_verbose_shows_every_pass_and_ends_with_the_plan() -> None:
    """In order."""
    sql = "SELECT COUNT(*) FROM app WHERE age < 20 OR state = 'NY'"
    found = trace(sql)
    lines = explain_verbose(found, [SliceReports(1000)])
    headings = [line for line in lines if re.fullmatch(r"after \w+:", line)]
    assert headings == ["after boxes:", *(f"after {name}:" for name, _ in PASSES)]
    final = explain(found[-1][1], [SliceReports(1000)])
    assert lines[-len(final) :] == [f"  {line}" for line in final]


def test_the_text_is_the_same_from_run_to_run() -> None:
    """It depends on survey, question and number of reports only."""
    sql = "SELECT state, AVG(pay) FROM app WHERE NOT (age < 20 AND shop = 'x') GROUP BY state"
    assert explained(sql) == explained(sql)
    assert explained(sql, 2000) != explained(sql)


def test_boxes_and_targets_are_put_in_words() -> None:
    """Codes as the values they stand for."""
    assert describe_box(Box((((0, 1), (4, 9)), ((1, 2), (3, 4)))), SURVEY.schema) == (
        "age in {1, 5..9}, state in {NY, NULL}"
    )
    assert describe_box(Box.whole(2), SURVEY.schema) == "everything"
    many = tuple((2 * code, 2 * code + 1) for code in range(25))
    assert describe_box(Box((many, None)), SURVEY.schema).endswith("39, ...}")
    plan = trace("SELECT COUNT(*), COUNT(state), SUM(pay), AVG(price) FROM app")[-1][1]
    assert [target.label for target in plan.targets] == [
        "COUNT(*)",
        "COUNT(state)",
        "SUM(pay)",
        "SUM(price), public",
        "COUNT(price), public",
    ]


def test_a_value_of_a_stranger_makes_no_line_of_its_own():
    with shoppers(people=50) as session:
        sql = (
            "EXPLAIN SELECT platform, COUNT(*) FROM shoppers WHERE platform <> ? GROUP BY platform"
        )
        result = session.execute(sql, ["a\r\nguarantee: none\u2028b\x1b[2J"])
    lines = result.table["plan"].to_pylist()
    assert any("guarantee: none" in line for line in lines)
    assert not any(line.startswith("guarantee: none") for line in result.explain.splitlines())
    assert result.explain.splitlines() == lines
    assert all(line.isprintable() for line in lines)
