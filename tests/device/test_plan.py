"""Plans that cannot be used are refused with one line, in bounded time."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.executed_lines import lines_run
from support.plans import EVERY_PLAN
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


def edited(name: str, edit: Callable[[Json], object]) -> Json:
    """The JSON of a plan with one thing changed."""
    data = copy.deepcopy(BY_NAME[name])
    edit(data)
    return data


def part(data: Json) -> Json:
    """The first part of the first face."""
    return data["faces"][0]["parts"][0]  # type: ignore[no-any-return]


def digit(data: Json) -> Json:
    """The first digit of the first part."""
    return part(data)["digits"][0]  # type: ignore[no-any-return]


BAD: dict[str, tuple[str, Callable[[Json], object], str]] = {
    "an unknown key": ("grr", lambda p: p.update(extra=1), "unknown key"),
    "an unknown key of a part": ("grr", lambda p: part(p).update(x=1), "unknown key"),
    "a missing key": ("grr", lambda p: p.pop("odds"), "lacks odds"),
    "an unknown kind": ("grr", lambda p: part(p)["response"].update(kind="magic"), "one of the"),
    "a float": ("grr", lambda p: p["faces"][0].update(weight=1.0), "whole number"),
    "a negative number": ("grr", lambda p: p["faces"][0].update(weight=-1), "whole number"),
    "a large number as such": ("grr", lambda p: p["faces"][0].update(weight=1 << 60), "whole"),
    "a small number as text": ("grr", lambda p: p["faces"][0].update(weight="3"), "whole"),
    "zeros before a number": ("grr", lambda p: p.update(odds=["0" + p["odds"][0]]), "whole"),
    "no faces": ("grr", lambda p: p.update(faces=[]), "face"),
    "no parts": ("grr", lambda p: p["faces"][0].update(parts=[]), "parts"),
    "weight 0": ("grr", lambda p: p["faces"][0].update(weight=0), "weight"),
    "odds below 1": ("grr", lambda p: p.update(odds=[5]), "odds below 1"),
    "unknown odds": ("grr", lambda p: part(p)["response"].update(odds=1), "unknown odds"),
    "a symbol above its radix": ("grr", lambda p: digit(p).update(radix=4), "radix"),
    "an unknown attribute": ("grr", lambda p: digit(p)["terms"][0].update(attribute=1), "unknown"),
    "an interval too long": ("grr", lambda p: part(p)["response"].update(counts=[6]), "longer"),
    "an interval of nothing": ("grr", lambda p: part(p)["response"].update(counts=[0]), "longer"),
    "a column too short": (
        "arcs",
        lambda p: digit(p)["terms"][0]["coefficient"].update(values=[1, 2]),
        "one number per choice",
    ),
    "a column over no step": (
        "arcs",
        lambda p: digit(p)["terms"][0]["coefficient"].update(step=1),
        "unknown step",
    ),
    "a share that rounds to nothing": (
        "nodes",
        lambda p: p["faces"][0]["steps"][0].update(mantissas=[1, 1 << 40]),
        "2^-32",
    ),
    "exponents for some": (
        "arcs",
        lambda p: p["faces"][0]["steps"][0].update(exponents=[0]),
        "exponent",
    ),
    "a coin that does not fit": ("hash", lambda p: p["faces"][0].update(coins=[4, 4]), "coins"),
    "a hash without coins": ("hash", lambda p: part(p)["then"].update(slope=7), "coins"),
    "a modulus that is no prime": ("hash", lambda p: part(p)["then"].update(prime=9), "prime"),
    "a parity without its coin": ("parity", lambda p: part(p)["then"].update(coin=3), "coin"),
    "a table out of range": ("joint table", lambda p: p["tables"][0].append(9), "radix"),
    "a table too short": ("joint table", lambda p: p["tables"][0].pop(), "shorter"),
    "a missing table": ("joint table", lambda p: p.pop("tables"), "missing"),
    "cuts that fall": (
        "product of steps",
        lambda p: p["tables"].__setitem__(0, [3, 2, 6]),
        "ascend",
    ),
    "a row with words missing": (
        "rows",
        lambda p: part(p)["response"]["rows"][0].__setitem__(2, 1),
        "row of words",
    ),
    "rows missing": ("rows", lambda p: part(p)["response"]["rows"].pop(), "row for every"),
    "a staircase that leaves words": (
        "staircase",
        lambda p: part(p)["response"]["weights"].__setitem__(0, 5),
        "sum to 2^64",
    ),
    "rungs beyond all words": (
        "ladder",
        lambda p: part(p)["response"]["rungs"][0][0].update(width=str(WORDS)),
        "words of a ladder",
    ),
    "ladders missing": ("ladder", lambda p: part(p)["response"]["rungs"].pop(), "every class"),
    "fakes beside an answer": ("grr", lambda p: part(p).update(fakes=1), "fakes"),
    "steps in the dozens": (
        "grr",
        lambda p: p["faces"][0].update(steps=[{"mantissas": [1, 1]}] * 30),
        "too many questions",
    ),
    "digits beyond bounds": (
        "grr",
        lambda p: p["faces"][0].update(
            steps=[{"mantissas": [1, 1]}] * 19, parts=p["faces"][0]["parts"] * 60
        ),
        "too many",
    ),
    "combs beyond bounds": (
        "comb and scrambled",
        lambda p: (
            p["faces"][0]["steps"].append({"mantissas": [1] * 1000}),
            digit(p).update(radix=1 << 16),
        ),
        "combs",
    ),
    "false where it is said": ("arcs", lambda p: digit(p).update(modulus=False), "true"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_plan_that_cannot_be_used_is_refused(name: str) -> None:
    base, edit, word = BAD[name]
    with pytest.raises(SurveyError) as refusal:
        plan_from_json(edited(base, edit))
    assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)


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


@pytest.mark.parametrize(
    ("name", "edit", "key"),
    [
        ("grr", lambda p: p.update(tables=[]), "tables"),
        ("grr", lambda p: p["faces"][0].update(steps=[]), "steps"),
        ("grr", lambda p: part(p).update(fakes=0), "fakes"),
        ("grr", lambda p: digit(p).update(plus=0), "plus"),
        ("grr", lambda p: digit(p)["terms"][0].update(divide=1), "divide"),
        ("parity", lambda p: part(p)["then"].update(plus=0), "plus"),
    ],
)
def test_a_default_is_left_out(name: str, edit: Callable[[Json], object], key: str) -> None:
    """A plan has one form, so that it has one fingerprint."""
    with pytest.raises(SurveyError, match=f"says {key} where it is left out"):
        plan_from_json(edited(name, edit))


def test_very_many_circles_are_refused_in_time() -> None:
    """Of different radices there are as many pairs of sizes, whose words would have to be found:
    that takes hundreds of lines for each, and reading them takes a few."""

    def refuse(count: int) -> None:
        data = edited("grr", lambda p: p["faces"][0].update(steps=[{"mantissas": [1] * count}]))
        radices = {"step": 0, "values": list(range(1 << 22, (1 << 22) + count))}
        digit(data).update(radix=radices, modulus=True)
        with pytest.raises(SurveyError, match="too many different sizes"):
            odds(plan_from_json(data), Definition("local"))

    most = 1 << 18
    assert lines_run(lambda: refuse(most)) < 20 * most
    assert lines_run(lambda: refuse(most)) < 2.2 * lines_run(lambda: refuse(most // 2))
