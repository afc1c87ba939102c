"""What a person gives to a shuffler that they trust: what it costs, who can read it, until when."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING
from support.vectors import published_key

from ldpsql.designer import design
from ldpsql.shuffler.opener import Opener
from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, InterfaceError, NotAllowed, StoreError
from ldpsql_device.ledger import Ledger
from ldpsql_device.pledge import Pledge
from ldpsql_device.policy import Policy
from ldpsql_device.reports import read_report
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey

KEY, OPENER = published_key(), Opener.create()
SURVEY = Survey.from_json(shuffled_survey().device_text)
UNTIL, TODAY = date(2026, 12, 31), date(2026, 6, 1)
TRUSTING = Policy(max_epsilon=2, shufflers={KEY.author})
LOCAL = Fraction(SURVEY.guarantee.epsilon.value)
FORMER = Path(__file__).parents[1] / "data" / "ledgers" / "format_3.sqlite.gz"


def pledge_of(survey=SURVEY, until=UNTIL):
    return Pledge.sign(survey, KEY, survey.shuffled, OPENER.public, until)


def give(ledger, survey=SURVEY, policy=TRUSTING, today=TODAY, pledge=None):
    asked = {"policy": policy, "ledger": ledger, "today": today}
    return respond(survey, {"age": 20}, pledge=pledge or pledge_of(survey), **asked)


def read(sealed, survey=SURVEY):
    return read_report(OPENER.open_report(sealed.to_json(), survey.fingerprint), survey)


def other_survey(table):
    return Survey.from_json(shuffled_survey(table=table).device_text)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_a_person_gives_to_a_crowd_what_they_do_not_give_alone(path):
    """The policy and the ledger that README shows."""
    assert SURVEY.guarantee.epsilon.value > 4
    ledger = Ledger(path, total=4, per_attribute=4)
    for policy in (Policy(max_epsilon=2), TRUSTING):
        with pytest.raises(NotAllowed, match="asks for epsilon"):
            respond(SURVEY, {}, policy=policy, ledger=ledger, today=TODAY)
    with pytest.raises(BudgetSpent, match="0 of the budget of 4 in all is spent"):
        respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, today=TODAY)
    assert ledger.spent() == 0
    read(give(ledger))
    assert ledger.spent() == 1


def test_the_survey_of_the_readme_is_answered_by_a_thousand_people_under_its_own_limits(path):
    """What README shows, behind a shuffler: its survey, its policy and its ledger."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    policy, ledger = "Policy(max_epsilon=2)", 'Ledger("given.sqlite", total=4, per_attribute=2)'
    assert policy in readme
    assert ledger in readme
    _, _, text = readme.partition("```toml\n")
    trust = 'epsilon = "1"\ntrust = "shuffle"\ndelta = "1e-5"\nusers = 1000\n'
    shuffled = text.partition("```")[0].replace('epsilon = "2"\n', trust)
    survey = Survey.from_json(design(shuffled, mechanism="fourier").device_text)
    assert survey.guarantee.epsilon.value > 2
    with pytest.raises(NotAllowed, match="asks for epsilon"):
        respond(survey, {}, policy=Policy(max_epsilon=2), today=TODAY)
    own = Ledger(path, total=4, per_attribute=2)
    read(give(own, survey), survey)
    assert own.spent() == 1


def test_a_repeat_is_the_same_report_sealed_anew(path):
    ledger = Ledger(path, total=4, per_attribute=4)
    first, second = give(ledger), give(ledger)
    assert first.sealed != second.sealed
    assert first.sealed[:64] != second.sealed[:64]
    assert read(first) == read(second)
    assert ledger.spent() == 1


def test_each_price_has_a_budget_of_its_own(path):
    budgets = {"total": 4, "per_attribute": 4, "total_local": 100}
    for name, least, words in (
        ("total", 1, "epsilon 1, but 1 of the budget of 1 in all"),
        ("per_attribute", 1, "epsilon 1, but 1 of the budget of 1 for age"),
        ("total_local", LOCAL, "for shufflers is spent"),
        ("shuffled_delta", "1e-6", "asks for delta 0.000001"),
    ):
        ledger = Ledger(path.with_name(name), **{**budgets, name: least})
        give(ledger)
        with pytest.raises(BudgetSpent, match=words):
            give(ledger, other_survey("other"))
        give(
            Ledger(path.with_name(name), **{**budgets, name: 2 * Fraction(least)}),
            other_survey("other"),
        )
        none = Ledger(path.with_name(f"no {name}"), **{**budgets, name: 0})
        with pytest.raises(BudgetSpent, match="budget of 0 "):
            give(none)


def test_what_a_shuffler_may_learn_is_bounded_without_being_asked(path):
    """And what is given to everybody does not count for it."""
    ledger = Ledger(path, total=20, per_attribute=20)
    assert ledger.total_local == 8 < 2 * LOCAL
    give(ledger)
    with pytest.raises(BudgetSpent, match="of the budget of 8 for shufflers is spent"):
        give(ledger, other_survey("other"))
    respond(other_survey("third"), {}, policy=ANYTHING, ledger=ledger, today=TODAY)
    assert ledger.spent() == 1 + LOCAL


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_epsilon": "0.9"}, "asks for epsilon 1 of every report, and the policy allows 0.9"),
        ({"max_local_epsilon": 3}, "and the policy allows 3 .max_local_epsilon"),
        ({"max_shuffled_delta": "1e-7"}, "allows delta 1e-07 .max_shuffled_delta"),
        ({"shufflers": None}, "a shuffler that the policy does not name"),
        ({"shufflers": ()}, "a shuffler that the policy does not name"),
        ({"tables": {"other"}}, "has another name"),
    ],
    ids=str,
)
def test_the_policy_limits_both_promises(limits, words):
    policy = Policy(**{"max_epsilon": 2, "shufflers": {KEY.author}, **limits})
    with pytest.raises(NotAllowed, match=words):
        respond(SURVEY, {}, policy=policy, pledge=pledge_of(), today=TODAY)


def test_what_a_policy_names_is_a_set_of_keys():
    for shufflers in (KEY.author, {"aa"}, {KEY.author.upper()}):
        with pytest.raises(InterfaceError, match="shufflers"):
            Policy(max_epsilon=2, shufflers=shufflers)
    for name in ("max_local_epsilon", "max_shuffled_delta"):
        with pytest.raises(InterfaceError, match=name):
            Policy(max_epsilon=2, **{name: -1})


def test_without_a_ledger_the_report_is_sealed_and_the_day_counts():
    read(respond(SURVEY, {}, policy=TRUSTING, pledge=pledge_of(), today=UNTIL))
    with pytest.raises(NotAllowed, match=r"the pledge .* ended on 2026-12-31"):
        respond(SURVEY, {}, policy=TRUSTING, pledge=pledge_of(), today=date(2027, 1, 1))


# -- ledgers of before ------------------------------------------------------------------------


@pytest.fixture
def former(path):
    path.write_bytes(gzip.decompress(FORMER.read_bytes()))
    return path


SAID = json.loads((Path(__file__).parents[2] / "vectors" / "statements.json").read_text())


def test_what_was_given_before_is_kept(former):
    ledger = Ledger(former, total=3, per_attribute=3)
    assert ledger.spent() == 2
    before = former.read_bytes()
    asked = Survey.from_json(json.dumps(SAID["survey"]))
    today = date.fromisoformat(SAID["day"])
    options = {"policy": ANYTHING, "ledger": ledger, "today": today}
    report = respond(asked, {}, statement=Statement.from_json(SAID["good"]), **options)
    with closing(sqlite3.connect(former)) as database:
        (kept,) = database.execute("SELECT report FROM answers WHERE number = 1").fetchone()
        assert database.execute("SELECT format FROM ledger").fetchall() == [(4,)]
    assert kept == report.to_json()
    assert kept.encode() in before
    read(give(ledger))
    assert ledger.spent() == 3
    with pytest.raises(BudgetSpent, match="3 of the budget of 3 in all is spent"):
        give(ledger, other_survey("other"))


def test_a_damaged_ledger_of_before_is_not_upgraded(former):
    with closing(sqlite3.connect(former)) as database:
        database.execute("UPDATE answers SET epsilon = '0' WHERE number = 1")
        database.commit()
    before = former.read_bytes()
    with pytest.raises(StoreError, match="damaged"):
        give(Ledger(former, total=9, per_attribute=9))
    assert former.read_bytes() == before
