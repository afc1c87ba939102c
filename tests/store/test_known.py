"""Which ids may be there: none that is, is ever missed, and every repeat is dropped."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from support.planned_survey import both_texts, device_text
from support.surveys import ANYTHING

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store import database, known, open_store
from ldpsql.store.incoming import check_sent
from ldpsql.store.intake import Intake
from ldpsql.store.known import KnownIds
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.survey import Survey

SURVEY, INTAKE = Survey.from_json(device_text()), Intake.read(both_texts())


def hashes(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("part", [1, 100, 30_000])
def test_what_was_added_is_found_and_little_else(part):
    ids, filled = hashes(60_000), KnownIds(30_000)
    for start in range(0, len(ids), part) if part > 1 else range(600):
        filled.add(ids[start : start + part])
    added = 60_000 if part > 1 else 600
    assert filled.find(ids[:added]).all()
    assert filled.room == known._LEAST - added
    # A full one takes 12 of 100,000 for known.
    assert filled.find(hashes(100_000, 1)).sum() <= 60


def test_equal_hashes_and_those_of_one_place_are_kept_apart():
    filled = KnownIds(10)
    filled.add(np.array([0, 0, 1, 2**64 - 1], dtype=np.uint64))
    assert filled.find(np.array([0, 1, 2**64 - 1], dtype=np.uint64)).all()


def make_reports(count):
    lines = [respond(SURVEY, {"age": 3}, policy=ANYTHING).to_json().encode() for _ in range(count)]
    found, refused = check_sent(INTAKE, lines)
    assert refused == []
    return found


def count_by_commits(store, seed, monkeypatch):
    """Take random bodies with repeats, one by one, in files, and some whose commit fails: how many
    reports are new by what was there before, and how many by the store."""
    generator, pool, seen, counted = random.Random(seed), make_reports(400), set(), 0
    ids = pool.column(ID_COLUMN).to_pylist()

    def fails(*_):
        raise StoreError("the disk is full")

    for _ in range(20):
        rows = generator.choices(range(len(ids)), k=generator.choice((1, 5, 60)))
        body, way = pool.take(pa.array(rows)), generator.choice(("take", "take", "file", "fails"))
        if way == "fails":
            with monkeypatch.context() as patch, pytest.raises(StoreError):
                patch.setattr(database, "make_log", fails)  # the last thing before the commit
                store.take(INTAKE, [body], "http")
            continue
        if way == "take":
            counted += store.take(INTAKE, [body], "http")
        else:
            counted += store.ingest_table(pa.Table.from_batches([body]), INTAKE).reports
        seen |= {ids[row] for row in rows}
    assert store.sizes("people").sum() == counted
    return len(seen), counted


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(3))
def test_every_repeat_is_dropped_whatever_brings_it(monkeypatch, seed):
    """Filters are made anew again and again, and are so full that they take many for known."""
    monkeypatch.setattr(known, "_LEAST", 16)
    monkeypatch.setattr(known, "_BITS", 8)
    with open_store(None, read_only=False) as store:
        store.register(INTAKE)
        expected, counted = count_by_commits(store, seed, monkeypatch)
        assert counted == expected
        store.remove_survey("people")
        store.register(INTAKE)
        assert count_by_commits(store, seed, monkeypatch) == (expected, expected)


def test_what_another_store_of_this_process_took_is_known(tmp_path):
    """DuckDB lets a process open a file twice."""
    reports = make_reports(30)
    first_ten, others = reports.slice(0, 10), reports.slice(10)
    path = tmp_path / "s.duckdb"
    with open_store(path, read_only=False) as one, open_store(path, read_only=False) as other:
        one.register(INTAKE)
        for store, body, new in (
            (one, first_ten, 10),
            (other, reports, 20),
            (one, others, 0),
            (one, reports, 0),
            (other, first_ten, 0),
        ):
            assert store.take(INTAKE, [body], "http") == new
        assert one.sizes("people").sum() == 30


def test_the_same_one_is_kept_while_nothing_else_adds_ids(monkeypatch):
    made, make = [], KnownIds.of
    monkeypatch.setattr(KnownIds, "of", lambda *given: (made.append(True), make(*given))[1])
    with open_store(None, read_only=False) as store:
        store.register(INTAKE)
        reports = make_reports(12)
        for number in range(6):
            assert store.take(INTAKE, [reports.slice(2 * number, 2)], "http") == 2
            assert store.take(INTAKE, [reports.slice(2 * number, 2)], "http") == 0
    assert len(made) == 1


def test_with_one_that_forgets_repeats_are_counted(monkeypatch):
    """So the test above can fail."""
    monkeypatch.setattr(KnownIds, "add", lambda *_: None)
    with open_store(None, read_only=False) as store:
        store.register(INTAKE)
        expected, counted = count_by_commits(store, 0, monkeypatch)
        assert counted > expected
