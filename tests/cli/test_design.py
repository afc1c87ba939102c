"""Designing on the command line: what is printed where, and what is refused."""

from __future__ import annotations

import click
import pytest
from support.command_line import refusal, run, words_of
from support.surveys import LABELLED, TOML, boolean, category, integer, measure, survey_toml

from ldpsql import designer
from ldpsql.algebra.estimate import quantile
from ldpsql.cli.forecast import forecast
from ldpsql.designer import auto, design, design_survey
from ldpsql.designer.auto import choose
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql.terminal.options import people
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
        "question (",
        "collects     age     dimension  int [18, 90]",
    ):
        assert words_of(words) in words_of(shown.stdout)
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    names = ["app.collector.json", "app.survey.json", "app.toml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_epsilon_and_mechanism_can_be_overridden(source):
    shown = run("design", source, "--epsilon", "0.5", "--mechanism", "ehio")
    survey = Survey.from_json(shown.stdout)
    assert (str(survey.epsilon), survey.design.name) == ("0.5", "ehio")


def test_the_workload_is_predicted(source):
    shown = run("design", source, "--users", "100000", "-o", source.with_suffix(".json"))
    for words in (
        "expected with 100,000 people, ± being half of a 95 % interval:",
        "age range ",
        "SUM(spent) by age range x state =",
        "of people or people x half the range",
        "no 2-LDP survey with unbiased answers can do better than ±",
    ):
        assert words_of(words) in words_of(shown.stdout)
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    assert 20 <= len(shown.stdout.splitlines()) <= 40
    assert "by mechanism" not in shown.stdout


def test_without_users_a_named_mechanism_is_not_predicted(source):
    assert "expected" not in run("design", source).stderr
    source.write_text(TOML.replace("[dimension.age]", "users = 300\n[dimension.age]", 1))
    assert "expected with 300 people" in run("design", source).stderr


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["hgrr", "grr", "fourier"])
def test_a_named_mechanism_is_held_against_the_bound(source, mechanism):
    """Without being asked; the same figure as with --users."""
    text = words_of(run("design", source, "--mechanism", mechanism).stderr)
    found = design_survey(TOML, mechanism=mechanism)
    said = "on the whole workload with 100,000 people; this one is at "
    said += f"{found.forecast.ratio(found.bound):.2f} of it"
    assert said in text
    asked = run("design", source, "--mechanism", mechanism, "--users", "100k").stderr
    assert said in words_of(asked)


@pytest.mark.parametrize(
    "arguments",
    [("--epsilon", "3"), ("--mechanism", "lgrr-fd", "--accept-no-guarantee")],
    ids=["a loose bound", "no guarantee"],
)
def test_where_the_bound_says_nothing_there_is_none(source, arguments):
    assert "can do better than" not in run("design", source, *arguments).stderr


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
    assert "can do better than" not in text
    source.write_text(truthful.replace("\n[dimension", '\ndelta = "0.05"\n[dimension'))
    text = run("design", source).stderr
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
    assert len(brief.splitlines()) <= 40
    assert all(len(line) <= 80 for line in lines)


def test_many_kinds_of_queries_are_shown_by_size_and_target(source):
    more = "".join(f'[dimension.x{i}]\ntype = "bool"\n' for i in range(4))
    source.write_text(TOML.replace("[measure.spent]", more + "[measure.spent]"))
    text = run("design", source, "--mechanism", "grr", "--users", "1000").stderr
    assert "COUNT, 1 predicate " in text
    assert "SUM(spent), 2 predicates " in text


@pytest.mark.fast(2)
@pytest.mark.parametrize("target", ["±2%", "+-2%", "+/-2%", "2%", "0.02", " ± 2 % "])
def test_planning_questions(source, target):
    shown = run("design", source, "--mechanism", "olh", "--users", "200000", "--target", target)
    lines = shown.stderr.splitlines()[-4:]
    assert lines[0] == "a typical count to within ±2% of the people (95 % interval), olh:"
    assert lines[1].startswith("  200,000 people, epsilon 2: ±")
    assert lines[2].startswith("  200,000 people: epsilon ")
    assert lines[3].startswith("  epsilon 2: ")
    assert lines[3].endswith(" people are enough")


def test_a_target_out_of_reach_says_so(source):
    shown = run("design", source, "--mechanism", "olh", "--users", "100", "--target", "0.1%")
    assert "100 people: no epsilon up to 20 is enough; ask more people" in shown.stderr


@pytest.mark.parametrize("target", ["0", "-2%", "100%", "1", "2", "lots", "%", "nan", ""])
def test_a_target_is_a_share(source, target):
    line = refusal(run("design", source, "--target", target), 2)
    assert "is not a share of the people; write ±2% or 0.02" in line


def test_bad_sql_in_the_workload_is_shown_with_its_place(source):
    source.write_text(TOML + '[workload]\nqueries = ["SELECT COUNT(*) FROM app WHERE hight = 1"]\n')
    shown = run("design", source)
    line = refusal(shown, 1)
    assert line.startswith("[workload] query 1: ")
    assert shown.stderr.splitlines()[-1].strip() == "^^^^^"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("domain = [18, 90]", ""), "dimension age: domain must be [low, high]: public limits"),
        (("bounds = [0, 500]", ""), "measure spent: bounds must be [low, high]: public limits"),
        (
            ("domain = [18, 90]", "domian = [18, 90]"),
            "unknown key 'domian'; did you mean domain?",
        ),
        (("bounds", "unit = 1\nbounds"), "measure spent: unknown key 'unit'"),
        (
            ("[public.day]", "[publik.day]"),
            "the survey file; did you mean [public]?",
        ),
        (('epsilon = "2"', 'epsilon = "lots"'), "epsilon must be a number"),
        (('"hgrr"', '"magic"'), "unknown mechanism 'magic'"),
        (('"hgrr"', '"forier"'), "unknown mechanism 'forier'; did you mean fourier? there are"),
        (("epsilon", "epsilom"), "[survey]: unknown key 'epsilom'; did you mean epsilon?"),
        (("[survey]", "[survey"), "not valid TOML"),
    ],
)
def test_a_bad_survey_file_is_one_line_and_exit_code_1(source, change, message):
    source.write_text(TOML.replace(*change))
    assert message in refusal(run("design", source), 1)


def test_users_must_be_people(source):
    refusal(run("design", source, "--users", "0"), 2)


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


CLINIC = survey_toml(
    category(
        "illness", "none", "flu", "HIV", "cancer", sensitive=["HIV", "cancer"], missing="code"
    ),
    boolean("member", sensitive=[True]),
    table="clinic",
    mechanism="cprr",
)


def test_a_survey_with_sensitive_values_says_who_is_not_protected(tmp_path):
    """And that a mechanism which does not spare the others protects them all."""
    path = tmp_path / "clinic.toml"
    path.write_text(CLINIC)
    shown = run("design", path, "-o", tmp_path / "clinic.json").stdout
    assert "guarantee    1-ULDP\n" in shown
    assert "sensitive    illness: HIV, cancer, NULL; not: none, flu\n" in shown
    assert "sensitive    member: True; not: False\n" in shown
    assert "warning VALUES THAT ARE NOT SENSITIVE ARE DISCLOSED, see below; devices must" in (
        words_of(shown)
    )
    plain = run("design", path, "--mechanism", "grr", "-o", tmp_path / "plain.json").stdout
    assert "note         grr treats every value as sensitive\n" in plain
    assert "DISCLOSED" not in plain
    chosen = ("--mechanism", "lgrr", "--accept-no-guarantee")
    nothing = run("design", path, *chosen, "-o", tmp_path / "nothing.json").stdout
    assert "note         lgrr protects none of them\n" in nothing


def test_a_delta_is_warned_of(tmp_path):
    path = tmp_path / "clinic.toml"
    path.write_text(CLINIC.replace('"cprr"', '"truthful"\n[survey.options]\ndelta = 0.01'))
    shown = run("design", path, "-o", tmp_path / "clinic.json").stdout
    assert "warning      A REPORT MAY BE THE RECORD ITSELF, see below; devices must" in shown
    assert "with probability 0.01 a report is the person's own value, in clear" in words_of(shown)


@pytest.mark.parametrize(("mechanism", "promise"), [("cprr", "1-LDP"), ("tdrr", "1-ULDP per")])
def test_where_every_record_has_a_sensitive_value_cprr_protects_all(mechanism, promise, tmp_path):
    """And says so; a mechanism that protects every attribute by itself still spares some."""
    path = tmp_path / "clinic.toml"
    path.write_text(CLINIC.replace("sensitive = [true]\n", ""))
    shown = run("design", path, "--mechanism", mechanism, "-o", tmp_path / "clinic.json").stdout
    assert f"guarantee    {promise}" in shown
    assert "sensitive    member: every value\n" in shown
    assert ("DISCLOSED" in shown) == (mechanism == "tdrr")
    assert ("cprr treats every value as sensitive" in shown) == (mechanism == "cprr")


def test_both_promises_of_a_survey_of_shuffled_reports_are_told(tmp_path):
    path = tmp_path / "app.toml"
    shuffled = {"trust": "shuffle", "delta": "1e-6", "users": 20000, "honest": 0.9}
    path.write_text(survey_toml(boolean("member"), epsilon="0.5", mechanism="grr", **shuffled))
    shown = run("design", path, "-o", tmp_path / "app.json")
    assert shown.exit_code == 0, shown.stderr
    local = Survey.from_json(tmp_path / "app.json").epsilon
    for words in (
        "trust        shuffle",
        "the shuffled batch: epsilon 0.5 at delta 0.000001, for batches of at least 20,000 "
        "reports, of which 18,000 count as honest",
        f"a single report: epsilon {local}",
        f"guarantee    {local}-LDP; (0.5, 1e-06)-DP once shuffled",
        "expected with 20,000 people",
    ):
        assert words_of(words) in words_of(shown.stdout)


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


@pytest.mark.parametrize("more", [(), ("--users", 1000)])
def test_a_workload_that_is_not_answered_is_said_and_the_survey_written(tmp_path, more):
    source, target = tmp_path / "s.toml", tmp_path / "s.json"
    source.write_text(survey_toml(boolean("a"), boolean("b"), mechanism="srr-ss"))
    done = run("design", source, "-o", target, *more)
    assert done.exit_code == 0, done.stderr
    warning = words_of(done.stdout[done.stdout.index("warning ") :])
    assert warning.startswith("warning the error of the whole workload cannot be predicted")
    assert "does not collect a and b together" in warning
    assert "max_predicates under [workload]" in warning
    assert Survey.from_json(target).design.name == "srr-ss"


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
    if not is_answered:
        words = refusal(done, 1)
        assert words.startswith("srr-ss cannot answer its workload: ")
        assert "this survey does not collect a and b together" in words
        assert words.endswith("ask for less under [workload], or let auto choose the mechanism")


def test_labels_are_printed_and_wrong_ones_refused(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(LABELLED, encoding="utf-8")
    shown = run("design", path, "-o", tmp_path / "app.survey.json")
    for words in (
        'survey       app "\u00c9tude',
        'labels       age "How old are you?"',
        '"Ausgaben"',
    ):
        assert words in shown.stdout
    assert Survey.from_json(tmp_path / "app.survey.json") == design(LABELLED)
    path.write_text(LABELLED.replace("How old are you?", "\u202e"), encoding="utf-8")
    assert "dimension age: label" in refusal(run("design", path), 1)


def test_whose_rows_are_one_persons_is_said(tmp_path):
    source = tmp_path / "visits.toml"
    text = survey_toml(boolean("member"), mechanism="grr")
    source.write_text(text.replace("[survey]", '[survey]\nperson = "customer_id"', 1))
    shown = run("design", source, "-o", tmp_path / "visits.json").stdout
    assert "persons      one report per customer_id: one row, drawn evenly" in shown.splitlines()


def test_a_design_with_coarse_bins_is_not_held_against_the_bound(tmp_path):
    """Predicted errors leave out what bins may be off by: 50,000 codes were at .49 of the least."""
    source = tmp_path / "survey.toml"
    survey = '[survey]\ntable = "t"\nepsilon = "1"\n[dimension]\n'
    for size, words in ((5_000, "cannot be held against it"), (50, "of it")):
        source.write_text(f'{survey}v = {{ type = "int", domain = [1, {size}] }}\n')
        arguments = ("--quick", "--mechanism", "fourier", "--users", "10000")
        text = " ".join(run("design", source, *arguments, "-o", tmp_path / "s.json").stdout.split())
        assert "can do better than" in text
        assert (words in text) and ("bins answer with a bias" in text) == (size > 50)
