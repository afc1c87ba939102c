"""What anybody may know of the surveys of a collector, and analysts of their reports."""

from __future__ import annotations

from statistics import NormalDist

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.special import chdtrc
from support.collecting import collecting
from support.http import ask
from support.planned_survey import device_text
from support.shuffled_survey import SCHEMA
from support.surveys import ANYTHING, integer, survey_toml

from ldpsql.algebra.estimate import quantile
from ldpsql.designer import design_survey
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import question_shares
from ldpsql.server import surveys
from ldpsql.server.tokens import Tokens
from ldpsql.store.intake import Intake
from ldpsql.survey import Survey
from ldpsql_device.survey import utc_today
from ldpsql_lab.simulation import SeededEntropy

SURVEY = Survey.of("app", SCHEMA, "2", "hio")


def people(count, seed):
    """Reports of people."""
    table = pa.table({"age": [18 + i % 24 for i in range(count)], "member": [True] * count})
    return randomize_batch(SURVEY, table, SeededEntropy(seed), policy=ANYTHING)[0]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    return Tokens.beside(tmp_path_factory.mktemp("tokens") / "s.duckdb")


@pytest.fixture(scope="module")
def served(tokens):
    with collecting((SURVEY, people(3000, 1)), tokens=tokens) as made:
        yield made


@pytest.fixture(scope="module")
def app(served):
    return served[0]


@pytest.fixture(scope="module")
def store(served):
    return served[1]


@pytest.fixture(scope="module")
def secret(tokens):
    return f"Bearer {tokens.add('ann', 'analyst')}"


def arrivals(app, secret, fingerprint=SURVEY.fingerprint):
    path = f"/v1/surveys/{fingerprint}/arrivals"
    return ask(app, path, client="127.0.0.1", authorization=secret)


def test_anybody_may_know_which_surveys_there_are(store, app):
    assert ask(app, "/v1/surveys").json == {
        "surveys": [{"table": "app", "fingerprint": SURVEY.fingerprint}]
    }


def test_expected_errors_are_those_of_the_design(store, app):
    designed = design_survey(
        survey_toml(
            integer("age", 0, 99),
            integer("hours", 0, 24),
            table="hours",
            users=5000,
            mechanism="hgrr",
        )
    )
    store.register(designed.survey)
    found = ask(app, f"/v1/surveys/{designed.survey.fingerprint}/forecast").json
    assert (found["people"], found["level"]) == (5000, 0.95)
    expected = designed.forecast.expect_errors(24)
    assert [kind["text"] for kind in found["kinds"]] == [entry.text for entry in expected]
    for kind, entry in zip(found["kinds"], expected, strict=True):
        assert kind["half_width"] == pytest.approx(quantile(0.95) * entry.error)
        assert kind["share"] == pytest.approx(quantile(0.95) * entry.share)


def test_what_takes_too_long_to_expect_is_said_and_tried_once(store, app, monkeypatch):
    """Anybody may ask for it, and as often as they like."""
    tried, predict = [], surveys.predict_errors
    monkeypatch.setattr(surveys, "predict_errors", lambda own: (tried.append(own), predict(own))[1])
    monkeypatch.setattr(surveys, "_SECONDS", 0.0)
    for _ in range(2):
        answer = ask(app, f"/v1/surveys/{SURVEY.fingerprint}/forecast")
        assert (answer.status, answer.json["type"]) == (404, "urn:ldpsql:error:no-forecast")
        assert "take longer than 0 s to compute" in answer.json["detail"]
    assert len(tried) == 1


def test_without_the_collectors_part_nothing_is_expected(store, app):
    intake = Intake.read(device_text())
    store.register(intake)
    answer = ask(app, f"/v1/surveys/{intake.fingerprint}/forecast")
    assert (answer.status, answer.json["type"]) == (404, "urn:ldpsql:error:no-forecast")


def test_nothing_is_known_of_other_surveys(app, secret):
    for path in ("forecast", "arrivals"):
        answer = ask(
            app, f"/v1/surveys/{'0' * 64}/{path}", client="127.0.0.1", authorization=secret
        )
        assert (answer.status, answer.json["type"]) == (404, "urn:ldpsql:error:unknown-survey")


def test_counts_of_reports_need_a_token(app, secret):
    assert arrivals(app, "").status == 401
    assert arrivals(app, secret).status == 200


def test_reports_are_counted_by_day(app, secret, store):
    before = arrivals(app, secret).json
    assert before["days"] == [{"day": None, "reports": 3000}]
    assert store.take(Intake.of(SURVEY), people(70, 2).to_batches(), "http") == 70
    found = arrivals(app, secret).json
    assert found["reports"] == 3070
    assert found["days"] == [
        {"day": utc_today().isoformat(), "reports": 70},
        {"day": None, "reports": 3000},
    ]


def test_the_spread_is_pearsons_chi_square(app, secret, store):
    found = arrivals(app, secret).json["spread"]
    sizes = store.sizes("app")
    expected = question_shares(SURVEY.plan) * sizes.sum()
    assert min(expected) > 5
    assert found["groups"] == len(sizes) == found["degrees"] + 1
    assert found["chi_square"] == pytest.approx(float(((sizes - expected) ** 2 / expected).sum()))
    chance = chdtrc(found["degrees"], found["chi_square"])
    # Of few degrees Wilson and Hilferty's approximation is good to some hundredths, not far out.
    assert found["score"] == pytest.approx(NormalDist().inv_cdf(1 - chance), abs=0.05)
    assert found["score"] < found["suspicious"]
    assert arrivals(app, secret).json["signs"] == []


def test_reports_of_one_group_alone_are_a_sign(tokens, secret):
    reports = people(3000, 3)
    kind = Intake.of(SURVEY).report_columns[0]
    forged = reports.filter(pc.equal(reports[kind], reports[kind][0]))
    both = pa.concat_tables([people(3000, 4), forged])
    with collecting((SURVEY, both), tokens=tokens) as (app, _):
        found = arrivals(app, secret).json
    assert found["spread"]["score"] > found["spread"]["suspicious"]
    [sign] = found["signs"]
    assert "not spread over the groups" in sign
