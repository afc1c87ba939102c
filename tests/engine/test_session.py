"""Which reports a session answers from, and how often it reads them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from support.executed_lines import counting_lines, lines_run
from support.surveys import ANYTHING, integer, survey_toml
from support.two_estimators import known, people, stored, survey_of_two

from ldpsql import limits
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import Selection, open_store
from ldpsql.store.reading import Reading
from ldpsql.store.store import Store
from ldpsql_lab.simulation import SeededEntropy, collect

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


def test_work_grows_with_the_number_of_columns_and_not_with_its_square(store: Store) -> None:
    """Each column of an answer is held against the measurements that it depends on alone."""
    session = Session(store)

    def ask(columns: int) -> int:
        numbers = ", ".join(f"COUNT(*) * {factor}" for factor in range(1, columns + 1))
        return lines_run(lambda: session.execute(f"SELECT {numbers} FROM app"))

    ask(10)
    assert ask(160) < 4.4 * ask(40)


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
    columns = (integer("a", 1, 9), integer("b", 1, 9))
    made = design(survey_toml(*columns, epsilon="2", mechanism=mechanism))
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


GROUPS = "SELECT a, b, COUNT(*) FROM app GROUP BY a, b"


class GivenUp(threading.Event):
    """Looked at with the deadline, by the statement that it ends; something happens at a look."""

    def __init__(self, so_far: Callable[[], int], happens: Callable[[int], bool]) -> None:
        super().__init__()
        self.so_far, self.happens = so_far, happens
        self.looks: list[int] = []

    def is_set(self) -> bool:
        self.looks.append(self.so_far())
        return self.happens(len(self.looks))


def work_on_groups(happens: Callable[[int], bool]) -> list[int]:
    """Answer 400 groups: how many lines had been run at every look and in the end."""
    columns = (integer("a", 1, 20), integer("b", 1, 20))
    asked = design(survey_toml(*columns, epsilon="2", mechanism="hio"))
    with open_store(None, read_only=False) as opened, counting_lines() as so_far:
        opened.register(asked)
        given_up, session = GivenUp(so_far, happens), Session(opened)
        with suppress(QueryError, KeyboardInterrupt), limits.ending_with(given_up):
            session.execute(GROUPS)
        return [*given_up.looks, so_far()]


@pytest.mark.usefixtures("interruptible")
def test_many_groups_are_stopped_in_time() -> None:
    """The deadline is looked at often, and once it is over, or at Ctrl-C, nothing more is done."""
    work_on_groups(lambda _: False)  # loads what is loaded when it is needed
    whole = work_on_groups(lambda _: False)
    assert len(whole) > 400
    assert np.diff(whole).max() < 30_000
    for ending in (lambda: True, lambda: bool(os.kill(os.getpid(), signal.SIGINT))):
        for look in (20, len(whole) // 2, len(whole) - 20):
            stopped = work_on_groups(lambda n, at=look, end=ending: n >= at and end())  # type: ignore[misc]
            assert len(stopped) - 1 == look
            assert stopped[-1] - stopped[-2] < 1_000
