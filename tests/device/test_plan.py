"""Plans that cannot be used are refused with one line, in bounded time."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.executed_lines import lines_run
from support.plans import EVERY_PLAN
from support.rows import answered
from support.tiers import examples

from ldpsql.reports.survey_file import plan_to_json
from ldpsql_device.errors import SurveyError
from ldpsql_device.odds import Definition, odds
from ldpsql_device.plan import (
    HALVES,
    WORDS,
    Step,
    base_points,
    is_prime,
    plan_from_json,
    scrambled_ranks,
    subset_words,
)

BY_NAME = {case.name: plan_to_json(case.plan) for case in EVERY_PLAN}

Json = dict[str, Any]
STEP = {"mantissas": [1, 1]}


def refusal_of(plan: Json) -> str:
    """The one line that says why the plan cannot be used."""
    with pytest.raises(SurveyError) as refusal:
        plan_from_json(plan)
    assert len(str(refusal.value).splitlines()) == 1
    return str(refusal.value)


def changed(row: str) -> Json:
    """A plan with other values at some places, or without them."""
    name, changes = row.split(": ", 1)
    plan = copy.deepcopy(BY_NAME[name])
    for change in changes.split():
        place, value = change.split("=", 1)
        *path, last = (int(key) if key.isdigit() else key for key in place.split("/"))
        node: Any = plan
        for key in path:
            node = node[key]
        if value:
            node[last] = json.loads(value)
        else:
            del node[last]
    return plan


def test_plans_that_cannot_be_used_are_refused(golden: Callable[[Path, str], None]) -> None:
    """Every row of `bad_plans.txt`, each with the reason under it."""
    path = Path(__file__).with_name("bad_plans.txt")
    rows = path.read_text(encoding="utf-8")
    golden(path, answered(rows, lambda row: refusal_of(changed(row))))


@pytest.mark.parametrize(
    ("name", "edit", "word"),
    [
        ("grr", lambda face: face.update(steps=[STEP] * 30), "too many questions"),
        (
            "grr",
            lambda face: face.update(steps=[STEP] * 19, parts=face["parts"] * 60),
            "too many",
        ),
        (
            "comb and scrambled",
            lambda face: (
                face["steps"].append({"mantissas": [1] * 1000}),
                face["parts"][0]["digits"][0].update(radix=1 << 16),
            ),
            "combs",
        ),
    ],
)
def test_a_plan_beyond_bounds_is_refused(
    name: str, edit: Callable[[Json], object], word: str
) -> None:
    plan = copy.deepcopy(BY_NAME[name])
    edit(plan["faces"][0])
    assert word in refusal_of(plan)


@given(st.data())
@settings(max_examples=examples(300))
def test_no_edit_raises_anything_else(data: st.DataObject) -> None:
    """One value anywhere is replaced by another: the plan is usable, or a SurveyError says why."""
    plan = copy.deepcopy(BY_NAME[data.draw(st.sampled_from(sorted(BY_NAME)))])
    node: Any = plan
    while isinstance(node, dict | list) and node:
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        child = node[key]
        if not isinstance(child, dict | list) or not child or data.draw(st.booleans()):
            node[key] = data.draw(
                st.none()
                | st.booleans()
                | st.integers(-2, 1 << 66)
                | st.floats()
                | st.text(max_size=4)
                | st.just([])
                | st.just({})
                | st.integers(1 << 53, 1 << 95).map(str)
            )
            break
        node = child
    try:
        read = plan_from_json(json.loads(json.dumps(plan)))
    except SurveyError as refusal:
        assert "\n" not in str(refusal)
    else:
        assert plan_from_json(plan_to_json(read)) == read


@given(st.integers(1, 300), st.integers(0, 299), st.integers(0, 20_000))
def test_words_of_a_subset_are_all_and_within_the_odds(size: int, less: int, milli: int) -> None:
    base, odds = max(1, size - less), WORDS + WORDS * milli // 1000
    inside, outside = subset_words(base, size, odds)
    if base == size:
        assert WORDS - inside * (size - 1) <= inside + size
        return
    last = WORDS - base * inside - outside * (size - base - 1)
    assert outside <= last < outside + (size - base)
    assert inside * WORDS <= outside * odds
    assert milli == 0 or max(inside, last) * WORDS <= outside * odds


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_halves_are_shared_by_weight(weights: list[int]) -> None:
    choice = Step(tuple(weights))
    assert sum(choice.preimages) == HALVES
    for share, weight in zip(choice.preimages, weights, strict=True):
        assert abs(share - weight * HALVES / sum(weights)) <= 1


def test_primes() -> None:
    sieve = [n for n in range(2000) if n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))]
    assert [n for n in range(2000) if is_prime(n)] == sieve
    assert is_prime(67_108_859)
    assert not any(map(is_prime, (2047, 1_373_653, 25_326_001, 67_108_863)))


def test_scrambled_ranks_are_those_of_the_rule() -> None:
    """The first words of SHA-256("ldpsql scrambled", seed 5, block 0), by hand."""
    assert scrambled_ranks((6,), 5, 0).tolist() == RANKS
    assert scrambled_ranks((6,), 5, 1).tolist() == [RANKS[-i % 6] for i in range(6)]


RANKS = [5, 2, 1, 0, 4, 3]


def test_base_sets() -> None:
    """A window of 8 of 12 with every third point, centred (docs/spec/fourier.md#1.1)."""
    assert base_points("comb", (12,), (4, 8, 2)).tolist() == COMB
    assert len(base_points("scrambled", (3, 2, 5), (2, 9, 0))) == 12


COMB = [0, 1, 3, 4, 6, 7]


def test_very_many_circles_are_refused_in_time() -> None:
    """Of different radices there are as many pairs of sizes, whose words would have to be found:
    that takes hundreds of lines for each, and reading them takes a few."""

    def refuse(count: int) -> None:
        data = copy.deepcopy(BY_NAME["grr"])
        data["faces"][0]["steps"] = [{"mantissas": [1] * count}]
        radices = {"step": 0, "values": list(range(1 << 22, (1 << 22) + count))}
        data["faces"][0]["parts"][0]["digits"][0].update(radix=radices, modulus=True)
        with pytest.raises(SurveyError, match="too many different sizes"):
            odds(plan_from_json(data), Definition("local"))

    most = 1 << 18
    assert lines_run(lambda: refuse(most)) < 20 * most
    assert lines_run(lambda: refuse(most)) < 2.2 * lines_run(lambda: refuse(most // 2))
