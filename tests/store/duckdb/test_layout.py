from __future__ import annotations

import pytest
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey

from ldpsql.intake import Intake
from ldpsql.store.duckdb.layout import Layout
from ldpsql_device.errors import InternalError


def layout_of(survey):
    return Layout(Intake.of(survey))


def test_columns_are_as_narrow_as_their_limits_allow():
    options = {**PLAIN, "columns": ["g", "a", "b", "c"], "limits": [[256, 257, 1 << 33]]}
    layout = layout_of(fake_survey(options=options))
    assert [column.type for column in layout.report_columns] == [
        "UTINYINT",
        "UTINYINT",
        "USMALLINT",
        "UBIGINT",
    ]


def test_a_report_column_and_a_public_column_may_share_a_name():
    layout = layout_of(fake_survey(public=PUBLIC))
    assert layout.report_columns[0].name == "ldpsql_group"
    assert layout.public_columns[2].name == "group"


def test_a_unary_histogram_counts_bits():
    layout = layout_of(fake_survey(options=UNARY))
    assert [column.name for column in layout.counted_columns] == ["ldpsql_group", "ldpsql_bit"]


@pytest.mark.parametrize("name", ["survey", "batch", "count"])
def test_report_columns_cannot_take_the_store_s_own_names(name):
    with pytest.raises(InternalError, match=name):
        layout_of(fake_survey(options={**PLAIN, "columns": ["group", name, "y"]}))
