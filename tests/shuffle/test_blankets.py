"""The blankets of plans against the enumerated channels of designs, and against whole batches."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from support.exact_shuffle import true_delta

from ldpsql.audit.exact import domain_of_codes, enumerate_blankets
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.shuffle.accountant import Blanket, clones, delta_of
from ldpsql.shuffle.blankets import find_blanket
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.odds import Definition, odds
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Bits,
    Digit,
    Face,
    Keep,
    Part,
    Plan,
    RowsOfWords,
    Scrambled,
    Step,
    Term,
)

CROWDS = ((50, Decimal("0.5")), (1000, Decimal("0.3")), (20_000, Decimal("0.1")))
PLAIN = (
    *("grr", "olh", "oue", "hrr", "hgrr", "hio", "ehio", "lgrr-repaired", "fourier"),
    *("srr-ss", "psrr-ss", "arr-ss", "solh", "cprr", "jd-grr", "hi", "graded", "truthful"),
)
LINES = ("hh", "urap", "haarhrr")
DESIGNS = [
    *product(PLAIN, ("6", "2x3"), ("1.5", "3"), (0,)),
    *product(LINES, ("4", "8"), ("1.5", "3"), (0,)),
    *product(("staircase",), ("4", "2x2"), ("1.5", "3"), (0,)),
    *product(("fourier", "staircase", "olh", "hgrr", "ehio"), ("3",), ("1.5", "3"), (1,)),
]
LOOSE = {
    ("haarhrr", "4"): "no pair of records differs as much as can be in every question",
    ("haarhrr", "8"): "as well",
    ("fourier", "6"): "below epsilon 3 any two records favour some answers together",
    ("fourier", "2x3"): "as well",
    ("fourier", "3"): "as well",
}


def design_of(name: str, shape: str, epsilon: str, measures: int = 0):
    options = {"solh": {"values": 3}, "staircase": {"levels": 3 if measures else 0}}.get(name, {})
    domain = domain_of_codes(shape, measures)
    return mechanism(name).design(domain, Epsilon.parse(epsilon), options)


@pytest.mark.fast(20)
@pytest.mark.parametrize(("name", "shape", "epsilon", "measures"), DESIGNS)
def test_no_pair_of_records_is_told_apart_better(name, shape, epsilon, measures):
    """Never below the enumerated channel; the same up to a thousandth, but for what is `LOOSE`."""
    design = design_of(name, shape, epsilon, measures)
    exact = enumerate_blankets(enumerate_law(design.plan))
    for people, central in CROWDS:
        stated = delta_of(design.blankets(), people, central)
        known = delta_of(exact, people, central)
        assert known <= stated * (1 + 1e-9)
        if (name, shape) not in LOOSE:
            assert stated <= known * 1.001
        assert stated <= delta_of([clones(design.epsilon.odds)], people, central)


SMALL = [
    *(("grr", "3", 6), ("grr", "2", 6), ("fourier", "3", 4), ("fourier", "4", 3), ("hrr", "3", 3)),
    *(("staircase", "3", 4), ("staircase", "4", 3), ("oue", "3", 3), ("hgrr", "3", 3)),
    *(("arr-ss", "2x2", 4), ("srr-ss", "2x2", 4), ("ft", "2x2", 4), ("truthful", "3", 4)),
]


@pytest.mark.fast(4)
@pytest.mark.parametrize(("name", "shape", "people"), SMALL)
@pytest.mark.parametrize("epsilon", ["0.8", "2"])
def test_no_batch_tells_more_whatever_the_others_hold(name, shape, people, epsilon):
    design, central = design_of(name, shape, epsilon), Epsilon.parse("0.4")
    law = enumerate_law(design.plan)
    channel = [
        {y: float(chance) for y, chance in zip(law.outputs, row, strict=True) if chance}
        for row in law.probabilities
    ]
    true = float(true_delta(channel, people, float(central.odds)))
    assert true <= delta_of(design.blankets(), people, central) <= 2 * true
    if epsilon == "2":  # negative control
        less = design_of(name, shape, "0.8").blankets()
        assert true > delta_of(less, people, central)


def plan_of(*faces: Face, sizes: tuple[int, ...] = (6,), epsilon: str = "2") -> Plan:
    return Plan(sizes, (int(Epsilon.parse(epsilon).odds * WORDS),), faces)


SYMBOL, THIRD = Digit((Term(0),), 6), Digit((Term(0, divide=2),), 3)
ODD_PLANS = {
    "wide arcs": plan_of(Face(1, (Part((SYMBOL,), Arcs(0, (4,))),))),
    "scrambled": plan_of(
        Face(1, (Part((SYMBOL, Digit((Term(0),), 2, modulus=True)), Scrambled(0, 1, 5, 0)),))
    ),
    "unlike bits": plan_of(
        Face(1, (Part((THIRD,), Bits((WORDS // 2, WORDS // 3, WORDS // 2), (WORDS // 5,))),))
    ),
    "rows": plan_of(
        Face(
            1,
            (
                Part(
                    (THIRD,),
                    RowsOfWords(
                        (
                            (WORDS // 2, WORDS // 4, WORDS // 4),
                            (WORDS // 4, WORDS // 2, WORDS // 4),
                            (WORDS // 4 - 5, WORDS // 4 + 1, WORDS // 2 + 4),
                        )
                    ),
                ),
            ),
        )
    ),
    "two parts": plan_of(
        Face(3, (Part((SYMBOL,), Arcs(0, (1,))), Part((SYMBOL,), Arcs(0, (2,))))),
        Face(1, (Part((Digit((), 1),), Arcs(0, (1,))),)),
    ),
    "a secret step": plan_of(
        Face(1, (Part((SYMBOL,), Arcs(0, (1,))),), (Step((1, 2), secret=True),))
    ),
    "all odds": plan_of(Face(1, (Part((SYMBOL,), Arcs(0, (6,))),))),
}


@pytest.mark.parametrize("name", ODD_PLANS)
def test_plans_that_no_mechanism_makes(name):
    plan = ODD_PLANS[name]
    exact, stated = enumerate_blankets(enumerate_law(plan)), find_blanket(plan)
    for people, central in CROWDS:
        known = delta_of(exact, people, central)
        assert known <= delta_of([stated], people, central) * (1 + 1e-9)


def test_what_is_not_private_hides_nothing():
    plan = plan_of(Face(1, (Part((SYMBOL,), Keep()),)))
    assert odds(plan, Definition("local")) is None
    assert delta_of([find_blanket(plan)], 10**6, Decimal(5)) == 1


def test_one_blanket_for_a_million_questions():
    """Those of one kind are one: the accountant's work does not grow with them."""
    questions = Step(tuple(range(1, 1025)))
    digit = Digit((Term(0),), 6)
    plan = plan_of(Face(1, (Part((digit,), Arcs(0, (1,))),), (questions, questions)))
    one = plan_of(Face(1, (Part((digit,), Arcs(0, (1,))),)))
    assert find_blanket(plan) == find_blanket(one)
    assert isinstance(find_blanket(one), Blanket)


def test_a_hundredth_of_a_promise_is_not_kept_by_rounding():
    """Among very many answers, where the words that rounding leaves make one likelier."""
    size = 1 << 24
    plan = Plan(
        (size,),
        (int(Epsilon.parse("1").odds * WORDS),),
        (Face(1, (Part((Digit((Term(0),), size),), Arcs(0, (1,))),)),),
    )
    blanket = find_blanket(plan)
    assert sum(r for r, _, _ in blanket.atoms) < 1
    assert blanket.odds >= odds(plan, Definition("local")) > Fraction(0)
