"""Signs of forged reports: bounds that hold for every plan, no false alarms, and what is caught."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from support.recipe_cases import FIRST, Case, design_of, law_of

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.forgery import (
    FALSE_ALARM,
    SUSPICIOUS,
    Spread,
    expect_set,
    find_signs,
    largest_chances,
    signs_within_groups,
    suspect,
)
from ldpsql.reports.report import Histogram, Reports, question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, Bits
from ldpsql_lab.simulation import SeededEntropy, histogram_of

SURVEYS = 150
PEOPLE = 2_000
NAMES = ("grr", "olh", "hio", "fourier", "truthful", "hh", "staircase", "hrr", "oue", "urap")


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_no_report_is_likelier_than_is_said(case: Case) -> None:
    """Of every question, for every record, by the exact law."""
    law, said = law_of(case), largest_chances(design_of(case).plan)
    shares = question_shares(design_of(case).plan)
    most = np.zeros(len(said))
    for row, chances in zip(law.outputs, zip(*law.probabilities, strict=True), strict=True):
        most[row[0]] = max(most[row[0]], float(max(chances)) / shares[row[0]])
    assert (most <= said * (1 + 1e-9)).all()
    if case.name in ("grr", "olh", "hgrr", "haarhrr", "staircase"):
        assert most == pytest.approx(said, rel=1e-9)  # and no less than it can be


@cache
def design_for(name: str) -> AnyDesign:
    options = {"fanout": 4} if name in ("hio", "hh") else {}
    domain = RecordDomain(("x",), (16,), (), (), ())
    return mechanism(name).design(domain, Epsilon.parse("1"), options)


def honest(name: str, seed: int, people: int = PEOPLE) -> Reports:
    """Reports of people of whom a half, or all, are at one code."""
    random = np.random.default_rng([seed, 5])
    codes = random.integers(0, 16, (people, 1)) * (random.random((people, 1)) < seed % 3 / 2)
    return design_for(name).randomize(codes, SeededEntropy(seed))


def with_forged(reports: Reports, rows: np.ndarray) -> Histogram:
    """Reports and forged ones, a row each."""
    columns = [np.asarray(own).astype(np.int64) for own in reports.columns.values()]
    both = [np.concatenate([own, more]) for own, more in zip(columns, rows.T, strict=True)]
    return histogram_of(Reports.pack(reports.format, both))


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", NAMES)
def test_honest_reports_show_no_sign(name: str) -> None:
    """Of many surveys; the negative control has a twentieth of equal reports to one question."""
    plan = design_for(name).plan
    for seed in range(SURVEYS):
        assert find_signs(plan, histogram_of(honest(name, seed))) == []
    reports = honest(name, 0, 20_000)
    first = [int(own[0]) for own in reports.columns.values()]
    seen = find_signs(plan, with_forged(reports, np.tile(first, (1_000, 1))))
    # Who names one of 16 codes, or tells a staircase, could be one of many who hold the same.
    assert len(seen) == {"grr": 0, "truthful": 0, "staircase": 0, "fourier": 2}.get(name, len(seen))
    assert seen or name in ("grr", "truthful", "staircase", "oue", "urap")


def test_equal_reports_are_a_sign_though_questions_are_even() -> None:
    """Of hashed reports hardly two are the same; others to the same question hide nobody."""
    reports = honest("olh", 4, 20_000)
    plan = design_for("olh").plan
    one = [int(own[7]) for own in reports.columns.values()]
    seen = find_signs(plan, with_forged(reports, np.tile(one, (200, 1))))
    assert "of 20,200 reports of a group are one and the same" in seen[-1]
    few = np.stack([np.asarray(own)[:200] for own in reports.columns.values()], axis=1)
    assert find_signs(plan, with_forged(reports, few.astype(np.int64))) == []


def test_coins_and_numbers_of_bits_that_no_crowd_has_are_signs() -> None:
    """Forgers who choose among many hash functions, rows of a matrix, or numbers of bits; the
    negative control sends reports of its own, which are drawn as devices draw them."""
    for name, width in (("olh", 40), ("hrr", 3), ("oue", 1), ("urap", 1)):
        reports = honest(name, 4, 20_000)
        rows = np.stack([np.asarray(own).astype(np.int64) for own in reports.columns.values()], 1)
        chosen = np.resize(rows[np.lexsort(rows.T[1:])][:width], (2_000, rows.shape[1]))
        if name in ("oue", "urap"):
            chosen[:, -1] = (1 << 12) - 1
        plan = design_for(name).plan
        seen = signs_within_groups(plan, with_forged(reports, chosen))
        of_bits = "bits of a report of a group are set"
        wanted = of_bits if name in ("oue", "urap") else "coins are not as even"
        assert any(wanted in each for each in seen), name
        more = rows_of_more(name)
        assert signs_within_groups(plan, with_forged(reports, more)) == []


def binomial(trials: int, chance: float) -> np.ndarray:
    """The law of so many bits, shape (trials + 1,)."""
    ways = [math.comb(trials, k) for k in range(trials + 1)]
    return np.array([w * chance**k * (1 - chance) ** (trials - k) for k, w in enumerate(ways)])


@pytest.mark.parametrize("people", [1, 3, 30])
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 10.0])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_few_honest_people_do_not_set_too_many_bits(
    people: int, epsilon: float, is_symmetric: bool
) -> None:
    """By the exact law of 16 bits; six standard errors, the negative control, are not enough where
    bits are rare and people few."""
    other = 1.0 / (math.exp(epsilon / 2 if is_symmetric else epsilon) + 1.0)
    own = 1.0 - other if is_symmetric else 0.5
    law = np.convolve(binomial(people, own), binomial(15 * people, other))
    counts = np.arange(len(law))
    words = [(round(chance * WORDS),) for chance in (own, other)]
    low, high = expect_set(Bits(*words), 16, people)
    assert law[(counts < low) | (counts > high)].sum() <= FALSE_ALARM
    mean, variance = law @ counts, law @ counts**2 - (law @ counts) ** 2
    assert low < mean < high
    if is_symmetric and epsilon == 10.0:
        far = np.abs(counts - mean) > SUSPICIOUS * math.sqrt(variance)
        assert law[far].sum() > FALSE_ALARM


def rows_of_more(name: str) -> np.ndarray:
    more = honest(name, 5, 2_000)
    return np.stack([np.asarray(own).astype(np.int64) for own in more.columns.values()], 1)


def test_groups_that_nobody_draws_so_often_are_named() -> None:
    """A tenth more reports in one group; the negative control has them as drawn."""
    plan = design_for("hio").plan
    fair = np.random.default_rng(2).multinomial(100_000, question_shares(plan))
    assert Spread.of(question_shares(plan), fair).signs == []
    stuffed = fair.copy()
    stuffed[1] += round(0.1 * fair[1])
    (seen,) = Spread.of(question_shares(plan), stuffed).signs
    assert "not spread over the groups as devices draw them" in seen
    assert Spread.of(question_shares(plan), np.zeros(len(fair), dtype=np.int64)).signs == []


def test_one_note_says_everything() -> None:
    assert suspect("app", []) == []
    (note,) = suspect("app", ["this", "that"], "so much could have happened")
    assert note == (
        "app: this, and that; reports may be forged, lost by group, or made for another survey; "
        "so much could have happened"
    )
