"""Reports that wait at a shuffler: none twice, none lost, and nothing but full batches leaves."""

from __future__ import annotations

import collections
import os
import sqlite3
import stat
from contextlib import closing
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.planned_survey import both_texts
from support.shuffled_survey import raw_reports, shuffled_survey

from ldpsql.errors import QueryError
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.shuffler import arrivals
from ldpsql.shuffler.arrivals import Arrivals
from ldpsql.store import open_store
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql_device.errors import StoreError, SurveyError

USERS = 100
SURVEY = shuffled_survey(USERS)
INTAKE = Intake.of(SURVEY)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "waiting.db", tmp_path / "batches"


@pytest.fixture
def waiting(place):
    with Arrivals(*place) as own:
        own.register(SURVEY)
        yield own


def reports(count):
    """Reports with ids, as the door has checked them."""
    table = raw_reports(SURVEY, count)
    return table.select([*INTAKE.report_columns, ID_COLUMN]).combine_chunks().to_batches()[0]


def batches(own):
    return [pq.read_table(path) for path in sorted(own.folder.iterdir())]


def rows(tables):
    """The multiset of reports, whatever their ids and order."""
    return collections.Counter(
        row
        for table in tables
        for row in zip(*(table.column(c).to_pylist() for c in INTAKE.report_columns), strict=True)
    )


def test_a_batch_leaves_as_soon_as_it_is_full_and_holds_reports_alone(waiting):
    sent = reports(USERS + 30)
    assert waiting.take(INTAKE, [sent.slice(0, USERS - 1)], "http") == USERS - 1
    assert batches(waiting) == []
    assert waiting.take(INTAKE, [sent.slice(USERS - 1)], "http") == 31
    [batch] = batches(waiting)
    assert batch.column_names == list(INTAKE.report_columns)
    assert rows([batch]) == rows([sent.slice(0, USERS)])
    said = ShuffledBatch.from_json(batch.schema.metadata[BATCH_KEY.encode()].decode(), "")
    [path] = waiting.folder.iterdir()
    assert (said.fingerprint, said.reports) == (SURVEY.fingerprint, USERS)
    assert path.name == f"{said.id}.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(own in path.read_bytes() for own in sent.column(ID_COLUMN).to_pylist())


def test_several_batches_in_one_commit_have_ids_of_their_own(waiting):
    sent = reports(3 * USERS + 1)
    waiting.take(INTAKE, [sent], "http")
    assert [batch.num_rows for batch in batches(waiting)] == [USERS] * 3
    assert len({path.name for path in waiting.folder.iterdir()}) == 3


def test_the_order_is_a_new_one(waiting):
    """Of 100 reports of one order, sent twice with other ids, no two batches agree."""
    sent = reports(USERS)
    for _ in range(3):
        ids = pa.array([os.urandom(16) for _ in range(USERS)], pa.binary(16))
        again = [*(sent.column(name) for name in INTAKE.report_columns), ids]
        waiting.take(INTAKE, [pa.RecordBatch.from_arrays(again, sent.schema.names)], "http")
    orders = [batch.to_pylist() for batch in batches(waiting)]
    orders.append(pa.table(sent.select(INTAKE.report_columns)).to_pylist())
    assert all(first != second for at, first in enumerate(orders) for second in orders[:at])


def test_repeats_are_dropped_in_one_commit_in_two_and_between_runs(place):
    sent = reports(USERS + 50)
    for _ in range(3):
        with Arrivals(*place) as own:
            own.register(SURVEY)
            own.take(INTAKE, [sent, sent.slice(20)], "http")
            assert own.take(INTAKE, [sent.slice(7)], "http") == 0
    with Arrivals(*place) as own:
        assert own.take(INTAKE, [reports(50)], "http") == 50
        both = batches(own)
    assert [batch.num_rows for batch in both] == [USERS] * 2


def test_the_store_takes_a_batch_once(place, tmp_path):
    with Arrivals(*place) as own:
        own.register(SURVEY)
        own.take(INTAKE, [reports(2 * USERS)], "http")
    with open_store(None, read_only=False) as store:
        store.register(SURVEY)
        assert [b.reports for b in store.ingest([place[1]])] == [USERS] * 2
        assert [b.known for b in store.ingest([place[1]])] == [True] * 2
        assert int(store.sizes("app").sum()) == 2 * USERS


def test_what_was_full_at_a_kill_is_written_again_under_its_id(place, monkeypatch):
    sent = reports(USERS)
    with Arrivals(*place) as own:
        own.register(SURVEY)
        monkeypatch.setattr(own, "_release", lambda: None)  # killed before the file is there
        own.take(INTAKE, [sent], "http")
        assert batches(own) == []
    written = []

    def killed(self, *given):
        write(self, *given)
        written.append({path.name: path.read_bytes() for path in self.folder.iterdir()})
        raise KeyboardInterrupt

    write = Arrivals._write
    monkeypatch.setattr(Arrivals, "_write", killed)  # killed before what waited is deleted
    for _ in range(2):
        with Arrivals(*place) as own, pytest.raises(KeyboardInterrupt):
            own.tidy()
    monkeypatch.setattr(Arrivals, "_write", write)
    with Arrivals(*place) as own:
        own.tidy()
        written.append({path.name: path.read_bytes() for path in own.folder.iterdir()})
        assert len(written[0]) == 1
        assert written[0] == written[1] == written[2]
        own.tidy()
        assert rows(batches(own)) == rows([sent])


def test_a_batch_that_cannot_be_written_waits_and_nothing_is_refused(place):
    said: list[str] = []
    with Arrivals(*place, said.append) as own:
        own.register(SURVEY)
        own.folder.rmdir()
        own.folder.write_text("a file")
        sent = reports(USERS + 1)
        assert own.take(INTAKE, [sent.slice(0, USERS)], "http") == USERS
        assert said == [f"cannot write a batch to {own.folder}: Not a directory; it waits"]
        own.folder.unlink()
        own.folder.mkdir()
        assert own.take(INTAKE, [sent.slice(USERS)], "http") == 1
        assert rows(batches(own)) == rows([sent.slice(0, USERS)])


def test_ids_and_reports_lie_apart_in_orders_that_tell_nothing(place):
    with Arrivals(*place) as own:
        own.register(SURVEY)
        sent = reports(60)
        for start in range(0, 60, 20):
            own.take(INTAKE, [sent.slice(start, 20)], "http")
    with closing(sqlite3.connect(place[0])) as database:
        tables = {
            name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE sql > ''")
        }
        assert tables == {"surveys", "ids", "waiting", "full_batches", "seen", "statements"}
        ids = [own for (own,) in database.execute("SELECT id FROM ids")]
        places = [own for (own,) in database.execute("SELECT place FROM waiting")]
        assert ids == sorted(sent.column(ID_COLUMN).to_pylist())
        assert places == sorted(places)
        assert not {*places} & {*ids}
        # Without a row number, a table in SQLite is in the order of its key and in no other.
        assert all(
            "WITHOUT ROWID" in sql
            for (sql,) in database.execute(
                "SELECT sql FROM sqlite_schema WHERE name IN ('ids', 'waiting') AND sql > ''"
            )
        )


def test_what_left_is_not_in_the_file_any_more(place):
    sent = reports(USERS)
    with Arrivals(*place) as own:
        own.register(SURVEY)
        own.take(INTAKE, [sent.slice(0, USERS - 1)], "http")
        kept = sqlite3.connect(f"{place[0].as_uri()}?mode=ro&immutable=1", uri=True)
        keys = [key for (key,) in kept.execute("SELECT place FROM waiting")]
        kept.close()
        assert all(key in place[0].read_bytes() for key in keys)
        own.take(INTAKE, [sent.slice(USERS - 1)], "http")
        assert not any(key in place[0].read_bytes() for key in keys)


@pytest.mark.parametrize("jump", [400, -400, 20])
def test_a_clock_that_is_set_wrong_for_a_while_doubles_nothing(waiting, monkeypatch, jump):
    start, sent = date(2026, 3, 1), reports(30)
    for days in (0, 1, 1 + jump, 2, 3):
        today = start + timedelta(days=days)
        monkeypatch.setattr(arrivals, "utc_today", lambda today=today: today)
        waiting.tidy()
        waiting.take(INTAKE, [sent], "http")
    assert waiting._database.execute("SELECT count(*) FROM waiting").fetchone() == (30,)


def test_a_clock_that_is_believed_at_once_doubles(waiting, monkeypatch):
    """Negative control."""
    monkeypatch.setattr(arrivals, "day_of_forgetting", lambda today, _: today)
    with pytest.raises(AssertionError):
        test_a_clock_that_is_set_wrong_for_a_while_doubles_nothing(waiting, monkeypatch, 400)


def test_ids_are_forgotten_after_the_window(waiting, monkeypatch):
    start, sent, window = date(2026, 3, 1), reports(30), SURVEY.schedule.replay_window
    left = []
    for days in (0, window, window + 1):
        today = start + timedelta(days=days)
        monkeypatch.setattr(arrivals, "utc_today", lambda today=today: today)
        if days == 0:
            waiting.take(INTAKE, [sent], "http")
        waiting.tidy()
        left += waiting._database.execute("SELECT count(*) FROM ids").fetchone()
    assert left == [30, 30, 0]


def test_files_and_surveys_that_are_not_of_a_shuffler_are_refused(place, waiting, tmp_path):
    with pytest.raises(SurveyError, match="trusts no shuffler"):
        waiting.register(Intake.read(both_texts()))
    with pytest.raises(QueryError, match="no survey"):
        waiting.intake("other")
    with pytest.raises(StoreError, match="another process uses it"):
        Arrivals(*place)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    with pytest.raises(StoreError, match="not the file of a shuffler"):
        Arrivals(other, place[1])
    other.write_text("text " * 1000)
    with pytest.raises(StoreError, match="not the file of a shuffler"):
        Arrivals(other, place[1])
    with pytest.raises(StoreError, match="cannot use"):
        Arrivals(tmp_path / "none" / "waiting.db", place[1])
