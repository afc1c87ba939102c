"""The exact law of the device code, found from outside: faults of the sampler alone are found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.plans import EVERY_PLAN, Case

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit import audit_design
from ldpsql.estimators.base import Design
from ldpsql.reports.survey_file import vary
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device import draw as device
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.law import law
from ldpsql_device.plan import WORDS, Digit, Face, Part, Plan, RowsOfWords, Step, Term
from ldpsql_lab.audit import bisection
from ldpsql_lab.audit.bisection import Given, check_device, find_pieces, law_of_interpreter
from ldpsql_lab.simulation import SeededEntropy

PLANS = {case.name: case for case in EVERY_PLAN}
ONE = Epsilon.parse("1")
EVERYTHING = StatedGuarantee("local", ONE)
SHARE = np.uint64(WORDS // 50)


def lower(words: np.ndarray) -> np.ndarray:
    """Words 2 % of all lower: what the first ones mean comes up too often."""
    share = np.uint64(SHARE) if words.dtype == np.uint64 else np.uint32(int(SHARE) >> 32)
    return np.maximum(words, share) - share


def records(case: Case) -> list[tuple[int, ...]]:
    return list(product(*map(range, case.plan.sizes)))


def look(case: Case) -> tuple[str, ...]:
    ends = [records(case)[0], records(case)[-1]]
    return check_device(case.plan, ends, SeededEntropy(1)).problems


@pytest.fixture(params=[1 << 12, 0], ids=["whole", "in parts"])
def extent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are compared report by report, or as if they were too large for that: the few questions
    they have come up often enough in 20 of them."""
    monkeypatch.setattr(bisection, "MOST_ENUMERATED", request.param)
    monkeypatch.setattr(bisection, "_MORE_QUESTIONS", 4)


@pytest.mark.fast(8)
@pytest.mark.usefixtures("extent")
@pytest.mark.parametrize("case", EVERY_PLAN, ids=lambda case: case.name)
def test_the_device_follows_the_law_of_every_plan(case: Case) -> None:
    assert look(case) == ()


FAULTS: dict[str, tuple[Any, str, int]] = {
    "rungs": (device.Rungs, "locate", 1),
    "bits": (device, "_respond_bits", -1),
    "scale": (device, "scale", 0),
    "choices": (Step, "find", 1),
}
"""Whose function is given words, and at which place."""


def break_device(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Have devices read the words of a fault 2 % lower."""
    owner, name, place = FAULTS[fault]
    right = getattr(owner, name)

    def changed(*given: Any) -> Any:
        words = list(given)
        words[place] = lower(words[place])
        return right(*words)

    monkeypatch.setattr(owner, name, changed)


@pytest.mark.fast(8)
@pytest.mark.usefixtures("extent")
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        *(("rungs", name) for name in ("grr", "nodes", "arcs", "comb and scrambled", "hash")),
        *(("rungs", name) for name in ("parity", "split budgets", "joint table", "ladder")),
        *(("rungs", "ladder and bits"), ("rungs", "rows"), ("bits", "bits")),
        *(("bits", "ladder and bits"), ("scale", "kept"), ("choices", "nodes")),
        *(("choices", name) for name in ("product of steps", "comb and scrambled", "bits")),
    ],
)
def test_words_two_percent_off(fault: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_device(monkeypatch, fault)
    assert look(PLANS[name])


@pytest.mark.parametrize("name", ["hash", "parity"])
def test_coins_two_percent_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small plans; of large ones coins tell nothing, and are left to the chi-square."""
    break_device(monkeypatch, "scale")
    assert look(PLANS[name])


def test_some_of_many_bits_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisection, "MOST_ENUMERATED", 0)
    monkeypatch.setattr(bisection, "SAMPLED_BITS", 2)
    monkeypatch.setattr(bisection, "_MORE_QUESTIONS", 4)
    assert look(PLANS["bits"]) == ()
    break_device(monkeypatch, "bits")
    assert look(PLANS["bits"])


def test_a_border_inside_a_secret_step_is_found():
    """Three secret choices that give one report unless one word in 2^24 comes."""
    rare = 1 << 40
    rows = [[WORDS - rare, 0, 0, 0] for _ in range(3)]
    for symbol, row in enumerate(rows):
        row[1 + symbol] = rare
    cell = Digit((Term(0),), 3, vary(0, [0, 1, 2]))
    step = Step((1, 2, 5), (), True)
    plan = Plan(
        (1,), (), (Face(1, (Part((cell,), RowsOfWords(tuple(map(tuple, rows)))),), (step,)),)
    )
    found, _ = law_of_interpreter(plan, (0,))
    assert found == law(plan, (0,))
    assert len(found) == 4
    assert check_device(plan, [(0,)], SeededEntropy(1)).problems == ()


def test_questions_with_too_many_answers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisection, "MOST_ENUMERATED", 0)
    monkeypatch.setattr(bisection, "MOST_ANSWERS", 2)
    case = PLANS["nodes"]
    found = check_device(case.plan, records(case)[:1], SeededEntropy(1))
    assert (found.problems, found.is_whole) == ((), False)
    assert 1 <= found.left_out <= 2


@dataclass(frozen=True)
class Planned(Design[Any]):
    """A plan as a design."""

    plan: Plan
    name: str = "planned"
    epsilon: Epsilon = ONE
    guarantee: StatedGuarantee = EVERYTHING

    def __new__(cls, *given: object) -> Planned:
        cls.__abstractmethods__ = frozenset()
        return super().__new__(cls)

    @cached_property
    def domain(self) -> RecordDomain:
        sizes = self.plan.sizes
        return RecordDomain(tuple("abcd"[: len(sizes)]), sizes, (), (), ())


def test_an_audit_that_looks_at_the_device_says_what_it_saw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = Planned(PLANS["nodes"].plan)
    sound = audit_design(design, device=True, reports=20_000, entropy=SeededEntropy(2))
    assert (sound.holds, sound.device.is_whole, sound.device.problems) == (True, True, ())
    assert audit_design(design).device is None
    break_device(monkeypatch, "rungs")
    broken = audit_design(design, device=True)
    assert not broken.holds
    assert broken.device.problems
    assert set(broken.device.problems) <= set(broken.problems)
    assert broken.to_json()["device"]["is_whole"] is True


def test_borders_that_are_known_cost_two_looks_each() -> None:
    borders = np.array([0, 3, 1 << 40, (1 << 63) + 12345], dtype=np.uint64)
    looks = []

    def look(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        looks.append(len(rows))
        return np.searchsorted(borders, values, side="right")[:, None]

    found = find_pieces(look, 1, 64)
    cost, looks = sum(looks), []
    again = find_pieces(look, 1, 64, found[:2])
    assert [list(part) for part in again] == [list(part) for part in found]
    assert found[1].tolist() == borders.tolist()
    assert sum(looks) <= 65 + 2 * len(borders) < cost
    # Borders that are not there do no harm.
    wrong = (np.zeros(2, np.int64), np.array([7, 1 << 50], np.uint64))
    assert [list(part) for part in find_pieces(look, 1, 64, wrong)] == [list(p) for p in found]


def test_a_check_says_how_much_it_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    case = PLANS["nodes"]
    whole = check_device(case.plan, records(case), SeededEntropy(1))
    assert whole.records == whole.compared == len(records(case))
    assert (whole.questions, whole.epsilon > 0) == (case.plan.questions, True)
    monkeypatch.setattr(bisection, "MOST_COMPARED", 1)
    part = check_device(case.plan, records(case), SeededEntropy(1))
    assert (part.problems, part.is_whole) == ((), False)
    assert part.compared < part.records


def test_given_words_say_how_many_were_asked_for() -> None:
    given = Given(np.arange(3, dtype=np.uint64))
    assert given.words(2).tolist() == [0, 1]
    assert (given.left, given.is_short) == (1, False)
    assert given.words(2).tolist() == [2, 0]
    assert (given.left, given.is_short) == (0, True)
