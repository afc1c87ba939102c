"""A folder of reports: what lies in it, who reads it at once, and what breaks off."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import PUBLIC, fake_survey, reports_of, write_csv, write_jsonl
from support.histograms import counts_of
from support.surveys import integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.spark import store as store_module
from ldpsql.spark.counts import count_selection, decode_counts
from ldpsql.spark.folder import Folder, State
from ldpsql.spark.store import SparkStore
from ldpsql.store import Selection
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import IntegrityError, StoreError
from ldpsql_device.survey import utc_today
from ldpsql_lab.simulation import SeededEntropy, accept_everything

pytestmark = pytest.mark.spark


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder whose name has characters that could stand for others."""
    folder = tmp_path / "reports of [2026] {a,b}*"
    folder.mkdir()
    return folder


def open_reports(session: Any, folder: Path | str, survey: Survey | None, **options: Any) -> Store:
    return SparkStore(session, str(folder), survey, **{"read_only": False, **options})


def people(store: Store) -> int:
    return int(store.sizes("app").sum())


def explain(frame: Any) -> str:
    """Spark's physical plan."""
    said = io.StringIO()
    with redirect_stdout(said):
        frame.explain()
    return said.getvalue()


# -- what lies in a folder -----------------------------------------------------------------------


def test_a_file_that_is_no_report_stops_no_other_one_and_every_answer_says_so(
    spark: Any, reports: Path
) -> None:
    """Broken, foreign, empty and half-written files, and such as are none of reports."""
    survey = fake_survey(public=PUBLIC)
    table = reports_of(survey, 400)
    inside = reports / "2026" / "x=1"
    inside.mkdir(parents=True)
    pq.write_table(table.slice(0, 100), inside / "b good.parquet")
    (reports / "a broken.parquet").write_bytes(b"PAR1 and nothing more")
    pq.write_table(reports_of(fake_survey(epsilon="2", public=PUBLIC), 9), reports / "c.parquet")
    (reports / "d empty.parquet").write_bytes(b"")
    (reports / "README.md").write_text("about these reports")
    (reports / "_hidden.csv").write_text("no report")
    write_jsonl(table.slice(100, 100), reports / "e half.jsonl")
    whole = (reports / "e half.jsonl").read_text()
    (reports / "e half.jsonl").write_text("".join(whole.splitlines(keepends=True)[:40]))
    write_csv(table.slice(200, 100), reports / "f.csv")
    rows = (reports / "f.csv").read_bytes()
    (reports / "f.csv").write_bytes(rows[: len(rows) // 2])
    with open_reports(spark, reports, survey) as store:
        with store.snapshot():
            assert people(store) == 140
            said = store.lag()
        assert said is not None
        assert said.startswith("3 files are no reports that count: a broken.parquet cannot be read")
        assert "c.parquet holds reports of another survey" in said
        assert "f.csv" in said
        (reports / "e half.jsonl").write_text(whole)
        (reports / "f.csv").write_bytes(rows)
        (reports / "c.parquet").unlink()
        pq.write_table(table.slice(250), reports / "a broken.parquet")
        with store.snapshot():
            assert (people(store), store.lag()) == (400, None)
        assert sum(batch.reports for batch in store.batches("app")) == 400
    with open_reports(spark, reports, None) as store:
        assert people(store) == 400


def test_files_are_read_once_and_may_go(spark: Any, reports: Path) -> None:
    survey = fake_survey()
    table = reports_of(survey, 60)
    pq.write_table(table.slice(0, 20), reports / "a.parquet")
    with open_reports(spark, reports, survey) as store:
        assert people(store) == 20
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Folder, "read_files", None)  # nothing is read again
            assert people(store) == 20
        (reports / "a.parquet").unlink()
        pq.write_table(table, reports / "b.parquet")
        assert people(store) == 60
        [first, second] = store.batches("app")
        assert (first.reports, second.reports) == (20, 40)


_REFRESH = """
import sys
from support import spark
from ldpsql.spark.store import SparkStore

with SparkStore(spark.start_here(), sys.argv[1], None, read_only=False) as store:
    store.catch_up()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["counts", "ids", "state"])
def test_a_driver_that_is_killed_loses_nothing_and_doubles_nothing(
    spark: Any, reports: Path, kind: str
) -> None:
    """A process with a Spark of its own, by SIGKILL, and its Spark with it, as soon as anything
    new lies there: of the counts, of the ids, or of the state."""
    survey, beside = fake_survey(), reports / "_ldpsql"
    table = reports_of(survey, 90)
    pq.write_table(table.slice(0, 30), reports / "a.parquet")
    with open_reports(spark, reports, survey) as store:
        assert people(store) == 30
    pq.write_table(table.slice(20), reports / "b.parquet")
    before = {*(beside / kind).rglob("*")}
    driver = subprocess.Popen(
        [sys.executable, "-c", _REFRESH, str(reports)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while driver.poll() is None and {*(beside / kind).rglob("*")} <= before:
            time.sleep(0.001)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    with open_reports(spark, reports, None, read_only=True) as store:
        assert people(store) in ((30, 90) if kind == "state" else (30,))
    for _ in range(2):
        with open_reports(spark, reports, None) as store:
            assert people(store) == 90
            assert [batch.reports for batch in store.batches("app")] == [30, 60]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["file://", "file:"])
def test_a_folder_may_have_a_scheme(spark: Any, reports: Path, scheme: str) -> None:
    """As a URL and as Hadoop writes it."""
    survey = fake_survey()
    pq.write_table(reports_of(survey, 20), reports / "a.parquet")
    with open_reports(spark, f"{scheme}{reports}/", survey) as store:
        assert people(store) == 20
    with open_reports(spark, reports, None, read_only=True) as store:
        assert people(store) == 20
        pq.write_table(reports_of(survey, 20, 2), reports / "b.parquet")
        with store.snapshot():
            assert people(store) == 20
            assert store.lag() == "1 new files are not counted: the store is open read-only"


@pytest.mark.slow
def test_a_folder_is_of_one_survey_that_is_named_once(spark: Any, reports: Path) -> None:
    with pytest.raises(StoreError, match="is not known; name its file once"):
        open_reports(spark, reports, None)
    with pytest.raises(StoreError, match="there is no folder"):
        open_reports(spark, reports / "x", fake_survey())
    open_reports(spark, reports, fake_survey()).close()
    with pytest.raises(IntegrityError, match="holds the reports of survey app"):
        open_reports(spark, reports, fake_survey("shop"))


def test_few_reports_make_few_files_however_many_partitions_spark_has(
    spark: Any, reports: Path
) -> None:
    survey, name = fake_survey(), "spark.sql.shuffle.partitions"
    pq.write_table(reports_of(survey, 60), reports / "a.parquet")
    before = spark.conf.get(name)
    spark.conf.set(name, "20")
    try:
        with open_reports(spark, reports, survey) as store:
            assert people(store) == 60
    finally:
        spark.conf.set(name, before)
    for kind in ("ids", "counts"):
        assert len([*(reports / "_ldpsql" / kind).rglob("*.parquet")]) == 1


def test_the_counts_of_a_question_are_in_one_file(
    spark: Any, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or several tasks would decode it, each for a few reports."""
    monkeypatch.setattr(store_module, "_PARTITION", 100)
    survey = design(survey_toml(integer("age", 0, 8), public("group", "int"), mechanism="fourier"))
    rows = pa.table({"age": np.arange(900) % 9, "group": np.arange(900) % 5})
    policy = accept_everything(survey)
    made, _ = randomize_batch(survey, rows, SeededEntropy(1), policy=policy)
    pq.write_table(made, reports / "a.parquet")
    with open_reports(spark, reports, survey) as store:
        store.catch_up()
    files = [*(reports / "_ldpsql" / "counts").rglob("*.parquet")]
    asked = [set(pq.read_table(file)["ldpsql_question"].to_pylist()) for file in files]
    assert len(files) > 1
    assert sum(map(len, asked)) == len(set.union(*asked)) > 1


# -- what Spark does ------------------------------------------------------------------------------


def test_conditions_on_public_columns_are_pushed_down_to_the_files(
    spark: Any, reports: Path
) -> None:
    """Those that every database means the same by; others are left to DuckDB."""
    survey = fake_survey(public=PUBLIC)
    pq.write_table(reports_of(survey, 50), reports / "a.parquet")
    plain, own = '"amount" >= 1 AND "group" IS NULL', "date_part('day', \"day\") = 2"
    with open_reports(spark, reports, survey) as store:
        assert isinstance(store, SparkStore)
        people(store)
        layout = store._layout("app")
        counts = store._read_counts(layout)
        for condition, rest in ((plain, None), (f"{plain} AND {own}", f"{plain} AND {own}")):
            asked = Selection(condition)
            with count_selection(spark, layout, counts, asked, layout.people_columns) as chosen:
                frame, left = chosen
                plan = explain(frame)
            assert left.condition == rest
            assert _pushed(plan) == {"IsNull(group)", "GreaterThanOrEqual(amount,1.0)"}
            assert "ldpsql_answer0" not in plan
        decoding = decode_counts(layout, counts, Selection(plain))
        plan = explain(decoding)
        assert "MapInArrow" in plan
        assert _pushed(plan) == {"IsNull(group)", "GreaterThanOrEqual(amount,1.0)"}
        with count_selection(spark, layout, counts, Selection(own), ()) as (frame, _):
            assert _pushed(explain(frame)) == set()


def _pushed(plan: str) -> set[str]:
    """What the reader of Parquet files picks out by itself, but for values that are there."""
    [found] = [line for line in plan.splitlines() if "PushedFilters: " in line]
    pushed = found.partition("PushedFilters: [")[2].partition("], ReadSchema")[0]
    return {each for each in pushed.split(", ") if each and not each.startswith("IsNotNull")}


# -- several at once -----------------------------------------------------------------------------


def act_once(patch: pytest.MonkeyPatch, moment: str, act: Callable[[], None]) -> None:
    """Act the first time that something is written or looked up beside the reports.

    moment: "before" or "after", and the method of `Folder` that does it.
    """
    when, name = moment.split()
    original, acted = getattr(Folder, name), list[str]()

    def act_beside(folder: Folder, *given: Any) -> Any:
        is_first = not acted
        acted.append(name)
        if is_first and when == "before":
            act()
        result = original(folder, *given)
        if is_first and when == "after":
            act()
        return result

    patch.setattr(Folder, name, act_beside)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "letters"),
    [
        ("before find_state", "00"),
        ("before write_state", "0f"),
        ("before write_state", "f0"),
        ("before write_state", "00"),
        ("after write_state", "00"),
    ],
)
def test_of_two_that_count_at_once_both_count_every_report_once(
    spark: Any, reports: Path, monkeypatch: pytest.MonkeyPatch, moment: str, letters: str
) -> None:
    """One is overtaken before it looks, between looking and writing, where the larger token wins
    and slots are the same or not, and after writing."""
    survey = fake_survey()
    table, letter = reports_of(survey, 90), [letters[0]]
    monkeypatch.setattr(store_module, "token_hex", lambda n: letter[0] + token_hex(n)[1:])
    pq.write_table(table.slice(0, 30), reports / "a.parquet")
    with (
        open_reports(spark, reports, survey) as first,
        open_reports(spark, reports, survey) as second,
    ):
        assert people(first) == 30
        pq.write_table(table.slice(20, 50), reports / "b.parquet")

        def overtake() -> None:
            letter[0] = letters[1]
            pq.write_table(table.slice(60), reports / "c.parquet")
            assert people(second) == 90
            letter[0] = letters[0]

        act_once(monkeypatch, moment, overtake)
        assert people(first) in (70, 90)  # c came after the statement began
        for store in (second, first):
            assert people(store) == 90
            assert sum(batch.reports for batch in store.batches("app")) == 90


@pytest.mark.slow
def test_threads_that_ask_while_files_come_count_every_report_once(
    spark: Any, reports: Path
) -> None:
    survey = fake_survey()
    table, found = reports_of(survey, 100), list[int]()
    with (
        open_reports(spark, reports, survey) as first,
        open_reports(spark, reports, survey) as second,
    ):
        for number in range(2):
            pq.write_table(table.slice(0, 50 + 50 * number), reports / f"{number}.parquet")
            asking = [
                Thread(target=lambda own=own: found.append(people(own)))
                for own in (first, second, second)
            ]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
            assert found == [50 + 50 * number] * 3
            found.clear()


class _Killed(BaseException):
    """Ends a process at once, so that it writes nothing more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    ["before write", "after write", "before write_state", "after write_state", "after find_state"],
)
def test_who_is_killed_loses_nothing_and_doubles_nothing(
    spark: Any, reports: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before the counts are there, between them and the ids, before the state, and after it."""
    survey = fake_survey()
    table = reports_of(survey, 90)
    pq.write_table(table.slice(0, 30), reports / "a.parquet")
    with open_reports(spark, reports, survey) as store:
        assert people(store) == 30
    pq.write_table(table.slice(20), reports / "b.parquet")

    def kill() -> None:
        raise _Killed

    killed = open_reports(spark, reports, survey)
    with monkeypatch.context() as patch:
        act_once(patch, moment, kill)
        with pytest.raises(_Killed):
            people(killed)
    with open_reports(spark, reports, None) as store:
        assert people(store) == 90
        assert [batch.reports for batch in store.batches("app")] == [30, 60]
        assert people(killed) == 90  # it lived on, and forgot what nobody keeps


@pytest.mark.slow
def test_a_state_that_cannot_be_kept_is_none(
    spark: Any, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = fake_survey()
    pq.write_table(reports_of(survey, 20), reports / "a.parquet")

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with open_reports(spark, reports, survey) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "write_state", fail)
            with pytest.raises(StoreError, match="the disk is full"):
                people(store)
        assert people(store) == 20


@pytest.mark.slow
def test_ids_are_deleted_once_no_device_sends_their_reports_again(
    spark: Any, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, kept = fake_survey(), reports / "_ldpsql" / "ids"
    day = utc_today()
    for number in range(3):
        # A day is believed once the one before was seen: the second one forgets nothing.
        monkeypatch.setattr("ldpsql.store.store.utc_today", lambda day=day: day)
        pq.write_table(reports_of(survey, 20, number), reports / f"{number}.parquet")
        with open_reports(spark, reports, survey) as store:
            assert people(store) == 20 * (number + 1)
        there = pa.concat_tables(map(pq.read_table, kept.rglob("*.parquet"))).num_rows
        assert there == (20, 40, 40)[number]
        day = survey.schedule.last_sending_day(day) + timedelta(days=number + 1)


@pytest.mark.slow
def test_a_refresh_by_hand_joins_the_counts(spark: Any, reports: Path) -> None:
    survey = fake_survey(public=PUBLIC)
    table = reports_of(survey, 60)
    with open_reports(spark, reports, survey) as store:
        for number in range(2):
            pq.write_table(table.slice(30 * number, 30), reports / f"{number}.parquet")
            assert people(store) == 30 * (number + 1)
        before = counts_of(store.histograms("app", Selection())[0][1], 3)
        assert isinstance(store, SparkStore)
        assert len(store._known_folders("counts")) == 2
        store.refresh("app")
        assert len(store._known_folders("counts")) == 1
        assert counts_of(store.histograms("app", Selection())[0][1], 3) == before
        assert before.total() == 60
    with open_reports(spark, reports, None) as store:
        assert counts_of(store.histograms("app", Selection())[0][1], 3) == before


def test_the_last_state_is_that_of_the_largest_number() -> None:
    states = [State(2, "a"), State(10, "0"), State(10, "b"), State(9, "f")]
    assert max(states) == State(10, "b")
    assert {state.slot for state in states} == {"0a", "00", "0b", "1f"}
