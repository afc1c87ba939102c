"""SQL over surveys that collect marginals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, integer, survey_toml

from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

PEOPLE = 20_000
NAMES = ("srr-ss", "arr-ss", "solh", "oue-ms", "ft")


def survey(name: str, ways: int, **more: object) -> Survey:
    """A state, an age and two answers of yes and no; for ft the latter only."""
    first = () if name == "ft" else (category("state", "CA", "NY", "WA"), integer("age", 0, 8))
    columns = (*first, boolean("smoker"), boolean("member"))
    given = {"epsilon": "4", "mechanism": name, "options": {"ways": ways}, **more}
    return design(survey_toml(*columns, **given))


@cache
def people() -> pa.Table:
    """Smokers are mostly old, members mostly smokers."""
    random = np.random.default_rng(5)
    age = random.integers(0, 9, PEOPLE)
    smoker = random.random(PEOPLE) < age / 9
    member = np.where(smoker, random.random(PEOPLE) < 0.7, random.random(PEOPLE) < 0.1)
    state = np.array(["CA", "NY", "WA"])[random.choice(3, PEOPLE, p=[0.6, 0.3, 0.1])]
    return pa.table({"state": state, "age": age, "smoker": smoker, "member": member})


def answer(connection: Connection, where: str) -> tuple[float, float]:
    """COUNT(*) and its standard error."""
    result = connection.execute(f"SELECT COUNT(*) FROM app WHERE {where}").result
    return result.table.column(0)[0].as_py(), result.intervals[0].stderr[0]


@pytest.fixture(scope="module", params=NAMES)
def asked(request: pytest.FixtureRequest) -> Iterator[tuple[str, Connection]]:
    """A mechanism and reports of all pairs of attributes."""
    made = survey(request.param, 2)
    names = [dimension.name for dimension in made.schema.dimensions]
    with simulate(made, people().select(names), seed=4) as connection:
        yield request.param, connection


def test_conjunctions_that_were_collected(asked: tuple[str, Connection]) -> None:
    """Of two attributes, an OR of them, ranges and IN."""
    name, connection = asked
    age, smoker, member = (people().column(c).to_numpy() for c in ("age", "smoker", "member"))
    state = people().column("state").to_numpy(zero_copy_only=False)
    questions = {
        "smoker AND member": smoker & member,
        "smoker OR NOT member": smoker | ~member,
        "member": member,
    }
    if name != "ft":
        questions |= {
            "state IN ('CA', 'WA') AND age BETWEEN 2 AND 5": (state != "NY")
            & (age > 1)
            & (age < 6),
            "age >= 3 AND NOT smoker": (age >= 3) & ~smoker,
        }
    for where, inside in questions.items():
        value, error = answer(connection, where)
        assert abs(value - inside.sum()) < 6.0 * error, where
        assert error < 0.25 * inside.sum(), where


def test_groups_of_an_attribute(asked: tuple[str, Connection]) -> None:
    """GROUP BY gives every value, which add up to everybody."""
    name, connection = asked
    key = "member" if name == "ft" else "state"
    result = connection.execute(f"SELECT {key}, COUNT(*) FROM app GROUP BY {key}").result
    counts = dict(zip(*(column.to_pylist() for column in result.table.columns), strict=True))
    truth = people().column(key).value_counts().to_pylist()
    worst = max(result.intervals[1].stderr)
    assert worst < 0.05 * PEOPLE
    for row in truth:
        assert abs(counts[row["values"]] - row["counts"]) < 6.0 * worst
    assert len(counts) == len(truth)


def test_what_was_not_collected_is_refused(asked: tuple[str, Connection]) -> None:
    """A third attribute, with what would answer it."""
    name, connection = asked
    if name == "ft":
        made = survey("ft", 1)
        binary = people().select(["smoker", "member"])
        refused = pytest.raises(UnsupportedSQL, match=r"smoker and member together.*ways = 2")
        with simulate(made, binary, seed=4) as other, refused:
            other.execute("SELECT COUNT(*) FROM app WHERE smoker AND member")
        return
    with pytest.raises(UnsupportedSQL, match=r"state and smoker and member together.*ways = 3"):
        connection.execute("SELECT COUNT(*) FROM app WHERE state = 'CA' AND smoker AND member")


def test_marginals_of_the_workloads_queries() -> None:
    """Those that its SQL asks about, and no others."""
    sql = "SELECT COUNT(*) FROM app WHERE age > 4 AND smoker"
    made = survey("srr-ss", 0, workload={"queries": [sql]})
    with simulate(made, people(), seed=1) as connection:
        value, error = answer(connection, "age > 4 AND smoker")
        inside = (people().column("age").to_numpy() > 4) & people().column("smoker").to_numpy()
        assert abs(value - inside.sum()) < 6.0 * error
        with pytest.raises(UnsupportedSQL, match=r"does not collect state;"):
            connection.execute("SELECT COUNT(*) FROM app WHERE state = 'CA'")
