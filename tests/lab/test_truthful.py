"""The mechanism `truthful`: its optimum, what it promises, and what it cannot estimate."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from support.fourier_designs import domain_of
from support.repeated_surveys import Repeated

from ldpsql.algebra.boxes import Box, LinearQuery, codes
from ldpsql.algebra.workload import Workload
from ldpsql.audit import audit_design
from ldpsql.audit.exact import worst_odds
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.cells import MatrixChannel
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central
from ldpsql_lab.mechanisms.truthful import TruthfulDesign, truthful_optimum
from ldpsql_lab.simulation import SeededEntropy

ONE = Epsilon.parse("1")
FOUR = [0.35, 0.3, 0.3, 0.03, 0.02]
SKEWED = [0.4, 0.3, 0.15, 0.1, 0.05]


def made(prior=None, epsilon=ONE, sizes=(5,), **options) -> TruthfulDesign:
    chosen = options if prior is None else {"prior": prior, **options}
    return mechanism("truthful").design(domain_of(sizes), epsilon, chosen)


def count(*members: int) -> LinearQuery:
    return LinearQuery.count(Box((codes(members),)))


def test_the_support_answers_by_randomized_response():
    design = made(SKEWED)
    channel = design.channel.matrix
    p = np.e / (np.e + 1)
    assert channel[0] == pytest.approx([p, 1 - p, 1 - p, 1 - p, 1 - p])
    assert channel[1] == pytest.approx([1 - p, p, p, p, p])
    assert not channel[2:].any()
    assert design.agreement == pytest.approx(0.5117410050, abs=1e-9)


def test_what_answers_as_one_is_counted_together_or_not_at_all():
    design = made(FOUR)
    assert design.pooled == (2, 3, 4)
    for answered in (count(0), count(1), count(0, 1), count(2, 3, 4), count(1, 2, 3, 4)):
        assert design.prepare(answered).is_asked
    for refused in (count(2), count(3), count(0, 4), count(2, 3)):
        with pytest.raises(UnsupportedSQL, match=r"cannot estimate .* \(x=2\), \(x=3\), \(x=4\)"):
            design.prepare(refused)
    assert "(x=2), (x=3), (x=4)" in design.remarks[1]
    assert "answers precise" in design.remarks[0]


def test_a_constant_channel_answers_nothing_but_everybody():
    design = made([0.9, 0.1], sizes=(2,))
    assert design.support == (0,)
    assert "every report is the same" in design.remarks[-1]
    for member in (0, 1):
        with pytest.raises(UnsupportedSQL):
            design.prepare(count(member))
    assert not design.prepare(LinearQuery.count(Box((None,)))).is_asked
    assert worst_odds(design) == 1


def test_answers_are_unbiased_where_there_are_any():
    design, random = made(FOUR), np.random.default_rng(1)
    shares = [0.1, 0.2, 0.3, 0.2, 0.2]
    found = Repeated.of(
        design, [design.prepare(count(1))], lambda _: random.choice(5, (2_000, 1), p=shares), 200
    )
    assert found.is_unbiased([400.0])
    assert not found.is_unbiased([440.0])


def test_what_only_reports_in_clear_tell_apart_has_an_honest_interval(monkeypatch):
    """Of 100 people one sends such a report on average, and perhaps none does."""
    design, shares = made([0.6, 0.1, 0.1, 0.1, 0.1], delta="0.01"), np.full(5, 0.2)
    shares[3:] = 0.38, 0.02

    def covered() -> float:
        random = np.random.default_rng(3)
        found = Repeated.of(
            design,
            [design.prepare(count(4))],
            lambda _: random.choice(5, (5_000, 1), p=shares),
            200,
        )
        return float(found.shares_inside([100.0])[0])

    assert covered() >= 0.94
    monkeypatch.setattr(MatrixChannel, "spread", lambda *_: np.zeros(1))
    assert covered() < 0.9


@pytest.mark.parametrize("prior", [None, SKEWED, FOUR, [0.96, 0.01, 0.01, 0.01, 0.01]])
@pytest.mark.parametrize("delta", ["0.000001", "0.05", "0.15"])
def test_sets_of_reports_keep_delta_exactly(prior, delta):
    design = made(prior, delta=delta)
    found = audit_design(design)
    assert (found.holds, found.witness) == (True, None)
    assert Fraction(delta) * (1 - Fraction(1, 10**9)) < found.divergence <= Fraction(delta)
    assert found.epsilon == 1
    assert str(design.guarantee) == f"1-LDP, delta {float(delta):g}"
    assert "in clear" in design.guarantee.not_protected[0]


def test_the_paper_s_constraint_per_report_is_not_enough():
    """Three reports, each within e^epsilon and delta by itself, together are not."""
    law = enumerate_law(made(None, sizes=(3,), delta="0.1").plan)
    odds = ONE.odds
    rows = [[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1), 0, 0]]
    channel = type(law)(((0,), (1,)), ((0, 0), (0, 1), (0, 2)), tuple(map(tuple, rows)))
    each = max(p - odds * q for p, q in zip(*rows, strict=True))
    assert each == Fraction(1, 4)
    assert channel.divergence(odds) == Fraction(1, 2)


def test_divergence_without_a_delta_is_none_at_the_odds_and_some_below():
    law = enumerate_law(mechanism("grr").design(domain_of((5,)), ONE, {}).plan)
    assert law.divergence(ONE.odds) == 0
    assert law.divergence(ONE.odds / 2) > 0


def test_a_delta_that_is_not_kept_is_caught(monkeypatch):
    """One word in a thousand more is in clear than was promised."""
    right = TruthfulDesign.__dict__["response"].func
    design = made(SKEWED, delta="0.05")
    more = made(SKEWED, delta="0.051")
    monkeypatch.setattr(TruthfulDesign, "response", property(lambda self: right(more)))
    found = audit_design(design)
    assert not found.holds
    assert any("some set of reports breaks (1, 0.05)-LDP" in text for text in found.problems)


def test_what_is_told_in_clear_cannot_be_hidden_by_shuffling():
    """The accountant amplifies epsilon alone."""
    central = Central(ONE, Fraction(1, 10**6), 1_000)
    maker, domain = mechanism("truthful"), domain_of((5,))
    assert maker.design(domain, central, {}).delta == 0
    with pytest.raises(SurveyError, match="locally private for every record"):
        maker.design(domain, central, {"delta": "0.05"})


def test_the_device_code_keeps_its_delta_and_more_is_noticed(monkeypatch):
    design = made([0.5, 0.5], sizes=(2,), delta="0.05")
    assert audit_design(design, reports=20_000, entropy=SeededEntropy(1)).holds
    right = TruthfulDesign.__dict__["response"].func
    more = made([0.5, 0.5], sizes=(2,), delta="0.6")
    monkeypatch.setattr(TruthfulDesign, "response", property(lambda self: right(more)))
    found = audit_design(
        made([0.5, 0.5], sizes=(2,), delta="0.05"), reports=20_000, entropy=SeededEntropy(1)
    )
    assert found.empirical.epsilon_at_least > 1
    assert any("device code does not keep" in text for text in found.problems)


def test_an_honest_delta_reveals_next_to_nothing():
    """The specification's comparison: 200 000 against 1.08, a minority of a fifth, epsilon 1."""
    skewed = made([0.8, 0.2], sizes=(2,), delta="0.000001")
    plain = made(None, sizes=(2,))
    spread = {}
    for name, design in (("skewed", skewed), ("plain", plain)):
        channel, own = design.channel.matrix, design.channel.contributions[:, 1]
        shares = channel @ np.array([0.8, 0.2])
        spread[name] = float(shares @ own**2 - (shares @ own) ** 2)
    assert spread["plain"] == pytest.approx(1.08, abs=0.005)
    assert spread["skewed"] == pytest.approx(200_000, rel=1e-3)


def test_a_prior_may_be_text_and_defaults_to_even_shares():
    assert made("0.4, 0.3,0.15,0.1,0.05") == made(SKEWED)
    assert made().support == (0, 1, 2, 3, 4)
    assert made([0.25] * 4, sizes=(2, 2)).support == (0, 1, 2, 3)


def test_what_has_no_place_is_refused():
    signed = domain_of((3,), ((0.0, 1.0),))
    with pytest.raises(SurveyError, match="no private measure"):
        mechanism("truthful").design(signed, ONE, {})
    for options, words in (
        ({"prior": [0.5, 0.5]}, "prior must have 5 shares"),
        ({"prior": [0.5] * 5}, "sum to 1"),
        ({"prior": 3}, "list of shares"),
        ({"delta": "1e-12"}, "at least 1e-09"),
        ({"delta": "much"}, "not a number"),
        ({"colour": 1}, "no option 'colour'"),
    ):
        with pytest.raises(SurveyError, match=words):
            mechanism("truthful").design(domain_of((5,)), ONE, options)
    assert "by name" in mechanism("truthful").reserved(Workload.everyday(domain_of((5,))))


@pytest.mark.parametrize("support", [[], [0, 0], [5], [-1]])
def test_a_support_that_does_not_fit_is_refused(support):
    design = made(SKEWED)
    data = json.loads(json.dumps(design.to_json())) | {"support": support}
    with pytest.raises(SurveyError):
        mechanism("truthful").restore(design.domain, ONE, data)


def best_agreement(pi: np.ndarray, epsilon: float, delta: float) -> float:
    """The linear program: over all channels P whose sets of reports keep (epsilon, delta)."""
    n, odds = len(pi), math.exp(epsilon)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    slacks = len(pairs) * n if delta else 0
    entries: list[tuple[int, int, float]] = []
    right: list[float] = []
    for number, (a, b) in enumerate(pairs):
        for j in range(n):
            row = len(right)
            entries += [(row, a * n + j, 1.0), (row, b * n + j, -odds)]
            if delta:
                entries.append((row, n * n + number * n + j, -1.0))
            right.append(0.0)
        if delta:
            entries += [(len(right), n * n + number * n + j, 1.0) for j in range(n)]
            right.append(delta)
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(right), n * n + slacks)
    sums = [(i, i * n + j, 1.0) for i in range(n) for j in range(n)]
    own, places, ones = zip(*sums, strict=True)
    cost = np.zeros(n * n + slacks)
    cost[np.arange(n) * (n + 1)] = -pi
    found = linprog(
        cost,
        coo_array((values, (rows, columns)), shape).tocsr(),
        right,
        coo_array((ones, (own, places)), (n, n * n + slacks)).tocsr(),
        np.ones(n),
        method="highs",
    )
    assert found.status == 0
    return -float(found.fun)


def priors(count: int) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    return [
        random.dirichlet(np.full(int(n), 0.5 + random.random()))
        for n in random.integers(2, 8, count)
    ]


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_no_channel_agrees_more(epsilon, delta):
    for pi in [*priors(4), np.array(SKEWED)]:
        found = truthful_optimum(list(pi), epsilon, delta).agreement
        assert found == pytest.approx(best_agreement(pi, epsilon, delta), abs=1e-9)


def test_randomized_response_over_all_values_falls_short_on_a_skewed_prior():
    """The negative control: what the closed form would be with all values in the support."""
    odds = math.e
    everything = odds / (odds + 4)
    assert best_agreement(np.array(SKEWED), 1.0, 0.0) > everything + 0.05


def test_vectors_of_the_specification():
    found = truthful_optimum(SKEWED, 1)
    assert found.support == (0, 1)
    assert found.agreement == pytest.approx(0.5117410050, abs=1e-10)
    minority = truthful_optimum([0.2, 0.8], "0.1", 0.15)
    assert minority.support == (1,)
    assert minority.agreement == pytest.approx(0.83, abs=1e-12)


@pytest.mark.parametrize("pi", [[], [0.5, 0.6], [1.5, -0.5], [float("nan"), 1.0], ["x"]])
def test_priors_that_are_none_are_refused(pi):
    with pytest.raises(SurveyError):
        truthful_optimum(pi, 1)


@pytest.mark.parametrize("delta", [-0.1, 1, float("inf")])
def test_deltas_that_are_none_are_refused(delta):
    with pytest.raises(SurveyError):
        truthful_optimum(SKEWED, 1, delta)
