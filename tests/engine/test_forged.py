"""What a forged report could do is told beside answers, and is what one does that is added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from support.fake_survey import with_new_ids
from support.surveys import integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.engine.result import Result
from ldpsql.engine.session import Session
from ldpsql.population.margins import Margin
from ldpsql.population.sources import Population
from ldpsql.randomize.table import randomize_batch
from ldpsql.server.wire import to_json
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql.wording.numbers import tell_forged
from ldpsql_lab.simulation import SeededEntropy, accept_everything

PEOPLE = 30_000


@cache
def survey_of() -> Survey:
    """Whose reports are of 8 kinds."""
    columns = [integer("age", 0, 3), measure("pay", 0, 10), public("day", "int")]
    return design(survey_toml(*columns, epsilon="1", mechanism="grr"))


@cache
def honest() -> pa.Table:
    random, survey = np.random.default_rng(4), survey_of()
    people = pa.table(
        {
            "age": random.integers(0, 4, PEOPLE) * random.integers(0, 2, PEOPLE),
            "pay": random.uniform(0, 10, PEOPLE),
            "day": random.integers(0, 2, PEOPLE),
        }
    )
    return randomize_batch(survey, people, SeededEntropy(3), policy=accept_everything(survey))[0]


def ask(sql: str) -> Result:
    """The answer from honest reports."""
    (result,) = ask_again(sql)
    return result


def ask_again(sql: str, *more: pa.Table) -> Iterator[Result]:
    """The answer from honest reports, and the one after each of some more that come in."""
    with open_store(None, read_only=False) as store:
        for reports in (honest(), *more):
            store.ingest_table(reports, survey_of())
            yield Session(store).execute(sql)


def every_report() -> Sequence[pa.Table]:
    """One report of each kind, of either day."""
    form = survey_of().design.report_format
    whole = honest()
    seen: dict[tuple[int, ...], pa.Table] = {}
    columns = [whole.column(name).to_pylist() for name in whole.column_names[:-1]]
    for place, kind in enumerate(zip(*columns, strict=True)):
        if kind not in seen:
            seen[kind] = with_new_ids(whole.slice(place, 1))
    assert len(seen) == 2 * int(form.limits.prod(axis=1).sum())
    return list(seen.values())


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM app WHERE age < 2",
        "SELECT AVG(pay) FROM app WHERE age < 2",
        "SELECT COUNT(*) FROM app WHERE age < 2 AND day = 1",
        "SELECT 3 * SUM(pay) / COUNT(*) - 1 AS x FROM app WHERE age = 1 OR day = 0 AND age = 2",
        "WITH g AS (SELECT age, COUNT(*) AS n FROM app GROUP BY age) SELECT MAX(CASE age WHEN 1 "
        "THEN n END) - MAX(CASE age WHEN 2 THEN n END) AS x FROM g",
        "SELECT day, SUM(pay) AS x FROM app WHERE age >= 2 GROUP BY day",
    ],
)
def test_what_is_told_is_what_a_report_does(sql: str) -> None:
    """Every kind of report is added; numbers that are not linear are followed by their slopes."""
    answers = ask_again(sql, *every_report())
    result = next(answers)
    place = len(result.columns) - 1
    least, most = result.forged()[place]  # which may have to ask the store
    values = [each.table.column(place).to_numpy() for each in (result, *answers)]
    moved = np.diff(values, axis=0)
    room = 2e-3 * max(-least, most)
    assert np.min(moved) == pytest.approx(least, abs=room)
    assert np.max(moved) == pytest.approx(most, abs=room)


def test_it_is_told_in_json_and_by_explain() -> None:
    sql = "SELECT COUNT(*) AS n FROM app WHERE age < 2"
    result = ask(sql)
    least, most = result.forged()[0]
    assert json.loads(json.dumps(to_json(result)))["forged"] == {
        "0": {"least": least, "most": most}
    }
    explained = ask(f"EXPLAIN {sql}").explain
    assert explained is not None
    told = f"one forged report can add up to {most:.2f} people, or take away up to {-least:.2f}"
    assert told in explained


def test_explain_tells_it_of_averages_and_other_functions() -> None:
    """Beside the sums that they are made of; of a mode it is not known."""
    sql = "SELECT COUNT(*) AS n, AVG(pay) AS pay, STDDEV(age) AS s, MODE(age) AS m FROM app"
    result, explained = ask(sql), ask(f"EXPLAIN {sql}").explain
    assert explained is not None
    for place, name in enumerate(("n", "pay", "s")):
        assert f"{name}: {tell_forged(*result.forged()[place])}" in explained
    assert "m: what one forged report can do is not known" in explained
    assert set(to_json(result)["forged"]) == {"0", "1", "2"}
    assert "pay:" not in str(ask("EXPLAIN SELECT SUM(pay) AS pay FROM app").explain)


def test_a_quotient_of_few_people_moves_by_no_more_than_is_said() -> None:
    """To first order it is less where a report takes people away, which the bound holds; its day
    changes nothing."""
    few = honest().slice(0, 400)
    sql = "SELECT AVG(pay) AS x FROM app WHERE age = 0"
    with open_store(None, read_only=False) as store:
        store.ingest_table(few, survey_of())
        result = Session(store).execute(sql)
        before = result.table.column(0)[0].as_py()
    moved = []
    for report in (each for each in every_report() if each["day"][0].as_py() == 0):
        with open_store(None, read_only=False) as store:
            store.ingest_table(few, survey_of())
            store.ingest_table(report, survey_of())
            moved.append(Session(store).execute(sql).table.column(0)[0].as_py() - before)
    least, most = result.forged()[0]
    assert least <= min(moved) and max(moved) <= most
    assert max(most, -least) < 1.25 * np.abs(moved).max()


def test_nothing_limits_what_a_forged_report_says_of_itself() -> None:
    """Public values travel in clear."""
    result = ask("SELECT SUM(day) AS s, COUNT(*) AS n FROM app WHERE age < 2")
    assert result.forged()[0] == (-np.inf, np.inf)
    assert to_json(result)["forged"]["0"] == {"least": None, "most": None}
    assert np.isfinite(result.forged()[1]).all()


def test_of_a_population_it_is_not_told() -> None:
    """Weights of strata move with what reports say of them."""
    store = open_store(None, read_only=False)
    store.ingest_table(honest(), survey_of())
    margin = Margin("ages", ("age", "people"), tuple((str(age), "100") for age in range(4)))
    result = Session(store, sources=Population([margin])).execute(
        "SELECT COUNT(*) FROM app WHERE age < 2"
    )
    assert np.isnan(result.forged()[0]).all()


def test_an_answer_names_equal_reports_that_it_has_read() -> None:
    """Of hash functions of which hardly two people draw one; honest reports have no note."""
    survey = design(survey_toml(integer("age", 0, 15), epsilon="1", mechanism="olh"))
    random = np.random.default_rng(5)
    people = pa.table({"age": random.integers(0, 16, 5_000)})
    reports = randomize_batch(survey, people, SeededEntropy(4), policy=accept_everything(survey))[0]
    with open_store(None, read_only=False) as store:
        store.ingest_table(reports, survey)
        assert Session(store).execute("SELECT COUNT(*) FROM app WHERE age < 4").notes == ()
        copies = pa.concat_tables([reports.slice(7, 1)] * 150)
        store.ingest_table(with_new_ids(copies), survey)
        (note,) = Session(store).execute("SELECT COUNT(*) AS n FROM app WHERE age < 4").notes
    assert "reports of a group are one and the same" in note
    assert "if 1% of them are forged, n can be off by" in note
