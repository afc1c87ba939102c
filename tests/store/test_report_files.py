from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_survey import UNARY, fake_survey, reports_of, with_new_ids
from support.report_rows import find_refused
from support.tiers import examples

from ldpsql.randomize.table import append_ids
from ldpsql.store import open_store
from ldpsql.store.report_files import LONGEST_TEXT
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import PublicColumn

ROW = {"ldpsql_question": [0], "ldpsql_answer0": [4], "ldpsql_answer1": [2]}


def with_id(columns):
    """Reports of people of their own."""
    return append_ids(pa.table(columns))


def refusal(store, survey, columns):
    with pytest.raises(ReportError) as caught:
        store.ingest_table(with_id(columns), survey)
    return str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("ldpsql_question", 3, "ldpsql_question is out of range"),
        ("ldpsql_question", -1, "ldpsql_question is not a whole number"),
        ("ldpsql_question", 256, "ldpsql_question is not a whole number"),
        ("ldpsql_question", None, "ldpsql_question is missing"),
        ("ldpsql_answer0", 5, "ldpsql_answer0 is out of range"),
        ("ldpsql_answer0", None, "ldpsql_answer0 is missing"),
        ("ldpsql_answer1", 3, "ldpsql_answer1 is out of range"),
        ("ldpsql_answer1", 1 << 40, "ldpsql_answer1 is not a whole number"),
    ],
)
def test_a_row_outside_the_limits_of_its_group_is_refused(store, column, value, reason):
    columns = {**ROW, column: pa.array([value], pa.int64())}
    said = refusal(store, fake_survey(), columns)
    assert f"row 1: {reason}" in said


def test_limits_are_those_of_the_row_s_own_group(store):
    good = {
        "ldpsql_question": [0, 1, 2],
        "ldpsql_answer0": [4, 0, 299],
        "ldpsql_answer1": [2, 1, 7],
    }
    assert store.ingest_table(with_id(good), fake_survey()).reports == 3
    assert "row 2: ldpsql_answer0" in refusal(
        store, fake_survey(), {**good, "ldpsql_answer0": [4, 1, 299]}
    )


def test_a_column_that_is_not_whole_numbers_is_refused(store):
    said = refusal(store, fake_survey(), {**ROW, "ldpsql_answer0": [4.0]})
    assert "'ldpsql_answer0' is double, it must be int" in said


def test_a_missing_column_is_named(store):
    assert "'ldpsql_answer1' is missing" in refusal(
        store, fake_survey(), {"ldpsql_question": [0], "ldpsql_answer0": [0]}
    )


def test_a_column_too_many_is_told_by_its_position_and_never_by_name_or_content(store):
    said = refusal(store, fake_survey(), {**ROW, "salary": ["secret"]})
    assert "column 4 is not part of a report" in said
    assert "salary" not in said
    assert "secret" not in said
    assert '"ldpsql_question", "ldpsql_answer0", "ldpsql_answer1"' in said


def test_bits_beyond_those_of_a_group_are_refused(store):
    survey = fake_survey(options=UNARY)
    row = {"ldpsql_question": [1], "ldpsql_answer0": [(1 << 20) - 1], "ldpsql_answer1": [0]}
    assert store.ingest_table(with_id(row), survey).reports == 1
    assert "ldpsql_answer0" in refusal(store, survey, {**row, "ldpsql_answer0": [1 << 20]})
    assert "ldpsql_answer1" in refusal(store, survey, {**row, "ldpsql_answer1": [1]})


GOOD = {
    "int": [-3],
    "float": [0.5],
    "text": ["Ünïcode, 'quoted'"],
    "bool": [True],
    "date": [date(2026, 1, 1)],
    "timestamp": [datetime(2026, 1, 1, 12, 30)],
}
WRONG = {
    "int": [0.5],
    "float": ["a"],
    "text": [1],
    "bool": [1],
    "date": [datetime(2026, 1, 1)],
    "timestamp": ["2026-01-01"],
}


@pytest.mark.parametrize("kind", GOOD)
def test_public_columns_have_their_declared_type(store, kind):
    survey = fake_survey(public=[PublicColumn("p", kind)])
    assert store.ingest_table(with_id({**ROW, "p": GOOD[kind]}), survey).reports == 1
    assert f"it must be {kind}" in refusal(store, survey, {**ROW, "p": WRONG[kind]})
    with store._read_snapshot() as cursor:
        assert cursor.execute('SELECT "p" FROM reports_app').fetchall() == [(GOOD[kind][0],)]


@pytest.mark.parametrize("kind", GOOD)
def test_a_missing_public_value_is_taken(store, kind):
    column = pa.array([None], pa.array(GOOD[kind]).type)
    survey = fake_survey(public=[PublicColumn("p", kind)])
    assert store.ingest_table(with_id({**ROW, "p": column}), survey).reports == 1
    assert store.ingest_table(with_id({**ROW, "p": pa.nulls(1)}), survey).reports == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_float_must_be_finite(store, value):
    survey = fake_survey(public=[PublicColumn("p", "float")])
    assert "p is not finite" in refusal(store, survey, {**ROW, "p": [value]})


@pytest.mark.parametrize("value", [1.7e308, -1.1e100])
def test_a_float_that_could_void_every_sum_is_refused(store, value):
    survey = fake_survey(public=[PublicColumn("p", "float")])
    assert "p is too large to be summed" in refusal(store, survey, {**ROW, "p": [value]})
    assert store.ingest_table(with_id({**ROW, "p": [1e100]}), survey).reports == 1


@pytest.mark.parametrize(
    ("kind", "bounds", "values"),
    [("float", (0.0, 80.0), [1e99, 80.1, -0.1]), ("int", (0, 80), [81, -1, 2**62])],
)
def test_a_public_number_beyond_its_bounds_is_refused(store, kind, bounds, values):
    """A device sends the nearer bound in its place, so nobody's report holds it."""
    survey = fake_survey(public=[PublicColumn("p", kind, bounds=bounds)])
    for value in values:
        assert "p is beyond its bounds" in refusal(store, survey, {**ROW, "p": [value]})
    for value in (*bounds, None):
        column = pa.array([value], pa.int64() if kind == "int" else pa.float64())
        assert store.ingest_table(with_id({**ROW, "p": column}), survey).reports == 1


def test_a_public_text_has_a_bound(store):
    survey = fake_survey(public=[PublicColumn("p", "text")])
    rows = reports_of(survey, 2)
    place = rows.column_names.index("p")
    for text, taken in (("\u00e9" * (LONGEST_TEXT // 2), 2), ("\u00e9" * LONGEST_TEXT, 1)):
        texts = pa.array(["a", text])
        given = with_new_ids(rows.set_column(place, "p", texts))
        if taken == 1:
            with pytest.raises(ReportError, match="row 2: p is longer than 65,536 bytes"):
                store.ingest_table(given, survey)
        assert store.ingest_table(given, survey, skip_invalid=True).reports == taken


def test_a_public_whole_number_must_fit_64_bits(store):
    survey = fake_survey(public=[PublicColumn("p", "int")])
    column = pa.array([1 << 63], pa.uint64())
    assert "p is not of type int" in refusal(store, survey, {**ROW, "p": column})


def test_time_zones_are_refused(store):
    survey = fake_survey(public=[PublicColumn("p", "timestamp")])
    column = pa.array([0], pa.timestamp("us", "UTC"))
    assert "it must be timestamp" in refusal(store, survey, {**ROW, "p": column})


def test_public_columns_may_have_any_name(store):
    names = [
        "question",
        "group",
        "bit",
        "count",
        "n",
        "line",
        "json",
        "fault",
        "number",
        "select",
    ]
    survey = fake_survey(public=[PublicColumn(name, "int") for name in names])
    columns = {**ROW, **{name: [i] for i, name in enumerate(names)}}
    assert store.ingest_table(with_id(columns), survey).reports == 1
    bad = {**columns, "ldpsql_answer0": [99]}
    assert "row 1: ldpsql_answer0" in refusal(store, survey, bad)


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("int", pa.array([7], pa.uint64()), 7),
        ("float", pa.array([7], pa.int8()), 7.0),
        ("float", pa.array([1 << 60]), float(1 << 60)),
        ("float", pa.array([0.5], pa.float16()), 0.5),
        ("float", pa.array([Decimal("0.5")]), 0.5),
        ("text", pa.array(["a"], pa.large_string()), "a"),
        ("text", pa.array(["a"]).dictionary_encode(), "a"),
        ("date", pa.array([date(2026, 1, 1)], pa.date64()), date(2026, 1, 1)),
        ("timestamp", pa.array([date(2026, 1, 1)]), datetime(2026, 1, 1)),
        ("timestamp", pa.array([1], pa.timestamp("s")), datetime(1970, 1, 1, 0, 0, 1)),
        ("timestamp", pa.array([1_500], pa.timestamp("ns")), datetime(1970, 1, 1, 0, 0, 0, 1)),
    ],
)
def test_related_arrow_types_are_taken(store, kind, column, value):
    survey = fake_survey(public=[PublicColumn("p", kind)])
    assert store.ingest_table(with_id({**ROW, "p": column}), survey).reports == 1
    with store._read_snapshot() as cursor:
        assert cursor.execute("SELECT p FROM reports_app").fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("date", pa.array([(1 << 31) - 1], pa.int32()).view(pa.date32())),
        ("date", pa.array([-(1 << 31)], pa.int32()).view(pa.date32())),
        ("timestamp", pa.array([(1 << 63) - 1]).view(pa.timestamp("us"))),
        ("timestamp", pa.array([1 << 60]).view(pa.timestamp("s"))),
        ("timestamp", pa.array([-(1 << 62)]).view(pa.timestamp("ms"))),
    ],
)
def test_moments_that_no_calendar_has_are_refused(store, kind, column):
    """Infinities of DuckDB among them, and those that would wrap around in microseconds."""
    survey = fake_survey(public=[PublicColumn("p", kind)])
    assert f"p is not of type {kind}" in refusal(store, survey, {**ROW, "p": column})


def test_report_columns_may_be_wider_in_files_than_their_values(store):
    survey = fake_survey(options={"limits": [[1 << 30, 2]]})
    row = {**ROW, "ldpsql_answer1": [1]}
    for kind in (pa.uint64(), pa.int64()):
        good = {**row, "ldpsql_answer0": pa.array([(1 << 30) - 1], kind)}
        assert store.ingest_table(with_id(good), survey).reports == 1
    for value in (1 << 30, (1 << 64) - 1):
        bad = {**row, "ldpsql_answer0": pa.array([value], pa.uint64())}
        assert "row 1: ldpsql_answer0" in refusal(store, survey, bad)


@settings(max_examples=examples(25))
@given(
    st.lists(
        st.tuples(st.integers(-1, 4), st.integers(-1, 301), st.integers(-1, 9)),
        min_size=1,
        max_size=20,
    )
)
def test_stores_and_formats_agree_on_what_a_report_is(rows):
    survey = fake_survey()
    array = np.array(rows)
    table = pa.table({name: array[:, i] for i, name in enumerate(ROW)})
    negative = (array < 0).any(axis=1)
    # As unsigned numbers, negative ones are too large for any limit.
    unsigned = {
        name: array[:, i].astype(np.uint64)
        for i, name in enumerate(survey.design.report_format.columns)
    }
    refused = find_refused(survey.design.report_format, unsigned)
    assert set(np.flatnonzero(negative)) <= set(refused.tolist())
    with open_store(None, read_only=False) as store:
        batch = store.ingest_table(append_ids(table), survey, skip_invalid=True)
    assert batch.skipped == len(refused)
