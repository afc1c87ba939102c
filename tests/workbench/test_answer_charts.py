from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, survey_toml

from ldpsql.designer import design
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.result import Result
from ldpsql.workbench.charts import draw_result
from ldpsql_device.errors import NotSupportedError

pytest.importorskip("matplotlib")


def result(keys: dict[str, list], **estimates: list[float | None]) -> Result:
    """Estimates whose intervals reach 1 down and 2 up."""
    table = pa.table({**keys, **{name: pa.array(v, pa.float64()) for name, v in estimates.items()}})
    bars = {}
    for place, values in enumerate(estimates.values(), start=len(keys)):
        numbers = np.array(values, dtype=float)
        bars[place] = Interval(np.ones(len(values)), numbers - 1, numbers + 2)
    return Result(table, bars)


def lines(figure, panel=0):
    """label: (places, values) of what is drawn."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in figure.axes[panel].lines
    }


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_numbers_are_drawn_in_their_order_with_a_band():
    figure = draw_result(result({"age": [3, 1, 2]}, n=[30.0, 10.0, 20.0]))
    ((x, y),) = lines(figure).values()
    assert (x, y) == ([1, 2, 3], [10, 20, 30])
    (band,) = figure.axes[0].collections
    low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
    assert (low, high) == (9, 32)
    assert legend(figure) == ["n"]


def test_texts_are_drawn_in_the_order_of_the_rows_with_bars():
    figure = draw_result(result({"state": ["b", "a"]}, n=[2.0, 1.0]))
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["b", "a"]
    (bars,) = figure.axes[0].collections
    ends = [path.vertices[:, 1].tolist() for path in bars.get_paths()]
    assert ends == [[1, 4], [0, 3]]


def test_a_time_is_the_axis_and_the_other_keys_tell_curves_apart():
    days = [date(2026, 1, 2), date(2026, 1, 1), date(2026, 1, 2)]
    keys = {"state": ["a", "a", None], "age": [5, 5, 5], "day": pa.array(days, pa.date32())}
    figure = draw_result(result(keys, n=[2.0, 1.0, 3.0]))
    assert figure.axes[0].get_xlabel() == "day"
    assert legend(figure) == ["a, 5", "NULL, 5"]
    assert [values for _, values in lines(figure).values()] == [[1, 2], [3]]


def test_every_estimate_has_a_panel_of_its_own():
    figure = draw_result(result({"age": [1, 2]}, n=[1.0, 2.0], mean=[3.0, 4.0]))
    assert [axes.get_title() for axes in figure.axes] == ["n", "mean"]
    many = {f"e{number}": [1.0, 2.0] for number in range(8)}
    figure = draw_result(result({"age": [1, 2]}, **many))
    assert len(figure.axes) == 6
    assert "the first 6 of 8 estimates" in figure.get_suptitle()


def test_what_is_unknown_leaves_a_gap():
    figure = draw_result(
        result({"state": ["a", "b", "a"], "half": ["x", "x", "y"]}, n=[1.0, None, 2.0])
    )
    drawn = [values for _, values in lines(figure).values()]
    assert np.array_equal(drawn, [[1, np.nan], [2, np.nan]], equal_nan=True)
    figure = draw_result(result({"age": [None, 1, 2]}, n=[9.0, 1.0, 2.0]))
    assert [values for _, values in lines(figure).values()] == [[1, 2]]


@pytest.mark.parametrize(
    ("keys", "rows", "reason"),
    [
        ({}, 2, "GROUP BY a column"),
        ({"age": [1]}, 1, "GROUP BY a column"),
        ({"age": [1] * 13, "state": list("abcdefghijklm")}, 13, "12 curves .* not 13"),
        ({"state": [str(n) for n in range(61)]}, 61, "60 names .* not 1 and 61"),
    ],
)
def test_what_makes_no_picture_is_refused(keys, rows, reason):
    with pytest.raises(NotSupportedError, match=reason):
        draw_result(result(keys, n=[1.0] * rows))


def test_without_estimates_there_is_nothing_to_draw():
    with pytest.raises(NotSupportedError, match="a picture shows estimates of groups"):
        draw_result(Result(pa.table({"age": [1, 2]})))


@pytest.mark.parametrize("name", ["payment", "Payment"])
def test_a_category_of_whole_numbers_is_drawn_as_texts_are(name):
    """Its codes have no order, so no line joins them and a NULL has its place."""
    survey = design(survey_toml(category("payment", 1, 2, 4), mechanism="grr"))
    answer = result({name: [4, 1, None, 2]}, n=[4.0, 1.0, 2.0, 3.0])
    figure = draw_result(replace(answer, surveys=(survey,)))
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    is_category = name == "payment"
    assert (labels == ["4", "1", "NULL", "2"]) == is_category


@pytest.mark.parametrize(
    ("first", "has_axis"),
    [
        (date.max, False),
        (date.min, False),
        (date(9990, 1, 1), True),
        (datetime(9999, 12, 31, 23), False),
        (time(12, 30), False),
        (timedelta(hours=3), False),
    ],
)
def test_times_beside_which_an_axis_has_no_room_are_texts(first, has_axis):
    """An axis of times ends with the year 9999, its margins too, and other times have none."""
    figure = draw_result(result({"day": [first, None, first]}, n=[1.0, 2.0, 3.0]))
    figure.draw_without_rendering()
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert (str(first) in shown) != has_axis
