"""A second, named estimator: chosen, refused, and shown with its typical error."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
import pytest
from support.two_estimators import (
    FACTORS,
    GROWTH,
    SHIFTS,
    STDERR,
    known,
    people,
    stored,
    survey_of_two,
)

from ldpsql.algebra.estimate import quantile
from ldpsql.dbapi import connection as dbapi
from ldpsql.engine.arithmetic import SURCHARGE, typical_error
from ldpsql.engine.session import Session
from ldpsql.store.store import Store
from ldpsql_device.errors import NotSupportedError

YOUNG = "SELECT COUNT(*) AS n FROM app WHERE age < 4"
PEOPLE = people()
N_YOUNG = int(pc.sum(pc.less(PEOPLE["age"], 4)).as_py())


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    survey = survey_of_two()
    with known(survey):
        opened = stored(survey)
        yield opened
        opened.close()


def replicates_of(value: float, slices: int = 1) -> np.ndarray:
    """What the double gives for a sum over disjoint sets of people."""
    return FACTORS * GROWTH * value + slices * SHIFTS


def typical_of(replicates: np.ndarray, value: float) -> float:
    return 1.15 * math.sqrt(np.mean((replicates - value) ** 2))


def test_the_first_estimator_is_the_default(store: Store) -> None:
    for session in (Session(store), Session(store, estimator="unbiased")):
        found = session.execute(YOUNG)
        assert found.table["n"].to_pylist() == [N_YOUNG]
        assert found.estimators == ("unbiased",)
        assert found.typical == {}
        assert not any("post-processed" in note for note in found.notes)
        assert found.estimates().replicates is None


def test_smooth_values_keep_the_unbiased_interval(store: Store) -> None:
    found = Session(store, estimator="smooth").execute(YOUNG)
    value = GROWTH * N_YOUNG
    half = quantile(0.95) * STDERR
    assert found.estimators == ("smooth",)
    assert found.table["n"].to_pylist() == pytest.approx([value])
    assert found.intervals[0].stderr == pytest.approx([STDERR])
    assert found.intervals[0].low == pytest.approx([value - half])
    assert found.intervals[0].high == pytest.approx([value + half])
    assert found.typical[0] == pytest.approx([typical_of(replicates_of(N_YOUNG), value)])
    assert found.estimates().replicates[:, 0] == pytest.approx(replicates_of(N_YOUNG))
    assert any("post-processed" in note for note in found.notes)


def sums(mask: object = None) -> tuple[float, float]:
    """Truth: pay and people."""
    chosen = PEOPLE if mask is None else PEOPLE.filter(mask)
    return float(pc.sum(chosen["pay"]).as_py()), float(len(chosen))


@pytest.mark.parametrize(
    ("sql", "formula"),
    [
        ("SUM(pay)", lambda s, c: s),
        ("AVG(pay)", lambda s, c: s / c),
        ("2 * AVG(pay) - 1", lambda s, c: 2 * s / c - 1),
        ("AVG(pay) * COUNT(*)", lambda s, c: s / c * c),
        ("SUM(pay) / (COUNT(*) + 100)", lambda s, c: s / (c + 100)),
        ("COUNT(*) * COUNT(*)", lambda s, c: c * c),
    ],
)
def test_the_typical_error_is_that_of_the_expression(store, sql, formula) -> None:
    """Evaluated on every replicate, not carried along by slopes."""
    found = Session(store, estimator="smooth").execute(f"SELECT {sql} AS x FROM app WHERE age < 4")
    s, c = sums(pc.less(PEOPLE["age"], 4))
    value = formula(GROWTH * s, GROWTH * c)
    drawn = formula(replicates_of(s), replicates_of(c))
    assert found.table["x"].to_pylist() == pytest.approx([value])
    assert found.typical[0] == pytest.approx([typical_of(drawn, value)])


def test_replicates_of_disjoint_people_add(store: Store) -> None:
    """Two slices under different public conditions, answered by two estimators."""
    sql = (
        "SELECT COUNT(*) AS n FROM app "
        "WHERE (shop = 'north' AND age < 4) OR (shop = 'south' AND age < 6)"
    )
    found = Session(store, estimator="smooth").execute(sql)
    north = pc.and_(pc.equal(PEOPLE["shop"], "north"), pc.less(PEOPLE["age"], 4))
    south = pc.and_(pc.equal(PEOPLE["shop"], "south"), pc.less(PEOPLE["age"], 6))
    count = sums(pc.or_(north, south))[1]
    assert found.table["n"].to_pylist() == pytest.approx([GROWTH * count])
    expected = typical_of(replicates_of(count, slices=2), GROWTH * count)
    assert found.typical[0] == pytest.approx([expected])


def test_typical_errors_follow_the_rows(store: Store) -> None:
    """ORDER BY and LIMIT of the outer SQL, public and private keys."""
    sql = (
        "SELECT shop, age, COUNT(*) AS n, AVG(pay) AS p FROM app GROUP BY shop, age "
        "ORDER BY n DESC, shop, age LIMIT 7"
    )
    found = Session(store, estimator="smooth").execute(sql)
    assert sorted(found.typical) == [2, 3]
    for row in range(7):
        shop, age = found.table["shop"][row].as_py(), found.table["age"][row].as_py()
        here = pc.and_(pc.equal(PEOPLE["shop"], shop), pc.equal(PEOPLE["age"], age))
        count = sums(here)[1]
        value = GROWTH * count
        assert found.table["n"][row].as_py() == pytest.approx(value)
        assert found.typical[2][row] == pytest.approx(typical_of(replicates_of(count), value))


def test_the_survey_may_say_which_estimator_answers() -> None:
    survey = survey_of_two("smooth")
    with known(survey):
        opened = stored(survey)
        assert Session(opened).execute(YOUNG).estimators == ("smooth",)
        overruled = Session(opened, estimator="unbiased").execute(YOUNG)
        assert overruled.estimators == ("unbiased",)
        assert overruled.table["n"].to_pylist() == [N_YOUNG]
        opened.close()


@pytest.mark.parametrize("sql", [YOUNG, f"EXPLAIN {YOUNG}"])
def test_an_estimator_that_there_is_not_is_refused(store: Store, sql: str) -> None:
    with pytest.raises(NotSupportedError, match=r"'sharp'.*unbiased, smooth"):
        Session(store, estimator="sharp").execute(sql)


def test_explain_names_an_estimator_that_is_not_the_default(store: Store) -> None:
    plain = Session(store).execute(f"EXPLAIN {YOUNG}")
    smooth = Session(store, estimator="smooth").execute(f"EXPLAIN {YOUNG}")
    assert smooth.explain.splitlines()[:-1] == plain.explain.splitlines()
    assert smooth.explain.splitlines()[-1].startswith("estimator: smooth")


def test_a_connection_keeps_its_estimator_when_it_ingests(tmp_path) -> None:
    """Ingesting closes the store and opens it again."""
    survey = survey_of_two()
    with known(survey):
        stored(survey, tmp_path / "app.duckdb").close()
        with dbapi.connect(tmp_path / "app.duckdb", estimator="smooth") as connection:
            before = connection.execute(YOUNG).fetchone()
            connection.ingest([])
            assert connection.execute(YOUNG).fetchone() == before
            assert before == pytest.approx((GROWTH * N_YOUNG,))


def test_typical_errors_are_root_mean_squares_or_unknown() -> None:
    replicates = np.array([[1.0, np.inf, 2.0], [3.0, 1.0, 2.0]])
    found = typical_error(replicates, np.array([2.0, 1.0, np.nan]))
    assert found[0] == pytest.approx(SURCHARGE)
    assert np.isnan(found[1:]).all()
