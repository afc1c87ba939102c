"""What the mechanisms over marginals state for the accountant, against what batches really tell."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from support.exact_shuffle import batch_law, blanket_delta, true_delta
from support.marginals import NAMES, domain_of
from support.tiers import keep_fast

from ldpsql.audit.exact import worst_odds
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.marginals.decoder import CollectedMarginals
from ldpsql.marginals.designs import NamedAnswer
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.shuffle.accountant import UNEVEN, delta_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS
from ldpsql_device.shuffled import Central

VISIBLE = ("srr-ms", "sue-ms", "oue-ms")
PEOPLE = {"srr-ss": 4, "psrr-ss": 4, "arr-ss": 4, "srr-ms": 4, "ft": 4}
SIZES = {"ft": (2, 2), "arr-ss": (2, 3), "srr-ss": (2, 3), "psrr-ss": (2, 3)}
CENTRAL = Epsilon.parse("0.4")


def design_of(name: str, epsilon: str) -> Design:
    """Two attributes of two codes, or of two and three where there are few reports."""
    options = {"values": 2} if name == "solh" else {}
    return mechanism(name).design(
        domain_of(*SIZES.get(name, (2, 2))), Epsilon.parse(epsilon), options
    )


def channel_of(design: Design) -> list[dict]:
    """Per record, report -> probability."""
    law = enumerate_law(design.plan)
    return [
        {row: float(chance) for row, chance in zip(law.outputs, chances, strict=True) if chance}
        for chances in law.probabilities
    ]


def delta_of_group(channel: list[dict], group: int, people: int, odds: float) -> float:
    """The delta of a batch for one whose group is known, the others drawing theirs."""
    own = [{y: p for y, p in row.items() if y[0] == group} for row in channel]
    own = [{y: p / sum(row.values()) for y, p in row.items()} for row in own]
    worst = 0.0
    for others in combinations_with_replacement(channel, people - 1):
        laws = []
        for row in own:
            laws.append(batch_law([*others, row]))
        for one, other in permutations(laws, 2):
            worst = max(worst, sum(max(p - odds * other.get(y, 0), 0) for y, p in one.items()))
    return float(worst)


def truth_of(name: str, epsilon: str) -> float:
    """The worst delta over all data sets of a few people, by enumeration."""
    design, people = design_of(name, epsilon), PEOPLE.get(name, 3)
    channel, odds = channel_of(design), float(CENTRAL.odds)
    if name in VISIBLE:
        return max(delta_of_group(channel, group, people, odds) for group in (0, 1))
    return float(true_delta(channel, people, odds))


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", ["0.8", "2"])
def test_no_batch_tells_more_than_the_accountant_says(name: str, epsilon: str) -> None:
    """Nor much less: the bound is of use."""
    design = design_of(name, epsilon)
    assert design.blankets()
    stated = delta_of(design.blankets(), PEOPLE.get(name, 3), CENTRAL)
    true = truth_of(name, epsilon)
    assert true <= stated <= true * 1.7 + 1e-6


@pytest.mark.parametrize("name", keep_fast(NAMES, ["solh", "sue-ms"]))
def test_the_blanket_of_a_smaller_budget_is_caught(name: str) -> None:
    """The negative control of the test above."""
    stated = delta_of(design_of(name, "0.8").blankets(), PEOPLE.get(name, 3), CENTRAL)
    assert truth_of(name, "1.6") > stated


@pytest.mark.parametrize("name", NAMES)
def test_a_blanket_lies_below_the_channel_that_runs(name: str) -> None:
    """And spends the odds that the design states, up to the unevenness of 64-bit draws."""
    design = design_of(name, "1")
    odds = [blanket.odds for blanket in design.blankets()]
    assert max(odds) == pytest.approx(float(worst_odds(design)), rel=1e-12)


def test_the_accountant_agrees_with_counting() -> None:
    """On the blanket of a design as it is, of which no closed form is used."""
    (blanket,) = design_of("srr-ss", "1").blankets()
    exact = blanket_delta(blanket.atoms, 4, CENTRAL.odds)
    assert delta_of((blanket,), 4, CENTRAL) == pytest.approx(float(exact), rel=1e-4)
    assert delta_of((blanket,), 4, CENTRAL) >= float(exact) * (1 - 1e-12)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["srr-ss", "arr-ss", "ft"])
def test_marginals_that_are_asked_unevenly(name: str) -> None:
    """As in a survey that somebody made by hand: its blankets are those of what devices do."""
    design = design_of(name, "1.5")
    assert isinstance(design, CollectedMarginals)
    shares = np.array([0.9, *[0.1 / (len(design.marginals) - 1)] * (len(design.marginals) - 1)])
    uneven = replace(design, weights=tuple(round(1000 * share) for share in shares))
    assert uneven.blankets()
    stated = delta_of(uneven.blankets(), 4, CENTRAL)
    true = float(true_delta(channel_of(uneven), 4, float(CENTRAL.odds)))
    assert true <= stated <= true * 1.7 + 1e-6


@pytest.mark.parametrize("answers", [2, 3, 4, 1000, 1_000_003, 1 << 24])
def test_draws_are_as_even_as_the_accountant_allows_for(answers: int) -> None:
    """Also among very many answers, where the words that rounding leaves make one likelier."""
    named = NamedAnswer(answers, int(Epsilon.parse("1").odds * WORDS))
    assert named.truth + (answers - 1) * named.other == 1
    last = 1 - named.truth - (answers - 2) * named.least
    for low, high in ((named.least, named.other), (named.other, last)):
        assert low <= high <= low * (1 + named.uneven)
    assert named.uneven < Fraction(2 * answers**2, WORDS)


def test_blankets_count_with_uneven_answers() -> None:
    """More than they would without; of a million answers by next to nothing."""
    design = mechanism("arr-ss").design(domain_of(1024, 1026), Epsilon.parse("1"), {"ways": 2})
    (blanket,) = design.blankets()
    assert blanket.uneven > UNEVEN
    counted = delta_of((blanket,), 1000, CENTRAL)
    assert counted >= delta_of((replace(blanket, uneven=UNEVEN),), 1000, CENTRAL)
    assert counted == pytest.approx(
        delta_of((replace(blanket, uneven=Fraction(0)),), 1000, CENTRAL), rel=1e-3
    )


def test_ft_counts_the_parities_that_turn() -> None:
    """Of 8 attributes and their pairs 20 of 36 at most, by a change of four."""
    design = mechanism("ft").design(domain_of(*[2] * 8), Epsilon.parse("1"), {"ways": 2})
    (blanket,) = design.blankets()
    turned = sum(r for r, one, other in blanket.atoms if one != other)
    alike = sum(r for r, one, other in blanket.atoms if one == other)
    assert turned / alike == pytest.approx(20 / 16)


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_designs_use_what_they_were_given(name: str) -> None:
    """The central promise is kept, and a little more local epsilon would not."""
    central = Central(Epsilon.parse("0.5"), Fraction(1, 1000), 1000)
    options = {"values": 2} if name == "solh" else {}
    design = mechanism(name).design(domain_of(2, 2), central, options)
    assert delta_of(design.blankets(), central.people, central.epsilon) <= central.delta
    more = Epsilon(design.epsilon.value + Decimal("0.002"))
    worse = mechanism(name).design(domain_of(2, 2), more, options)
    assert delta_of(worse.blankets(), central.people, central.epsilon) > central.delta
