"""Answers of many public keys at once, against one key after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.fourier_designs import exact_answer
from support.surveys import boolean, integer, measure, public, survey_toml

from ldpsql import limits
from ldpsql.designer import design
from ldpsql.engine import sample
from ldpsql.engine.result import Result
from ldpsql.engine.sample import Estimators
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.estimators import grouped, linear_design
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.report import Histograms
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_lab.simulation import collect

KEYS, PEOPLE = 40, 1_200
COUNTS = "SELECT shop, COUNT(*) AS n FROM app WHERE age BETWEEN 2 AND 6 GROUP BY shop"
"""Few reports for each key, so that of some keys no report tells."""
QUESTIONS = {
    "counts": COUNTS,
    "by a dimension too": "SELECT shop, age, COUNT(*) AS n FROM app WHERE age < 4 GROUP BY ALL",
    "sums": "SELECT shop, COUNT(*) AS n, SUM(spent) AS s, AVG(spent) AS a FROM app "
    "WHERE age < 4 OR age > 6 GROUP BY shop",
    "slices": "SELECT shop, SUM(spent) AS s, COUNT(*) AS n FROM app "
    "WHERE (spent > 3 AND age < 5) OR shop > 30 GROUP BY shop",
    "two columns": "SELECT is_new, shop, COUNT(*) AS n FROM app WHERE age > 4 GROUP BY ALL",
    "quantiles": "SELECT shop, MEDIAN(age) AS m FROM app GROUP BY shop",
}
TREES = ("hio", "hgrr", "ehio", "ahio", "grr", "olh", "oue", "hrr")
OTHERS = ("haarhrr", "staircase", "urr", "urap", "jurr", "srr-ss", "psrr-ss", "srr-ms", "solh")


def survey(mechanism: str, *columns: str, **more: object) -> Survey:
    takes = MECHANISMS[mechanism].takes
    return design(
        survey_toml(
            integer("age", 0, 8, **({"sensitive": [3, 4]} if takes.sensitive else {})),
            *columns,
            public("shop", "int"),
            public("is_new", "bool"),
            public("spent", "float"),
            mechanism=mechanism,
            epsilon="2",
            **more,
        )
    )


def fill(made: Survey) -> Store:
    random = np.random.default_rng(3)
    shop = random.integers(0, KEYS, PEOPLE)
    people = pa.table(
        {
            "age": np.minimum(random.poisson(3.0, PEOPLE), 8),
            "pay": random.random(PEOPLE) * 10.0,
            "member": random.random(PEOPLE) < 0.3,
            "shop": pa.array(shop, mask=shop == 7),
            "is_new": random.random(PEOPLE) < 0.5,
            "spent": random.integers(0, 11, PEOPLE) / 2.0,
        }
    )
    return collect(made, people, seed=5)[1]


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The store of a mechanism, which all questions read."""
    name = request.param
    with fill(survey(name, *([boolean("member")] if name == "fourier" else []))) as store:
        yield store


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Few keys count as many; by call whether all were answered at once."""
    calls, answer_all = list[bool](), Estimators.answer_all

    def spy(own: Estimators, rows: Any) -> Any:
        found = answer_all(own, rows)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(Estimators, "answer_all", spy)
    monkeypatch.setattr(sample, "MANY_SETS", 4)
    monkeypatch.setattr(linear_design, "SETS_AT_ONCE", 16)
    return calls


def one_by_one(store: Store, sql: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Estimators, "answer_all", lambda *_: None)
        return Session(store).execute(sql)


def require_same(many: Result, each: Result) -> None:
    assert many.table.num_rows > KEYS - 1
    assert many.notes == each.notes
    assert list(many.intervals) == list(each.intervals)
    for place, column in enumerate(many.table.columns):
        if place not in many.intervals:
            assert column.to_pylist() == each.table.column(place).to_pylist()
            continue
        pairs = [(column.to_numpy(), each.table.column(place).to_numpy())]
        one, other = many.intervals[place], each.intervals[place]
        pairs += [(getattr(one, end), getattr(other, end)) for end in ("stderr", "low", "high")]
        for left, right in pairs:
            np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-7)


def compare(store: Store, sql: str, at_once: list[bool]) -> None:
    many = Session(store).execute(sql)
    assert at_once and all(at_once)
    require_same(many, one_by_one(store, sql))


@pytest.mark.fast(8)
@pytest.mark.parametrize("filled", TREES, indirect=True)
@pytest.mark.parametrize("question", QUESTIONS)
def test_many_keys_at_once_get_the_same_numbers(
    filled: Store, question: str, at_once: list[bool]
) -> None:
    compare(filled, QUESTIONS[question], at_once)


@pytest.mark.fast(3)
@pytest.mark.parametrize("mechanism", OTHERS)
@pytest.mark.parametrize("question", ["by a dimension too", "slices"])
def test_of_tables_and_marginals_too(
    mechanism: str, question: str, at_once: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tables the variance is not linear in the reports; queries are few at once here."""
    monkeypatch.setattr(grouped, "_ROWS_AT_ONCE", 500)
    two = [boolean("member")] if MECHANISMS[mechanism].takes.dimensions[0] > 1 else []
    with fill(survey(mechanism, *two)) as store:
        compare(store, QUESTIONS[question], at_once)


@pytest.mark.fast(2)
@pytest.mark.parametrize("mechanism", ["hgrr", "ehio", "ahio", "olh", "hrr"])
def test_of_private_measures_too(mechanism: str, at_once: list[bool]) -> None:
    """Several groups of people answer a count, and are weighted by how many of a key they are."""
    sql = (
        "SELECT shop, COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a FROM app WHERE age < 5 GROUP BY 1"
    )
    with fill(survey(mechanism, measure("pay", 0, 10))) as store:
        compare(store, sql, at_once)


@pytest.mark.fast(2)
@pytest.mark.parametrize("filled", ["fourier"], indirect=True)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_fourier_response_too(filled: Store, question: str, at_once: list[bool]) -> None:
    """As of every key by itself, by least squares over all reports that there can be."""
    many = Session(filled).execute(QUESTIONS[question])
    assert at_once and all(at_once)

    def answer_each(own: Estimators, rows: Any) -> Any:
        assert isinstance(own.design, FourierDesign)
        found = [[exact_answer(own.design, held, row) for row in rows] for _, held in own.found]
        values, covariances = (
            np.array([[each[part] for each in of_set] for of_set in found]) for part in range(2)
        )
        return values, covariances

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Estimators, "answer_all", answer_each)
        require_same(many, Session(filled).execute(QUESTIONS[question]))


@pytest.mark.parametrize(
    ("mechanism", "options"), [("hi", {}), ("hio", {"inference": "consistent"})]
)
def test_what_takes_too_long_one_by_one_is_refused_at_once(
    mechanism: str,
    options: dict[str, str],
    at_once: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fill(survey(mechanism, options=options)) as store:
        assert Session(store).execute(COUNTS).table.num_rows > KEYS - 1
        monkeypatch.setattr(limits, "_WARM", 3)
        monkeypatch.setattr(limits, "_HOPE", 0.0)
        with pytest.raises(QueryError, match="40 public keys one by one would take") as refusal:
            Session(store).execute(COUNTS)
    assert not any(at_once)
    assert "WHERE" in str(refusal.value.hint)


def test_one_key_is_answered_as_by_a_filter(at_once: list[bool]) -> None:
    with fill(survey("hio")) as store:
        many = Session(store).execute(COUNTS)
        for shop, value, error in zip(
            many.table["shop"].to_pylist(),
            many.table["n"].to_pylist(),
            many.intervals[1].stderr,
            strict=True,
        ):
            told = "IS NULL" if shop is None else f"= {shop}"
            alone = Session(store).execute(
                f"SELECT COUNT(*) AS n FROM app WHERE age BETWEEN 2 AND 6 AND shop {told}"
            )
            assert alone.table["n"][0].as_py() == pytest.approx(value, rel=1e-9)
            np.testing.assert_allclose(alone.intervals[0].stderr[0], error, rtol=1e-9)


def test_a_wrong_share_is_seen(at_once: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the comparison above: reports counted for the key beside their own."""
    right = Histograms.add_up
    with fill(survey("hio")) as store:
        each = one_by_one(store, COUNTS)
        monkeypatch.setattr(Histograms, "add_up", lambda *given: np.roll(right(*given), 1))
        with pytest.raises(AssertionError):
            require_same(Session(store).execute(COUNTS), each)


def test_estimators_of_many_keys_are_made_as_they_are_asked_for(at_once: list[bool]) -> None:
    """Sums of rows of one key, and of several, need the estimators of some keys alone."""
    sql = f"SELECT sum(n) AS n FROM ({COUNTS}) WHERE shop < 3"
    with fill(survey("hio")) as store:
        few = Session(store).execute(sql)
        require = one_by_one(store, sql)
    assert few.table["n"].to_pylist() == pytest.approx(require.table["n"].to_pylist())
    np.testing.assert_allclose(few.intervals[0].stderr, require.intervals[0].stderr, rtol=1e-9)
