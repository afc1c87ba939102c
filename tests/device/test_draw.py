"""The interpreter against the exact law, word by word."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.plans import EVERY_PLAN, Case

from ldpsql.reports.report import question_shares
from ldpsql.reports.survey_file import plan_to_json
from ldpsql_device.draw import interpret
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.law import law
from ldpsql_device.odds import odds
from ldpsql_device.plan import Integers, Plan, plan_from_json, subset_words
from ldpsql_lab.audit import bisection
from ldpsql_lab.audit.bisection import law_of_interpreter
from ldpsql_lab.simulation import SeededEntropy


@pytest.fixture(params=EVERY_PLAN, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """A plan of every response and every symbol map."""
    return request.param  # type: ignore[no-any-return]


def records(plan: Plan) -> list[tuple[int, ...]]:
    """Every record."""
    return list(product(*map(range, plan.sizes)))


def test_laws_sum_to_one(case: Case) -> None:
    for record in records(case.plan):
        chances = law(case.plan, record)
        assert sum(chances.values()) == 1
        for question, *answers in chances:
            assert (np.array(answers) < case.plan.limits[question]).all()


def test_odds_are_those_of_the_enumerated_law(case: Case) -> None:
    everybody = records(case.plan)
    laws = [law(case.plan, record) for record in everybody]
    rows = set().union(*laws)
    worst: Fraction | None = Fraction(1)
    for row in rows:
        column = [one.get(row, Fraction(0)) for one in laws]
        column = [column[i] for i in case.compared(everybody, column)]
        if min(column) == 0:
            worst = None
            break
        assert worst is not None
        worst = max(worst, max(column) / min(column))
    stated = odds(case.plan, case.definition)
    if worst is None:
        assert stated is None
    else:
        assert stated is not None
        assert worst <= stated <= worst * case.slack
    if case.epsilon is not None:
        assert stated is not None
        assert stated <= Epsilon.parse(case.epsilon).odds


def test_bisection_of_the_words_gives_the_law(case: Case) -> None:
    for record in records(case.plan)[:3]:
        assert law_of_interpreter(case.plan, record)[0] == law(case.plan, record)


def test_plans_survive_json(case: Case) -> None:
    read = plan_from_json(plan_to_json(case.plan))
    assert read == case.plan
    assert (read.limits == case.plan.limits).all()
    assert np.allclose(question_shares(read), question_shares(case.plan), rtol=0, atol=0)
    assert math.isclose(question_shares(read).sum(), 1.0)


def test_a_table_and_one_record_take_the_same_way(case: Case) -> None:
    everybody = np.array(records(case.plan) * 3)
    words = SeededEntropy(3).words(len(everybody) * case.plan.words).reshape(len(everybody), -1)
    together = np.stack(interpret(case.plan, everybody, words), axis=1)
    for i, row in enumerate(together):
        alone = interpret(case.plan, everybody[i : i + 1], words[i : i + 1])
        assert [int(column[0]) for column in alone] == row.tolist()


def test_bisection_finds_a_border_that_is_one_word_off(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = EVERY_PLAN[0].plan
    inside, _ = subset_words(1, 5, plan.odds[0])

    def moved(plan: Plan, codes: Integers, entropy: Entropy) -> list[Integers]:
        words = entropy.words(len(codes) * plan.words).reshape(len(codes), -1)
        return interpret(plan, codes, np.where(words == np.uint64(inside), np.uint64(0), words))

    monkeypatch.setattr(bisection, "draw", moved)
    assert law_of_interpreter(plan, (0,))[0] != law(plan, (0,))
