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
from ldpsql_device.draw import draw, interpret
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.law import law
from ldpsql_device.odds import odds
from ldpsql_device.plan import WORDS, Integers, Plan, plan_from_json, subset_words
from ldpsql_lab.audit import bisection
from ldpsql_lab.audit.bisection import law_of_interpreter
from ldpsql_lab.simulation import SeededEntropy

ALPHA = 1e-6


@pytest.fixture(params=EVERY_PLAN, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """A plan of every response and every symbol map."""
    return request.param  # type: ignore[no-any-return]


def records(plan: Plan) -> list[tuple[int, ...]]:
    """Every record."""
    return list(product(*map(range, plan.sizes)))


def test_laws_sum_to_one(case: Case) -> None:
    for record in records(case.plan):
        assert sum(law(case.plan, record).values()) == 1


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


def test_reports_follow_the_law(case: Case) -> None:
    people = 4000
    record = records(case.plan)[-1]
    columns = draw(case.plan, np.tile(np.array(record), (people, 1)), SeededEntropy(7))
    rows, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    chances = law(case.plan, record)
    assert set(map(tuple, rows.tolist())) <= set(chances)
    limits = case.plan.limits[columns[0]]
    assert (np.stack(columns[1:], axis=1) < limits).all()
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        expected = float(chances[tuple(row)]) * people
        # Bernstein's inequality with a union bound over the rows.
        level = math.log(2 * len(chances) / ALPHA)
        assert abs(count - expected) <= math.sqrt(2 * expected * level) + level


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


def test_bisection_finds_a_sampler_that_is_two_percent_off(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All words are moved by 2 %: what the first ones mean comes up too often."""
    record, share = records(case.plan)[-1], np.uint64(WORDS // 50)

    def moved(plan: Plan, codes: Integers, entropy: Entropy) -> list[Integers]:
        words = entropy.words(len(codes) * plan.words).reshape(len(codes), -1)
        return interpret(plan, codes, np.maximum(words, share) - share)

    monkeypatch.setattr(bisection, "draw", moved)
    assert law_of_interpreter(case.plan, record)[0] != law(case.plan, record)


def test_bisection_finds_a_border_that_is_one_word_off(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = EVERY_PLAN[0].plan
    inside, _ = subset_words(1, 5, plan.odds[0])

    def moved(plan: Plan, codes: Integers, entropy: Entropy) -> list[Integers]:
        words = entropy.words(len(codes) * plan.words).reshape(len(codes), -1)
        return interpret(plan, codes, np.where(words == np.uint64(inside), np.uint64(0), words))

    monkeypatch.setattr(bisection, "draw", moved)
    assert law_of_interpreter(plan, (0,))[0] != law(plan, (0,))
