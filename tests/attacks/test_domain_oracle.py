"""An oracle by domains: the survey is made so that only some people are inside of its domain."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from support.strict_device import make_strict, seen
from support.surveys import category, dimension, integer, survey_toml

from ldpsql.designer import design
from ldpsql_device.encode import encode
from ldpsql_device.errors import SurveyError
from ldpsql_device.law import law
from ldpsql_device.schema import Schema
from ldpsql_device.survey import Survey, canonical

HIGHEST = (1 << 17) - 1
ILL, WELL = {"hiv": "positive"}, {"hiv": "negative"}


def asked(*columns, epsilon="0.001"):
    return design(survey_toml(*columns, epsilon=epsilon, mechanism="grr"))


@pytest.mark.parametrize(
    "column",
    [category("hiv", "positive"), integer("hiv", 1, 1), integer("hiv", 0, 9, bin_width=10)],
)
def test_a_domain_of_one_code_is_no_survey(column):
    with pytest.raises(SurveyError, match="at least two declared codes"):
        asked(column)


def test_a_domain_of_one_code_is_refused_on_the_device():
    data = json.loads(asked(category("hiv", "positive", "x")).device_text)
    data["schema"]["dimension"][0].update(values=["positive"], missing="code")
    with pytest.raises(SurveyError, match="at least two declared codes"):
        Survey.from_json(canonical(data))
    with pytest.raises(SurveyError, match="at least two declared codes"):
        Schema.from_keys({"dimension": {"hiv": {"type": "category", "values": ["positive"]}}})


def test_being_outside_does_not_show(monkeypatch):
    survey = asked(category("hiv", "positive", "nobody"))
    assert seen(survey, ILL) == seen(survey, WELL)
    make_strict(monkeypatch)  # the control: a device that refuses tells who is ill
    assert seen(survey, ILL) != seen(survey, WELL)


def search(salary):
    """The salary that one survey after the other leads to, by whether the device answers."""
    low, high = 0, HIGHEST
    while low < high:
        middle = (low + high) // 2
        # Two codes: nobody's, and that of everybody from 0 to the middle.
        survey = asked(dimension("salary", "int", edges=[-1, 0, middle + 1]))
        answered = seen(survey, {"salary": salary}).startswith("a report")
        low, high = (low, middle) if answered else (middle + 1, high)
    return low


def test_a_binary_search_by_domains_ends_in_the_same_place_for_everybody(monkeypatch):
    assert search(73_121) == search(4) == 0
    make_strict(monkeypatch)  # the control: a device that refuses tells the exact salary
    assert search(73_121) == 73_121


@pytest.mark.parametrize(
    ("outside", "missing"),
    [("random", "random"), ("random", "code"), ("other", "random"), ("other", "code")],
)
def test_the_reports_of_people_outside_keep_the_promise(outside, missing):
    """Exactly: the law of a report over the words of the drawn code and of the plan."""
    survey = asked(category("x", "a", "b", "c", outside=outside, missing=missing), epsilon="1")
    laws = [report_law(survey, {"x": value}) for value in ("a", "b", "c", "z", None)]
    worst = max(one[r] / other[r] for one in laws for other in laws for r in one)
    assert worst <= survey.guarantee.epsilon.odds
    assert float(worst) == pytest.approx(math.e, rel=1e-9)


def report_law(survey, record):
    """The mixture over drawn codes; each is as likely as the words that give it."""
    found = {}
    for code in range(3):
        word = np.array([(2 * code + 1) * 2**64 // 6], dtype=np.uint64)

        class Middle:
            def words(self, count, word=word):
                return word[:count]

        [codes] = encode(survey.schema, record, Middle()).tolist()
        for report, share in law(survey.plan, codes).items():
            found[report] = found.get(report, 0) + Fraction(share) / 3
    return found
