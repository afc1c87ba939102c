"""Reports of a table: the same codes as one by one, and how many values did not fit."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support.report_rows import find_refused
from support.surveys import (
    ANYTHING,
    LABELLED,
    TOML,
    CountedEntropy,
    app,
    boolean,
    category,
    dimension,
    integer,
    measure,
    people,
    public,
    survey_toml,
)

from ldpsql.designer import design
from ldpsql.randomize.columns import (
    dimension_codes,
    draw_codes,
    measure_numbers,
    public_column,
    round_to_levels,
)
from ldpsql.randomize.notes import misfit_notes
from ldpsql.randomize.table import Tally, encode_table, randomize, randomize_batch
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql_device.encode import encode
from ldpsql_device.errors import RecordError
from ldpsql_device.misfits import check
from ldpsql_device.reports import holds
from ldpsql_device.schema import OTHER, Dimension, Measure, PublicColumn
from ldpsql_device.values import (
    BOOL,
    INSIDE,
    MISSING,
    OUTSIDE,
    Listed,
    float_edges,
    int_domain,
    time_range,
)
from ldpsql_lab.simulation import SeededEntropy, accept_everything

DAY = Dimension("x", time_range("date", "2026-01-01", "2026-01-31", "day"))
HOUR = Dimension("x", time_range("timestamp", "1969-12-31", "1970-01-02", "hour"))
AGE = Dimension("x", int_domain(18, 90))
TENS = Dimension("x", int_domain(0, 95, bin_width=10))
PRICE = Dimension("x", float_edges([0, 1.5, 10, 500]))
STATE = Dimension("x", Listed("category", ("CA", "NY", "WA")), missing="code")
NUMBERED = Dimension("x", Listed("category", (7, 3)))
FLAG = Dimension("x", BOOL)


WORDS = np.random.default_rng(7).integers(0, 2**64, 1000, np.uint64)
PLACE = 12_345


def words_of(rows):
    return WORDS[: len(rows)][rows]


def drawn_code(dimension, row):
    """The code that is drawn for a row of a column."""
    return (int(WORDS[row]) * PLACE % 2**64) * dimension.declared >> 64


def column_codes(dimension, column):
    """Codes of a column, and where its values stand."""
    found = dimension_codes(dimension, column, words_of, PLACE)
    assert not (found.outside & found.missing).any()
    standing = np.select([found.outside, found.missing], [OUTSIDE, MISSING], INSIDE)
    return list(zip(found.values.tolist(), standing.tolist(), strict=True))


def single_codes(dimension, values):
    return [dimension.code(value, drawn_code(dimension, row)) for row, value in enumerate(values)]


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


def variants(dimension):
    """A dimension with every way to encode what is outside or missing."""
    outsides = ["random"] if isinstance(dimension.domain, Listed) else ["nearest", "random"]
    for outside in outsides:
        for missing in ("random", "code"):
            yield replace(dimension, outside=outside, missing=missing)


@pytest.mark.parametrize(
    ("dimension", "values", "kind"),
    [
        (variant, values, kind)
        for dimension, values, kinds in CASES
        for kind in kinds
        for variant in variants(dimension)
    ],
)
def test_a_column_is_encoded_as_its_values_are_one_by_one(dimension, values, kind):
    column = pa.array(values, kind)
    if pa.types.is_floating(kind):
        values = [None if value is None else float(value) for value in values]
    assert column_codes(dimension, column) == single_codes(dimension, values)


def test_other_values_have_one_code():
    other = Dimension("x", Listed("category", ("CA", "NY", OTHER)), "other", "code")
    values = ["NY", "TX", None, "(other)", "ny"]
    assert column_codes(other, pa.array(values)) == single_codes(other, values)
    assert [code for code, _ in single_codes(other, values)] == [1, 2, 3, 2, 2]


@pytest.mark.parametrize("size", [2, 3, 73, 1000, 1 << 20])
@pytest.mark.parametrize("place", [1, 3, 1 << 12, (1 << 32) // 7])
def test_drawn_codes_are_exact(place, size):
    words = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, *WORDS[:200]], dtype=np.uint64)
    expected = [(int(word) * place % 2**64) * size >> 64 for word in words]
    assert draw_codes(words, place, size).tolist() == expected


def test_dictionary_columns_are_encoded():
    column = pa.array(["NY", "TX", None, "CA"]).dictionary_encode()
    assert column_codes(STATE, column) == single_codes(STATE, ["NY", "TX", None, "CA"])
    assert column_codes(STATE, pa.array([None], pa.string()).dictionary_encode()) == [(3, MISSING)]
    entries = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["CA", None]))
    assert column_codes(STATE, entries) == single_codes(STATE, [None, "CA", None])
    flags = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([True, None]))
    assert column_codes(FLAG, flags) == single_codes(FLAG, [None, True])
    missing = public_column(PublicColumn("x", "text"), entries).missing
    assert missing.tolist() == [True, False, True]


def test_nanoseconds_before_1970_do_not_slip_into_the_next_hour():
    column = pa.array([-1], pa.int64()).cast(pa.timestamp("ns"))
    assert column_codes(HOUR, column) == [(23, INSIDE)]


def test_a_column_of_nulls_alone_is_missing_whatever_its_type():
    assert column_codes(STATE, pa.nulls(2)) == [(3, MISSING)] * 2
    assert column_codes(AGE, pa.nulls(2)) == single_codes(AGE, [None, None])
    numbers = measure_numbers(Measure("x", (0, 1)), pa.nulls(2))
    assert numbers.missing.all()


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
        (FLAG, pa.array([1])),
        (DAY, pa.array([datetime(2026, 1, 1)])),
        (HOUR, pa.array([date(1970, 1, 1)])),
        (HOUR, pa.array([datetime(1970, 1, 1)], pa.timestamp("us", "UTC"))),
    ],
)
def test_a_column_of_another_type_is_refused(dimension, column):
    with pytest.raises(RecordError, match=r"^x is of type .* but the survey asks for"):
        dimension_codes(dimension, column, words_of, PLACE)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 250, 500], pa.int16()),
        pa.array([0.0, 250.0, 500.0]),
        pa.array([Decimal("0"), Decimal("250.00"), Decimal("500")]),
    ],
)
def test_measures_of_any_number_type_become_doubles(column):
    numbers = measure_numbers(Measure("x", (0, 500)), column)
    assert numbers.values.tolist() == [0, 250, 500]
    assert not (numbers.outside | numbers.missing).any()


def test_values_outside_the_bounds_are_clamped_and_counted():
    column = pa.array([-1.0, 250.0, 501.0, None, float("nan"), float("inf"), float("-inf")])
    numbers = measure_numbers(Measure("x", (0, 500)), column)
    assert numbers.outside.tolist() == [True, False, True, False, False, True, True]
    assert numbers.missing.tolist() == [False, False, False, True, True, False, False]
    assert numbers.values[~numbers.missing].tolist() == [0, 250, 500, 500, 0]
    assert np.isnan(numbers.values[numbers.missing]).all()


def test_numbers_of_a_column_are_those_of_single_values():
    rng = np.random.default_rng(3)
    measure, wide = Measure("x", (-7.3, 91.7)), Measure("x", (-(2.0**60), 2.0**60))
    whole = [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**62, None]
    for declared, values in ((measure, rng.uniform(-20, 120, 500).tolist()), (wide, whole)):
        numbers = measure_numbers(declared, pa.array(values))
        for value, number, outside in zip(values, numbers.values, numbers.outside, strict=True):
            threshold, standing = declared.threshold(value)
            assert threshold == declared.threshold(float(number))[0]
            assert outside == (standing == OUTSIDE)


@pytest.mark.parametrize(
    "declared",
    [
        Measure("x", (-7.3, 91.7), has_null=True),
        Measure("x", (-7.3, 91.7), levels=5, has_null=True),
        Measure("x", (0.0, 91.7), levels=3, rounding="quadratic", has_null=True),
        Measure("x", (0.0, 91.7), levels=4, missing_as=17.1),
        Measure("x", (0.1, 0.9), levels=4, rounding="quadratic"),
    ],
)
def test_codes_of_measures_are_those_that_devices_find(declared):
    random = np.random.default_rng(3)
    values = [None, math.nan, -8.0, 200.0, *random.uniform(-20, 120, 500).tolist()]
    words = random.integers(0, 2**64, len(values), np.uint64)
    numbers = measure_numbers(declared, pa.array(values)).values
    codes = round_to_levels(declared, numbers, words).tolist()
    found = zip(values, words.tolist(), strict=True)
    assert codes == [declared.code(*declared.threshold(value), word) for value, word in found]
    assert (codes[0] == declared.levels) == declared.has_null


def test_public_columns_get_their_declared_type():
    narrow = public_column(PublicColumn("x", "int"), pa.array([1, 2], pa.int8()))
    assert (narrow.values.type, narrow.missing.any()) == (pa.int64(), False)
    words = pa.array(["a", None]).dictionary_encode()
    text = public_column(PublicColumn("x", "text"), words)
    assert (text.values.to_pylist(), text.values.type) == (["a", None], pa.string())
    assert text.missing.tolist() == [False, True]
    reals = pa.array([1.0, None, float("inf"), float("nan")])
    sent = public_column(PublicColumn("x", "float"), reals)
    assert sent.values.to_pylist() == [1.0, None, None, None]
    assert sent.missing.tolist() == [False, True, True, True]
    sent = public_column(PublicColumn("x", "int"), pa.array([1.5, 2.0]))
    assert sent.values.to_pylist() == [None, 2]
    sent = public_column(PublicColumn("x", "int"), pa.array([2**63, 5], pa.uint64()))
    assert sent.values.to_pylist() == [None, 5]
    with pytest.raises(RecordError, match="asks for int"):
        public_column(PublicColumn("x", "int"), pa.array(["1"]))


@pytest.mark.parametrize(
    ("kind", "bounds", "values"),
    [
        ("float", (-0.5, 99.9), [1e99, -1e300, 5, 99.9, -0.5, None, np.inf, np.nan, 99.91]),
        ("int", (0, 2**53), [2**53 + 1, -1, 0, 7, 2**63 - 1, None]),
    ],
)
def test_public_numbers_are_moved_to_the_nearer_bound(kind, bounds, values):
    """In a column as one by one; what is moved is counted, and an app is told."""
    declared = PublicColumn("x", kind, bounds=bounds)
    survey = design(survey_toml(boolean("b"), public("x", kind, bounds=list(bounds))))
    assert survey.schema.public == (declared,)
    target = pa.int64() if kind == "int" else pa.float64()
    column = public_column(declared, pa.array(values, target))
    for value, sent, outside in zip(values, column.values.to_pylist(), column.outside, strict=True):
        assert declared.read(value) == sent
        assert sent is None or bounds[0] <= sent <= bounds[1]
        assert outside == (sent is not None and sent != value)
        fits = sent is not None and not outside
        assert holds(declared, value) == fits
        assert ("x" in check(survey, {"b": True, "x": value})) is not fits
    assert column.outside.sum() >= 2
    table = pa.table({"b": [True] * len(values), "x": pa.array(values, target)})
    _, tally = randomize_batch(survey, table, SeededEntropy(1), policy=accept_everything(survey))
    assert tally.misfits["clamped", "x"] == column.outside.sum()
    assert any(
        "of x" in note and "outside its bounds" in note
        for note in misfit_notes(survey.schema, tally)
    )


def test_reports_have_the_declared_columns_and_carry_the_survey():
    survey, table = app(), people(1000)
    reports = randomize(survey, table, policy=ANYTHING, keep_order=True)
    numbers = [f"ldpsql_{name}" for name in survey.plan.columns]
    assert reports.column_names == [*numbers, "day", "version", ID_COLUMN]
    assert reports.schema.metadata == {b"ldpsql.fingerprint": survey.fingerprint.encode()}
    assert len(set(reports.column(ID_COLUMN).to_pylist())) == 1000
    assert reports.schema.field(ID_COLUMN).type == pa.binary(16)
    assert reports.column("day").equals(table.column("day"))
    assert reports.column("version").equals(table.column("version"))
    values = {n: reports.column(f"ldpsql_{n}").to_numpy() for n in survey.plan.columns}
    assert find_refused(survey.design.report_format, values).size == 0


def test_the_words_drawn_depend_on_the_number_of_people_alone():
    drawn = set()
    for seed in range(3):
        entropy = CountedEntropy()
        randomize_batch(app(), people(500, seed), entropy, policy=ANYTHING)
        drawn.add(entropy.given)
    assert len(drawn) == 1


def with_misfits() -> pa.Table:
    table = people(10, 1)
    ages = [30, 17, 30, 99, 30, 30, 120, 30, 10, 11]
    spent = [1.0, 1.0, None, 1e9, 2.0, 3.0, -1.0, 4.0, 5.0, 6.0]
    table = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
    return table.set_column(table.column_names.index("spent"), "spent", pa.array(spent))


def test_everybody_is_answered_and_what_did_not_fit_is_counted():
    reports, tally = randomize_batch(app(), with_misfits(), SeededEntropy(0), policy=ANYTHING)
    nulls = with_misfits().column("state").null_count
    expected = {("clamped", "spent"): 2, ("outside", "age"): 5, ("missing", "spent"): 1}
    expected |= {("missing", "state"): nulls, ("missing", "version"): 2}
    assert tally == Tally(10, Counter(expected))
    assert reports.num_rows == 10
    doubled = Counter({misfit: 2 * count for misfit, count in expected.items()})
    assert tally + tally == Tally(20, doubled)


def test_a_table_is_encoded_as_its_rows_are():
    """With words given: nothing but the words decides where a value is outside or missing."""
    survey = design(
        survey_toml(
            integer("age", 18, 90, outside="random"),
            category("state", "CA", "NY", "WA", outside="other"),
            category("place", *"abcdefgh"),
            dimension("size", "float", edges=[0, 1, 5], missing="code"),
            measure("spent", 0, 500),
            mechanism="hgrr",
        )
    )
    rows = [
        {"age": 30, "state": "NY", "place": "b", "size": 0.5, "spent": 1.0},
        {"age": 99, "state": "TX", "place": "z", "size": 7.0, "spent": 600.0},
        {"age": None, "state": None, "place": None, "size": None, "spent": None},
        {"age": 17, "state": "", "place": "", "size": float("nan"), "spent": float("nan")},
    ]
    schema = survey.schema
    words = SeededEntropy(3).words(4 * schema.words).reshape(4, -1)
    table = encode_table(schema, pa.Table.from_pylist(rows), lambda word, mask: words[mask, word])
    levels = round_to_levels(schema.measures[0], table.numbers[:, 0], words[:, -1])
    encoded = np.column_stack([table.codes, levels])
    for row, own, codes in zip(rows, words, encoded, strict=True):

        class Own:
            def words(self, count, own=own):
                assert count == len(own)
                return own

        assert encode(schema, row, Own())[0].tolist() == codes.tolist()


def test_missing_and_doubled_columns_are_named():
    with pytest.raises(RecordError, match="the data has no column age"):
        randomize(app(), people(3).drop_columns(["age"]), policy=ANYTHING)
    doubled = people(3).append_column("age", pa.array([1, 2, 3]))
    with pytest.raises(RecordError, match="more than one column age"):
        randomize(app(), doubled, policy=ANYTHING)


def test_columns_are_found_by_their_labels():
    survey = design(LABELLED)
    names = ["age", "state", "spent", "version"]
    table = pa.table(dict(zip(names, ([30], ["CA"], [3.5], ["1"]), strict=True)))
    words = SeededEntropy(1).words(survey.schema.words).reshape(1, -1)

    def words_given(word, rows):
        return words[rows, word]

    expected = encode_table(survey.schema, table, words_given)
    for given in (
        ["How old are you?", "State", " Ausgaben ", "Version"],
        ["AGE", "state", "Ausgaben\t", "version"],
    ):
        found = encode_table(survey.schema, table.rename_columns(given), words_given)
        assert found.codes.tolist() == expected.codes.tolist()
        assert found.numbers.tolist() == expected.numbers.tolist()
        assert found.public == expected.public
    for given in ("How old are you?", " How old are you?", "AGE"):
        doubled = table.append_column(given, pa.array([31]))
        with pytest.raises(RecordError, match=r"more than one column age \(or 'How old are you"):
            encode_table(survey.schema, doubled, words_given)
    for given in ("how old are you?", "How old are you", "How  old are you?"):
        with pytest.raises(RecordError, match=r"no column age \(or 'How old are you\?'\)"):
            encode_table(survey.schema, table.rename_columns([given, *names[1:]]), words_given)
    with pytest.raises(RecordError, match=r"no column version, which"):
        encode_table(survey.schema, table.rename_columns([*names[:3], "App Version"]), words_given)


def test_chunked_columns_are_one_column():
    table = pa.concat_tables([people(5, 1), people(7, 2)])
    parts = [randomize_batch(app(), table, SeededEntropy(4), policy=ANYTHING)[0]]
    parts.append(
        randomize_batch(app(), table.combine_chunks(), SeededEntropy(4), policy=ANYTHING)[0]
    )
    assert parts[0].drop_columns([ID_COLUMN]).equals(parts[1].drop_columns([ID_COLUMN]))


def test_an_attribute_may_be_dimension_and_measure():
    text = TOML + '[dimension.spent]\ntype = "int"\ndomain = [0, 99]\n'
    table = people(100)
    whole = pa.array(range(100), pa.int16())
    table = table.set_column(table.column_names.index("spent"), "spent", whole)
    assert randomize(design(text), table, policy=ANYTHING).num_rows == 100


def test_dates_far_away_are_outside_and_not_wrapped_around():
    far = pa.array([2**62, -(2**62)], pa.int64()).cast(pa.timestamp("s"))
    assert column_codes(HOUR, far) == [(71, OUTSIDE), (0, OUTSIDE)]
    near = [datetime(1970, 1, 1) + timedelta(hours=h) for h in range(-24, 48)]
    assert column_codes(HOUR, pa.array(near)) == [(code, INSIDE) for code in range(72)]


def test_a_report_has_an_id_of_its_own_in_either_order():
    for keep_order in (False, True):
        ids = randomize(app(), people(2000), policy=ANYTHING, keep_order=keep_order)[ID_COLUMN]
        halves = np.frombuffer(b"".join(ids.to_pylist()), np.uint64).reshape(-1, 2)
        assert len(np.unique(halves)) == 4000
        # Ids lie in order where the reports do not lie in that of the people.
        assert (np.diff(halves[:, 0].astype(float)) >= 0).all() != keep_order


def test_parts_of_a_table_are_answered_as_the_whole(monkeypatch):
    survey = design(survey_toml(integer("age", 0, 9), mechanism="grr", epsilon="20"))
    ages = pa.table({"age": np.arange(100) % 10})
    for rows in (1, 7, 100, 1000):
        monkeypatch.setattr("ldpsql.randomize.table.PART_ROWS", rows)
        reports = randomize(survey, ages, policy=ANYTHING, keep_order=True)
        numbers = reports[f"ldpsql_{survey.plan.columns[-1]}"].to_numpy()
        assert (numbers == ages["age"].to_numpy()).all()
