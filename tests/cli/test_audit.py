"""Auditing on the command line: what is printed, and the exit code."""

from __future__ import annotations

import html
import json
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from support.broken_promises import TrueAncestor
from support.command_line import refusal, run, words_of
from support.shuffled_survey import USERS, raw_reports, shuffled_survey
from support.surveys import (
    LABELLED,
    TOML,
    category,
    mostly_in_clear,
    partly_sensitive,
    survey_toml,
    unsound,
)

from ldpsql import __version__
from ldpsql.audit import check
from ldpsql.designer import design
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.store.report_files import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled

QUICK = ("audit", "--quick")
MECHANISM = (*QUICK, "--mechanism", "hgrr", "--epsilon", "1", "--domain")
RUN = ("audit", *MECHANISM[2:])


@pytest.fixture
def published(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(design(TOML).to_json())
    return path


def test_a_survey_is_audited(published):
    shown = run(*QUICK, published)
    assert (shown.exit_code, shown.stderr) == (0, "")
    survey = Survey.from_json(published)
    for words in (
        "mechanism    hgrr, 73x4 codes and 1 measure",
        "guarantee    2-LDP",
        "exact        epsilon 2.000000000000 of 2, rounded up, delta 0",
        "established  by exact odds of every report",
        "question independent of the record",
        "not covered  public columns travel in clear",
        f"report       {survey.design.report_format.bits_per_report:.1f} bits",
        "verdict      the promise holds",
    ):
        assert words in shown.stdout


def test_a_mechanism_is_audited_without_a_survey():
    shown = run(*MECHANISM, "4x4", "--measures", "1", "--option", "fanout=2")
    assert shown.exit_code == 0
    assert "mechanism    hgrr, 4x4 codes and 1 measure" in shown.stdout
    assert "established  by enumeration of the whole channel" in shown.stdout
    assert "empirical" not in shown.stdout


def test_options_of_the_mechanism_are_used():
    oracles = {}
    for oracle in ("grr", "olh"):
        shown = run(
            *(*QUICK, "--mechanism", "hio", "--epsilon", "1", "--domain", "9"),
            *("--option", "fanout=3", "--option", f"oracle={oracle}", "--format", "json"),
        )
        oracles[oracle] = json.loads(shown.stdout)["enumerated"]["reports"]
    assert oracles["grr"] == 3 + 9 < oracles["olh"]


def test_json_says_the_same():
    shown = run(*RUN, "4", "--format", "json", "--reports", "2000")
    data = json.loads(shown.stdout)
    assert (shown.exit_code, data["holds"], data["problems"]) == (0, True, [])
    assert data["epsilon"] == "1.000000000000"
    assert data["established"]["method"] == "enumeration"
    assert data["empirical"]["reports_per_record"] >= 2000
    assert 0 <= data["empirical"]["epsilon_at_least"] <= 1


def test_the_device_code_is_tried_out():
    shown = run(*RUN, "4", "--reports", "4000")
    assert shown.exit_code == 0
    assert "empirical    epsilon >= 0." in shown.stdout
    assert "except with probability 1e-06" in shown.stdout
    assert "pairs of reports are equal" in shown.stdout


class Ancestor:
    """A mechanism that makes the leaky design."""

    name = "hgrr"

    def design(self, *_):
        return TrueAncestor()


def test_the_device_is_compared_with_the_law_of_its_plan():
    arguments = ("--mechanism", "urr", "--epsilon", "1", "--domain", "4", "--sensitive", "2")
    shown = run("audit", "--reports", "2000", *arguments)
    assert shown.exit_code == 0
    assert "device       follows the law of its plan, report by report" in shown.stdout
    assert "4 made-up records, every code of every column; of 4 the exact law" in shown.stdout
    assert "not checked  how a device encodes records" in shown.stdout
    quick = run(*QUICK, *arguments).stdout
    assert "not checked  anything about the code of a device, which was not run" in quick
    assert "empirical" not in quick
    found = json.loads(run("audit", "--reports", "2000", *arguments, "--format", "json").stdout)
    assert (found["device"]["is_whole"], found["device"]["compared"]) == (True, 4)
    assert 0.999 < found["device"]["epsilon"] <= 1


@pytest.mark.slow
def test_a_large_epsilon_is_warned_of_and_an_error_where_asked(published):
    limit = ("--warn-above", "1.5")
    assert "warning" not in run(*QUICK, published).stdout
    assert run(*QUICK, "--strict", published).exit_code == 0
    shown = run(*QUICK, published, *limit)
    assert shown.exit_code == 0
    assert (
        "warning epsilon 2 of one report is above 1.5: it lets a belief of 50 % become 89 %"
    ) in words_of(shown.stdout)
    strict = run(*QUICK, published, *limit, "--strict", "--format", "json")
    assert strict.exit_code == 1
    found = json.loads(strict.stdout)
    assert (found["holds"], len(found["warnings"])) == (True, 1)


def test_a_large_delta_is_warned_of_and_an_error_where_asked(tmp_path):
    warning = "delta 0.9 of one report is above 1e-05: so likely does the promise not hold"
    path = tmp_path / "app.json"
    path.write_text(mostly_in_clear().to_json())
    shown = run(*QUICK, path, "--html", tmp_path / "page.html")
    assert f"warning {warning}" in words_of(shown.stdout)
    assert f"Warning: {warning}" in html.unescape((tmp_path / "page.html").read_text("utf-8"))
    assert (shown.exit_code, run(*QUICK, path, "--strict").exit_code) == (0, 1)


def test_a_survey_that_promises_nothing_never_holds(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(unsound().to_json())
    shown = run(*QUICK, path)
    assert shown.exit_code == 1
    assert "problem      the mechanism promises nothing" in shown.stdout


def test_a_survey_is_named_with_its_columns_and_those_in_clear(published):
    survey = Survey.from_json(published)
    shown = run(*QUICK, published).stdout
    for words in (
        f"survey       {survey.table}",
        f"fingerprint  {survey.fingerprint}",
        "author       nobody has signed this survey",
        "answered     once; a report may be sent again for 30 days",
        "one of 73 bins of [18, 90]",
        f"in clear     {', '.join(column.name for column in survey.schema.public)}",
        "one report   epsilon 2, by itself: a belief of 50 % about a person's answers can rise "
        "to 89 % at most",
    ):
        assert words_of(words) in words_of(shown)
    assert shown.index("one report ") < shown.index("guarantee ")
    assert re.search(r"audited      20\d\d-\d\d-\d\d \(UTC\)", shown)


def test_sensitive_values_are_named(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(partly_sensitive("cprr").to_json())
    shown = run(*QUICK, path).stdout
    assert "a belief of 50 % about a sensitive value can rise to" in words_of(shown)
    assert re.search(r"; sensitive: \S", shown)


def test_a_survey_with_periods_says_what_a_year_of_them_loses(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(design(TOML.replace("[survey]", '[survey]\nperiod = "month"')).to_json())
    assert "one person 12 in a year have epsilon 24 together" in words_of(run(*QUICK, path).stdout)
    page = tmp_path / "page.html"
    run(*QUICK, path, "--html", page)
    assert "12 in a year have epsilon 24 together" in page.read_text()


def test_a_promise_per_attribute_says_what_it_leaves_open(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(partly_sensitive("jurr").to_json())
    words = "what is given away beside it can change the belief, too"
    assert words in words_of(run(*QUICK, path).stdout)
    assert "One that is given away can also hint at a sensitive one" in words_of(
        run("describe", path).stdout
    )


def test_a_survey_without_public_columns_says_so(shuffled):
    shown = run(*QUICK, shuffled).stdout
    assert "in clear     none" in shown
    assert "public columns travel in clear" not in shown


class Page(HTMLParser):
    """What a page says, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.said, self.open, self.loads = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.loads += [name for name, _ in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.said.append(data)


@pytest.mark.slow
def test_a_page_is_written_to_be_printed_and_signed(published, tmp_path):
    target = tmp_path / "page.html"
    shown = run("audit", published, "--reports", "2000", "--html", target, "--warn-above", "1")
    assert shown.exit_code == 0, shown.stderr
    page = Page(target.read_text(encoding="utf-8"))
    assert (page.open, page.loads) == ([], [])
    said, survey = " ".join(page.said), Survey.from_json(published)
    for words in (
        survey.fingerprint,
        "The promise holds",
        "Warning: epsilon 2 of one report is above 1",
        "One report: epsilon 2, by itself: a belief of 50 %",
        "can rise to 89 % at most",
        "Columns that travel in clear:",
        "that a person took part, when, and from which address, is visible",
        "What was not checked",
        f"ldpsql {__version__}",
        "Signature",
        *survey.schema.private_columns,
        *(column.name for column in survey.schema.public),
    ):
        assert words in said, words
    assert "<script" not in target.read_text(encoding="utf-8")


def test_a_page_says_that_a_promise_does_not_hold_and_escapes_text(
    published, tmp_path, monkeypatch
):
    monkeypatch.setattr(check, "worst_odds", lambda design: Epsilon.parse("1").odds)
    target = tmp_path / "page.html"
    toml = survey_toml(category("sex", "<script>alert(1)</script>", "b"), epsilon="2")
    published.write_text(design(toml).to_json())
    assert run(*QUICK, published, "--html", target).exit_code == 1
    text = target.read_text(encoding="utf-8")
    assert "The promise DOES NOT HOLD." in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_a_page_does_not_replace_the_survey(published):
    assert "would replace" in refusal(run("audit", published, "--html", published), 2)


def test_no_guarantee_comes_with_a_witness_and_exit_code_1(monkeypatch):
    monkeypatch.setitem(mechanism.__globals__["MECHANISMS"], "hgrr", Ancestor())
    shown = run(*MECHANISM, "4")
    assert (shown.exit_code, shown.stderr) == (1, "")
    for words in (
        "guarantee    not differentially private",
        "exact        epsilon unbounded",
        "witness      report (0, 0)",
        "sent by (x=0) with probability 0.5",
        "never by (x=2)",
        "problem      the mechanism promises nothing",
        "verdict      the promise DOES NOT HOLD",
    ):
        assert words in shown.stdout
    assert run(*MECHANISM, "4", "--format", "json").exit_code == 1


@pytest.mark.parametrize("name", ["lgrr", "lgrr-fd"])
def test_a_registered_mechanism_without_a_promise_fails_with_its_witness(name):
    shown = run(*QUICK, "--mechanism", name, "--epsilon", "1", "--domain", "9")
    assert (shown.exit_code, shown.stderr) == (1, "")
    for words in (
        f"mechanism    {name}, 9 codes",
        "guarantee    not differentially private",
        "exact        epsilon unbounded",
        "witness      report (0, ",
        "problem      the mechanism promises nothing",
        "verdict      the promise DOES NOT HOLD",
    ):
        assert words in shown.stdout


def test_a_delta_is_established_over_sets_of_reports():
    arguments = (*QUICK, "--mechanism", "truthful", "--epsilon", "1", "--domain", "3")
    options = ("--option", "prior=0.6,0.3,0.1", "--option", "delta=0.05")
    shown = run(*arguments, *options)
    assert (shown.exit_code, shown.stderr) == (0, "")
    for words in (
        "guarantee    1-LDP, delta 0.05",
        "exact        delta 0.05 of 0.05 at epsilon 1, over all sets of reports",
        "not covered  with probability 0.05 a report is the person's own value, in clear",
        "verdict      the promise holds",
    ):
        assert words in shown.stdout
    data = json.loads(run(*arguments, *options, "--format", "json").stdout)
    assert (data["holds"], data["delta"], data["witness"]) == (True, "1/20", None)
    assert 0.0499 < float(Fraction(data["divergence"])) <= 0.05


def test_a_broken_promise_is_exit_code_1(published, monkeypatch):
    right = Epsilon.parse("2").odds
    monkeypatch.setattr(check, "worst_odds", lambda design: right * 2)
    shown = run(*QUICK, published)
    assert shown.exit_code == 1
    assert "problem      the odds of some report are above e^2" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "name a survey, or --mechanism with --epsilon and --domain"),
        (("--mechanism", "hgrr", "--epsilon", "1"), 2, "name a survey"),
        (
            (*MECHANISM[1:], "4", "--reports", "5000"),
            2,
            "--reports and --quick exclude each other; give one",
        ),
        ((*MECHANISM[1:], "4", "--html", "page.html"), 2, "--html needs SURVEY.json; give both"),
        ((*MECHANISM[1:], "4", "--option", "fanout"), 2, "KEY=VALUE"),
        ((*MECHANISM[1:], "4", "--option", "colour=red"), 1, "hgrr has no option 'colour'"),
        ((*MECHANISM[1:], "four"), 1, "codes per dimension"),
        (("--mechanism", "x", "--epsilon", "1", "--domain", "4"), 1, "unknown mechanism 'x'"),
        (("--mechanism", "hio", "--epsilon", "0", "--domain", "4"), 1, "epsilon must lie"),
    ],
)
def test_what_cannot_be_audited_is_refused(arguments, code, message):
    assert message in refusal(run("audit", *arguments), code)


def test_a_survey_and_a_mechanism_together_are_refused(published):
    assert "not both" in refusal(run(*QUICK, published, "--epsilon", "1"), 2)


def test_a_changed_survey_is_refused(published):
    published.write_text(published.read_text().replace('"epsilon":"2"', '"epsilon":"3"'))
    assert "not the one that the survey names" in refusal(run(*QUICK, published), 1)


JURR = (*QUICK, "--mechanism", "jurr", "--epsilon", "2", "--domain", "3x5")


def test_sensitive_codes_are_audited_by_their_own_definition():
    """With the table of who is protected against whom."""
    shown = run(*JURR, "--sensitive", "2x2")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for words in (
        "mechanism    jurr, 3x5 codes, 2x2 of them sensitive",
        "guarantee    2-ULDP per attribute",
        "exact        epsilon 2.000000000000 of 2",
        "gives it away with a probability of x0 up to 0.615, x1 up to 0.615",
        "x0 sensitive, x1 not        x1                              unbounded, with probability "
        "0.615   ULDP",
        "verdict      the promise holds",
    ):
        assert words_of(words) in words_of(shown.stdout)
    data = json.loads(run(*JURR, "--sensitive", "2x2", "--format", "json").stdout)
    assert (data["guarantee"], len(data["exposures"])) == ("uldp-joint", 12)
    assert "who is safe" not in run(*JURR).stdout
    large = run(
        "audit",
        "--quick",
        "--mechanism",
        "cprr",
        "--epsilon",
        "1",
        "--domain",
        "90x90",
        "--sensitive",
        "2x2",
    )
    assert "exact odds of every report that the definition limits" in large.stdout
    assert "on the reduced domain" in large.stdout


@pytest.mark.parametrize("sensitive", ["2", "2x2x2", "4x2", "0x2", "some"])
def test_sensitive_codes_that_do_not_fit_are_refused(sensitive):
    shown = run(*JURR, "--sensitive", sensitive)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "sensitive codes" in shown.stderr


@pytest.fixture
def shuffled(tmp_path):
    path = tmp_path / "shuffled.json"
    trust = Shuffled.parse("0.5", "1e-6", 20_000, "0.9")
    schema = Schema.from_keys({"dimension": {"age": {"type": "int", "domain": [0, 9]}}})
    path.write_text(Survey.of("app", schema, trust, "hio").to_json())
    return path


def test_both_promises_of_a_survey_of_shuffled_reports_are_audited(shuffled):
    shown = run(*QUICK, shuffled)
    assert shown.exit_code == 0, shown.stderr
    for words in (
        "0.5 at delta 0.000001, rounded up, in a batch of 20,000 reports (18,000 honest people)",
        "by clones: the local epsilon alone",
        "verdict      the promise of one report holds",
        "             the promise of the shuffled batch holds",
    ):
        assert words_of(words) in words_of(shown.stdout)


@pytest.mark.slow
def test_a_batch_that_is_too_small_fails_the_audit(shuffled):
    shown = run(*QUICK, shuffled, "--users", "2000")
    assert shown.exit_code == 1
    assert "verdict      the promise of one report holds" in shown.stdout
    assert "the promise of the shuffled batch DOES NOT HOLD" in shown.stdout
    found = json.loads(run(*QUICK, shuffled, "--users", "2000", "--format", "json").stdout)
    assert found["holds"] is True
    assert found["central"]["holds"] is False
    assert float(found["central"]["achieved_epsilon"]) > 0.5


def test_users_are_for_surveys_of_shuffled_reports(published):
    for more in (("--users", "10"), ("--db", published)):
        said = refusal(run(*QUICK, published, *more), 2)
        assert said.startswith("--users and --db are for a survey of shuffled reports")


@pytest.mark.slow
def test_the_batches_of_a_database_are_audited(tmp_path):
    survey = shuffled_survey()
    published, store = tmp_path / "app.json", tmp_path / "s.duckdb"
    published.write_text(survey.to_json())
    whole = shuffle_table(survey, raw_reports(survey, USERS))
    with open_store(store, read_only=False) as opened:
        opened.register(survey)
    assert "holds no reports" in refusal(run(*QUICK, published, "--db", store), 1)
    with open_store(store, read_only=False) as opened:
        opened.ingest_table(whole, survey)
    shown = run(*QUICK, published, "--db", store)
    assert (shown.exit_code, "in a batch of 1,000 reports" in words_of(shown.stdout)) == (0, True)
    said = ShuffledBatch(survey.fingerprint, 300).to_json().encode()
    part = whole.slice(0, 300)
    metadata = {**whole.schema.metadata, BATCH_KEY.encode(): said}
    with open_store(store, read_only=False) as opened:
        opened.ingest_table(
            part.replace_schema_metadata(metadata), survey, accept_smaller_batch=True
        )
    shown = run(*QUICK, published, "--db", store)
    assert (shown.exit_code, "in a batch of 300 reports" in words_of(shown.stdout)) == (1, True)
    assert "--users and --db" in refusal(run(*QUICK, published, "--db", store, "--users", 5), 2)


@pytest.mark.slow
def test_labels_stand_beside_names(tmp_path):
    survey = design(LABELLED)
    path = tmp_path / "app.json"
    path.write_text(survey.to_json())
    shown = run(*QUICK, path, "--html", tmp_path / "page.html").stdout
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    for words in ('app "\u00c9tude \\"2026\\""', 'age "How old are you?"', 'version "App Version"'):
        assert words in shown
        assert words in page
    facts = json.loads(run(*QUICK, path, "--format", "json").stdout)["survey"]
    assert (facts["label"], facts["labels"]["spent"]) == (survey.label, "Ausgaben")
