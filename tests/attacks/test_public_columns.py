"""A survey that calls private things public: what travels in clear is the app's to say, by name."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from support.giving import PLENTY, yes_or_no
from support.surveys import SMALL, category, public, survey_toml

from ldpsql.designer import design
from ldpsql.randomize import table
from ldpsql.randomize.table import randomize
from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, NotAllowed, RecordError, SurveyError
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy
from ldpsql_device.survey import Survey

RECORD = {
    "age": 30,
    "diagnosis": "HIV+",
    "gps": "52.1,4.3",
    "version": "1.2",
    "diary": "nobody reads this",
}
SECRETS = ("HIV+", "52.1,4.3", "nobody reads this")


def greedy(*columns):
    """A survey of the smallest epsilon, with columns in clear."""
    text = SMALL.replace('epsilon = "1"', 'epsilon = "0.001"')
    return design(text + "".join(public(column, "text") for column in columns))


def leaves(asked, policy, ledger=None):
    return respond(asked, RECORD, policy=policy, ledger=ledger).to_json()


def test_nothing_travels_in_clear_that_the_policy_does_not_name():
    asked = greedy("diagnosis", "gps", "version")
    with pytest.raises(NotAllowed, match="survey small sends diagnosis, gps in clear"):
        leaves(asked, Policy(1, public={"version"}))
    sent = leaves(greedy("version"), Policy(1, public={"version", "gps"}))
    assert json.loads(sent)["public"] == {"version": "1.2"}
    assert not any(secret in sent for secret in SECRETS)


def test_control_a_policy_that_names_them_lets_them_out():
    sent = leaves(greedy("diagnosis", "gps"), Policy(1, public={"diagnosis", "gps"}))
    assert json.loads(sent)["public"] == {"diagnosis": "HIV+", "gps": "52.1,4.3"}


@pytest.mark.parametrize("name", ["vеrsion", "version\u200b", "Version", "ｖersion"])
def test_a_name_that_looks_alike_is_another_name(name):
    """Whether such a survey can be made at all is not what protects here."""
    with pytest.raises((NotAllowed, SurveyError)):
        leaves(greedy(name), Policy(1, public={"version"}))


def test_a_label_lets_no_column_out_under_the_name_of_another(monkeypatch):
    """The policy allows `version`, which the data does not have."""
    text = SMALL + public("version", "text", label="diagnosis")
    data, policy = pa.table({"age": [30], "diagnosis": ["HIV+"]}), Policy(1, public={"version"})
    with pytest.raises(RecordError, match="no column version"):
        randomize(design(text), data, policy=policy)

    def match_by_labels(schema, names):
        return {name: schema.labels.get(name, name) for name in ("age", "version")}

    monkeypatch.setattr(table, "match_columns", match_by_labels)
    sent = randomize(design(text), data, policy=policy)
    assert sent["version"].to_pylist() == ["HIV+"]


def private_then_public(ledger, policy):
    """What leaves of a diagnosis that is asked at a small epsilon first and in clear then."""
    asked = survey_toml(category("diagnosis", "HIV+", "none"), table="first", mechanism="grr")
    first = Survey.from_json(design(asked).device_text)
    leaves(first, Policy(1), ledger)
    return leaves(greedy("diagnosis"), policy, ledger)


def test_what_was_private_once_does_not_become_public_later(memory_folder):
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    with pytest.raises(NotAllowed, match="sends diagnosis in clear"):
        private_then_public(ledger, Policy(1))
    # The app's own policy has become too wide since.
    wide = Policy(1, public={"diagnosis"})
    with pytest.raises(NotAllowed, match="which this device has answered as private"):
        private_then_public(Ledger(memory_folder / "other", **PLENTY), wide)


def test_control_without_a_ledger_nobody_remembers_that_it_was_private():
    assert "HIV+" in private_then_public(None, Policy(1, public={"diagnosis"}))


def test_the_ledger_refuses_by_the_survey_alone(memory_folder):
    ledger = Ledger(memory_folder / "ledger", total=1, per_attribute=1)
    respond(yes_or_no(), {"positive": True}, policy=Policy(1), ledger=ledger)
    (said,) = {
        _refusal(yes_or_no("0.5"), record, ledger)
        for record in ({"positive": True}, {"positive": False}, {}, {"positive": "?"})
    }
    assert "1 of the budget of 1 in all is spent" in said


def _refusal(asked, record, ledger):
    with pytest.raises(BudgetSpent) as refused:
        respond(asked, record, policy=Policy(1), ledger=ledger)
    return str(refused.value)


def monthly(table="visits"):
    text = survey_toml(
        category("reason", "work", "rest"), table=table, mechanism="grr", period="month"
    )
    return Survey.from_json(design(text).device_text)


@pytest.mark.parametrize(
    "column", [category("period", "a", "b"), category("Period", "a", "b"), public("PERIOD", "text")]
)
def test_no_survey_has_a_column_called_like_the_periods(column):
    with pytest.raises(SurveyError, match=r"no column is called period|is not a column name"):
        design(SMALL + column)


def allow_any_name(patched):
    for module in ("ldpsql_device.survey", "ldpsql.survey", "ldpsql.designer.file"):
        patched.setattr(f"{module}.check_period", lambda *_: None)


def test_a_private_period_does_not_block_surveys_with_periods(memory_folder, monkeypatch):
    """As if a device had answered such a question, before the name was reserved."""
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    with monkeypatch.context() as patched:
        allow_any_name(patched)
        text = survey_toml(category("period", "a", "b"), table="blocking", mechanism="grr")
        leaves(Survey.from_json(design(text).device_text), Policy(1), ledger)
    assert json.loads(leaves(monthly(), Policy(1), ledger))["public"].keys() == {"period"}


def test_control_a_ledger_that_judges_the_periods_column_blocks_them(memory_folder, monkeypatch):
    allow_any_name(monkeypatch)
    text = survey_toml(category("period", "a", "b"), table="blocking", mechanism="grr")
    ledger, asked = Ledger(memory_folder / "ledger", **PLENTY), monthly()
    leaves(Survey.from_json(design(text).device_text), Policy(1), ledger)
    asked.__dict__["record_schema"] = asked.schema
    with pytest.raises(NotAllowed, match="asks for period in clear"):
        leaves(asked, Policy(1, public={"period"}), ledger)
