"""Which reports a session answers from, and how often it reads them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import ANYTHING
from support.two_estimators import known, people, stored, survey_of_two

from ldpsql import limits
from ldpsql.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.simulation import SeededEntropy, collect
from ldpsql.store import Selection, Store, open_store
from ldpsql.store.duckdb.reading import Reading
from ldpsql_device.table import randomize_batch

PEOPLE = 300


@pytest.fixture
def store() -> Iterator[Store]:
    survey = survey_of_two()
    with known(survey), stored(survey) as opened:
        yield opened


def test_all_of_an_answer_comes_from_the_same_reports(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where others arrive while it is made."""
    survey, histograms = survey_of_two(), store.histograms
    reports, _ = randomize_batch(survey, people(), SeededEntropy(2), policy=ANYTHING)

    def reads_after_reports_arrived(table: str, selection: Selection) -> object:
        other = threading.Thread(target=store.ingest_table, args=(reports, survey))
        other.start()
        other.join()
        return histograms(table, selection)

    session = Session(store)
    with monkeypatch.context() as patch:
        patch.setattr(store, "histograms", reads_after_reports_arrived)
        found = session.execute("SELECT COUNT(*) AS n FROM app")
    assert (found.reports, found.table["n"].to_pylist()) == (PEOPLE, [PEOPLE])
    again = session.execute("SELECT COUNT(*) AS n FROM app")
    assert (again.reports, again.table["n"].to_pylist()) == (2 * PEOPLE, [2 * PEOPLE])


def test_reports_are_read_once_for_the_same_selection(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Selection] = []
    histograms = store.histograms

    def counting(table: str, selection: Selection) -> object:
        read.append(selection)
        return histograms(table, selection)

    monkeypatch.setattr(store, "histograms", counting)
    session = Session(store)
    for age in (3, 5, 3):
        session.execute(f"SELECT COUNT(*) FROM app WHERE age < {age}")
    assert read == [Selection()]


def test_the_deadline_holds_for_base_queries(store: Store) -> None:
    """Also between the groups of a query, of which there may be many."""
    with pytest.raises(QueryError, match="the statement took longer than 0 s; ask for fewer"):
        Session(store, seconds=0.0).execute("SELECT COUNT(*) FROM app")


def test_the_deadline_holds_while_a_question_is_read(store: Store) -> None:
    reports_are_read = []
    store.version = reports_are_read.append  # type: ignore[assignment,method-assign]
    sums = ", ".join(f"VAR_POP(age + {i})" for i in range(5))
    with pytest.raises(QueryError, match="the statement took longer than 0 s"):
        Session(store, seconds=0.0).execute(f"SELECT {sums} FROM app")
    assert not reports_are_read


def test_the_deadline_holds_while_reports_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never_end(reading: Reading) -> object:
        endless = "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b"
        return reading.cursor.execute(endless).fetchall()

    monkeypatch.setattr(Reading, "histograms", never_end)
    with pytest.raises(QueryError, match=r"the statement took longer than 0\.5 s"):
        Session(store, seconds=0.5).execute("SELECT COUNT(*) FROM app WHERE age = 3")
    monkeypatch.undo()
    assert Session(store).execute("SELECT COUNT(*) FROM app").table.num_rows == 1


def test_too_many_numbers_at_once_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_NUMBERS", 29)
    sums = ", ".join(f"COUNT(*) FILTER (WHERE age = {age})" for age in range(1, 6))
    with pytest.raises(QueryError, match="5 sums in each of 1 rows are too many at once"):
        Session(store).execute(f"SELECT {sums} FROM app")
    Session(store).execute("SELECT COUNT(*) FROM app WHERE age = 3")


@pytest.mark.parametrize(
    ("mechanism", "estimator"),
    [
        ("hio", "unbiased"),
        ("fourier", "unbiased"),
        ("fourier", "smooth"),
        ("cprr", "unbiased"),
        ("arr-ss", "unbiased"),
    ],
)
def test_a_single_call_of_a_decoder_looks_at_the_deadline(mechanism: str, estimator: str) -> None:
    """Also for one row: none of its steps is long."""
    made = design(
        f'[survey]\ntable = "app"\nepsilon = "2"\nmechanism = "{mechanism}"\n'
        '[dimension.a]\ntype = "int"\ndomain = [1, 9]\n'
        '[dimension.b]\ntype = "int"\ndomain = [1, 9]\n'
    )
    codes = np.arange(2000) % 9 + 1
    survey, store = collect(made, pa.table({"a": codes, "b": codes[::-1]}))
    with store:
        ((_, histogram),) = store.histograms("app", Selection())
    make = survey.design.estimators[estimator]
    row = [survey.design.prepare(LinearQuery.count(Box((((0, 2),), None))))]
    with limits.deadline(0.0), pytest.raises(QueryError, match="took longer than 0 s"):
        make(histogram).answer_rows([row])
    with limits.deadline(60.0):
        assert len(make(histogram).answer_rows([row])) == 1


@pytest.mark.usefixtures("interruptible")
def test_many_groups_are_stopped_in_time() -> None:
    """By seconds of computing, which other tests on the machine take no part in."""
    asked = design(
        '[survey]\ntable = "app"\nepsilon = "2"\nmechanism = "hio"\n'
        '[dimension.a]\ntype = "int"\ndomain = [1, 200]\n'
        '[dimension.b]\ntype = "int"\ndomain = [1, 200]\n'
    )
    with open_store(None, read_only=False) as opened:
        opened.register(asked)
        start = time.process_time()
        with pytest.raises(QueryError, match="the statement took longer than 1 s"):
            sql = "SELECT a, b, COUNT(*) FROM app GROUP BY a, b"
            Session(opened, seconds=1.0).execute(sql)
        assert time.process_time() - start < 3.0
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            Session(opened).execute(sql)
        assert time.process_time() - start < 1.5
