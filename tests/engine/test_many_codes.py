"""A GROUP BY one dimension of many codes, whose rows are all answered at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.estimators.grouped import CodeRows
from ldpsql.parser import parse
from ldpsql.planner import plan
from ldpsql.store.store import Store
from ldpsql_lab.simulation import collect

CODES, PEOPLE = 600, 3_000
QUESTIONS = (
    "SELECT item, COUNT(*) AS n FROM app GROUP BY item",
    "SELECT item, COUNT(*) AS n FROM app WHERE sex = 'f' GROUP BY item",
    "SELECT item, COUNT(*) FILTER (WHERE sex = 'f' OR is_new) AS n FROM app GROUP BY item",
    "SELECT shop, item, COUNT(*) AS n FROM app WHERE sex = 'f' OR shop = 1 GROUP BY shop, item",
    "SELECT item, COUNT(*) AS n FROM app WHERE item NOT IN (3, 8, 9) AND item < 400 GROUP BY item",
    "SELECT item, COUNT(*) AS n FROM app WHERE item > 300 OR sex = 'f' GROUP BY item",
    "SELECT item, sex, COUNT(*) AS n FROM app WHERE item <> 7 GROUP BY item, sex",
    "SELECT item, SUM(price) AS n FROM app WHERE sex = 'm' GROUP BY item",
    "SELECT item, COUNT(*) FILTER (WHERE sex = 'f') - 2 * COUNT(*) AS n FROM app GROUP BY item",
)


def fill(mechanism: str, *columns: str, people: int = PEOPLE, **more: object) -> Store:
    made = design(
        survey_toml(
            integer("item", 0, CODES - 1),
            category("sex", "f", "m"),
            *columns,
            public("shop", "int"),
            public("is_new", "bool"),
            public("price", "float"),
            mechanism=mechanism,
            epsilon="2",
            **more,
        )
    )
    random = np.random.default_rng(4)
    table = {
        "item": np.minimum(random.zipf(1.3, people) - 1, CODES - 1),
        "sex": random.choice(["f", "m"], people),
        "member": random.random(people) < 0.5,
        "pay": random.random(people) * 5.0,
        "shop": random.integers(0, 3, people),
        "is_new": random.random(people) < 0.5,
        "price": random.random(people),
    }
    return collect(made, pa.table(table), seed=2)[1]


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["olh", "hrr", "grr", "hio"])
def test_all_codes_at_once_as_one_by_one(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and standard errors, of slices and of public keys, too."""
    store = fill(mechanism, **({"options": {"tree": "flat"}} if mechanism == "hio" else {}))
    together = [Session(store).execute(sql) for sql in QUESTIONS]
    monkeypatch.setattr(plan, "_MANY_CODES", 1 << 30)
    for sql, own in zip(QUESTIONS, together, strict=True):
        alone = Session(store).execute(sql)
        place = own.table.num_columns - 1
        assert own.table.select(range(place)) == alone.table.select(range(place))
        for left, right in (
            (own.table["n"].to_numpy(), alone.table["n"].to_numpy()),
            (own.intervals[place].stderr, alone.intervals[place].stderr),
        ):
            assert left == pytest.approx(right, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    "asked",
    ["SUM(pay)", "SUM(pay) + COUNT(pay)", "COALESCE(AVG(pay), -1.0)", "SUM(pay) - COUNT(*)"],
)
def test_sums_of_a_private_measure_by_code(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes of both signs of the measure move along, and of several sums those of each."""
    store = fill("olh", measure("pay", 0, 5), boolean("member"))
    sql = f"SELECT item, {asked} AS n FROM app WHERE member AND item <> 5 GROUP BY item"
    found = Session(store).execute(sql)
    monkeypatch.setattr(plan, "_MANY_CODES", 1 << 30)
    alone = Session(store).execute(sql)
    assert found.table["n"].to_numpy() == pytest.approx(alone.table["n"].to_numpy(), rel=1e-9)
    assert found.intervals[1].stderr == pytest.approx(
        alone.intervals[1].stderr, rel=1e-9, nan_ok=True
    )


@pytest.mark.parametrize("place", [2, 17])
def test_a_row_is_the_query_that_is_prepared_alone(place: int) -> None:
    """Whoever asks for a single row gets the nodes of its code."""
    store = fill("olh", people=50)
    survey = store.survey("app")
    sql = "SELECT item, COUNT(*) FROM app WHERE item > 3 AND (sex = 'f' OR item < 9) GROUP BY item"
    base = parse(sql, None, lambda _: survey).bases[0]
    made = plan.make_plans(base, survey, sql)[-1][1]
    (rows,) = made.planned
    assert isinstance(rows, CodeRows)
    assert len(rows) == CODES - 4
    (linear,) = list(plan.make_linear_queries(made, made.slices[0]))[place]
    alone = survey.design.prepare(linear)
    for (own,) in (rows[place], rows[place : place + 1][0]):
        (moved,), (expected,) = own.alternatives[0], alone.alternatives[0]
        assert moved.nodes.tolist() == expected.nodes.tolist()
        assert moved.weights.tolist() == expected.weights.tolist()


def test_a_quantile_of_many_codes_is_refused_before_it_takes_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its sums reach over all codes, with as many nodes each; none of them is prepared."""
    made = design(survey_toml(integer("item", 0, 8_999), mechanism="olh", epsilon="2"))
    asked = list[object]()
    with collect(made, pa.table({"item": [1, 2, 3]}))[1] as store:
        monkeypatch.setattr(type(made.design), "prepare", lambda _, query: asked.append(query))
        with pytest.raises(QueryError, match="9000 sums in each of 1 rows are too many"):
            Session(store).execute("SELECT MEDIAN(item) FROM app")
    assert not asked


def test_of_nobody_nothing_is_told() -> None:
    """Where no report meets a condition on public columns, every row is as of few codes."""
    found = Session(fill("olh", people=20)).execute(
        "SELECT item, COUNT(*) AS n FROM app WHERE shop = 7 GROUP BY item"
    )
    few = Session(fill("olh", people=20)).execute(
        "SELECT item, COUNT(*) AS n FROM app WHERE shop = 7 AND item < 9 GROUP BY item"
    )
    assert set(found.table["n"].to_pylist()) == set(few.table["n"].to_pylist())
