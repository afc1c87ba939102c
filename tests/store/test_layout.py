from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.fake_survey import UNARY, fake_survey

from ldpsql.reports.report import ReportFormat
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Layout
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import PublicColumn


def layout_of(survey):
    return Layout(Intake.of(survey))


def test_columns_are_as_narrow_as_their_limits_allow():
    form = ReportFormat(("g", "a", "b", "c"), np.array([[256, 257, 1 << 33]]))
    layout = Layout(replace(Intake.of(fake_survey()), format=form))
    assert [column.type for column in layout.report_columns] == [
        "UTINYINT",
        "UTINYINT",
        "USMALLINT",
        "UBIGINT",
    ]


def test_a_report_column_and_a_public_column_may_share_a_name():
    layout = layout_of(fake_survey(public=[PublicColumn("question", "int")]))
    assert layout.report_columns[0].name == "ldpsql_question"
    assert layout.public_columns[0].name == "question"


def test_a_unary_histogram_counts_bits():
    layout = layout_of(fake_survey(options=UNARY))
    assert [column.name for column in layout.counted_columns] == ["ldpsql_question", "ldpsql_bit"]


@pytest.mark.parametrize("name", ["batch", "count"])
def test_report_columns_cannot_take_the_store_s_own_names(name):
    form = ReportFormat(("group", name, "y"), np.array([[5, 3]]))
    with pytest.raises(InternalError, match=name):
        Layout(replace(Intake.of(fake_survey()), format=form))
