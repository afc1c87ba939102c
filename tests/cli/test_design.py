"""Designing on the command line: what is printed where, and what is refused."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from cli.running import refusal, run
from client.surveys import TOML

from ldpsql.boxes import Box, LinearQuery
from ldpsql.cli.forecast import forecast
from ldpsql.designer import design
from ldpsql.survey import Survey


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(TOML)
    return path


def test_without_a_file_the_survey_goes_to_stdout(source):
    shown = run("design", source)
    assert shown.exit_code == 0
    assert Survey.from_json(shown.stdout) == design(TOML)
    assert "2-LDP" in shown.stderr


def test_with_a_file_the_explanation_goes_to_stdout(source, tmp_path):
    target = tmp_path / "app.survey.json"
    shown = run("design", source, "-o", target)
    assert (shown.exit_code, shown.stderr) == (0, "")
    survey = Survey.from_json(target)
    assert survey == design(TOML)
    different = int(sum(row.prod() for row in survey.design.report_format.limits))
    for words in (
        "mechanism    hgrr",
        "guarantee    2-LDP",
        survey.fingerprint[:12],
        f"{different} different reports, {survey.design.report_format.bits_per_report:.1f} bits",
        "group (",
    ):
        assert words in shown.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.survey.json", "app.toml"]


def test_epsilon_and_mechanism_can_be_overridden(source):
    shown = run("design", source, "--epsilon", "0.5", "--mechanism", "ehio")
    survey = Survey.from_json(shown.stdout)
    assert (str(survey.epsilon), survey.design.name) == ("0.5", "ehio")


def test_typical_queries_are_predicted(source):
    shown = run("design", source, "--users", "100000", "-o", source.with_suffix(".json"))
    for words in (
        "predicted standard error with 100000 people",
        "COUNT(*) where age in 18 of 73 codes ",
        "COUNT(*) where age in 18 of 73 codes and state in 1 of 4 codes",
        "SUM(spent)",
        "AVG(spent)",
        "% of people",
    ):
        assert words in shown.stdout


def test_the_prediction_is_the_designs_mean_variance_over_places():
    survey = design(TOML)
    starts = np.linspace(0, 73 - 18, 24).round().astype(int).tolist()
    boxes = [Box((((start, start + 18),), None)) for start in starts]
    planned = [survey.design.plan(LinearQuery.count(box)) for box in boxes]
    variance = survey.design.variance(planned, 10_000).mean()
    line = next(line for line in forecast(survey, 10_000) if "age in 18 of 73 codes  " in line)
    shown = float(line.split("±")[1].split()[0])
    assert shown == pytest.approx(sqrt(variance), rel=5e-3)


def test_errors_shrink_as_people_come():
    def shares(people):
        lines = forecast(design(TOML), people)[1:]
        return [float(line.rpartition("(")[2].partition("%")[0]) for line in lines]

    assert all(many < few for few, many in zip(shares(1_000), shares(100_000), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("domain = [18, 90]", ""), "dimension age: domain must be [low, high]: public limits"),
        (("bounds = [0, 500]", ""), "measure spent: bounds must be [low, high]: public limits"),
        (("domain = [18, 90]", "domian = [18, 90]"), "dimension age: domain must be"),
        (("bounds", "unit = 1\nbounds"), "measure spent: unknown key 'unit'"),
        (("[public.day]", "[publik.day]"), "unknown table [publik]"),
        (('epsilon = "2"', 'epsilon = "lots"'), "epsilon must be a number"),
        (('"hgrr"', '"magic"'), "unknown mechanism 'magic'"),
        (("[survey]", "[survey"), "not valid TOML"),
    ],
)
def test_a_bad_survey_file_is_one_line_and_exit_code_1(source, change, message):
    source.write_text(TOML.replace(*change))
    assert message in refusal(run("design", source), 1)


def test_users_must_be_people(source):
    refusal(run("design", source, "--users", "0"), 2)
