"""Errors, warnings and logs of a device: none depends on a record, and none quotes it."""

from __future__ import annotations

import logging
import warnings

import pyarrow as pa
import pytest
from support.strict_device import make_strict
from support.surveys import ANYTHING, RECORD, app, people

from ldpsql.randomize.table import randomize
from ldpsql_device.answer import respond
from ldpsql_device.errors import Error
from ldpsql_device.policy import Policy

SECRET = "xyzzy4242"
RECORDS = [
    RECORD,
    {},
    *({**RECORD, name: value} for name in RECORD for value in (SECRET, None, 4242e40, [SECRET])),
]


def said(survey, record, capsys, caplog, policy=ANYTHING):
    """All that a device says of a record: to its caller, to the streams, to logs and warnings."""
    texts = []
    with warnings.catch_warnings(record=True) as found, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            respond(survey, record, policy=policy)
        except Exception as error:
            while error is not None:
                texts.append(f"{type(error).__name__} {error}")
                error = error.__cause__ or error.__context__
    texts += [str(warning.message) for warning in found]
    return "\n".join([*texts, *capsys.readouterr(), caplog.text])


def test_nothing_is_said_of_any_record(capsys, caplog):
    survey = app()
    assert {said(survey, record, capsys, caplog).strip() for record in RECORDS} == {""}


def test_a_refusal_says_the_same_of_every_record(capsys, caplog):
    policies = [Policy("0.001"), Policy(9, public={"day"}), Policy(9, tables={"other"})]
    policies += [Policy(9, public={"day", "version"}, authors={"0" * 64})]
    survey = app()
    for policy in policies:
        texts = {said(survey, record, capsys, caplog, policy) for record in RECORDS}
        assert len(texts) == 1
        assert "NotAllowed" in texts.pop()


def test_control_a_device_that_refuses_quotes_the_record(capsys, caplog, monkeypatch):
    survey = app()
    make_strict(monkeypatch)
    texts = {said(survey, record, capsys, caplog) for record in RECORDS}
    assert len(texts) > 2
    assert any(SECRET in text for text in texts)


@pytest.mark.parametrize("name", ["age", "spent", "day"])
def test_a_table_of_another_type_is_named_by_its_column_alone(name):
    table = people(3)
    secrets = pa.array([SECRET] * 3)
    table = table.set_column(table.column_names.index(name), name, secrets)
    with pytest.raises(Error) as refusal:
        randomize(app(), table, policy=ANYTHING)
    assert SECRET not in str(refusal.value)
    assert refusal.value.__context__ is None
