"""The picture of a survey: what is in it, and what is said where none can be drawn."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from support.command_line import refusal, run
from support.surveys import boolean, category, integer, survey_toml

from ldpsql.designer import design_survey
from ldpsql.designer.forecast import demand_curves, error_curves, information_curves
from ldpsql.workbench.pictures import draw_survey

COLUMNS = (integer("age", 0, 15), category("state", "CA", "NY", "WA"))


def source(tmp_path, mechanism="fourier"):
    path = tmp_path / "people.toml"
    path.write_text(survey_toml(*COLUMNS, mechanism=mechanism))
    return path


@cache
def drawn(mechanism: str, *more: str):
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    found = design_survey(
        survey_toml(*COLUMNS, *more, mechanism=mechanism, table="people"), users=5000
    )
    return found, draw_survey(found, is_verbose=True)


def lines(axes) -> list[np.ndarray]:
    return [np.array(line.get_data()) for line in axes.get_lines()]


def test_a_fourier_survey_has_three_panels_that_show_the_numbers():
    found, figure = drawn("fourier")
    design = found.survey.design
    demand, told, errors = figure.axes
    for axes, curves in (
        (demand, demand_curves(design, found.workload)),
        (told, information_curves(design)),
    ):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        for line, curve in zip(lines(axes), curves, strict=True):
            np.testing.assert_allclose(line, [curve.x, curve.y])
    assert (errors.get_xscale(), errors.get_yscale()) == ("linear", "linear")
    assert errors.get_ylim()[0] == 0
    for line, curve, size in zip(lines(errors), error_curves(design, 5000), (16, 3), strict=True):
        np.testing.assert_allclose(line, [100 * curve.x / size, 100 * curve.y])
    assert "5,000 people" in errors.get_ylabel()


def test_an_analyst_sees_the_errors_alone():
    found, _ = drawn("fourier")
    assert [axes.get_title() for axes in draw_survey(found).axes] == ["Expected error of a count"]


def test_any_other_survey_has_no_panel_of_information():
    assert [axes.get_title() for axes in drawn("grr")[1].axes] == [
        "What the questions need",
        "Expected error of a count",
    ]


def test_titles_units_and_one_legend():
    _, figure = drawn("fourier")
    assert figure.get_suptitle() == "Survey people: fourier, epsilon 1"
    for axes in figure.axes:
        assert axes.get_title()
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend() is None
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "age (16 values)",
        "state (3 values)",
    ]


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["grr", "fourier"])
def test_the_legend_covers_no_data_however_many_dimensions(mechanism):
    _, figure = drawn(mechanism, *(boolean(f"a_rather_long_name_w{i}") for i in range(5)))
    canvas = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    legend = figure.legends[0].get_window_extent(renderer)
    assert 0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    for axes in figure.axes:
        assert legend.y1 <= axes.get_tightbbox(renderer).y0


@pytest.mark.fast(1)
@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_the_file_is_of_the_kind_of_its_suffix_and_the_same_again(tmp_path, name, start):
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    target = tmp_path / name
    contents = []
    for _ in range(2):
        shown = run("design", source(tmp_path), "--plot", target, "-o", tmp_path / "s.json")
        assert shown.exit_code == 0
        assert shown.stdout.endswith(f"plot         {target}\n")
        contents.append(target.read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]


def test_another_suffix_is_refused_before_anything_is_designed(tmp_path):
    line = refusal(run("design", source(tmp_path), "--plot", tmp_path / "a.gif"), 2)
    assert "a picture is one of .png, .svg, not 'a.gif'" in line


def test_without_matplotlib_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refusal(run("design", source(tmp_path), "--plot", tmp_path / "a.png"), 1)
    assert line == "--plot needs matplotlib: pip install ldpsql[plot]"
    assert not (tmp_path / "a.png").exists()


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    line = refusal(run("design", source(tmp_path), "--plot", tmp_path / "no" / "a.png"), 1)
    assert "there is no such folder" in line


def test_matplotlib_is_imported_for_pictures_only(tmp_path):
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from ldpsql.cli.main import cli\n"
        "for more in ([], sys.argv[2:]):\n"
        "    done = CliRunner().invoke(cli, ['design', sys.argv[1], *more])\n"
        "    print(done.exit_code, 'matplotlib' in sys.modules)\n"
    )
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    more = [str(source(tmp_path, "grr")), "--plot", str(tmp_path / "a.png")]
    command = [sys.executable, "-c", code, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0 False", "0 True"]
