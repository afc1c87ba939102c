"""Ranges that end inside a bin: their errors hold how uneven people in it may be."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, histogram_of

PEOPLE, CODES, BINS = 20_000, 64, 8
DOMAIN = RecordDomain(("x",), (CODES,), ("v",), ((0.0, 10.0),), (None,))


@pytest.fixture(scope="module")
def design() -> FourierDesign:
    made = mechanism("fourier").design(DOMAIN, Epsilon.parse("8"), {"bins": BINS})
    assert isinstance(made, FourierDesign)
    assert made.group.is_coarse
    return made


def estimator(design: FourierDesign, inside: np.ndarray, seed: int = 0) -> FourierEstimator:
    """People even over the bins, at the given codes within each; half of all signs are up."""
    random = np.random.default_rng(seed)
    bins = random.integers(0, BINS, PEOPLE)
    codes = bins * (CODES // BINS) + inside[bins]
    signs = random.integers(0, 2, PEOPLE)
    reports = design.randomize(np.stack([codes, signs], axis=1), SeededEntropy(seed))
    made = design.estimator(histogram_of(reports))
    assert isinstance(made, FourierEstimator)
    return made


def asked(design: FourierDesign, low: int, high: int) -> list:
    box = Box((((low, high),),))
    return [design.prepare(LinearQuery.count(box)), design.prepare(LinearQuery.sum(0, box))]


def test_ranges_of_whole_bins_are_as_they_were(design: FourierDesign) -> None:
    found = estimator(design, np.zeros(BINS, dtype=np.int64))
    rows = [asked(design, 8, 24), asked(design, 0, 64)]
    for one, other in zip(found.answer_rows(rows), found._answer_spread(rows), strict=True):
        assert (one.values == other.values).all()
        assert (one.covariance == other.covariance).all()


def test_a_cut_bin_adds_what_it_may_be_off_by(design: FourierDesign) -> None:
    """Half of a bin of an eighth of all: sqrt(1/4) of its people and of their sum."""
    found = estimator(design, np.zeros(BINS, dtype=np.int64))
    row = asked(design, 8, 20)
    (one,), (plain,) = found.answer_rows([row]), found._answer_spread([row])
    assert (one.values == plain.values).all()
    added = one.covariance - plain.covariance
    assert np.sqrt(np.diagonal(added)) == pytest.approx([PEOPLE / 16, 5 * PEOPLE / 16], rel=0.1)
    # Count and sum are off by the same people.
    assert added[0, 1] == pytest.approx(np.sqrt(added[0, 0] * added[1, 1]))


def test_ranges_that_share_a_bin_are_off_together(design: FourierDesign) -> None:
    """What one has too much the next one lacks: of both together nothing is uncertain."""
    found = estimator(design, np.zeros(BINS, dtype=np.int64))
    row = [asked(design, *ends)[0] for ends in ((8, 20), (20, 24), (18, 22))]
    (one,), (plain,) = found.answer_rows([row]), found._answer_spread([row])
    added = one.covariance - plain.covariance
    both = np.array([1.0, 1.0, 0.0])
    assert both @ added @ both == pytest.approx(0.0, abs=1e-6 * added[0, 0])
    assert np.linalg.eigvalsh(added).min() > -1e-6 * added[0, 0]
    assert added[0, 1] == pytest.approx(-added[0, 0])
    # 18..21 has half of 16..19 and half of 20..23.
    assert added[0, 2] == pytest.approx(0.0, abs=1e-6 * added[0, 0])


def test_intervals_hold_people_who_all_have_one_code(design: FourierDesign) -> None:
    """Any code of its bin; without the bins nearly every interval leaves out the truth."""
    random = np.random.default_rng(5)
    held, plain, runs = 0, 0, 40
    for seed in range(runs):
        inside = random.integers(0, CODES // BINS, BINS)
        found = estimator(design, inside, seed)
        query = asked(design, 8, 20)[:1]
        # The people of bin 2, codes 16..23, are in the range if their code is below 20.
        bins = np.random.default_rng(seed).integers(0, BINS, PEOPLE)
        truth = (bins == 1).sum() + (bins == 2).sum() * (inside[2] < 4)
        for is_held in (True, False):
            answer = (found.answer_rows if is_held else found._answer_spread)([query])[0]
            inside_ = abs(answer.values[0] - truth) <= 1.96 * answer.stderr[0]
            held, plain = held + (inside_ and is_held), plain + (inside_ and not is_held)
    assert held == runs
    assert plain < runs // 2
