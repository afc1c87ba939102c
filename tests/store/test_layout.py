from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.fake_survey import fake_survey

from ldpsql.reports.report import ReportFormat
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Layout
from ldpsql_device.errors import InternalError


def test_columns_are_as_narrow_as_their_limits_allow():
    form = ReportFormat(("g", "a", "b", "c"), np.array([[256, 257, 1 << 33]]))
    layout = Layout(replace(Intake.of(fake_survey()), format=form))
    assert [column.type for column in layout.report_columns] == [
        "UTINYINT",
        "UTINYINT",
        "USMALLINT",
        "UBIGINT",
    ]


@pytest.mark.parametrize("name", ["batch", "count"])
def test_report_columns_cannot_take_the_store_s_own_names(name):
    form = ReportFormat(("group", name, "y"), np.array([[5, 3]]))
    with pytest.raises(InternalError, match=name):
        Layout(replace(Intake.of(fake_survey()), format=form))
