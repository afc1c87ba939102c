"""Panels of curves: what is refused, and what a legend says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ldpsql.terminal.figures import Curve, Panel, draw_figure, save_figure


def test_a_curve_is_of_one_length() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Curve("a", [1, 2], [1.0])
    with pytest.raises(ValueError, match="both low and high"):
        Curve("a", [1], [1.0], low=[0.5])


def test_the_same_name_looks_the_same_in_every_panel() -> None:
    """And the legend has it once; what is not private says so."""
    one = Panel("one", "x", "y", (Curve("a", [1, 2], [1.0, 2.0]),), log_y=True)
    two = Panel(
        "two",
        "x",
        "y",
        (
            Curve("b", [1, 2], [1.0, 3.0], role="unsound"),
            Curve("a", [1, 2], [2.0, 3.0], [1.0, 2.0], [3.0, 4.0]),
        ),
    )
    figure = draw_figure("Title", [one, two])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b (NOT PRIVATE)"]
    colours = [[line.get_color() for line in axes.get_lines()] for axes in figure.axes]
    assert colours[0][0] == colours[1][1] != colours[1][0]


def test_titles_and_legends_stay_inside() -> None:
    """A long note is broken into lines; long entries do not run out of the picture."""
    curves = tuple(Curve(f"a mechanism of a long name {n}", [1, 2], [1, 2]) for n in range(7))
    panel = Panel("p", "x", "y", curves)
    for panels in ([panel], [panel, panel], [panel] * 3):
        figure = draw_figure(
            "Title", panels, note="what was measured, on which people, how often " * 4
        )
        figure.draw_without_rendering()
        (legend,) = figure.legends
        for text in (figure._suptitle, *legend.get_texts()):
            box = text.get_window_extent()
            assert figure.bbox.x0 < box.x0 and box.x1 < figure.bbox.x1
        assert legend._ncols > 1


@pytest.mark.parametrize(
    ("places", "log_x"),
    [([1e-6, 1e-5, 0.01, 0.1, 0.15], True), ([2000, 5000, 12960, 50_000, 200_000], False)],
)
def test_labels_of_places_do_not_overlap(places: list[float], log_x: bool) -> None:
    """Close ones are left out; both ends stay, and where there is room all of them."""
    panel = Panel("p", "x", "y", (Curve("a", places, places),), log_x=log_x)
    figure = draw_figure("Title", [panel, panel])
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    shown = [float(label.get_text()) for label in labels]
    assert {places[0], places[-1]} <= set(shown) < set(places)
    few = Panel("p", "x", "y", (Curve("a", [1, 2, 3, 4], [1, 2, 3, 4]),))
    assert len(draw_figure("Title", [few]).axes[0].get_xticks()) == 4


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    """No date, no random names."""
    kinds = Panel("kinds", "", "y", (Curve("a", ["p", "q"], [1.0, 2.0], [0.5, 1], [2, 3]),))
    for form in ("png", "svg"):
        paths = [tmp_path / f"{name}.{form}" for name in ("a", "b")]
        for path in paths:
            save_figure(draw_figure("Title", [kinds]), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("count", [2, 3, 6])
def test_names_of_kinds_do_not_overlap(count: int) -> None:
    """They are slanted; the axes stay as high."""
    names = [f"ranges of 15 %, {n} predicates" for n in range(count)]
    curves = (Curve("a", names, [1.0 + n for n in range(count)]),)
    figure = draw_figure("Title", [Panel("p", "", "y", curves)] * 3)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    labels = axes.get_xticklabels()
    places = [axes.transData.transform((n, 0.0))[0] for n in range(count)]
    assert all(right - left > labels[0].get_size() for left, right in pairwise(places))
    assert axes.get_window_extent().height > 0.6 * 3.6 * figure.dpi
