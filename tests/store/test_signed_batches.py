"""Batches that a shuffler signed: a collector that names the shuffler takes these and no others."""

from __future__ import annotations

import json
import os
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shuffled_survey import USERS, raw_reports, shuffled_survey

from ldpsql.dbapi.connection import connect
from ldpsql.reports.permutation import in_random_order
from ldpsql.shuffler import shuffle_reports, shuffle_table
from ldpsql.store import open_store, shuffled_batch
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch, pack_reports
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import InterfaceError, NotSupportedError, ReportError
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import canonical

SURVEY = shuffled_survey()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return [SigningKey.create(folder / f"{name}.key") for name in ("own", "other")]


@pytest.fixture(scope="module")
def reports():
    return raw_reports(SURVEY, USERS + 5)


@pytest.fixture(scope="module")
def batch(reports, keys):
    return shuffle_table(SURVEY, reports, key=keys[0])


def said(table):
    return json.loads(table.schema.metadata[BATCH_KEY.encode()])


def saying(table, **changes):
    data = {key: value for key, value in (said(table) | changes).items() if value is not None}
    given = {**table.schema.metadata, BATCH_KEY.encode(): canonical(data).encode()}
    return table.replace_schema_metadata(given)


def take(table, *named):
    with open_store(None, read_only=False) as store:
        try:
            return store.ingest_table(table, SURVEY, shufflers=named).reports
        finally:
            kept = sum(int(store.sizes(own.table).sum()) for own in store.surveys())
            assert kept in (0, table.num_rows)


def refused(table, words, *named):
    with pytest.raises(ReportError, match=words):
        take(table, *named)


def test_a_batch_of_the_named_shuffler_is_taken(batch, keys):
    own, other = (key.author for key in keys)
    assert take(batch, own) == take(batch, other, own) == take(batch) == USERS + 5
    assert said(batch).keys() == {
        *("format", "fingerprint", "reports", "id", "digest", "day", "shuffler", "signature")
    }
    assert date.fromisoformat(said(batch)["day"])


def test_batches_of_nobody_and_of_others_are_refused(batch, reports, keys):
    own, other = (key.author for key in keys)
    refused(shuffle_table(SURVEY, reports), "signed by nobody", own)
    refused(
        batch, rf"signed by another one \({own[:12]}\), .* from the shuffler {other[:12]}", other
    )
    signed = {"signature": None, "shuffler": None, "digest": None, "day": None}
    refused(saying(batch, **signed), "signed by nobody", own)
    claimed = shuffle_table(SURVEY, reports, key=keys[1])
    refused(saying(claimed, shuffler=own), "signature is not the shuffler's", own)


@pytest.mark.parametrize(
    "change",
    [
        {"day": "2026-01-31"},
        {"id": os.urandom(16).hex()},
        {"digest": "0" * 64},
        {"signature": "0" * 128},
    ],
)
def test_whatever_is_changed_of_the_statement_is_noticed(batch, keys, change):
    refused(saying(batch, **change), "the statement about the batch was changed", keys[0].author)


def test_whatever_is_changed_of_the_reports_is_noticed(batch, keys):
    """Others in their place, one of them, or their order; the signature alone says nothing."""
    own = keys[0].author
    name, numbers = batch.column_names[1], batch.column(1).to_pylist()
    numbers[3] = 1 - min(numbers[3], 1)
    one = batch.set_column(1, batch.schema.field(name), pa.array(numbers, batch.column(1).type))
    others = shuffle_table(SURVEY, raw_reports(SURVEY, USERS + 5))
    for changed in (one, in_random_order(batch, OsEntropy()), others):
        wrong = changed.replace_schema_metadata(batch.schema.metadata)
        refused(wrong, "its reports are not the ones that the shuffler signed", own)
        refused(wrong, "its reports are not the ones that the shuffler signed")
    short = saying(batch.slice(0, USERS), reports=USERS)
    refused(short, "the statement about the batch was changed", own)


def test_a_signature_whose_digest_nobody_compares_vouches_for_any_reports(batch, keys, monkeypatch):
    """Negative control."""

    signed = pack_reports(Intake.of(SURVEY), batch)
    monkeypatch.setattr("ldpsql.store.incoming.pack_reports", lambda *_: signed)
    other = shuffle_table(SURVEY, raw_reports(SURVEY, USERS + 5)).replace_schema_metadata(
        batch.schema.metadata
    )
    assert take(other, keys[0].author) == USERS + 5


def test_files_are_as_tables(keys, tmp_path):
    raw, path = tmp_path / "raw.parquet", tmp_path / "batch.parquet"
    pq.write_table(raw_reports(SURVEY, USERS), raw)
    shuffle_reports(SURVEY, [raw], path, key=keys[0])
    with open_store(None, read_only=False) as store:
        with pytest.raises(ReportError, match=r"batch\.parquet is signed by another one"):
            store.ingest([path], survey=SURVEY, shufflers=[keys[1].author])
        assert store.ingest([path], survey=SURVEY, shufflers=[keys[0].author])[0].reports == USERS
        assert store.ingest([path], survey=SURVEY, shufflers=[keys[0].author])[0].known


def test_rows_are_not_left_out_of_what_was_signed(batch, keys):
    rows = batch.to_pylist()
    rows[7][batch.column_names[0]] = SURVEY.design.report_format.types
    bad = type(batch).from_pylist(rows, schema=batch.schema)
    with (
        open_store(None, read_only=False) as store,
        pytest.raises(ReportError, match="not the ones that the shuffler signed"),
    ):
        store.ingest_table(bad, SURVEY, shufflers=[keys[0].author], skip_invalid=True)


@pytest.mark.parametrize(
    "change",
    [
        {"day": None},
        {"day": "tomorrow"},
        {"digest": "x"},
        {"shuffler": "00" * 32},
        {"signature": 5},
        {"more": 1},
        {"format": 2},
        {"reports": "1000"},
    ],
)
def test_statements_that_no_shuffler_writes_are_refused(batch, change):
    with pytest.raises(ReportError, match="shuffle it again"):
        ShuffledBatch.from_json(canonical(said(saying(batch, **change))), "batch.parquet")


def test_a_shuffler_is_named_by_a_public_key(batch):
    with pytest.raises(InterfaceError, match="64 hexadecimal digits, not by 'mixer'"):
        take(batch, "mixer")
    with pytest.raises(InterfaceError, match="64 hexadecimal digits"):
        take(batch, "AB" * 32)


def test_without_the_library_nothing_is_taken_on_trust(batch, keys, monkeypatch):
    def missing(*_):
        raise NotSupportedError("signatures need the library cryptography")

    monkeypatch.setattr(shuffled_batch, "verify", missing)
    with open_store(None, read_only=False) as store:
        with pytest.raises(NotSupportedError):
            store.ingest_table(batch, SURVEY, shufflers=[keys[0].author])
        assert store.surveys() == []


def test_a_connection_names_shufflers_too(batch, keys):
    with connect(":memory:") as connection:
        with pytest.raises(ReportError, match="signed by another one"):
            connection.ingest(batch, survey=SURVEY, shufflers=[keys[1].author])
        [taken] = connection.ingest(batch, survey=SURVEY, shufflers=[keys[0].author])
        assert taken.reports == USERS + 5
