"""The contract that every recipe of the registry passes; `support.recipe_cases` says for which
domains, epsilons and options."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.histograms import histogram_of
from support.recipe_cases import (
    ALL,
    CASES,
    DOMAINS,
    EVERY,
    FIRST,
    LATER,
    QUICK,
    Case,
    design_for,
    design_of,
    features,
    law_for,
    law_of,
    questions,
)
from support.report_rows import find_refused
from support.significance import chi_square, chi_square_bound

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.audit.exact import Criterion, worst_odds
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign, make_estimator
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.channel import Law, Outcome, enumerate_law
from ldpsql.reports.report import question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import MOST_BITS
from ldpsql_lab.simulation import SeededEntropy

_ALMOST = Fraction(1, 10**9)
JOINTLY = [
    Case("ehio", "2x3-signed", "0.5", '{"fanout": 2, "inference": "consistent"}'),
    Case("srr-ss", "2x2x2", "2", '{"ways": 2}'),
    Case("arr-ss", "2x2x2", "2", '{"ways": 2}'),
]
"""Whose answers depend on all reports together."""


def definition_of(design: AnyDesign) -> Criterion:
    """What its guarantee limits."""
    return Criterion(design.guarantee.kind, design.domain)


def test_the_cases_cover_what_belongs_together() -> None:
    """The chosen ones have all features of all, and each has one that those before it lack."""
    assert set().union(*map(features, ALL)) == set().union(*map(features, EVERY))
    seen: set[tuple[str, ...]] = set()
    for case in ALL:
        assert features(case) - seen
        seen |= features(case)


def test_every_recipe_is_tried() -> None:
    """With a design and a law of its own; none hides behind refusals."""
    assert set(FIRST) == set(MECHANISMS)
    assert MOST_BITS >= 12
    for case in QUICK:
        assert design_for(case) == design_of(case)
        assert law_for(case) is not None


@pytest.mark.parametrize("case", CASES, scope="module")
def test_channel_is_exactly_private_and_spends_its_budget(case: Case) -> None:
    """In Fractions, from the words that devices compare."""
    design, law = design_of(case), law_of(case)
    assert all(sum(row) == 1 for row in law.probabilities)
    if design.guarantee.kind == "none":
        assert tells_records_apart(design, law)
    elif len(law.inputs) == 1:
        assert law.worst().odds == 1
    elif design.guarantee.delta:
        found = law.divergence(design.epsilon.odds)
        assert (1 - _ALMOST) * design.guarantee.delta < found <= design.guarantee.delta
    else:
        worst = definition_of(design).worst(law).odds
        assert worst is not None
        assert design.epsilon.odds * (1 - _ALMOST) < worst <= design.epsilon.odds


def tells_records_apart(design: AnyDesign, law: Law) -> bool:
    """Whether the witness holds: one record can send its report, the other never does.

    A domain of one record has no witness, and nothing to tell.
    """
    witness = design.witness  # type: ignore[attr-defined]
    if len(law.inputs) == 1:
        return witness is None and not design.guarantee.witness
    chances = {
        record: dict(zip(law.outputs, row, strict=True))
        for record, row in zip(law.inputs, law.probabilities, strict=True)
    }
    sent = chances[witness.sender][witness.report]
    never = chances[witness.other].get(witness.report, 0)
    told = str(witness.sender) in design.guarantee.witness
    return told and sent > 0 and never == 0 and law.worst().odds is None


@pytest.mark.parametrize("case", [*CASES, *LATER], scope="module")
def test_stated_odds_are_those_of_the_channel(case: Case) -> None:
    """They are what is checked where the channel is too large; never below, and hardly above."""
    design, worst = design_of(case), definition_of(design_of(case)).worst(law_of(case)).odds
    stated = worst_odds(design)
    if worst is None:
        assert stated is None
    else:
        assert stated is not None
        assert worst <= stated <= worst * (1 + _ALMOST)


@pytest.mark.parametrize("name", ["hgrr", "grr"])
def test_odds_five_percent_off_are_caught(name: str) -> None:
    """The negative control of the tests above."""
    design = mechanism(name).design(DOMAINS["5"], Epsilon.parse("0.5"), {})
    wrong = replace(design, plan=replace(design.plan, odds=(design.plan.odds[0] * 21 // 20,)))
    worst = definition_of(wrong).worst(enumerate_law(wrong.plan)).odds
    assert worst is not None
    assert worst > wrong.epsilon.odds
    assert worst_odds(wrong) > wrong.epsilon.odds


def misfit(design: AnyDesign, law: Law) -> Outcome | None:
    """The first record whose 20,000 reports a chi-square test tells from the exact channel."""
    runs = 20_000
    number = {row: place for place, row in enumerate(law.outputs)}
    for seed, (record, chances) in enumerate(zip(law.inputs, law.probabilities, strict=True)):
        codes = np.tile(np.array(record, dtype=np.int64), (runs, 1))
        reports = design.randomize(codes, SeededEntropy(seed))
        rows = np.stack([np.asarray(c).astype(np.int64) for c in reports.columns.values()], axis=1)
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        observed = np.zeros(len(law.outputs))
        for row, count in zip(distinct, counts, strict=True):
            observed[number[tuple(map(int, row))]] = count
        expected = np.array([float(chance) for chance in chances]) * runs
        statistic, degrees = chi_square(observed[expected > 0], expected[expected > 0])
        if observed[expected == 0].any() or statistic >= chi_square_bound(degrees):
            return record
    return None


@pytest.mark.fast(10)
@pytest.mark.parametrize("case", [c for c in CASES if c.values[0].epsilon == "2"], scope="module")
def test_sampler_follows_the_law_for_every_input(case: Case) -> None:
    """Record by record."""
    assert misfit(design_of(case), law_of(case)) is None


@pytest.mark.parametrize("name", ["grr", "hgrr"])
def test_a_sampler_that_lies_too_little_is_caught(name: str) -> None:
    """The negative control of the test above: devices have odds that are 40 % too high."""
    right = mechanism(name).design(DOMAINS["5"], Epsilon.parse("2"), {})
    wrong = replace(right, plan=replace(right.plan, odds=(right.plan.odds[0] * 7 // 5,)))
    assert misfit(wrong, enumerate_law(right.plan)) is not None


@pytest.mark.parametrize("case", CASES, scope="module")
def test_questions_are_drawn_as_stated(case: Case) -> None:
    """One share per question of the report format; up to floats, they are those of the channel."""
    design, law = design_of(case), law_of(case)
    shares = question_shares(design.plan)
    drawn = np.zeros(design.report_format.types)
    for row, chance in zip(law.outputs, law.probabilities[0], strict=True):
        drawn[row[0]] += float(chance)
    assert shares.tolist() == pytest.approx(drawn.tolist(), abs=1e-12)


@pytest.mark.parametrize("case", CASES, scope="module")
def test_a_design_survives_its_json(case: Case) -> None:
    """Device and collector derive the same plan from the same data."""
    design = design_of(case)
    data = json.loads(json.dumps(design.to_json()))
    restored = mechanism(design.name).restore(design.domain, design.epsilon, data)
    assert restored == design
    assert restored.report_format.columns == design.report_format.columns
    if hasattr(design, "plan"):
        assert restored.plan == design.plan


@pytest.mark.parametrize("case", CASES, scope="module")
def test_what_is_not_called_unbiased_says_why(case: Case) -> None:
    """By a sentence, or by replicates, from which a note is made; the first has none of these."""
    design = design_of(case)
    codes = np.zeros((200, len(design.domain.sizes) + len(design.domain.bounds)), dtype=np.int64)
    histogram = histogram_of(design.randomize(codes, SeededEntropy(5)))
    everybody = design.prepare(LinearQuery.count(Box.whole(len(design.domain.sizes))))
    for place, (name, make) in enumerate(design.estimators.items()):
        answer = make(histogram).answer([everybody])
        assert (name == "unbiased") == (name not in design.biases and answer.replicates is None)
        assert place or answer.replicates is None


@pytest.mark.parametrize("case", CASES, scope="module")
def test_reports_fit_their_format(case: Case) -> None:
    """Own reports are accepted, one beyond the limits is not."""
    design = design_of(case)
    sizes = [*design.domain.sizes, *([2] * len(design.domain.bounds))]
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, size, 500) for size in sizes], axis=1)
    reports = design.randomize(codes, SeededEntropy(1))
    assert not len(find_refused(design.report_format, reports.columns))
    last = design.report_format.columns[-1]
    report_type = np.asarray(reports.columns[design.report_format.columns[0]]).astype(np.int64)
    broken = {name: np.asarray(c).astype(np.uint64) for name, c in reports.columns.items()}
    broken[last][7] = design.report_format.limits[report_type[7], -1]
    assert list(find_refused(design.report_format, broken)) == [7]


class CountingEntropy:
    """Counts the words that are drawn."""

    def __init__(self) -> None:
        self.drawn: list[int] = []
        self._source = SeededEntropy(3)

    def words(self, count: int) -> np.ndarray:
        """Words, counted."""
        self.drawn.append(count)
        return self._source.words(count)


@pytest.mark.parametrize("case", CASES, scope="module")
def test_the_entropy_drawn_does_not_depend_on_the_record(case: Case) -> None:
    """Otherwise its amount, or the time it takes, would tell something."""
    design = design_of(case)
    first, last = CountingEntropy(), CountingEntropy()
    top = [*(size - 1 for size in design.domain.sizes), *([1] * len(design.domain.bounds))]
    design.randomize(np.zeros((1, len(top)), dtype=np.int64), first)
    design.randomize(np.array([top], dtype=np.int64), last)
    assert first.drawn == last.drawn


@pytest.mark.parametrize("case", CASES, scope="module")
def test_what_needs_no_question_is_exact(case: Case) -> None:
    """Everybody is counted exactly, nobody is an exact 0."""
    design = design_of(case)
    dimensions = len(design.domain.sizes)
    codes = np.zeros((50, dimensions + len(design.domain.bounds)), dtype=np.int64)
    estimator = make_estimator(design, histogram_of(design.randomize(codes, SeededEntropy(0))))
    everybody = design.prepare(LinearQuery.count(Box.whole(dimensions)))
    answer = estimator.answer([everybody, design.prepare(LinearQuery.count())])
    assert answer.values.tolist() == [50.0, 0.0]
    assert not answer.covariance.any()


@pytest.mark.parametrize("case", [*CASES, *JOINTLY], scope="module")
def test_values_alone_are_those_of_an_answer(case: Case) -> None:
    """By every estimator, also from so few people that some questions cannot be answered; of
    nobody nothing is known that a report would tell."""
    design = design_of(case)
    sizes = [*design.domain.sizes, *(2 for _ in design.domain.bounds)]
    for people in (3, 300) if isinstance(design, Rounds) else (0, 3, 300):
        codes = np.random.default_rng(people).integers(0, sizes, (people, len(sizes)))
        histogram = histogram_of(design.randomize(codes, SeededEntropy(people)))
        for make in design.estimators.values():
            estimator, planned = make(histogram), []
            for query in questions(design.domain):
                with suppress(UnsupportedSQL):
                    own = design.prepare(query)
                    estimator.answer([own])
                    planned.append(own)
            answer = estimator.answer(planned)
            alone = estimator.values(planned)
            assert alone == pytest.approx(answer.values, rel=1e-9, abs=1e-9, nan_ok=True)
            if not people:
                unknown = np.isnan(answer.values)
                assert unknown.any() or set(sizes) == {1}
                assert (np.isinf(np.diagonal(answer.covariance)) == unknown).all()
                assert not answer.values[~unknown].any()


def test_a_changed_guarantee_is_not_equal() -> None:
    """Designs compare by content, so a survey of another epsilon is another survey."""
    one = mechanism("hgrr").design(DOMAINS["5"], Epsilon.parse("0.5"), {})
    assert one != replace(one, epsilon=Epsilon.parse("2"))


def test_a_refused_domain_is_refused_by_the_design_too() -> None:
    """What a recipe declares is what its public entries check."""
    for name, recipe in MECHANISMS.items():
        for domain in DOMAINS.values():
            if refusal := recipe.refusal(domain):
                with pytest.raises(SurveyError) as caught:
                    recipe.design(domain, Epsilon.parse("2"), {})
                assert str(caught.value) == refusal, name
