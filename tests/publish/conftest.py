"""Tables to publish, made by hand."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from ldpsql.publish.tables import AnswerTable


def make(name="by_sex", n=(10.5, -2.0), comment="It's a \\ test", more=None):
    columns = {"sex": ["Fe'male", None], "n": [*n], **(more or {})}
    rows = pa.table(columns)
    comments = ("declared", "estimate of n", *[""] * (rows.num_columns - 2))
    return AnswerTable(name, rows, comment, comments, "SELECT 1", (("app", "f" * 64),), 12)


EVERY_TYPE = {
    "whole": [1, None],
    "day": [date(2026, 1, 31), None],
    "moment": [datetime(2026, 1, 31, 12), None],
    "flag": [True, None],
    "end": [float("inf"), None],
}


@pytest.fixture
def tables():
    return [make(), make("all_types", more=EVERY_TYPE)]
