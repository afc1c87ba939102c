"""Errors about records carry nothing but their own text: no cause, no context, no value."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pytest
from support.surveys import (
    ANYTHING,
    app,
    boolean,
    category,
    dimension,
    integer,
    measure,
    public,
    survey_toml,
)

from ldpsql.designer import design
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize
from ldpsql.survey import Survey
from ldpsql_device.answer import respond
from ldpsql_device.errors import RecordError

FLAG = boolean("a")
DATE = dimension("d", "date", range=[date(2020, 1, 1), date(2020, 12, 31)])
AGE, WORD = integer("d", 0, 9), category("d", "a", "b")
SECRET = 4242424242424242


@cache
def survey(body: str) -> Survey:
    return design(survey_toml(body, table="t", mechanism="grr"))


def check(refusal) -> None:
    error = refusal.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "4242" not in str(error)
    assert "SECRET" not in str(error)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("int", pa.array([2**64 - 1], pa.uint64())),
        ("date", pa.array([SECRET], pa.int64()).view(pa.date64())),
        ("timestamp", pa.array([SECRET * 1000], pa.int64()).view(pa.timestamp("s"))),
    ],
)
def test_public_values_that_overflow_are_null(kind, column):
    asked = survey(FLAG + public("d", kind))
    reports = randomize(asked, pa.table({"a": [True], "d": column}), policy=ANYTHING)
    assert reports.column("d").to_pylist() == [None]


def test_what_arrow_cannot_convert_names_the_column_alone(monkeypatch):
    def fail(*_):
        raise pa.ArrowInvalid(f"cannot convert {SECRET}")

    monkeypatch.setattr("ldpsql.randomize.table.dimension_codes", fail)
    monkeypatch.setattr("ldpsql.randomize.table.measure_numbers", fail)
    measured = survey(FLAG + measure("d", 0, 1))
    for body in (survey(AGE), measured):
        with pytest.raises(RecordError, match="holds values that cannot be read") as refusal:
            randomize(
                body, pa.table({"a": [True], "d": pa.array([Decimal(SECRET)])}), policy=ANYTHING
            )
        check(refusal)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x\n1\n",
        b"d\n7,SECRET\n",
        b"d\n\xff\xfeSECRET\n",
        b"\xff\xfed\nSECRET\n",
    ],
)
@pytest.mark.parametrize("body", [AGE, WORD, DATE])
def test_files_of_text(tmp_path, body, content):
    source = tmp_path / "people.csv"
    source.write_bytes(content)
    with pytest.raises(RecordError) as refusal:
        randomize_file(survey(body), source, tmp_path / "reports.parquet", policy=ANYTHING)
    check(refusal)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_what_is_no_record_is_refused_before_it_is_looked_at():
    for record in (None, 3, "SECRET", [("age", SECRET)]):
        with pytest.raises(TypeError, match=r"^a record is a mapping of columns to values$"):
            respond(app(), record, policy=ANYTHING)
