"""Several surveys asked as one table: added up, or samples of one population."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from support.significance import coverage_fits, is_unbiased
from support.surveys import boolean, category, integer, public, survey_toml

from ldpsql.dbapi.connection import connect
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.population.sources import Population
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy, accept_everything

BOTH = "(SELECT * FROM old UNION ALL SELECT * FROM new) AS app"
MARGIN = pa.table({"sex": ["F", "M"], "people": [6_000, 14_000]})


@cache
def survey(table: str, epsilon: str) -> Survey:
    """The redesign has more columns, and other columns first."""
    more = [boolean("member")] if table == "new" else []
    columns = *more, integer("age", 0, 9), category("sex", "F", "M"), public("region", "text")
    return design(survey_toml(*columns, table=table, epsilon=epsilon, mechanism="fourier"))


def people(count: int, seed: int) -> pa.Table:
    """A sample of one population, in which more women answer."""
    random = np.random.default_rng(seed)
    sex = random.random(count) < 0.5
    return pa.table(
        {
            "age": random.binomial(9, np.where(sex, 0.3, 0.6)),
            "sex": np.where(sex, "F", "M"),
            "member": random.random(count) < 0.5,
            "region": np.where(random.random(count) < 0.6, "north", "south"),
        }
    )


def collected(seed: int, sizes: tuple[int, int] = (3_000, 2_000)) -> Store:
    """Both surveys in one store, each answered by its own people."""
    store = open_store(None, read_only=False)
    for number, (asked, size) in enumerate(
        zip((survey("old", "1"), survey("new", "4")), sizes, strict=True)
    ):
        policy, entropy = accept_everything(asked), SeededEntropy(2 * seed + number)
        answers = people(size, 2 * seed + number)
        store.ingest_table(randomize_batch(asked, answers, entropy, policy=policy)[0], asked)
    return store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with collected(1) as opened:
        yield opened


def one(session: Session, sql: str) -> tuple[float, float]:
    """The only value of an answer, and its standard error."""
    found = session.execute(sql)
    return found.table.column(0)[0].as_py(), float(found.intervals[0].stderr[0])


def test_people_of_both_add_up(store: Store) -> None:
    session = Session(store)
    where = "WHERE age < 4 AND region = 'north'"
    first = one(session, f"SELECT COUNT(*) FROM old {where}")
    second = one(session, f"SELECT COUNT(*) FROM new {where}")
    together = (first[0] + second[0], float(np.hypot(first[1], second[1])))
    assert one(session, f"SELECT COUNT(*) FROM {BOTH} {where}") == pytest.approx(together)
    found = session.execute(f"SELECT COUNT(*) AS n FROM {BOTH}")
    assert found.table["n"].to_pylist() == [5_000]
    assert "old and new add up; a person who answered both counts in both" in found.notes
    assert [each.table for each in found.surveys] == ["new", "old"]
    assert found.reports == 5_000


def test_rows_are_those_of_either(store: Store) -> None:
    session = Session(store)
    sql = f"SELECT sex, region, COUNT(*) AS n FROM {BOTH} GROUP BY sex, region"
    found = session.execute(sql)
    assert found.table["n"].to_pylist() == pytest.approx(
        [
            sum(
                one(session, f"SELECT COUNT(*) FROM {t} WHERE sex='{s}' AND region='{r}'")[0]
                for t in ("old", "new")
            )
            for s, r in zip(
                found.table["sex"].to_pylist(), found.table["region"].to_pylist(), strict=True
            )
        ]
    )
    joint = found.estimates()
    assert joint.stderr == pytest.approx(found.intervals[2].stderr)


def test_ctes_over_several_surveys_are_unfolded(store: Store) -> None:
    session = Session(store)
    plain = one(session, f"SELECT COUNT(*) FROM {BOTH} WHERE age < 4 AND sex = 'F'")
    both = "both AS (SELECT * FROM old UNION ALL SELECT * FROM new)"
    young = "young AS (SELECT * FROM both WHERE age < 4)"
    counted = "SELECT COUNT(*) FROM young WHERE sex = 'F'"
    assert one(session, f"WITH {both}, {young} {counted}") == plain
    named = "WITH app AS (SELECT * FROM old UNION ALL SELECT * FROM new) "
    assert one(session, named + "SELECT COUNT(*) FROM app WHERE age < 4 AND app.sex = 'F'") == plain


def test_samples_of_one_population_are_combined_by_inverse_variance(store: Store) -> None:
    """The survey of epsilon 4 decides."""
    added, combined = Session(store), Session(store, sources=Population(one_population=True))
    sql = f"SELECT COUNT(*) FROM {BOTH} WHERE age < 4"
    second, error = one(added, "SELECT COUNT(*) FROM new WHERE age < 4")
    value, stderr = one(combined, sql)
    assert value == pytest.approx(second * 2.5, rel=0.15)
    assert stderr < min(2.5 * error, 0.7 * one(added, sql)[1])
    found = combined.execute(f"SELECT COUNT(*) AS n FROM {BOTH}")
    assert found.table["n"].to_pylist() == [5_000]
    note = "old and new are samples of one population, combined by inverse variance"
    assert note in found.notes
    assert note in str(combined.execute(f"EXPLAIN {sql}").explain)
    # One survey by itself is about its own people.
    assert one(combined, "SELECT COUNT(*) FROM new WHERE age < 4") == (second, error)


def test_with_margins_every_survey_answers_for_the_population(store: Store) -> None:
    session = Session(store, sources=Population(MARGIN))
    for table in ("old", "new", BOTH):
        found = session.execute(f"SELECT sex, COUNT(*) AS n FROM {table} GROUP BY sex")
        assert found.table["n"].to_pylist() == [6_000, 14_000]
    assert "answers about 20,000 people, post-stratified by sex (margins 1)" in str(
        session.execute("EXPLAIN SELECT COUNT(*) FROM old").explain
    )


@pytest.mark.slow
def test_combined_answers_are_unbiased_and_their_intervals_hold() -> None:
    runs, inside, values = 300, 0, []
    tail = np.cumsum([[_binomial(k, p) for k in range(10)] for p in (0.3, 0.6)], axis=1)[:, 3]
    truth = 6_000 * tail[0] + 14_000 * tail[1]
    for seed in range(runs):
        with collected(1_000 + seed) as opened:
            session = Session(opened, sources=Population(MARGIN))
            found = session.execute(f"SELECT COUNT(*) AS n FROM {BOTH} WHERE age < 4")
        bars = found.intervals[0]
        inside += bool(bars.low[0] <= truth <= bars.high[0])
        values.append(found.table["n"][0].as_py())
    assert coverage_fits(inside, runs)
    assert is_unbiased(np.array(values), truth)


def _binomial(successes: int, probability: float) -> float:
    return comb(9, successes) * probability**successes * (1 - probability) ** (9 - successes)


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        (f"SELECT COUNT(*) FROM {BOTH} WHERE member", QueryError, "no column 'member'"),
        ("SELECT COUNT(*) FROM (SELECT * FROM old UNION ALL SELECT * FROM old)", QueryError,
         "UNION ALL names a survey twice"),
        ("SELECT COUNT(*) FROM (SELECT * FROM old UNION ALL SELECT * FROM nothing)", QueryError,
         "there is no survey 'nothing'"),
        ("SELECT COUNT(*) FROM (SELECT * FROM old UNION SELECT * FROM new)", UnsupportedSQL, ""),
        ("SELECT COUNT(*) FROM (SELECT * FROM old WHERE age < 3 UNION ALL SELECT * FROM new)",
         UnsupportedSQL, ""),
    ],
)  # fmt: skip
def test_what_is_refused(store: Store, sql: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        Session(store).execute(sql)
    assert message in str(caught.value)


def test_connections_take_margins_and_keep_them(tmp_path) -> None:
    path = tmp_path / "app.duckdb"
    asked = survey("old", "1")
    reports, _ = randomize_batch(
        asked, people(3_000, 5), SeededEntropy(5), policy=accept_everything(asked)
    )
    with connect(path, new=True, weights=MARGIN) as connection:
        connection.ingest(reports, survey=asked)
        sql = "SELECT COUNT(*) FROM old"
        assert connection.execute(sql).fetchone() == (20_000,)
        assert connection.execute(sql).notes[0].startswith("answers about 20,000 people")
