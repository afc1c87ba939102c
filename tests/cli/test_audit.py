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
    for_a_shuffler,
    integer,
    mostly_in_clear,
    survey_toml,
)

from ldpsql import __version__
from ldpsql.audit import check
from ldpsql.designer import design
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon

QUICK = ("audit", "--quick")
MECHANISM = (*QUICK, "--mechanism", "hgrr", "--epsilon", "1", "--domain")
RUN = ("audit", *MECHANISM[2:])


@pytest.fixture
def published(tmp_path):
    path = tmp_path / "app.json"
    path.write_text(design(TOML).to_json())
    return path


def as_json(*arguments):
    """The exit code, and what a program is told."""
    shown = run(*arguments, "--format", "json")
    return shown.exit_code, json.loads(shown.stdout)


def test_json_says_the_same(published):
    code, data = as_json(*RUN, "4", "--reports", "2000")
    assert (code, data["holds"], data["problems"]) == (0, True, [])
    assert data["epsilon"] == "1.000000000000"
    assert data["established"]["method"] == "enumeration"
    assert data["empirical"]["reports_per_record"] >= 2000
    assert 0 <= data["empirical"]["epsilon_at_least"] <= 1
    code, data = as_json(*QUICK, published, "--warn-above", "1.5", "--strict")
    assert (code, data["holds"], len(data["warnings"])) == (1, True, 1)
    options = ("--option", "prior=0.6,0.3,0.1", "--option", "delta=0.05")
    _, data = as_json(
        *QUICK, "--mechanism", "truthful", "--epsilon", "1", "--domain", "3", *options
    )
    assert (data["holds"], data["delta"], data["witness"]) == (True, "1/20", None)
    assert 0.0499 < float(Fraction(data["divergence"])) <= 0.05
    jurr = ("--mechanism", "jurr", "--epsilon", "2", "--domain", "3x5", "--sensitive", "2x2")
    _, data = as_json(*QUICK, *jurr)
    assert (data["guarantee"], len(data["exposures"])) == ("uldp-joint", 12)


def test_the_device_code_is_tried_out():
    shown = run(*RUN, "4", "--reports", "4000")
    assert shown.exit_code == 0
    assert "empirical    epsilon >= 0." in shown.stdout
    assert "except with probability 1e-06" in shown.stdout
    assert "pairs of reports are equal" in shown.stdout


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (category("sex", "f", "m"), "[fm]"),
        (integer("age", 40, 44), "4[0-4]"),
        ("[measure.pay]\nbounds = [20, 60]\n", "(20|60|NULL)"),
    ],
)
def test_records_are_named_by_their_values(tmp_path, column, values):
    path = tmp_path / "app.json"
    path.write_text(design(survey_toml(column, mechanism="grr", epsilon="1")).to_json())
    shown = words_of(run("audit", path).stdout)
    record = rf"\((sex|age|pay) = {values}\)"
    assert re.search(rf"reports of {record} against \d+ of {record}", shown), shown


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
    _, found = as_json("audit", "--reports", "2000", *arguments)
    assert (found["device"]["is_whole"], found["device"]["compared"]) == (True, 4)
    assert 0.999 < found["device"]["epsilon"] <= 1


def test_a_page_warns_of_a_large_delta_and_says_what_a_year_of_periods_loses(tmp_path):
    path, page = tmp_path / "app.json", tmp_path / "page.html"
    monthly = design(TOML.replace("[survey]", '[survey]\nperiod = "month"'))
    for survey, words in (
        (mostly_in_clear(), "Warning: delta 0.9 of one report is above 1e-05: so likely does the"),
        (monthly, "12 in a year have epsilon 24 together"),
    ):
        path.write_text(survey.to_json())
        assert run(*QUICK, path, "--html", page).exit_code == 0
        assert words in html.unescape(page.read_text("utf-8"))


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


class Ancestor:
    """A mechanism that makes the leaky design."""

    name = "hgrr"

    def design(self, *_):
        return TrueAncestor()


def test_no_guarantee_comes_with_a_witness_and_exit_code_1(monkeypatch):
    monkeypatch.setitem(mechanism.__globals__["MECHANISMS"], "hgrr", Ancestor())
    shown = run(*MECHANISM, "4")
    assert (shown.exit_code, shown.stderr) == (1, "")
    assert "witness      report (0, 0)\n" in shown.stdout
    assert "sent by (x = code 0) with probability 0.5" in shown.stdout
    assert "never by (x = code 2)" in shown.stdout
    assert as_json(*MECHANISM, "4")[0] == 1


def test_a_broken_promise_is_exit_code_1(published, monkeypatch):
    right = Epsilon.parse("2").odds
    monkeypatch.setattr(check, "worst_odds", lambda design: right * 2)
    shown = run(*QUICK, published)
    assert shown.exit_code == 1
    assert "problem      the odds of some report are above e^2" in shown.stdout


@pytest.mark.slow
def test_a_batch_that_is_too_small_fails_the_audit(tmp_path):
    path = tmp_path / "shuffled.json"
    path.write_text(for_a_shuffler().to_json())
    shown = run(*QUICK, path, "--users", "2000")
    assert shown.exit_code == 1
    assert "verdict      the promise of one report holds" in shown.stdout
    assert "the promise of the shuffled batch DOES NOT HOLD" in shown.stdout
    _, found = as_json(*QUICK, path, "--users", "2000")
    assert (found["holds"], found["central"]["holds"]) == (True, False)
    assert float(found["central"]["achieved_epsilon"]) > 0.5


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
    facts = as_json(*QUICK, path)[1]["survey"]
    assert (facts["label"], facts["labels"]["spent"]) == (survey.label, "Ausgaben")
