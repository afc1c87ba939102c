"""Aggregates: what they are computed from, and that one entry is all that a new one takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.noise_free import ExactBoxes, ExactDesign, ExactNodes, exact_survey, storing
from support.sql_survey import APP, base_of, refusal
from support.surveys import boolean, integer, survey_toml

from ldpsql.algebra.boxes import Weight
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import Place, QueryError
from ldpsql.sql import aggregates
from ldpsql.sql.aggregates import (
    AGGREGATES,
    Aggregate,
    AggregateKind,
    Expression,
    Number,
    ProductMoments,
    Target,
    people_with,
    sum_of,
    targets_of,
)
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Schema
from ldpsql_lab.bench.questions import question
from ldpsql_lab.bench.truth import Truth
from ldpsql_lab.simulation import simulate

EVERYBODY = Target()


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("COUNT(*)", (EVERYBODY,)),
        ("COUNT(age)", (EVERYBODY,)),
        ("COUNT(state)", (Target(amounts=(1, ((1.0, ((0, 3),)),))),)),
        ("COUNT(purchase)", (EVERYBODY,)),
        ("COUNT(hours)", (EVERYBODY,)),
        ("COUNT(day)", (Target(weight=Weight("day", "present")),)),
        ("COUNT(amount)", (Target(weight=Weight("amount", "present")),)),
        ("SUM(hours)", (Target(measure=0),)),
        ("SUM(purchase)", (Target(measure=1),)),
        ("SUM(amount)", (Target(weight=Weight("amount")),)),
        ("AVG(purchase)", (Target(measure=1), EVERYBODY)),
        (
            "AVG(build)",
            (Target(weight=Weight("build")), Target(weight=Weight("build", "present"))),
        ),
        (
            "AVG(amount)",
            (Target(weight=Weight("amount")), Target(weight=Weight("amount", "present"))),
        ),
    ],
)
def test_targets_of_an_aggregate(aggregate: str, expected: tuple[Target, ...]) -> None:
    (column,) = base_of(f"SELECT {aggregate} FROM app").columns
    assert isinstance(column.expression, Aggregate)
    assert targets_of(column.expression, APP.schema) == expected


@pytest.mark.parametrize("function", ["COUNT", "SUM"])
def test_a_column_that_the_parser_should_have_refused_is_a_bug(function: str) -> None:
    with pytest.raises(InternalError):
        targets_of(Aggregate(function, "nope", Place(1, 1)), APP.schema)


# -- an aggregate of one's own ----------------------------------------------------------------


def second_moment(schema: Schema, moments: ProductMoments) -> Expression:
    """E[x^2] = E[(x - c)^2] + 2 c E[x - c] + c^2, where c is the centre of x."""
    x, xx = (sum_of(schema, moments.products[letters]) for letters in ("x", "xx"))
    centre = moments.centres["x"]
    people = people_with(schema, moments)
    return (xx + Number(2.0 * centre) * x) / people + Number(centre**2)


OWN = AggregateKind(("SECOND_MOMENT",), "number", second_moment, "AVG({0} * {0})", ("x", "xx"))


@pytest.fixture
def with_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "AGGREGATES", (*AGGREGATES, OWN))


PEOPLE = pa.table(
    {
        "age": np.random.default_rng(1).binomial(20, 0.3, 5_000),
        "member": np.random.default_rng(2).random(5_000) < 0.4,
    }
)
COLUMNS = (integer("age", 0, 20), boolean("member"))
SURVEY = survey_toml(*COLUMNS, epsilon="4", mechanism="hgrr")


def true_moment(members_only: bool) -> float:
    ages = PEOPLE["age"].to_numpy()
    return float(np.mean((ages[PEOPLE["member"].to_numpy()] if members_only else ages) ** 2))


@pytest.mark.usefixtures("with_own")
@pytest.mark.parametrize("kind", [ExactNodes, ExactBoxes])
def test_one_entry_is_all_that_an_aggregate_takes(
    kind: type[ExactDesign],
) -> None:
    """Without noise it equals the truth, by tree nodes and by boxes."""
    schema = design(SURVEY).schema
    survey = exact_survey("app", schema, PEOPLE, kind)
    with storing(survey, PEOPLE) as store:
        session = Session(store)
        whole = session.execute("SELECT SECOND_MOMENT(age) FROM app").table.column(0).to_pylist()
        assert whole == pytest.approx([true_moment(False)])
        inside = session.execute(
            "SELECT second_moment(age) / 2 FROM app WHERE member"
        ).table.column(0)
        assert inside.to_pylist() == pytest.approx([true_moment(True) / 2])


@pytest.mark.usefixtures("with_own")
def test_a_new_aggregate_has_an_interval_a_plan_and_notes() -> None:
    """From a mechanism with noise; the interval is Fieller's."""
    with simulate(design(SURVEY), PEOPLE, seed=3) as connection:
        sql = "SELECT SECOND_MOMENT(age) FROM app WHERE member"
        answer = connection.execute(sql).result
        (value,), bars = answer.table.column(0).to_pylist(), answer.intervals[0]
        assert bars.low[0] < value < bars.high[0]
        assert abs(value - true_moment(True)) < 4.0 * bars.stderr[0]
        lines = str(connection.execute(f"EXPLAIN {sql}").result.explain).splitlines()
        sums = [line.strip() for line in lines if line.startswith("  ") and "(" in line]
        assert any(line.startswith("SUM(") for line in sums)
        assert any(line.startswith("COUNT(") for line in sums)
        with pytest.raises(QueryError, match="no column 'nope'"):
            connection.execute("SELECT SECOND_MOMENT(nope) FROM app")
        nobody = connection.execute(
            "SELECT SECOND_MOMENT(age) FROM app WHERE age > 19 AND NOT member"
        )
        assert "1 value is NULL" in nobody.notes[0]


@pytest.mark.usefixtures("with_own")
def test_the_exact_answer_reads_the_same_entry() -> None:
    """The comparison with the truth needs nothing besides."""
    survey = design(SURVEY)
    asked = question("SELECT SECOND_MOMENT(age) FROM app WHERE member", survey, "one")
    found = Truth(survey.schema, PEOPLE).answer(asked).rows[()]
    assert found == pytest.approx([true_moment(True)])


@pytest.mark.usefixtures("with_own")
def test_hints_list_what_there_is() -> None:
    assert "SECOND_MOMENT" in refusal("SELECT KURTOSIS(age) FROM app").hint


def test_without_the_entry_it_is_refused() -> None:
    error = refusal("SELECT SECOND_MOMENT(age) FROM app")
    assert "SECOND_MOMENT is not supported" in error.reason
