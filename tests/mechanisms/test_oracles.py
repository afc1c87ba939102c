"""Frequency oracles: the specification's numbers, exact support probabilities, decoding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ldpsql.mechanisms.draws import SPACE, below, extremes_below, probability_below
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.olh import LARGEST_SLOT, Olh, _inverse
from ldpsql.mechanisms.oracle import Oracle
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.oue import Oue
from ldpsql.report import Rows
from ldpsql.simulation import SeededEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError


def supported(oracle: Oracle, outcome: tuple[int, ...], nodes: int) -> np.ndarray:
    """0/1 per node: whether one report supports it."""
    if isinstance(oracle, Oue):
        bits = [b for b in range(nodes) if outcome[b // 32] >> (b % 32) & 1]
        rows = Rows((np.array([-1, *bits]),), np.ones(len(bits) + 1, dtype=np.int64))
    else:
        rows = Rows(tuple(np.array([part]) for part in outcome), np.ones(1, dtype=np.int64))
    fold = rows.counts.astype(float)
    return oracle.supporters(0, rows, np.arange(nodes), [fold])[0]


@pytest.mark.parametrize("make", [Grr, Olh, Oue])
@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_support_probabilities_are_those_of_the_law(make: type, nodes: int) -> None:
    """p, q and the joint ones, by enumeration; joint_other on average over triples."""
    oracle = make(Epsilon.parse("1.2"), (nodes,))
    found = oracle.support(0)
    singles = np.zeros((nodes, nodes))
    pairs = np.zeros((nodes, nodes, nodes))
    for own in range(nodes):
        for outcome, chance in oracle.law(0, own):
            hit = supported(oracle, outcome, nodes)
            singles[own] += float(chance) * hit
            pairs[own] += float(chance) * np.outer(hit, hit)
    others = ~np.eye(nodes, dtype=bool)
    assert np.allclose(np.diag(singles), found.p, atol=1e-12)
    assert np.allclose(singles[others], found.q, atol=1e-12)
    own_other = [pairs[j, j, k] for j in range(nodes) for k in range(nodes) if k != j]
    assert np.allclose(own_other, found.joint_own, atol=1e-12)
    triples = [
        pairs[j, k, m]
        for j in range(nodes)
        for k in range(nodes)
        for m in range(nodes)
        if len({j, k, m}) == 3
    ]
    if triples:
        assert np.mean(triples) == pytest.approx(found.joint_other, abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "p", "values"),
    [
        ("0.5", 0.451862763, 3),
        ("1", 0.475366886, 4),
        ("2", 0.513519167, 8),
        ("5", 0.500696931, 149),
    ],
)
def test_olh_parameters(epsilon: str, p: float, values: int) -> None:
    """Specification h4mda, section 13; q is exact for the family, 1/g in its limit."""
    oracle = Olh(Epsilon.parse(epsilon), (20_011,))
    assert oracle.values == values
    assert oracle.support(0).p == pytest.approx(p, abs=2e-9)
    assert oracle.support(0).q == pytest.approx(1 / values, rel=0.01)


def test_ideal_variances() -> None:
    """V0 of the specification's table: exact for GRR and OUE, the limit for OLH."""
    e = np.exp(1.0)
    one = Epsilon.parse("1")
    assert Grr(one, (25,)).support(0).node_variance == pytest.approx(
        (e + 23) / (e - 1) ** 2, rel=1e-9
    )
    assert Oue(one, (25,)).support(0).node_variance == pytest.approx(4 * e / (e - 1) ** 2)
    assert Olh(one, (20_011,)).support(0).node_variance == pytest.approx(3.6916546, rel=2e-3)


def test_grr_estimates() -> None:
    """Specification h4mda, section 13: counts (50, 30, 20) of 100 at epsilon 1."""
    oracle = Grr(Epsilon.parse("1"), (3,))
    rows = Rows((np.arange(3),), np.array([50, 30, 20]))
    counted = oracle.supporters(0, rows, np.arange(3), [rows.counts.astype(float)])[0]
    support = oracle.support(0)
    estimates = (counted / 100 - support.q) / (support.p - support.q)
    assert estimates == pytest.approx([0.790988353, 0.241802329, -0.032790683], abs=1e-8)


def test_auto_takes_the_oracle_of_least_variance() -> None:
    """The crossover 3 e^epsilon + 2 of the specification."""
    one, two = Epsilon.parse("1"), Epsilon.parse("2")
    assert [OracleTable("auto", one, (10, 11)).kind(g) for g in (0, 1)] == ["grr", "olh"]
    assert [OracleTable("auto", two, (24, 25)).kind(g) for g in (0, 1)] == ["grr", "olh"]


@pytest.mark.parametrize(("nodes", "epsilon"), [(5, "2"), (60, "1"), (97, "3"), (8, "2")])
def test_olh_decodes_alike_by_row_and_by_function(nodes: int, epsilon: str) -> None:
    """Both ways to count supporters are one definition."""
    oracle = Olh(Epsilon.parse(epsilon), (nodes,))
    random = np.random.default_rng(5)
    people = random.integers(0, nodes, 3_000)
    columns = oracle.respond(np.zeros(3_000, dtype=np.int64), people, SeededEntropy(2))
    rows = Rows(tuple(columns), np.ones(3_000, dtype=np.int64))
    folds = [np.ones(3_000), random.random(3_000)]
    labels = _inverse(np.arange(nodes), oracle.primes[0])
    by_row = oracle._supporters_by_row(oracle.primes[0], rows, labels, folds)
    by_function = oracle._supporters_by_function(oracle.primes[0], rows, labels, folds)
    assert np.allclose(by_row, by_function)
    hashed = ((columns[0] + 1)[:, None] * labels + columns[1][:, None]) % oracle.primes[0]
    assert np.allclose(by_row[0], (hashed % oracle.values == columns[2][:, None]).sum(axis=0))


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 29_600, LARGEST_SLOT])
@pytest.mark.parametrize("epsilon", ["0.5", "2", "9"])
def test_olh_decodes_by_row_as_devices_hash(nodes: int, epsilon: str) -> None:
    """Comparing fractions that overflow is exact, up to the largest slot and for the residues at
    both ends, where a fraction that is too large would reach the next one."""
    oracle = Olh(Epsilon.parse(epsilon), (nodes,))
    prime, g, random = oracle.primes[0], oracle.values, np.random.default_rng(8)
    ends = np.array([0, 1 % prime, prime - 1])
    labels = np.concatenate([ends, random.integers(0, prime, 40)])
    a = np.concatenate([[0, 0, prime - 2], random.integers(0, prime - 1, 40)])
    c = np.concatenate([ends, random.integers(0, prime, 40)])
    y = random.integers(0, g, 43)
    rows = Rows((a, c, y), np.ones(43, dtype=np.int64))
    folds = [np.ones(43), random.random(43)]
    hashed = ((a + 1)[:, None] * labels + c[:, None]) % prime % g
    expected = np.array(folds) @ (hashed == y[:, None])
    assert oracle._supporters_by_row(prime, rows, labels, folds) == pytest.approx(expected)


def test_olh_labels_do_not_depend_on_the_way() -> None:
    """One person computes the inverse, many look it up."""
    oracle = Olh(Epsilon.parse("1"), (40, 11))
    slots = np.array([0, 0, 1, 1] * 20)
    nodes = np.array([3, 39, 0, 10] * 20)
    prime = oracle._primes_array[slots]
    many = oracle._labels(slots, nodes, prime)
    few = np.concatenate(
        [
            oracle._labels(slots[i : i + 1], nodes[i : i + 1], prime[i : i + 1])
            for i in range(len(nodes))
        ]
    )
    assert (many == few).all()
    assert ((many * nodes) % prime)[nodes > 0].tolist() == [1] * 60


def test_oue_needs_a_bit_per_node() -> None:
    """A group with too many nodes is refused when the oracle is made."""
    with pytest.raises(SurveyError, match="OUE sends a bit"):
        Oue(Epsilon.parse("1"), (1025,))


def test_bits_stand_in_the_same_word_whatever_the_budget_of_a_group() -> None:
    """A histogram counts bits by their place in the report, knowing of no budgets."""
    small, large = Epsilon.parse("1"), Epsilon.parse("2")
    table = OracleTable("oue", large, (4, 70), (small, large))
    assert table.limits == ((16, 1, 1), (1 << 32, 1 << 32, 1 << 6))
    nodes = np.full(50, 3)
    first, *others = table.respond(np.zeros(50, dtype=np.int64), nodes, SeededEntropy(1))
    assert (first > 0).any()
    assert not np.any(others)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 2**31 - 1, 2**32])
def test_below_is_the_high_half_of_the_product(bound: int) -> None:
    """Multiply-shift by halves equals the 128-bit product, extremes included."""
    words = np.concatenate(
        [SeededEntropy(1).words(500), np.array([0, 1, SPACE - 1, SPACE // 2], dtype=np.uint64)]
    )
    exact = [int(word) * bound >> 64 for word in words]
    assert below(words, bound).tolist() == exact


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000])
def test_preimages_of_below_add_up(bound: int) -> None:
    """The exact probabilities sum to 1, and differ by one word at most."""
    chances = [probability_below(outcome, bound) for outcome in range(bound)]
    assert sum(chances) == 1
    assert max(chances) - min(chances) <= Fraction(1, SPACE)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 64, 100])
def test_extremes_of_below_are_those_of_its_first_outcomes(bound: int) -> None:
    """However few they are."""
    chances = [probability_below(outcome, bound) for outcome in range(bound)]
    for outcomes in range(1, bound + 1):
        seen = chances[:outcomes]
        assert extremes_below(bound, outcomes) == (min(seen), max(seen))


@pytest.mark.parametrize("threshold", [1, SPACE // 5, SPACE // 2, SPACE - 1])
@pytest.mark.parametrize(("oracle", "name"), [(Grr, "thresholds"), (Olh, "threshold")])
def test_odds_are_those_of_the_law_for_any_threshold(
    oracle: type, name: str, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a device that lies too much, or almost never; OLH with more and fewer nodes than
    hash values."""
    value = (threshold,) * 4 if oracle is Grr else threshold
    monkeypatch.setattr(oracle, name, property(lambda self: value))
    made = oracle(Epsilon.parse("1.5"), (1, 2, 4, 9))
    for slot, size in enumerate(made.sizes):
        laws = [dict(made.law(slot, node)) for node in range(size)]
        worst = max(
            max(law[report] for law in laws) / min(law[report] for law in laws)
            for report in laws[0]
        )
        assert made.odds(slot) == worst


@pytest.mark.parametrize("threshold", [0, SPACE])
def test_odds_of_an_answer_that_tells_for_certain_are_unbounded(
    threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The truth always, or never."""
    monkeypatch.setattr(Grr, "thresholds", property(lambda self: (threshold,) * 2))
    assert Grr(Epsilon.parse("1"), (3, 1)).odds(0) is None
    assert Grr(Epsilon.parse("1"), (3, 1)).odds(1) == 1
