"""Designing on the command line: what is printed where, and what is refused."""

from __future__ import annotations

import time

import click
import pytest
from support.command_line import refusal, run, words_of
from support.surveys import LABELLED, TOML, boolean, integer, measure, survey_toml

from ldpsql import designer
from ldpsql.algebra.estimate import quantile
from ldpsql.cli.forecast import forecast
from ldpsql.designer import auto, design, design_survey
from ldpsql.designer.auto import choose
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql.terminal.options import half_width, people
from ldpsql.wording.numbers import read_people


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
    """Which `sessions/design.txt` shows."""
    target = tmp_path / "app.survey.json"
    shown = run("design", source, "-v", "-o", target)
    assert (shown.exit_code, shown.stderr) == (0, "")
    survey = Survey.from_json(target)
    assert survey == design(TOML)
    different = int(sum(row.prod() for row in survey.design.report_format.limits))
    assert f"({survey.fingerprint[:12]})" in shown.stdout
    words = f"{different} different reports, {survey.design.report_format.bits_per_report:.1f} bits"
    assert words in words_of(shown.stdout)
    names = ["app.collector.json", "app.survey.json", "app.toml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize("text", ["±2%", "+-2%", "+/-2%", "2%", "0.02", " ± 2 % "])
def test_a_target_is_a_share(text):
    assert half_width(text) == 0.02


@pytest.mark.parametrize("text", ["0", "-2%", "100%", "1", "2", "lots", "%", "nan", ""])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(click.BadParameter, match="not a share of the people; write ±2% or"):
        half_width(text)


def test_the_verdict_is_about_the_people_of_the_file(source):
    assert "verdict      with 100,000 people" in run("design", source).stderr
    source.write_text(TOML.replace("[dimension.age]", "users = 300\n[dimension.age]", 1))
    assert "verdict      with 300 people" in run("design", source).stderr
    assert "expected with 300 people" in run("design", source, "-v").stderr


WIDE = "".join(boolean(f"column_{i}") for i in range(9))


@pytest.mark.fast(1)
@pytest.mark.parametrize("columns", [TOML, survey_toml(WIDE, mechanism="grr"), LABELLED])
def test_a_survey_is_told_in_24_lines(source, columns, monkeypatch):
    """Within the time that improvements have."""
    monkeypatch.setattr(auto, "clock", time.process_time)
    source.write_text(columns, encoding="utf-8")
    shown = run("design", source, "--quick", "-o", source.with_suffix(".json")).stdout
    lines = shown.splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith(("sharp", "usable", "useless")) for line in lines)
    assert any(line.startswith("to improve") for line in lines)


def test_an_effect_is_told_with_its_chance(source):
    lines = run("design", source, "--effect", "2%", "-o", source.with_suffix(".json")).stdout
    words = words_of(lines)
    assert "a difference of 2 % between two groups" in words
    assert "two-sided at 5 %" in words
    assert "state, two halves of the people" in words
    assert "AVG(spent) by state, two groups of state" in words


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["hgrr", "grr", "fourier"])
def test_a_named_mechanism_is_held_against_the_bound(source, mechanism):
    """Without being asked; the same figure as with --users."""
    text = words_of(run("design", source, "--mechanism", mechanism, "-v").stderr)
    found = design_survey(TOML, mechanism=mechanism)
    said = "on the whole workload with 100,000 people; this one is at "
    said += f"{found.forecast.ratio(found.bound):.2f} of it"
    assert said in text
    asked = run("design", source, "--mechanism", mechanism, "--users", "100k", "-v").stderr
    assert said in words_of(asked)


ONE_LINE = survey_toml(
    integer("age", 0, 11), mechanism="staircase", workload={"kinds": {"age": "prefix"}}
)


def test_a_staircase_comes_with_its_certificate(source):
    source.write_text(ONE_LINE)
    text = run("design", source).stderr
    over = design_survey(ONE_LINE).survey.design.over_bound
    assert f"note         its mean variance over the workload is {over:.3f} of the least" in text
    assert 1.0 <= over < 1.06


def test_a_truthful_survey_warns_of_what_it_cannot_estimate(source):
    """And is no epsilon-LDP survey to be compared with the best one if it promises a delta."""
    skewed = "prior = [0.5, 0.3, 0.1, 0.02, 0.02, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.0]"
    options = f"[survey.options]\n{skewed}\n[dimension.age]"
    line = survey_toml(integer("age", 0, 11), mechanism="truthful")
    truthful = line.replace("[dimension.age]", options)
    source.write_text(truthful)
    text = run("design", source).stderr
    assert "note         it makes reports agree with values" in text
    assert "note         it cannot estimate how many people have the codes (age=1)," in text
    assert "can do better than" not in run("design", source, "-v").stderr
    source.write_text(truthful.replace("\n[dimension", '\ndelta = "0.05"\n[dimension'))
    text = run("design", source, "-v").stderr
    assert "guarantee    1-LDP, delta 0.05" in text
    assert "can do better than" not in text


def test_the_lines_are_the_forecasts():
    found = design_survey(TOML, users=10_000)
    lines = forecast(found)
    for entry in found.forecast.expect_errors(12):
        line = next(line for line in lines if line.startswith(f"  {entry.text} "))
        shown = float(line.split("±")[1].split()[0])
        assert shown == pytest.approx(quantile(0.95) * entry.error, rel=5e-3)
        assert f" {100 * quantile(0.95) * entry.share:.2g} % " in line
        if entry.average is not None:
            assert float(line.split("±")[2].split()[0]) == pytest.approx(
                quantile(0.95) * entry.average, rel=5e-3
            )


def test_errors_shrink_as_people_come():
    def shares(people):
        _, *lines = forecast(design_survey(TOML, users=people))
        return [float(line.partition(" % ")[0].split()[-1]) for line in lines if " % " in line]

    assert all(many < few for few, many in zip(shares(1_000), shares(100_000), strict=True))


def test_auto_shows_what_it_compared(source, monkeypatch):
    few = ("fourier", "hgrr", "grr", "hio")
    monkeypatch.setattr(auto, "MECHANISMS", {name: MECHANISMS[name] for name in few})
    rankings = []

    def once(*asked, **more):
        """The same ranking for both runs."""
        if not rankings:
            rankings.append(choose(*asked, **more))
        return rankings[0]

    monkeypatch.setattr(designer, "choose", once)
    shown = run("design", source, "--mechanism", "auto", "-v")
    survey = Survey.from_json(shown.stdout)
    assert survey.chosen == "auto"
    text = shown.stderr
    assert f"mechanism    {survey.design.name}, chosen by auto" in text
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "by mechanism:" in line)
    assert "with 100,000 people" in lines[start]
    heading = " ".join(lines[start + 1 : start + 4])
    for words in ("mechanism", "of least", "bits", "guarantee"):
        assert words in heading
    first = next(line for line in lines[start + 1 :] if "2-LDP" in line)
    assert first.split()[0] == survey.design.name
    assert "left out     hio: " in text
    brief = run("design", source, "--mechanism", "auto").stderr
    assert "left out" not in brief
    assert len(brief.splitlines()) <= 24
    assert all(len(line) <= 80 for line in lines)


def test_a_bad_survey_file_is_one_line_and_exit_code_1(source):
    source.write_text(TOML.replace("epsilon", "epsilom"))
    assert "unknown key 'epsilom'; did you mean epsilon?" in refusal(run("design", source), 1)


@pytest.mark.parametrize(
    ("text", "number"),
    [("45000", 45_000), ("45_000", 45_000), ("1k", 1_000), ("1m", 10**6), ("1.5M", 1_500_000)],
)
def test_people_may_be_counted_in_thousands_and_millions(text, number):
    assert read_people(text) == people(1, 10**10)(text) == number


@pytest.mark.parametrize("text", ["", "m", "1.5", "1.0005k", "-1k", "1e6", "nan", "1km", "11m"])
def test_what_is_no_number_of_people_is_refused(text):
    with pytest.raises(click.BadParameter, match=r"number of people|not from 1 to"):
        people(1, 10**7)(text)


def test_an_average_is_expected_where_it_is():
    """What is expected of AVG over halves of the people is what answers say of theirs."""
    text = survey_toml(boolean("member"), measure("pay", 0, 10), mechanism="hgrr")
    forecast = design_survey(text, users=20_000).forecast
    [average] = [each for each in forecast.expect_errors(9) if each.average is not None]
    assert average.average == pytest.approx(average.error / 10_000)


def test_what_could_not_be_written_is_refused_before_the_design(source, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("designed first")

    monkeypatch.setattr("ldpsql.cli.design.design_survey", never)
    missing = tmp_path / "missing"
    for option, name in (("-o", "app.json"), ("--plot", "app.png")):
        words = refusal(run("design", source, option, missing / name), 1)
        assert words == f"{missing}: there is no such folder"


@pytest.mark.slow
def test_the_mechanisms_that_are_tried_are_told(source):
    told, counted = [], []
    design_survey(
        TOML.replace("hgrr", "auto"), tell=told.append, progress=lambda *of: counted.append(of)
    )
    tried = [words.partition(",")[0] for words in told if words.startswith("trying ")]
    assert tried[0] == "trying fourier"
    assert {"trying hio", "trying grr"} < set(tried)
    assert all("s left" in words for words in told if words.startswith("trying "))
    assert counted == [(number, len(tried)) for number in range(len(tried))]


@pytest.mark.parametrize(
    ("workload", "is_answered"),
    [
        ('queries = ["SELECT COUNT(*) FROM app WHERE a AND b"]', False),
        ("max_predicates = 2", False),
        ('queries = ["SELECT a, COUNT(*) FROM app GROUP BY a"]', True),
        ("max_predicates = 1", True),
    ],
)
def test_a_workload_that_is_asked_for_is_answered_or_refused(tmp_path, workload, is_answered):
    source, target = tmp_path / "s.toml", tmp_path / "s.json"
    text = survey_toml(boolean("a"), boolean("b"), mechanism="srr-ss")
    source.write_text(f"{text}\n[workload]\n{workload}\n")
    done = run("design", source, "-o", target)
    assert (done.exit_code == 0) == target.exists() == is_answered


def test_wrong_labels_are_refused(source):
    source.write_text(LABELLED.replace("How old are you?", "\u202e"), encoding="utf-8")
    assert "dimension age: label" in refusal(run("design", source), 1)


CROWD = {"trust": "shuffle", "delta": "1e-6", "users": 20_000}


def test_fewer_reports_than_announced_keep_less(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(survey_toml(integer("age", 18, 25), epsilon="0.5", mechanism="olh", **CROWD))
    shown = words_of(run("design", path).stderr)
    survey = design(path)
    for count in (10_000, 2_000):
        kept = find_epsilon(survey.design, survey.shuffled, count)
        assert kept > survey.shuffled.epsilon.value
        assert f"{kept} of {count:,}" in shown


def test_an_ordinary_survey_is_told_what_a_shuffler_would_gain(tmp_path):
    path, table = tmp_path / "app.toml", integer("age", 18, 25)
    path.write_text(survey_toml(table, epsilon="0.5", mechanism="olh", users=20_000))
    shown = words_of(run("design", path).stderr)
    crowd = survey_toml(table, epsilon="0.5", mechanism="olh", **{**CROWD, "delta": "5e-7"})
    alone, shuffled = design_survey(path), design_survey(crowd)
    assert shuffled.forecast.half_width < 0.5 * alone.forecast.half_width
    assert "a shuffler whom all trust: age" in shown
    path.write_text(survey_toml(table, epsilon="0.5", mechanism="olh", users=20_000) + PUBLIC)
    assert "shuffler" not in words_of(run("design", path, "-v").stderr)


PUBLIC = '[public.day]\ntype = "date"\n'
