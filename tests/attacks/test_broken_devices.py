"""Devices that tell more than they should by a hair, or seldom: a usual audit finds every one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.surveys import category, integer, measure, survey_toml

from ldpsql.audit import Audit, audit_design
from ldpsql.audit.exact import domain_of_codes
from ldpsql.cli.audit import USUAL_REPORTS
from ldpsql.designer import design
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device import answer as respond
from ldpsql_device import draw as device
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import RecordError
from ldpsql_device.plan import Step
from ldpsql_device.schema import Dimension
from ldpsql_device.values import INSIDE, MISSING

Patch = pytest.MonkeyPatch
SHARED = "people who are randomized together share random words"


def audited(name: str, domain: str, measures: int = 0) -> Audit:
    """What `ldpsql audit` finds of a mechanism, as it is run usually."""
    design = mechanism(name).design(domain_of_codes(domain, measures), Epsilon.parse("1"), {})
    return audit_design(design, {}, reports=USUAL_REPORTS, device=True)


def interpret_by(monkeypatch: Patch, change: Callable[..., Any]) -> None:
    """Devices interpret with words and answers that `change` takes and gives."""
    right = device.interpret
    monkeypatch.setattr(device, "interpret", lambda *given: change(right, *given))


def answers_where(attribute: int, code: int, answer: int) -> Callable[..., Any]:
    """One code is answered by the same number, always."""

    def change(right: Any, plan: Any, codes: Any, words: Any) -> Any:
        question, first, *others = right(plan, codes, words)
        return [question, np.where(codes[:, attribute] == code, answer, first), *others]

    return change


def group_of_code_3(right: Any, plan: Any, codes: Any, words: Any) -> Any:
    words = words.copy()
    words[codes[:, 0] == 3, 0] = 0
    return right(plan, codes, words)


def half_for_all(right: Any, plan: Any, codes: Any, words: Any) -> Any:
    half = -(-len(words) // 2)
    return right(plan, codes, np.concatenate([words[:half], words[:half]])[: len(words)])


def one_word_for_all(right: Any, plan: Any, codes: Any, words: Any) -> Any:
    return right(plan, codes, np.tile(words[:, :1], (1, words.shape[1])))


ONE_OF_MANY = ("grr", "5000", 0, answers_where(0, 217, 217), "the record (217,) sends one report")
GROUP = ("ehio", "16x16", 0, group_of_code_3, "the question depends on the record")


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "domain", "measures", "change", "problem"),
    [
        ("grr", "64", 0, answers_where(0, 37, 37), "law of its plan for the record (37,)"),
        ("grr", "100x2", 0, answers_where(0, 57, 0), "law of its plan for the record (57,"),
        pytest.param(*ONE_OF_MANY, marks=pytest.mark.slow),
        pytest.param(*GROUP, marks=pytest.mark.slow),
        ("fourier", "8x2", 0, half_for_all, SHARED),
        ("fourier", "8x2", 0, one_word_for_all, "the device does not follow the law of its plan"),
    ],
    ids=["in clear", "always 0", "one of many", "group", "words of others", "words used twice"],
)
def test_a_device_that_treats_some_people_otherwise(
    name: str, domain: str, measures: int, change: Any, problem: str, monkeypatch: Patch
) -> None:
    interpret_by(monkeypatch, change)
    found = audited(name, domain, measures).problems
    assert any(problem in text for text in found), found


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "domain"), [("grr", "64"), ("grr", "100x2"), ("fourier", "8x2")], ids=str
)
def test_a_sound_device_passes(name: str, domain: str) -> None:
    """Those of the tests above and below without what is broken in them."""
    found = audited(name, domain)
    assert found.holds, found.problems
    assert found.device is not None
    assert found.device.compared == found.device.records


@pytest.mark.parametrize(
    ("percent", "domain"),
    [("1", "4"), ("0.1", "4"), pytest.param("0.1", "5000", marks=pytest.mark.slow)],
)
def test_the_truth_a_little_too_often(percent: str, domain: str, monkeypatch: Patch) -> None:
    part = np.uint64(Fraction(100) / Fraction(percent))
    right = device.Rungs.locate
    monkeypatch.setattr(
        device.Rungs, "locate", lambda rungs, words: right(rungs, words - words // part)
    )
    assert any("law" in text for text in audited("grr", domain).problems)


@pytest.mark.slow
def test_a_device_and_its_odds_that_lie_together(monkeypatch: Patch) -> None:
    """From nine codes on the device tells the truth as if epsilon were 2.4: odds stay as stated."""
    right = device.subset_table

    def likelier(pairs: list[list[int]], odds: int) -> Any:
        return right(pairs, odds * 4 if pairs[0][1] > 1000 else odds)

    monkeypatch.setattr(device, "subset_table", likelier)
    found = audited("grr", "5000")
    assert found.odds is not None
    assert found.odds <= Epsilon.parse("1").odds
    assert "two records answer one question by odds above e^1: e^2.38629" in found.problems


def test_words_of_the_system_that_come_twice(monkeypatch: Patch) -> None:
    right = OsEntropy.words

    def words(source: OsEntropy, count: int) -> Any:
        half = right(source, -(-count // 2))
        return np.concatenate([half, half])[:count]

    monkeypatch.setattr(OsEntropy, "words", words)
    assert any("gives some words twice" in text for text in audited("fourier", "8x2").problems)


def test_words_of_the_system_whose_high_bits_are_clear(monkeypatch: Patch) -> None:
    right = OsEntropy.words
    monkeypatch.setattr(
        OsEntropy, "words", lambda source, count: right(source, count) & np.uint64(2**56 - 1)
    )
    assert any("random words is set 0 times" in text for text in audited("grr", "4").problems)


@pytest.mark.slow
def test_faces_drawn_by_other_shares(monkeypatch: Patch) -> None:
    right = Step.find
    monkeypatch.setattr(Step, "find", lambda step, halves: right(step, halves >> 1))
    assert not audited("ehio", "16x16").holds


# -- records -------------------------------------------------------------------------------------

COLUMNS = (integer("age", 0, 9), category("sex", "f", "m", missing="code"), measure("pay", 0, 10))
CODES, ENCODE = Dimension.code, respond.encode


def problems_of_records() -> tuple[str, ...]:
    survey = design(survey_toml(*COLUMNS, mechanism="hgrr"))
    found = audit_design(survey.design, survey.options, device=True, survey=survey)
    assert found.records is not None
    assert min(found.records.inside, found.records.outside, found.records.missing) > 10
    assert found.holds == (not found.problems)
    assert not found.records.problems or not found.holds
    return found.records.problems


def test_records_of_every_kind_are_answered_alike() -> None:
    assert problems_of_records() == ()


def refuse_outside(dimension: Dimension, value: Any, drawn: int) -> tuple[int, int]:
    code, standing = CODES(dimension, value, drawn)
    if standing not in (INSIDE, MISSING):
        raise RecordError(f"{dimension.name} lies outside its domain")
    return code, standing


def one_more_code(dimension: Dimension, value: Any, drawn: int) -> tuple[int, int]:
    code, standing = CODES(dimension, value, drawn)
    return (code if standing == INSIDE else dimension.size), standing


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (refuse_outside, "age, a value outside: the device does not answer, it raises RecordError"),
        (one_more_code, "age, missing: encoding gives a code that does not exist"),
    ],
)
def test_values_that_are_treated_otherwise(change: Any, problem: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Dimension, "code", change)
    assert problem in problems_of_records()


def another_word(schema: Any, record: Any, entropy: Any) -> Any:
    if record.get("sex") is None:
        entropy.words(1)
    return ENCODE(schema, record, entropy)


def lowest_code(schema: Any, record: Any, entropy: Any) -> Any:
    codes = ENCODE(schema, record, entropy)
    return codes if record.get("sex") in ("f", "m") else codes * 0


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (another_word, "sex, missing: the device does not draw as many random words"),
        (lowest_code, "sex, missing: the report does not follow from the codes and from fresh"),
    ],
)
def test_records_that_take_another_way(change: Any, problem: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(respond, "encode", change)
    assert any(problem in found for found in problems_of_records())
