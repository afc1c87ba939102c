"""Frequency oracles: the specification's numbers, exact support probabilities, decoding."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators import oracles
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.nodes import NodeDesign, OracleAnswer
from ldpsql.estimators.oracles import Grr, Olh, Oue, SpectralOlh, prime_from
from ldpsql.mechanisms.oracles import LARGEST, choose_oracle, hash_values, make_oracle, odds_words
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Histograms
from ldpsql_device.draw import invert
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, subset_words
from ldpsql_lab.simulation import SeededEntropy, histogram_of

ONE, TWO = Epsilon.parse("1"), Epsilon.parse("2")


def supported(answer: OracleAnswer, report: tuple[int, ...], nodes: int) -> np.ndarray:
    """0/1 per node: whether one report, without its question, supports it."""
    oracle, every = answer.oracle, np.arange(nodes)
    if isinstance(oracle, Oue):
        bits = [b for b in range(nodes) if report[b // 32] >> (b % 32) & 1]
        return oracle.supporters([], np.array([-1, *bits]), np.ones(len(bits) + 1), every)
    coins = [np.array([report[place]]) for place in answer.coins]
    return oracle.supporters(coins, np.array([report[answer.column]]), np.ones(1), every)


@pytest.mark.parametrize("name", ["grr", "olh", "oue", "hh"])
@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_support_probabilities_are_those_of_the_law(name: str, nodes: int) -> None:
    """p, q and the joint ones, by enumeration of the plan; joint_other on average over triples."""
    options = {"oracle": "hrr", "fanout": nodes} if name == "hh" else {}
    domain = RecordDomain(("x",), (nodes,), (), (), ())
    design = mechanism(name).design(domain, Epsilon.parse("1.2"), options)
    assert isinstance(design, NodeDesign)
    (answer,) = design.answers
    oracle, law = answer.oracle, enumerate_law(design.plan)
    singles = np.zeros((nodes, nodes))
    pairs = np.zeros((nodes, nodes, nodes))
    for own in range(nodes):
        for report, chance in zip(law.outputs, law.probabilities[own], strict=True):
            hit = supported(answer, report[1:], nodes)
            singles[own] += float(chance) * hit
            pairs[own] += float(chance) * np.outer(hit, hit)
    others = ~np.eye(nodes, dtype=bool)
    assert np.allclose(np.diag(singles), oracle.p, atol=1e-12)
    assert np.allclose(singles[others], oracle.q, atol=1e-12)
    own_other = [pairs[j, j, k] for j in range(nodes) for k in range(nodes) if k != j]
    assert np.allclose(own_other, oracle.joint_own, atol=1e-12)
    triples = [
        pairs[j, k, m]
        for j in range(nodes)
        for k in range(nodes)
        for m in range(nodes)
        if len({j, k, m}) == 3
    ]
    if triples:
        assert np.mean(triples) == pytest.approx(oracle.joint_other, abs=1e-12)


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
    """docs/spec/h4mda.md#13; q is exact for the family, 1/g in its limit."""
    oracle = Olh.of(20_011, values, odds_words(Epsilon.parse(epsilon)))
    assert hash_values(Epsilon.parse(epsilon)) == values
    assert oracle.p == pytest.approx(p, abs=2e-9)
    assert oracle.q == pytest.approx(1 / values, rel=0.01)


def test_grr_estimates() -> None:
    """docs/spec/h4mda.md#13: counts (50, 30, 20) of 100 at epsilon 1."""
    oracle = Grr.of(3, odds_words(ONE))
    counts = np.array([50.0, 30.0, 20.0])
    counted = oracle.supporters([], np.arange(3), counts, np.arange(3))
    estimates = (counted / 100 - oracle.q) / (oracle.p - oracle.q)
    assert estimates == pytest.approx([0.790988353, 0.241802329, -0.032790683], abs=1e-8)


def test_auto_takes_the_oracle_of_least_variance() -> None:
    """The crossover 3 e^epsilon + 2 of the specification."""
    assert [choose_oracle("auto", size, ONE) for size in (10, 11)] == ["grr", "olh"]
    assert [choose_oracle("auto", size, TWO) for size in (24, 25)] == ["grr", "olh"]


def hashing(nodes: int, epsilon: str) -> Olh:
    words = Epsilon.parse(epsilon)
    return Olh.of(prime_from(nodes), hash_values(words), odds_words(words))


@pytest.mark.parametrize(("nodes", "epsilon"), [(5, "2"), (60, "1"), (97, "3"), (8, "2")])
def test_olh_decodes_alike_by_report_and_by_function(nodes: int, epsilon: str) -> None:
    """Both ways to count supporters are one definition, that of the device."""
    domain = RecordDomain(("x",), (nodes,), (), (), ())
    design = mechanism("olh").design(domain, Epsilon.parse(epsilon), {})
    random = np.random.default_rng(5)
    codes = random.integers(0, nodes, (3_000, 1))
    reports = design.randomize(codes, SeededEntropy(2))
    _, a, c, y = (np.asarray(column).astype(np.int64) for column in reports.columns.values())
    oracle, amounts = hashing(nodes, epsilon), random.random(3_000)
    labels = invert(np.arange(nodes), oracle.prime)
    by_report = oracle._by_report([a, c], y, amounts, labels)
    assert np.allclose(by_report, oracle._by_function([a, c], y, amounts, labels))
    hashed = ((a + 1)[:, None] * labels + c[:, None]) % oracle.prime % oracle.values
    assert np.allclose(by_report, amounts @ (hashed == y[:, None]))


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 29_600, LARGEST["olh"]])
@pytest.mark.parametrize("epsilon", ["0.5", "2", "9"])
def test_olh_decodes_by_report_as_devices_hash(nodes: int, epsilon: str) -> None:
    """Comparing fractions that overflow is exact, up to the largest group and for the residues at
    both ends, where a fraction that is too large would reach the next one."""
    oracle = hashing(nodes, epsilon)
    prime, g, random = oracle.prime, oracle.values, np.random.default_rng(8)
    ends = np.array([0, 1 % prime, prime - 1])
    labels = np.concatenate([ends, random.integers(0, prime, 40)])
    a = np.concatenate([[0, 0, prime - 2], random.integers(0, prime - 1, 40)])
    c = np.concatenate([ends, random.integers(0, prime, 40)])
    y = random.integers(0, g, 43)
    hashed = ((a + 1)[:, None] * labels + c[:, None]) % prime % g
    for amounts in (np.ones(43), random.random(43)):
        expected = amounts @ (hashed == y[:, None])
        assert oracle._by_report([a, c], y, amounts, labels) == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4"])
def test_harmonics_have_the_moments_of_the_law(epsilon: str) -> None:
    """Of a pair of nodes exactly, over all hash functions and answers; never far above OLH's."""
    prime, odds = 97, odds_words(Epsilon.parse(epsilon))
    values = min(hash_values(Epsilon.parse(epsilon)), 11)
    oracle, own, nodes = SpectralOlh.of(prime, values, odds), 5, np.array([5, 17, 60])
    a, c = (grid.ravel() for grid in np.meshgrid(np.arange(prime - 1), np.arange(prime)))
    hashed = ((a + 1) * invert(np.array([own]), prime)[0] + c) % prime % values
    p = subset_words(1, values, odds)[0] / WORDS
    means, squares = np.zeros(3), np.zeros((3, 3))
    for y in range(values):
        chance = np.where(hashed == y, p, (1.0 - p) / (values - 1)) / len(a)
        support = oracle._support([a, c], np.full(len(a), y), nodes)
        means += chance @ support
        squares += (support * chance[:, None]).T @ support
    assert means == pytest.approx([oracle.p, oracle.q, oracle.q], abs=1e-12)
    assert oracle.squares is not None
    assert np.diagonal(squares) == pytest.approx(np.array(oracle.squares)[[0, 1, 1]], abs=1e-12)
    assert squares[0, 1:] == pytest.approx(oracle.joint_own, abs=1e-12)
    plain = Olh.of(prime, values, odds)
    ratio = oracle.moments.node_variance / plain.moments.node_variance
    assert 1.0 < ratio < 1.05


@pytest.mark.parametrize(("nodes", "epsilon"), [(5_000, "2"), (100_000, "1"), (6_000, "5")])
def test_harmonics_are_added_up_as_one_by_one(nodes: int, epsilon: str) -> None:
    """The transform, the sum over rows, and the sum over single nodes are one definition."""
    oracle = make_oracle("olh", nodes, Epsilon.parse(epsilon))
    assert isinstance(oracle, SpectralOlh)
    random, prime = np.random.default_rng(1), oracle.prime
    coins = [random.integers(0, prime - 1, 300), random.integers(0, prime, 300)]
    answer, amounts = random.integers(0, oracle.values, 300), random.random(300)
    every = oracle.supporters(coins, answer, amounts, np.arange(nodes))
    some = np.array([0, 1, 77, nodes - 1])
    assert oracle.supporters(coins, answer, amounts, some) == pytest.approx(every[some], abs=1e-10)
    by_row = oracle.weigh_supported(coins, answer, some, np.eye(4))
    assert by_row @ amounts == pytest.approx(every[some], abs=1e-10)
    low, high = oracle.extremes(some, np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert low[0] <= by_row[0].min()
    assert by_row[0].max() <= high[0]


@pytest.mark.parametrize(("oracle", "words"), [("oue", "sends a bit"), ("olh", "OLH's 4194304")])
def test_an_oracle_has_a_largest_group(oracle: str, words: str) -> None:
    """A group with too many nodes is refused when it is designed."""
    with pytest.raises(SurveyError, match=words):
        choose_oracle(oracle, LARGEST[oracle] + 1, ONE)


@pytest.mark.parametrize(("size", "prime"), [(1, 2), (2, 2), (4, 5), (90, 97), (100, 101)])
def test_the_next_prime(size: int, prime: int) -> None:
    """The smallest that is not below."""
    assert prime_from(size) == prime


def test_of_many_hashed_nodes_the_most_that_a_report_supports_is_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of few nodes it is attained, as all of them may collide."""
    oracle, nodes = hashing(31, "1"), np.arange(31)
    weights = np.vstack([np.eye(31)[:2].sum(axis=0), np.linspace(-1.0, 2.0, 31)])
    exact = oracle.extremes(nodes, weights)
    monkeypatch.setattr(oracles, "MOST_EXACT", 30)
    bound = oracle.extremes(nodes, weights)
    assert bound[1, 0] == exact[1, 0] == 2.0
    assert bound[0, 1] < exact[0, 1] < 0.0 < exact[1, 1] < bound[1, 1]


@pytest.mark.parametrize("name", ["oue", "hh"])
def test_sets_of_people_have_words_of_more_bits_than_nodes(name: str) -> None:
    """As histograms of simulations do, whose rows are all bits of a word."""
    made = mechanism(name).design(RecordDomain(("x",), (8,), (), (), ()), Epsilon.parse("1"), {})
    codes = np.random.default_rng(1).integers(0, 8, (400, 1))
    people = histogram_of(made.randomize(codes, SeededEntropy(1)))
    assert int(people.columns[1].max()) > 8
    planned = made.prepare(LinearQuery.count(Box((((1, 4),),))))
    found = made.answer_sets("unbiased", Histograms.of_one((), people), [[planned]])
    assert found is not None
    own = make_estimator(made, people).answer([planned])
    assert found[0][0, 0] == pytest.approx(own.values)
    assert found[1][0, 0] == pytest.approx(own.covariance)
