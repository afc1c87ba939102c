"""Devices that tell more than they should by a hair, or seldom: a usual audit finds every one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpsql.audit import Audit, audit_design
from ldpsql.audit.check import USUAL_REPORTS
from ldpsql.audit.exact import made_up
from ldpsql.recipes.registry import mechanism
from ldpsql_device import draw as device
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import Step

Patch = pytest.MonkeyPatch
SHARED = "people who are randomized together share random words"


def audited(name: str, domain: str, measures: int = 0) -> Audit:
    """What `ldpsql audit` finds of a mechanism, as it is run usually."""
    design = mechanism(name).design(made_up(domain, measures), Epsilon.parse("1"), {})
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


@pytest.mark.parametrize(
    ("name", "domain", "measures", "change", "problem"),
    [
        ("grr", "64", 0, answers_where(0, 37, 37), "law of its plan for the record (37,)"),
        ("grr", "300x2", 0, answers_where(0, 217, 0), "law of its plan for the record (217,"),
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


@pytest.mark.parametrize(
    ("name", "domain"), [("grr", "64"), ("grr", "300x2"), ("fourier", "8x2")], ids=str
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
