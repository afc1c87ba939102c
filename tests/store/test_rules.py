"""Which files a store takes, as reports of which survey, and which shuffled batches."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.fake_survey import fake_survey, reports_of
from support.planned_survey import both_texts, device_reports, device_text
from support.shuffled_survey import USERS, raw_reports, shuffled_survey
from support.surveys import ANYTHING

from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.randomize.table import randomize_batch
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.intake import Intake, expand
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import FingerprintError, ReportError, SurveyError
from ldpsql_device.schema import Schema
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_device.survey import sha256


@pytest.fixture(scope="module")
def survey():
    return shuffled_survey()


@pytest.fixture(scope="module")
def batch(survey):
    return shuffle_table(survey, raw_reports(survey, USERS))


def saying(table, text):
    """The table with another statement about its shuffling; None for none."""
    metadata = dict(table.schema.metadata)
    metadata.pop(BATCH_KEY.encode())
    if text is not None:
        metadata[BATCH_KEY.encode()] = text.encode()
    return table.replace_schema_metadata(metadata)


def small(survey, batch, count):
    return saying(batch.slice(0, count), ShuffledBatch(survey.fingerprint, count).to_json())


def refused(survey, table, words, kind=ReportError, **options):
    """Nothing of the table is taken."""
    with open_store(None, read_only=False) as store:
        with pytest.raises(kind, match=words):
            store.ingest_table(table, survey, **options)
        assert store.surveys() == []


def test_text_says_nothing_of_its_shuffling(survey, batch, tmp_path):
    pacsv.write_csv(batch, tmp_path / "batch.csv")
    with open_store(None, read_only=False) as store:
        with pytest.raises(ReportError, match="was not shuffled"):
            store.ingest([tmp_path / "batch.csv"], survey=survey)
        assert store.smallest_batch("app") is None


def test_raw_reports_in_memory_are_refused(survey, batch):
    refused(survey, raw_reports(survey, USERS), "was not shuffled")
    refused(survey, saying(batch, None), "was not shuffled", accept_smaller_batch=True)


def test_a_statement_must_fit(survey, batch):
    refused(survey, saying(batch, "{}"), "shuffle it again")
    other = ShuffledBatch("0" * 64, USERS).to_json()
    refused(survey, saying(batch, other), "shuffled for another survey", FingerprintError)
    more = ShuffledBatch(survey.fingerprint, USERS + 1).to_json()
    refused(survey, saying(batch, more), "1,000 reports, but 1,001 were shuffled")
    refused(survey, batch.slice(1), "999 reports, but 1,000 were shuffled")


def test_a_small_batch_is_refused_with_what_it_keeps(survey, batch):
    found = format(find_epsilon(survey.design, survey.shuffled, 400), "f")
    refused(
        survey, small(survey, batch, 400), rf"keeps epsilon {found} and not 1; nothing was taken"
    )


def test_skipping_bad_rows_does_not_make_a_batch_smaller_unseen(survey, batch):
    rows = batch.to_pylist()
    rows[5][batch.column_names[0]] = survey.design.report_format.types
    bad = type(batch).from_pylist(rows, schema=batch.schema)
    refused(survey, bad, "999 reports, fewer than the 1,000", skip_invalid=True)


def test_local_surveys_ask_nothing_of_their_reports(survey):
    local = Survey.of("app", survey.schema, "1", "hio")
    with open_store(None, read_only=False) as store:
        assert store.ingest_table(raw_reports(local, 10), local).reports == 10


# -- files and whose reports they hold ------------------------------------------------------------


def test_files_directories_and_globs_are_expanded_in_order(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.parquet", "a.csv", "sub/c.ndjson", "sub/notes.txt"):
        (tmp_path / name).touch()
    found = [tmp_path / "a.csv", tmp_path / "b.parquet", tmp_path / "sub/c.ndjson"]
    assert expand([tmp_path], SUFFIXES) == found
    assert expand([str(tmp_path / "*.csv"), tmp_path / "b.parquet"], SUFFIXES) == found[:2]
    assert expand([str(tmp_path / "**/*.ndjson")], SUFFIXES) == found[2:]


@pytest.mark.parametrize(
    ("given", "reason"),
    [("x.parquet", "no file"), ("*.csv", "no file matches"), (".", "no report file")],
)
def test_names_without_files_are_refused(tmp_path, given, reason):
    with pytest.raises(ReportError, match=reason):
        expand([str(tmp_path / given)], SUFFIXES)


def test_a_file_names_a_survey_that_may_lie_beside_it(store, tmp_path):
    """It is found by its hash, whatever its name; one that was changed is another one."""
    survey = fake_survey()
    pq.write_table(reports_of(survey, 10), tmp_path / "r.parquet")
    with pytest.raises(FingerprintError, match="does not know; give the survey"):
        store.ingest([tmp_path])
    path = tmp_path / "any.json"
    survey.write(path)
    published = path.read_text()
    path.write_text(published.replace('"epsilon":"1"', '"epsilon":"9"'))
    with pytest.raises(FingerprintError, match="does not know; give the survey"):
        store.ingest([tmp_path])
    assert store.surveys() == []
    path.write_text(published)
    assert store.ingest([tmp_path])[0].reports == 10


def test_the_only_survey_takes_files_that_name_none(store, tmp_path):
    survey = fake_survey()
    pq.write_table(reports_of(survey, 10, signed=False), tmp_path / "r.parquet")
    with pytest.raises(ReportError, match="does not say to which survey"):
        store.ingest([tmp_path])
    store.register(survey)
    assert store.ingest([tmp_path])[0].reports == 10
    store.register(fake_survey("shop"))
    pq.write_table(reports_of(survey, 10, 1, signed=False), tmp_path / "r.parquet")
    with pytest.raises(ReportError, match="store has 2"):
        store.ingest([tmp_path])


# -- surveys of which a device's part is all there is ----------------------------------------------


def test_reports_are_taken_without_the_collector_s_part_and_answers_need_it(tmp_path):
    (tmp_path / "people.survey.json").write_text(device_text())
    pq.write_table(device_reports(50), tmp_path / "r.parquet")
    with open_store(None, read_only=False) as store:
        assert store.ingest([tmp_path])[0].reports == 50
        assert store.sizes("PEOPLE").tolist() == [50]
        assert store.surveys() == []
        with pytest.raises(QueryError, match="not the collector's part"):
            store.survey("people")
        # The same survey with its other part: nothing is counted anew, and now it is complete.
        assert store.ingest([tmp_path], survey=Intake.read(both_texts()))[0].known
        assert store.intake("people").is_complete
        pq.write_table(device_reports(20), tmp_path / "s.parquet")
        store.ingest([tmp_path])
        assert store.intake("people").is_complete
        assert store.sizes("people").tolist() == [70]


def test_a_hostile_survey_beside_a_file_is_refused(tmp_path):
    text = device_text().replace('"epsilon":"1"', '"epsilon":"0.1"')
    (tmp_path / "people.survey.json").write_text(text)
    named = {b"ldpsql.fingerprint": sha256(text).encode()}
    pq.write_table(device_reports(5).replace_schema_metadata(named), tmp_path / "r.parquet")
    with (
        open_store(None, read_only=False) as store,
        pytest.raises(SurveyError, match="does not keep its promise"),
    ):
        store.ingest([tmp_path])


def test_the_collector_s_part_may_come_after_the_reports():
    schema = Schema.from_keys({"dimension": {"age": {"type": "int", "domain": [0, 9]}}})
    survey = Survey.of("people", schema, "2", "fourier")
    table = pa.table({"age": [i % 10 for i in range(200)]})
    reports, _ = randomize_batch(
        DeviceSurvey.from_json(survey.device_text), table, OsEntropy(), policy=ANYTHING
    )
    with open_store(None, read_only=False) as store:
        store.register(Intake.read(survey.device_text))
        assert store.ingest_table(reports).reports == 200
        with pytest.raises(QueryError, match="not the collector's part"):
            Session(store).execute("SELECT COUNT(*) FROM people")
        store.register(survey)
        assert Session(store).execute("SELECT COUNT(*) AS n FROM people").reports == 200
        assert store.surveys() == [survey]
