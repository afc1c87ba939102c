"""An oracle by clamping: bounds are moved until a value is beyond them."""

from __future__ import annotations

import pytest
from support.strict_device import make_strict, seen
from support.surveys import measure, survey_toml

from ldpsql.designer import design
from ldpsql_device.schema import Measure

PAY = 73.0


def bounds_tell(pay):
    """The bounds between which a device answers differently from its neighbours."""
    said = {}
    for high in (32, 64, 80, 96, 128):
        survey = design(survey_toml(measure("pay", 0, high), mechanism="ehio", epsilon="0.01"))
        said[high] = seen(survey, {"pay": pay})
    return said


def test_moved_bounds_do_not_show_where_a_value_is(monkeypatch):
    assert len(set(bounds_tell(PAY).values())) == 1
    assert bounds_tell(PAY) == bounds_tell(1e9) == bounds_tell(-3)
    make_strict(monkeypatch)  # the control: a device that refuses tells between which bounds
    said = bounds_tell(PAY)
    answered = [high for high, text in said.items() if text.startswith("a report")]
    assert (len(said), answered) == (5, [80, 96, 128])


@pytest.mark.parametrize("value", [128.0000001, 1e300, float("inf"), 10**400])
def test_beyond_a_bound_is_at_the_bound(value):
    """So what a report tells of the value is within the promise for the bound."""
    pay = Measure("pay", (0.0, 128.0))
    assert pay.threshold(value)[0] == pay.threshold(128.0)[0] == 2**64
    assert pay.threshold(-value)[0] == pay.threshold(0.0)[0] == 0
