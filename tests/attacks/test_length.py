"""The length of a report: one for all records of a survey."""

from __future__ import annotations

from datetime import date

import pytest
from support.surveys import ANYTHING, EVERY_TYPE, MIXED_RECORD, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.reports import Report

MECHANISMS = ["fourier", "grr", "ehio", "oue", "olh"]
RECORDS = [{"age": age, "pay": 3 * age} for age in range(-20, 1020, 26)]
RECORDS += [{}, {"age": None}, {"age": "x" * 5000}, {"age": 10**300, "pay": -1e300}]


def lengths(survey, records):
    """Characters of the reports of these records, several times each."""
    answers = (respond(survey, record, policy=ANYTHING) for record in records * 3)
    return {len(answer.to_json()) for answer in answers}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_all_reports_have_one_length(mechanism):
    columns = [integer("age", 0, 999)]
    if mechanism in ("fourier", "ehio"):
        columns.append(measure("pay", 0, 100))
    assert len(lengths(design(survey_toml(*columns, mechanism=mechanism)), RECORDS)) == 1


def test_all_types_have_one_length():
    wrong = [{**MIXED_RECORD, name: date(1, 1, 1)} for name in MIXED_RECORD]
    assert len(lengths(design(EVERY_TYPE), [MIXED_RECORD, *wrong, {}])) == 1


def test_control_numbers_in_decimal_digits_have_many(monkeypatch):
    def in_digits(cls, survey, numbers, public):
        return cls("0" * 32, ",".join(map(str, numbers)), public)

    monkeypatch.setattr(Report, "of", classmethod(in_digits))
    survey = design(survey_toml(integer("age", 0, 999), mechanism="grr"))
    assert len(lengths(survey, RECORDS)) > 1
