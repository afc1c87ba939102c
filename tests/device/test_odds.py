"""Plans whose reports tell more than their odds would say are refused, or have their true odds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.executed_lines import lines_run
from support.plans import EVERY_PLAN, budget

from ldpsql.reports.survey_file import vary
from ldpsql_device.draw import interpret
from ldpsql_device.errors import SurveyError
from ldpsql_device.law import law
from ldpsql_device.odds import Definition, odds
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Bits,
    Comb,
    Digit,
    Face,
    Hash,
    Keep,
    Ladder,
    Part,
    Plan,
    Response,
    RowsOfWords,
    Rung,
    Scrambled,
    Step,
    Term,
)

ODDS = (budget("1"),)
LOCAL = Definition("local")
HALF = Rung(WORDS // 2, (0,))


def plan_of(response: Response, size: int = 4, radix: int | None = None) -> Plan:
    """One question about one attribute."""
    part = Part((Digit((Term(0),), radix or size),), response)
    return Plan((size,), ODDS, (Face(1, (part,)),))


def enumerated(plan: Plan) -> Fraction | None:
    """The worst odds over all records and reports."""
    laws = [law(plan, record) for record in product(*map(range, plan.sizes))]
    worst = Fraction(1)
    for report in set().union(*laws):
        column = [one.get(report, Fraction(0)) for one in laws]
        if min(column) == 0:
            return None
        worst = max(worst, max(column) / min(column))
    return worst


@pytest.mark.parametrize(
    "response",
    [
        Comb(0, 1, 2, 0),
        Comb(0, 1, 0, 2),
        Comb(0, 9, 2, 1),
        Scrambled(0, 0, 1, 0),
        Scrambled(0, 9, 1, 0),
    ],
)
def test_a_base_set_is_neither_empty_nor_too_large(response: Response) -> None:
    digits = (Digit((Term(0),), 4), Digit((Term(0, 0),), 1))
    with pytest.raises(SurveyError):
        part = Part(digits if isinstance(response, Scrambled) else digits[:1], response)
        Plan((4,), ODDS, (Face(1, (part,)),))


@pytest.mark.parametrize("last", [Rung(0, (0,)), Rung(WORDS // 4, (0,)), Rung(1, (0,))])
def test_the_last_rung_of_a_ladder_keeps_the_symbol(last: Rung) -> None:
    with pytest.raises(SurveyError, match="keeps the symbol"):
        Ladder((3,), ((Rung(WORDS // 8, (0,)), last),) * 2)


def secret(digit: Digit, steps: tuple[Step, ...], table: tuple[int, ...] = ()) -> Plan:
    """One answer about what was drawn in secret, with odds e^3."""
    part = Part((digit,), Arcs(0, (1,)))
    face = Face(1, (part,), steps)
    return Plan((3,), (budget("3"),), (face,), (table,) if table else ())


@pytest.mark.parametrize(
    "plan",
    [
        secret(Digit((Term(0),), 6, vary(0, [0, 3])), (Step((1, 1)), Step((1,), (), True))),
        secret(
            Digit((Term(0),), 3, vary(0, [0, 3]), table=0),
            (Step((1, 1), (), True),),
            (0, 1, 2, 0, 1, 2),
        ),
        secret(
            Digit((Term(0, vary(0, [0, 1])),), vary(0, [1, 4]), vary(0, [0, 1])),
            (Step((1, 1), (), True),),
        ),
        secret(Digit((Term(0),), 6, vary(0, [0, 3])), (Step((1, 1), (), True),)),
    ],
)
def test_secrets_are_not_overrated(plan: Plan) -> None:
    stated, truth = odds(plan, LOCAL), enumerated(plan)
    assert stated is None or (truth is not None and stated >= truth)


URAP = next(case.plan for case in EVERY_PLAN if case.name == "ladder and bits")


def test_a_local_promise_protects_what_is_declared_not_sensitive_too() -> None:
    assert odds(URAP, Definition("uldp", ((0, 1),))) is not None
    with pytest.raises(SurveyError):
        odds(URAP, Definition("local", ((0, 1),)))


def ladder_over(table: tuple[int, ...], sizes: tuple[int, ...]) -> Plan:
    """The first rank is protected, the others are named half of the time."""
    rungs = ((HALF, Rung(0)), (Rung(WORDS - 1, (0,)), Rung(0)))
    part = Part((Digit((Term(0),), max(table) + 1, table=0),), Ladder((1,), rungs))
    return Plan(sizes, (), (Face(1, (part,)),), (table,))


def test_a_ladder_may_have_a_digit_that_is_about_nothing() -> None:
    kept = ((Rung(1), Rung(0)),) * 3
    drawn = (Rung(WORDS // 32, (0, 1)), Rung(0))
    part = Part((Digit((Term(0),), 4), Digit((), 4)), Ladder((4, 4), (*kept, drawn)))
    plan = Plan((4,), (), (Face(1, (part,)),))
    assert odds(plan, LOCAL) == enumerated(plan)


@pytest.mark.parametrize(
    ("table", "sizes"),
    [((0, 1, 2, 2), (4,)), ((0, 1, 2, 3), (4, 2)), ((0, 1, 2, 3), (4, 1))],
)
def test_an_answer_without_protection_is_one_records(
    table: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    definition = Definition("uldp", ((0,), (0,))[: len(sizes)])
    with pytest.raises(SurveyError, match="several records"):
        odds(ladder_over(table, sizes), definition)
    assert odds(ladder_over((0, 1, 2, 3), (4,)), Definition("uldp", ((0,),))) is not None


def test_the_widest_words_and_the_most_points_are_read_right() -> None:
    words = np.array([[0, WORDS - 1]], dtype=np.uint64)
    wide = plan_of(Ladder((2,), ((Rung(1), Rung(0)), (Rung(1), Rung(0)))), 2)
    assert [int(c[0]) for c in interpret(wide, np.array([[1]]), words)] == [0, 1]
    with pytest.raises(SurveyError):
        plan_of(Arcs(0, (1,)), 2, 1 << 31)


def test_limits_hold_whatever_was_drawn_in_secret() -> None:
    """Also that of the choice with more values, if it is not the last one."""
    digit = Digit((Term(0, vary(0, [69_999, 0])),), vary(0, [70_000, 1]))
    face = Face(1, (Part((digit,), Keep()),), (Step((1, 1), (), True),))
    assert Plan((2,), (), (face,)).limits.tolist() == [[70_000]]


@pytest.mark.parametrize("attributes", [(0, 1), (0, 0)])
def test_every_part_of_a_report_counts(attributes: tuple[int, int]) -> None:
    """Of two parts of one size too, whether they are about one attribute or two."""
    parts = [Part((Digit((Term(a),), 4),), Arcs(0, (1,))) for a in attributes]
    one, both = (Plan((4, 4), ODDS, (Face(1, tuple(some)),)) for some in (parts[:1], parts))
    assert odds(both, LOCAL) == enumerated(both) == enumerated(one) ** 2


def every_part(attribute: int) -> list[Part]:
    """A part of every kind about an attribute of three codes, and about half of it."""
    halved = Digit((Term(attribute, 1, 2),), 2)
    whole, turned = Digit((Term(attribute),), 3), Digit((Term(attribute, 2),), 3, 1, modulus=True)
    third = WORDS // 3
    ladder = Ladder((3,), ((Rung(third, (0,)), Rung(0)), (Rung(third // 2, (0,)), Rung(0))))
    rows = ((third, third, WORDS - 2 * third), (1, WORDS - 6, 5), (third, third, WORDS - 2 * third))
    return [
        Part((whole,), Arcs(0, (2,))),
        Part((halved,), Arcs(0, (1,))),
        Part((halved, turned), Arcs(0, (1, 2))),
        Part((turned,), Comb(0, 1, 2, 1)),
        Part((halved, turned), Scrambled(0, 1, 7, 1)),
        Part((whole,), ladder),
        Part((whole,), RowsOfWords(rows)),
        Part((turned,), Bits((third * 2, third, third), (third, third, 5))),
        Part((halved,), Bits((third,), (5,))),
    ]


@pytest.mark.parametrize("other", [0, 1])
def test_odds_are_never_below_those_of_the_law(other: int) -> None:
    """Of any two parts, about one attribute or two, together and in any order."""
    for parts in product(every_part(0), every_part(other)):
        plan = Plan((3, 3), ODDS, (Face(1, parts),))
        stated, truth = odds(plan, LOCAL), enumerated(plan)
        assert stated is None or (truth is not None and stated >= truth)
        if other:
            alone = [odds(replace(plan, faces=(Face(1, (part,)),)), LOCAL) for part in parts]
            assert stated == math.prod(bound for bound in alone if bound is not None)


def test_bits_beside_a_ladder_may_depend_on_the_question() -> None:
    """Then they count by themselves."""
    plan = URAP
    name, bits = plan.faces[0].parts
    hashed = replace(bits, then=Hash(5, 4, 0, 1))
    uldp, faces = Definition("uldp", ((0, 1),)), []
    for parts in ((name,), (hashed,), (name, hashed)):
        faces.append(replace(plan.faces[0], parts=parts, coins=(4, 5)))
    one, other, both = (odds(replace(plan, faces=(face,)), uldp) for face in faces)
    assert one is not None
    assert other is not None
    assert both == one * other


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", ["0.001", "1"])
def test_very_many_parts_are_counted_in_time(epsilon: str) -> None:
    """Odds beyond what a number can hold are no odds; twice as many parts are twice the work."""
    part = Part((Digit((Term(0),), 4),), Arcs(0, (1,)))
    few, more, plan = (
        Plan((4,), (budget(epsilon),), (Face(1, (part,) * count),))
        for count in (1_000, 2_000, 20_000)
    )
    assert lines_run(lambda: odds(more, LOCAL)) < 2.2 * lines_run(lambda: odds(few, LOCAL))
    stated = odds(plan, LOCAL)
    assert (
        stated is None if epsilon == "1" else math.isclose(stated or 0, math.exp(20), rel_tol=1e-9)
    )
