"""Reports of a table: the same codes as one by one, and misfits by column and row."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import (
    ANYTHING,
    EVERY_TYPE,
    MIXED_RECORD,
    TOML,
    CountedEntropy,
    app,
    mix,
    people,
)

from ldpsql.designer import design
from ldpsql.simulation import SeededEntropy
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.columns import dimension_codes, measure_numbers, public_column
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Dimension, Measure, PublicColumn
from ldpsql_device.table import Tally, randomize, randomize_batch
from ldpsql_device.values import BOOL, Listed, float_edges, int_domain, time_range

DAY = Dimension("x", time_range("date", "2026-01-01", "2026-01-31", "day"))
HOUR = Dimension("x", time_range("timestamp", "1969-12-31", "1970-01-02", "hour"))
AGE = Dimension("x", int_domain(18, 90))
TENS = Dimension("x", int_domain(0, 95, bin_width=10))
PRICE = Dimension("x", float_edges([0, 1.5, 10, 500]))
STATE = Dimension("x", Listed("category", ("CA", "NY", "WA")), "value")
NUMBERED = Dimension("x", Listed("category", (7, 3)))
FLAG = Dimension("x", BOOL)


def column_codes(dimension, column):
    """Codes as a list, None where a misfit lies."""
    codes, misfits = dimension_codes(dimension, column)
    result = codes.tolist()
    for misfit in misfits:
        for row in np.flatnonzero(misfit.rows):
            result[row] = None
    return result


def single_codes(dimension, values):
    result = []
    for value in values:
        try:
            result.append(dimension.code(value))
        except RecordError:
            result.append(None)
    return result


WHEN = [datetime(1969, 12, 30, 23), datetime(1969, 12, 31), datetime(1970, 1, 1, 5, 30), None]
CASES = [
    (AGE, [18, 90, 17, 91, None], [pa.int8(), pa.int64(), pa.uint8(), pa.float32(), pa.float64()]),
    (AGE, [2**64 - 1, 2**63, 20], [pa.uint64()]),
    (AGE, [-(2**63), 2**63 - 1, 20], [pa.int64()]),
    (AGE, [30.0, 30.5, float("nan"), float("inf"), 1e300], [pa.float64()]),
    (TENS, [0, 9, 10, 95, 96, -1, None], [pa.int16(), pa.int32()]),
    (PRICE, [0.0, 1.5, 9.75, 500.0, 500.5, -1.0, None], [pa.float32(), pa.float64()]),
    (PRICE, [0, 1, 2, 500, 501], [pa.int32(), pa.uint16()]),
    (PRICE, [float("nan"), float("inf"), float("-inf")], [pa.float64()]),
    (STATE, ["CA", "WA", "TX", "", None], [pa.string(), pa.large_string(), pa.string_view()]),
    (NUMBERED, [7, 3, 5, None], [pa.int8(), pa.int64(), pa.uint64()]),
    (FLAG, [True, False, None], [pa.bool_()]),
    (DAY, [date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1), None], [pa.date32()]),
    (DAY, [date(2026, 1, 1), date(1900, 1, 1), date(2026, 1, 5)], [pa.date64()]),
    (HOUR, WHEN, [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]),
]


@pytest.mark.parametrize(
    ("dimension", "values", "kind"),
    [(dimension, values, kind) for dimension, values, kinds in CASES for kind in kinds],
)
def test_a_column_is_encoded_as_its_values_are_one_by_one(dimension, values, kind):
    column = pa.array(values, kind)
    if pa.types.is_floating(kind):
        values = [None if value is None else float(value) for value in values]
    assert column_codes(dimension, column) == single_codes(dimension, values)


def test_dictionary_columns_are_encoded():
    column = pa.array(["NY", "TX", None, "CA"]).dictionary_encode()
    assert column_codes(STATE, column) == [1, None, 3, 0]
    assert column_codes(STATE, pa.array([None], pa.string()).dictionary_encode()) == [3]
    entries = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["CA", None]))
    assert column_codes(STATE, entries) == [3, 0, 3]
    flags = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([True, None]))
    assert column_codes(FLAG, flags) == [None, 1]
    _, misfits = public_column(PublicColumn("x", "text", "reject"), entries)
    assert [misfit.rows.tolist() for misfit in misfits] == [[True, False, True]]


def test_nanoseconds_before_1970_do_not_slip_into_the_next_hour():
    column = pa.array([-1], pa.int64()).cast(pa.timestamp("ns"))
    assert column_codes(HOUR, column) == [23]


def test_a_column_of_nulls_alone_is_missing_whatever_its_type():
    assert column_codes(STATE, pa.nulls(2)) == [3, 3]
    assert column_codes(AGE, pa.nulls(2)) == [None, None]


@pytest.mark.parametrize(
    ("dimension", "column"),
    [
        (AGE, pa.array(["30"])),
        (AGE, pa.array([True])),
        (AGE, pa.array([Decimal("30")])),
        (PRICE, pa.array(["1"])),
        (STATE, pa.array([1])),
        (STATE, pa.array([b"CA"])),
        (NUMBERED, pa.array(["7"])),
        (NUMBERED, pa.array([7.0])),
        (FLAG, pa.array([1])),
        (DAY, pa.array([datetime(2026, 1, 1)])),
        (HOUR, pa.array([date(1970, 1, 1)])),
        (HOUR, pa.array([datetime(1970, 1, 1)], pa.timestamp("us", "UTC"))),
    ],
)
def test_a_column_of_another_type_is_refused(dimension, column):
    with pytest.raises(RecordError, match=r"^x is of type .* but the survey asks for"):
        dimension_codes(dimension, column)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 250, 500], pa.int16()),
        pa.array([0.0, 250.0, 500.0]),
        pa.array([Decimal("0"), Decimal("250.00"), Decimal("500")]),
    ],
)
def test_measures_of_any_number_type_become_doubles(column):
    numbers, clamped, misfits = measure_numbers(Measure("x", (0, 500)), column)
    assert numbers.tolist() == [0, 250, 500]
    assert not clamped.any()
    assert misfits == []


def test_values_outside_the_bounds_are_clamped_and_counted_or_refused():
    column = pa.array([-1.0, 250.0, 501.0])
    numbers, clamped, misfits = measure_numbers(Measure("x", (0, 500)), column)
    assert (numbers.tolist(), misfits) == ([0, 250, 500], [])
    assert clamped.tolist() == [True, False, True]
    _, _, misfits = measure_numbers(Measure("x", (0, 500), "reject"), column)
    assert [misfit.rows.tolist() for misfit in misfits] == [[True, False, True]]


def test_numbers_of_a_column_are_those_of_single_values():
    rng = np.random.default_rng(3)
    measure = Measure("x", (-7.3, 91.7))
    values = rng.uniform(-20, 120, 500)
    numbers, _, _ = measure_numbers(measure, pa.array(values))
    assert numbers.tolist() == [measure.number(value) for value in values.tolist()]
    wide = Measure("x", (-(2.0**60), 2.0**60))
    whole = [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**62, None]
    numbers, _, _ = measure_numbers(wide, pa.array(whole))
    assert numbers.tolist()[:4] == [wide.number(value) for value in whole[:4]]


def test_missing_and_infinite_measures_are_misfits():
    column = pa.array([None, float("nan"), float("inf"), 1.0])
    _, clamped, misfits = measure_numbers(Measure("x", (0, 500)), column)
    assert [np.flatnonzero(misfit.rows).tolist() for misfit in misfits] == [[0], [1, 2]]
    assert not clamped.any()


def test_public_columns_get_their_declared_type():
    narrow, misfits = public_column(PublicColumn("x", "int"), pa.array([1, 2], pa.int8()))
    assert (narrow.type, misfits) == (pa.int64(), [])
    words = pa.array(["a", None]).dictionary_encode()
    text, misfits = public_column(PublicColumn("x", "text", "value"), words)
    assert (text.to_pylist(), text.type, misfits) == (["a", None], pa.string(), [])
    _, misfits = public_column(PublicColumn("x", "float"), pa.array([1.0, None, float("inf")]))
    assert [np.flatnonzero(misfit.rows).tolist() for misfit in misfits] == [[1], [2]]
    with pytest.raises(RecordError, match="asks for int"):
        public_column(PublicColumn("x", "int"), pa.array([1.5]))
    with pytest.raises(RecordError, match="do not fit"):
        public_column(PublicColumn("x", "int"), pa.array([2**63], pa.uint64()))


def test_reports_have_the_declared_columns_and_carry_the_survey():
    survey, table = app(), people(1000)
    reports = randomize(survey, table, policy=ANYTHING, keep_order=True)
    numbers = [f"ldpsql_{name}" for name in survey.report_columns]
    assert reports.column_names == [*numbers, "day", "version", ID_COLUMN]
    assert reports.schema.metadata == {b"ldpsql.fingerprint": survey.fingerprint.encode()}
    assert len(set(reports.column(ID_COLUMN).to_pylist())) == 1000
    assert reports.schema.field(ID_COLUMN).type == pa.binary(16)
    assert reports.column("day").equals(table.column("day"))
    assert reports.column("version").equals(table.column("version"))
    values = {n: reports.column(f"ldpsql_{n}").to_numpy() for n in survey.report_columns}
    assert survey.design.report_format.refuse(values).size == 0


def test_two_runs_differ():
    table = people(1000)
    assert not randomize(app(), table, policy=ANYTHING).equals(
        randomize(app(), table, policy=ANYTHING)
    )


def test_the_words_drawn_depend_on_the_number_of_people_alone():
    drawn = set()
    for seed in range(3):
        entropy = CountedEntropy()
        randomize_batch(app(), people(500, seed), entropy, policy=ANYTHING)
        drawn.add(entropy.given)
    assert len(drawn) == 1


def with_misfits() -> pa.Table:
    table = people(10)
    ages = [30, 17, 30, 99, 30, 30, 120, 30, 10, 11]
    spent = [1.0, 1.0, None, 1e9, 2.0, 3.0, -1.0, 4.0, 5.0, 6.0]
    table = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
    return table.set_column(table.column_names.index("spent"), "spent", pa.array(spent))


def test_a_misfit_names_the_column_and_the_first_five_rows():
    with pytest.raises(RecordError) as refusal:
        randomize(app(), with_misfits(), policy=ANYTHING)
    assert str(refusal.value) == "age lies outside its domain [18, 90] in rows 2, 4, 7, 9, 10"
    with pytest.raises(RecordError, match="in rows 102, 104, 107, 109, 110"):
        randomize_batch(app(), with_misfits(), SeededEntropy(0), first_row=101, policy=ANYTHING)
    many = pa.concat_tables([with_misfits(), with_misfits()])
    with pytest.raises(RecordError, match=r"10, \.\.\.$"):
        randomize(app(), many, policy=ANYTHING)


def test_people_whose_record_does_not_fit_can_be_left_out():
    reports, tally = randomize_batch(
        app(), with_misfits(), SeededEntropy(0), skip_invalid=True, policy=ANYTHING
    )
    assert tally == Tally(4, {"spent": 0}, 6)
    assert reports.num_rows == 4
    good = [0, 4, 5, 7]
    assert reports.column("day").to_pylist() == with_misfits().column("day").take(good).to_pylist()


def test_clamped_values_are_counted_among_those_kept():
    table = people(10)
    column = pa.array([600.0, -1.0] + [1.0] * 8)
    table = table.set_column(table.column_names.index("spent"), "spent", column)
    _, tally = randomize_batch(app(), table, SeededEntropy(0), policy=ANYTHING)
    assert tally == Tally(10, {"spent": 2}, 0)
    assert tally + tally == Tally(20, {"spent": 4}, 0)


def test_missing_and_doubled_columns_are_named():
    with pytest.raises(RecordError, match="the data has no column age"):
        randomize(app(), people(3).drop_columns(["age"]), policy=ANYTHING)
    doubled = people(3).append_column("age", pa.array([1, 2, 3]))
    with pytest.raises(RecordError, match="more than one column age"):
        randomize(app(), doubled, policy=ANYTHING)


def test_an_empty_table_gives_no_reports():
    assert randomize(app(), people(3).slice(0, 0), policy=ANYTHING).num_rows == 0


def test_chunked_columns_are_one_column():
    table = pa.concat_tables([people(5, 1), people(7, 2)])
    parts = [randomize_batch(app(), table, SeededEntropy(4), policy=ANYTHING)[0]]
    parts.append(
        randomize_batch(app(), table.combine_chunks(), SeededEntropy(4), policy=ANYTHING)[0]
    )
    assert parts[0].drop_columns([ID_COLUMN]).equals(parts[1].drop_columns([ID_COLUMN]))


def test_all_types_at_once():
    table = pa.Table.from_pylist([MIXED_RECORD] * 5)
    assert randomize(mix(), table, policy=ANYTHING).num_rows == 5


def test_an_attribute_may_be_dimension_and_measure():
    text = TOML + '[dimension.spent]\ntype = "int"\ndomain = [0, 500]\n'
    table = people(100)
    whole = pa.array(range(100), pa.int16())
    table = table.set_column(table.column_names.index("spent"), "spent", whole)
    assert randomize(design(text), table, policy=ANYTHING).num_rows == 100


def test_no_message_quotes_a_value():
    secret = "xyzzy"
    rows = [{**MIXED_RECORD, "i": 424242}, {**MIXED_RECORD, "d": date(1987, 6, 5)}]
    for row in rows:
        with pytest.raises(RecordError) as refusal:
            randomize(design(EVERY_TYPE), pa.Table.from_pylist([row]), policy=ANYTHING)
        assert "424242" not in str(refusal.value)
        assert "1987" not in str(refusal.value)
    table = people(1)
    table = table.set_column(table.column_names.index("state"), "state", pa.array([secret]))
    with pytest.raises(RecordError) as refusal:
        randomize(app(), table, policy=ANYTHING)
    assert secret not in str(refusal.value)
    assert "state does not hold one of the 3 declared values in row 1" in str(refusal.value)


def test_dates_far_away_are_outside_and_not_wrapped_around():
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("s"))
    assert column_codes(HOUR, far) == [None]
    near = [datetime(1970, 1, 1) + timedelta(hours=h) for h in range(-24, 48)]
    assert column_codes(HOUR, pa.array(near)) == list(range(72))
