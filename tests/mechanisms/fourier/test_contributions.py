"""Second moments of what reports contribute: exact with all families, close with a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from support.fourier_designs import (
    HAND_MADE,
    asked,
    channel,
    counted,
    domain_of,
    elements,
    histogram,
    outputs,
    single_answers,
)
from support.tiers import keep_fast

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.mechanisms.fourier import contributions, listed
from ldpsql.mechanisms.fourier.contributions import SecondMoments, sum_spectra, weigh_axes
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.group import Axes, Spectrum
from ldpsql.mechanisms.fourier.spectra import BoxQuery
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import Histogram, Pair
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

DESIGNS = HAND_MADE
NAMES = list(DESIGNS)


def moments(design: FourierDesign, found: Histogram, planned: list[BoxQuery]) -> np.ndarray:
    decoded = design.estimator(found)
    even = decoded.shared.spread_evenly(planned, found.moment)
    spectra = [design.collected.spectrum(query) for query in planned]
    sums = np.array(list(map(decoded._estimate_rest, planned, spectra)))
    return decoded._moments.sums([planned], [spectra], [sums], [even])[0]


@pytest.mark.parametrize("name", NAMES)
def test_sets_of_reports_are_summed_together_as_one_by_one(name: str) -> None:
    """Sets that share families, one that lacks some, and one without reports."""
    design, random = DESIGNS[name], np.random.default_rng(5)
    reports = list(outputs(design))
    sets = []
    for most in (len(reports), len(reports), 1 + len(reports) // 4):
        chosen = random.choice(most, 1 + most // 2, replace=False)
        counts = random.integers(1, 9, len(chosen))
        sets.append(histogram(design, [reports[own] for own in chosen], counts).load_all())
    sets.append(replace(sets[0], columns=(no := np.zeros(0, dtype=np.int64),) * 2, counts=no))
    together = sum_spectra(design.collected, sets, (None, None))
    for own, found in zip(sets, together, strict=True):
        [alone] = sum_spectra(design.collected, [own], (None, None))
        assert alone.keys() == found.keys()
        for face in alone:
            np.testing.assert_allclose(found[face], alone[face], rtol=0, atol=1e-11)
    assert not all(np.allclose(together[0][face], together[1][face]) for face in together[0])
    assert not any(together[3][face].any() for face in together[3])


@pytest.mark.parametrize("name", NAMES)
def test_moments_of_any_records_are_those_of_the_channel(name: str) -> None:
    """All families looked at, and hardly any noise: n E c_a c_b under any law p."""
    design = DESIGNS[name]
    planned = asked(design)
    amounts = single_answers(design, planned)
    random = np.random.default_rng(9)
    types = np.zeros(len(elements(design.group)))
    types[random.integers(0, len(types), 3)] = [0.5, 0.3, 0.2]
    total = 1e9
    mean = total * (channel(design) @ types)
    found = moments(design, histogram(design, outputs(design), mean), planned)
    expected = (amounts * mean[:, None]).T @ amounts
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


def test_moments_of_weights() -> None:
    """Pairs of weights take their own sums per report; every family holds its share of each."""
    design = DESIGNS["boxes"]
    box = Box((((0, 2),), ((1, 4),)))
    paid = Weight("paid")
    planned = [
        design.prepare(LinearQuery(((1.0, box),), weight=paid)),
        design.prepare(LinearQuery.count(box)),
    ]
    alone = single_answers(design, [planned[1]])[:, 0]
    rows, law = outputs(design), channel(design)
    random = np.random.default_rng(2)
    types = 1e9 * random.dirichlet(np.full(law.shape[1], 0.3))
    pay = random.normal(3.0, 2.0, len(types))
    counts, paid_sum, paid_square = (law @ (types * own) for own in (1.0, pay, pay**2))
    given = {(paid, None): paid_sum, (paid, paid): paid_square}
    found = moments(design, histogram(design, rows, counts, given), planned)
    cross, plain = (alone**2 @ paid_sum, alone**2 @ counts)
    np.testing.assert_allclose(found, [[alone**2 @ paid_square, cross], [cross, plain]], rtol=1e-4)


def test_moments_of_many_are_those_of_every_pair_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of their weights; and a pair of weights is read once."""
    design, random = DESIGNS["boxes"], np.random.default_rng(4)
    paid, owed = Weight("paid"), Weight("owed")
    kinds = (None, paid, owed, paid, None, owed)
    boxes = [Box((((0, 2),), ((low, 4),))) for low in (0, 1)]
    queries = [LinearQuery(((1.0, boxes[n % 2]),), weight=weight) for n, weight in enumerate(kinds)]
    planned = [design.prepare(query) for query in queries]
    rows = outputs(design)
    counts = np.floor(1e3 * random.random(len(rows))) + 1.0
    pairs = [(paid, None), (owed, None), (paid, paid), (paid, owed), (owed, owed)]
    given = {pair: counts * random.normal(size=len(rows)) for pair in pairs}
    found = histogram(design, rows, counts, given)
    estimator = design.estimator(found)
    read = Counter[frozenset[Weight | None]]()

    def population(pair: Pair) -> Spectrum:
        read[frozenset(pair)] += 1
        return estimator.spectrum(*pair)

    looked_at = SecondMoments(estimator.shared, found.moment, population)
    estimated = random.normal(size=len(planned)) * counts.sum()
    spectra = [design.collected.spectrum(query) for query in planned]
    shared = estimator.shared.spread_evenly(planned, found.moment)

    def several(group: Sequence[int]) -> np.ndarray:
        even = [shared[np.ix_(group, group)]]
        row, known = [planned[n] for n in group], [estimated[[*group]]]
        return looked_at.sums([row], [[spectra[n] for n in group]], known, even)[0]

    every = range(len(planned))
    whole = several(every)
    assert (whole == whole.T).all()
    monkeypatch.setattr(contributions, "_AT_ONCE", 3)
    for pair in [(i, j) for i in every for j in every]:
        part = several(pair)
        np.testing.assert_allclose(whole[np.ix_(pair, pair)], part, atol=1e-5 * np.abs(whole).max())
    assert set(read) == {frozenset(pair) for pair in [(None, None), *pairs]}
    assert set(read.values()) == {1}


def test_an_average_of_a_column_far_from_0_has_the_error_of_one_near_0() -> None:
    """SUM - mean x COUNT is the same whatever is added to everybody's value, and so is its
    variance, though those of SUM and COUNT all but cancel."""
    design, random = DESIGNS["boxes"], np.random.default_rng(5)
    paid, box = Weight("paid"), Box((((0, 2),), ((1, 4),)))
    planned = [
        design.prepare(LinearQuery(((1.0, box),), weight=weight)) for weight in (paid, None, paid)
    ]
    rows = outputs(design)
    counts = np.floor(50.0 * random.random(len(rows))) + 1.0
    paid_sum = counts * random.random(len(rows))
    found = []
    for offset in (0.0, 1e6):
        given = {
            (paid, None): paid_sum + offset * counts,
            (paid, paid): paid_sum + 2.0 * offset * paid_sum + offset**2 * counts,
        }
        estimator = design.estimator(histogram(design, rows, counts, given))
        covariance = estimator.answer(planned).covariance
        ratio = np.array([1.0, -(offset + 0.5), 0.0])
        found.append(ratio @ covariance @ ratio)
    assert found[0] > 0.0
    assert found[1] == pytest.approx(found[0], rel=1e-2)


# -- the sample ------------------------------------------------------------------------------------


def choose(design: FourierDesign, faces: frozenset[Axes]) -> np.ndarray:
    """What every family stands for in a sample of those that tell about some faces."""
    worth = weigh_axes(design.collected, faces)
    return listed.choose_families(design.collected.kinds[0], worth)


def test_few_families_are_all_taken() -> None:
    design = DESIGNS["boxes"]
    families = design.table.shares
    assert (choose(design, frozenset(design.group.faces)) == families).all()
    assert not choose(design, frozenset()).any()


SAMPLE = 256


@cache
def sampled(epsilon: str) -> FourierDesign:
    """A design of many families."""
    domain = domain_of((24, 24), ((0.0, 1.0),))
    design = mechanism("fourier").design(domain, Epsilon.parse(epsilon), {})
    assert isinstance(design, FourierDesign)
    return design


def data(kind: str, people: int, random: np.random.Generator) -> np.ndarray:
    """Codes and signs, shape (people, 3)."""
    signs = random.integers(0, 4, people) > 0
    if kind == "flat":
        codes = random.integers(0, 24, (people, 2))
    elif kind == "one cell":
        codes = np.tile([8, 13], (people, 1))
    else:
        spikes = np.random.default_rng(5).integers(0, 24, (5, 2))
        codes = spikes[random.integers(0, 5, people)]
    return np.column_stack([codes, signs]).astype(np.int64)


def shares_of(design: FourierDesign, monkeypatch: pytest.MonkeyPatch, points: int) -> np.ndarray:
    """What every family stands for in a sample of so many points."""
    monkeypatch.setattr(listed, "MOST_CELLS_OF_ALL", 0)
    monkeypatch.setattr(listed, "POINTS", points)
    vars(design).pop("_shared", None)  # with the sample that it keeps
    return choose(design, frozenset(design.group.faces))


def test_a_sample_stands_for_all_families(monkeypatch: pytest.MonkeyPatch) -> None:
    """Summed over the frequencies, what the sample informs is near what all families do."""
    design = sampled("2")
    stands_for = shares_of(design, monkeypatch, SAMPLE)
    assert 50 < np.count_nonzero(stands_for) <= SAMPLE < len(stands_for)
    assert stands_for.sum() == pytest.approx(1.0, abs=0.1)


def test_where_single_reports_weigh_much_all_families_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = sampled("2")
    monkeypatch.setattr(listed, "MOST_ODDS", 7.3)
    assert (shares_of(design, monkeypatch, SAMPLE) == design.table.shares).all()


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    keep_fast(
        product(["flat", "one cell", "spiky"], ["0.5", "2"]),
        [("flat", "0.5")],
    ),
)
def test_a_sampled_variance_is_near_that_of_all_families(
    epsilon: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relative error is that of a sample: about a twentieth, its mean nil, its tail light."""
    design = sampled(epsilon)
    boxes = [Box((((6, 12),), ((4, 20),))), Box((((0, 9),), None)), Box((((2, 20),), ((10, 14),)))]
    planned = [design.prepare(LinearQuery.count(box)) for box in boxes]
    planned.append(design.prepare(LinearQuery.sum(0, boxes[0])))
    errors = []
    for seed in range(6):
        codes = data(kind, 20_000, np.random.default_rng([seed, 1]))
        held = counted(design, design.randomize(codes, SeededEntropy(seed)))
        found = []
        for points in (SAMPLE, 1 << 20):
            shares_of(design, monkeypatch, points)
            found.append(np.diagonal(moments(design, held, planned)))
        errors.append(found[0] / found[1] - 1.0)
    relative = np.array(errors)
    assert np.sqrt((relative**2).mean()) < 0.05
    assert np.abs(relative).max() < 0.15
    assert np.abs(relative.mean()) < 0.03


@pytest.mark.slow
def test_a_sample_that_stands_for_nobody_else_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: families drawn, but each counted for itself only."""
    right = listed.choose_families

    def wrong(own: listed.ListedQuestions, worth: Mapping[Axes, float]) -> np.ndarray:
        return right(own, worth) * (1e-9 if listed.POINTS == SAMPLE else 1.0)

    monkeypatch.setattr(listed, "choose_families", wrong)
    with pytest.raises(AssertionError):
        test_a_sampled_variance_is_near_that_of_all_families("2", "one cell", monkeypatch)


@pytest.mark.parametrize("far", [1e4, 1e6])
def test_a_measure_far_from_zero_keeps_the_error_of_its_average(far: float) -> None:
    """SUM with bounds moved by m is SUM + m COUNT, and so is its covariance, in every direction."""
    box = Box((((3, 11),),))
    random = np.random.default_rng(5)
    codes = np.stack([random.integers(0, 16, 400), random.integers(0, 2, 400)], axis=1)
    found = []
    for offset in (0.0, far):
        domain = domain_of((16,), ((offset, offset + 10.0),))
        design = mechanism("fourier").design(domain, Epsilon.parse("2"), {})
        reports = design.randomize(codes, SeededEntropy(3))
        planned = [design.prepare(LinearQuery.sum(0, box)), design.prepare(LinearQuery.count(box))]
        answer = design.estimator(counted(design, reports)).answer(planned)
        direction = np.array([1.0, -offset])
        found.append((answer.values @ direction, direction @ answer.covariance @ direction))
    (near, plain), (moved, told_far) = found
    assert moved == pytest.approx(near, rel=1e-6, abs=1e-4)
    assert told_far == pytest.approx(plain, rel=0.01)
