"""Notes on answers: signs of forged reports, and what to do about NULL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import ANYTHING, dimension, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.schema import RESERVED_PREFIX
from ldpsql_lab.simulation import SeededEntropy

PEOPLE = 4_000


@cache
def survey(mechanism: str, epsilon: str = "1", more: str = "") -> Survey:
    columns = (integer("age", 0, 7), measure("pay", -5, 20), more)
    return design(survey_toml(*columns, epsilon=epsilon, mechanism=mechanism))


def honest(asked: Survey) -> pa.Table:
    random = np.random.default_rng(1)
    people = {"age": random.integers(0, 8, PEOPLE), "pay": random.uniform(-5, 20, PEOPLE)}
    return randomize_batch(asked, pa.table(people), SeededEntropy(1), policy=ANYTHING)[0]


def notes(asked: Survey, reports: pa.Table, *statements: str) -> list[str]:
    with open_store(None, read_only=False) as store:
        store.ingest_table(reports, asked)
        session = Session(store)
        return [note for sql in statements for note in session.execute(sql).notes]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Over honest reports by GRR."""
    asked = survey("grr")
    with open_store(None, read_only=False) as store:
        store.ingest_table(honest(asked), asked)
        yield Session(store)


COUNTS = "SELECT age, COUNT(*), SUM(pay) FROM app GROUP BY age"


@pytest.mark.parametrize("mechanism", ["grr", "hio", "ehio", "hi", "haarhrr"])
def test_honest_reports_are_not_suspected(mechanism: str) -> None:
    """Counts of next to nobody, sums of a measure that may be negative."""
    if mechanism == "hio":
        asked = design(survey_toml(integer("age", 0, 7), mechanism="hio"))
        sql = "SELECT age, COUNT(*) FROM app GROUP BY age"
    else:
        asked, sql = survey(mechanism), COUNTS
    assert not [note for note in notes(asked, honest(asked), sql) if "forged" in note]


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["fourier", "grr"])
@pytest.mark.parametrize("epsilon", ["1", "7"])
def test_honest_reports_of_few_people_are_not_suspected(mechanism: str, epsilon: str) -> None:
    """A handful a day, all of them at one end of a domain of which most is empty."""
    asked = survey(mechanism, epsilon, public("day", "int"))
    for seed in range(3):
        days = np.arange(60) % 23
        people = {"age": np.full(60, 7), "pay": np.full(60, 20.0), "day": days}
        reports = randomize_batch(asked, pa.table(people), SeededEntropy(seed), policy=ANYTHING)[0]
        by_day = "SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 3 GROUP BY day"
        assert not [note for note in notes(asked, reports, COUNTS, by_day) if "forged" in note]


@pytest.mark.parametrize("seed", range(3))
def test_cells_that_too_few_report_by_chance_are_no_sign(seed: int) -> None:
    """At a large epsilon hardly anybody reports an empty cell, whose error comes out as nothing."""
    sql = "SELECT age, COUNT(*) FROM app GROUP BY age"
    given = {"epsilon": "6", "mechanism": "fourier", "workload": {"queries": [sql]}}
    asked = design(survey_toml(integer("age", 0, 63), **given))
    people = pa.table({"age": np.full(500, 63)})
    reports = randomize_batch(asked, people, SeededEntropy(seed), policy=ANYTHING)[0]
    assert not [note for note in notes(asked, reports, sql) if "forged" in note]


def test_counts_that_nobody_can_have_are_named() -> None:
    """Everybody sends the same report, which no randomizer would let happen."""
    asked = survey("grr")
    reports = honest(asked)
    for place, name in enumerate(reports.column_names):
        if name == f"{RESERVED_PREFIX}answer0":
            same = pa.array(np.full(PEOPLE, 3), type=reports.schema.field(place).type)
            reports = reports.set_column(place, name, same)
    found = [note for note in notes(asked, reports, COUNTS) if "forged" in note]
    assert len(found) == 1
    assert "more than 6 standard errors outside of what 4,000 people" in found[0]
    assert "; if 1% of them are forged, SUM(pay) can be off by " in found[0]


def test_null_answers_say_what_to_do() -> None:
    """An average over hardly anybody."""
    asked = survey("grr")
    said = notes(asked, honest(asked).slice(0, 40), "SELECT AVG(pay) FROM app WHERE age = 0")
    assert any("ask about more people" in note for note in said)


@pytest.mark.filterwarnings("error")
def test_a_variance_that_rounding_left_below_zero_is_no_reason_to_warn() -> None:
    """As those of a few reports of random families may be."""
    asked = survey("fourier")
    people = pa.table({"age": [3], "pay": [4.0]})
    for seed in range(4):
        report = randomize_batch(asked, people, SeededEntropy(seed), policy=ANYTHING)[0]
        with open_store(None, read_only=False) as store:
            store.ingest_table(report, asked)
            assert Session(store).execute(COUNTS).reports == 1


OUTSIDE = "age is declared for [0, 7], so "


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("age BETWEEN 0 AND 7", []),
        ("age < 8", []),
        ("age = 8", [OUTSIDE + "age = 8 holds for nobody"]),
        ("age <> -1", [OUTSIDE + "age <> -1 holds for everybody"]),
        ("age > 7 OR age > 7", [OUTSIDE + "age > 7 holds for nobody"]),
        ("age BETWEEN -5 AND 70", [OUTSIDE + "age >= -5, age <= 70 hold for everybody"]),
        ("NOT age IN (1, 9, 10)", [OUTSIDE + "age = 9, age = 10 hold for nobody"]),
        (
            "age < 0 OR age <= 9",
            [OUTSIDE + "age < 0 holds for nobody", OUTSIDE + "age <= 9 holds for everybody"],
        ),
        (
            "age IN (11, 12, 13, 14, 15, 16, 17, 18, 19)",
            [
                OUTSIDE + "age = 11, age = 12, age = 13, age = 14, age = 15, age = 16, age = 17, "
                "age = 18 and 1 more hold for nobody"
            ],
        ),
    ],
)
def test_a_comparison_outside_of_a_domain_is_answered_and_noted(
    session: Session, condition: str, expected: list[str]
) -> None:
    """In answers and in EXPLAIN alike."""
    sql = f"SELECT COUNT(*) FROM app WHERE {condition}"
    for each in (sql, f"EXPLAIN {sql}"):
        found = session.execute(each).notes
        assert [note for note in found if note.startswith(OUTSIDE)] == expected


@pytest.mark.parametrize(
    ("sql", "is_noted"),
    [
        ("SELECT COUNT(*) FROM app WHERE age % 2 = 2", True),
        ("WITH t AS (SELECT CASE WHEN age < 3 THEN 'Low' END AS x FROM app) "
         "SELECT COUNT(*) FROM t WHERE x = 'low'", True),
        ("SELECT COUNT(*) FROM app JOIN (VALUES (1, 'a')) v(age, x) USING (age) WHERE x = 'A'",
         True),
        ("SELECT COUNT(*) FROM app WHERE age IS NULL", True),
        ("SELECT COUNT(*) FROM app WHERE age = 8", False),
        ("SELECT COUNT(*) FROM app WHERE 1 = 0", False),
        ("SELECT COUNT(*) FROM app WHERE age % 2 = 1", False),
        ("SELECT COUNT(*) FROM app", False),
    ],
)  # fmt: skip
def test_a_condition_that_no_declared_values_satisfy_is_noted(
    session: Session, sql: str, is_noted: bool
) -> None:
    found = session.execute(sql).notes
    assert any(note.startswith("no declared values satisfy WHERE") for note in found) is is_noted


def test_a_day_that_is_its_midnight_and_values_that_are_only_declared_are_noted() -> None:
    asked = survey(
        "grr",
        more=dimension("seen", "timestamp", range=["2026-01-01", "2026-01-03"], unit="day")
        + public("shop", "text"),
    )
    day = "seen <= '2026-01-02' compares with the midnight at which that day begins, a moment that "
    day += "counts with the rest of its bin; for the whole day write CAST(seen AS DATE) <= "
    values = "these are declared values: reports cannot tell which of them anybody has"
    with open_store(None, read_only=False) as store:
        store.register(asked)
        for sql, expected in (
            ("SELECT COUNT(*) FROM app WHERE seen <= DATE '2026-01-02'", [f"{day}'2026-01-02'"]),
            ("SELECT COUNT(*) FROM app WHERE seen < DATE '2026-01-02'", []),
            ("SELECT DISTINCT age FROM app", [values]),
            ("SELECT shop, age FROM app GROUP BY ALL", [values]),
            ("SELECT DISTINCT shop FROM app", []),
        ):
            found = Session(store).execute(sql).notes
            assert [note for note in found if "NULL" not in note] == expected


def test_keys_in_bins_are_noted() -> None:
    """A row of 17 holds everybody up to 29: without the note it would be taken for a single age."""
    columns = (
        dimension("age", "int", edges=[17, 18, 30, 91]),
        dimension("size", "float", domain=[0, 2], bins=4),
        integer("kids", 0, 3),
    )
    asked = design(survey_toml(*columns, mechanism="fourier"))
    start = "is collected in bins, each shown by its lower end:"
    ages, sizes = f"age {start} 18 is 18..29", f"size {start} 0.0 is [0.0, 0.5)"
    with open_store(None, read_only=False) as store:
        store.register(asked)
        for sql, expected in (
            ("SELECT age, COUNT(*) FROM app GROUP BY age", [ages]),
            ("SELECT n FROM (SELECT age, COUNT(*) n FROM app GROUP BY age) WHERE age = 18", [ages]),
            ("SELECT size, age, COUNT(*) FROM app GROUP BY ALL", [sizes, ages]),
            ("SELECT kids, COUNT(*) FROM app GROUP BY kids", []),
            ("SELECT age < 30 AS young, COUNT(*) FROM app GROUP BY young", []),
            ("SELECT bin(size, 1), COUNT(*) FROM app GROUP BY ALL", []),
        ):
            found = Session(store).execute(sql).notes
            assert [note for note in found if "bins" in note] == expected, sql


# -- public columns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) FROM app WHERE shop = 'isos'", ["shop 'isos'"]),
        ("SELECT COUNT(*) FILTER (WHERE shop <> 'ois') FROM app", ["shop 'ois'"]),
        (
            "SELECT AVG(pay) FROM app WHERE shop IN ('ios', 'andriod', 'wbe')",
            ["shop 'andriod'", "shop 'wbe'"],
        ),
        ("SELECT COUNT(*) FROM app WHERE shop IN ('ios', 'web') AND age > 3", []),
    ],
)
def test_a_text_that_no_report_holds_is_noted(sql: str, words: list[str]) -> None:
    """A public column has no declared values that could refuse it."""
    asked = survey("hi", more=public("shop", "text"))
    random = np.random.default_rng(1)
    people = {
        "age": random.integers(0, 8, 200),
        "pay": random.uniform(-5, 20, 200),
        "shop": random.choice(["ios", "web"], 200),
    }
    reports = randomize_batch(asked, pa.table(people), SeededEntropy(1), policy=ANYTHING)[0]
    found = [note for note in notes(asked, reports, sql) if "no report holds" in note]
    assert found == [f"app: no report holds {each}" for each in words]
