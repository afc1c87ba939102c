"""Tables of people made from unbiased estimates: nowhere negative, and nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from support.histograms import histogram_of
from support.sensitive_domains import made, matrix

from ldpsql.estimators.cells import sum_cells
from ldpsql.sensitive.people_tables import climb_likelihood
from ldpsql_lab.simulation import SeededEntropy

CELLS = [sum_cells(row) for row in np.eye(12)]
TRUTH = np.array([400, 0, 0, 300, 100, 0, 0, 0, 150, 50, 0, 0])


def answers(name, estimator, seed, epsilon="1.2"):
    """Estimates of all cells of one survey."""
    sizes, held = ((12,), (5,)) if name in ("urr", "urap") else ((3, 4), (2, 2))
    design = made(name, sizes, held, epsilon)
    codes = np.stack(np.unravel_index(np.repeat(np.arange(12), TRUTH), sizes), axis=1)
    histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
    return design.estimators[estimator](histogram).answer(CELLS)


@pytest.mark.parametrize(
    ("name", "estimator"),
    [("urap", "smooth"), ("urr", "em"), ("cprr", "smooth"), ("jurr", "em"), ("tdrr", "smooth")],
)
def test_a_table_of_people_is_nearer_to_the_truth(name, estimator):
    """In every run for the projection; on average for the likeliest table."""
    changes = []
    for seed in range(10):
        plain, found = answers(name, "unbiased", seed), answers(name, estimator, seed)
        assert found.values.min() >= 0.0
        assert found.values.sum() == pytest.approx(TRUTH.sum(), rel=1e-6)
        assert (found.covariance == plain.covariance).all()
        assert found.replicates.shape == (20, 12)
        before, after = (np.sum((one.values - TRUTH) ** 2) for one in (plain, found))
        changes.append(after - before)
    assert np.mean(changes) < 0
    assert max(changes) <= 0 or estimator == "em"


@pytest.mark.parametrize("estimator", ["smooth", "em"])
def test_replicates_show_the_typical_error(estimator):
    """Within a factor of two of the real one, over all cells and 20 surveys."""
    real = [answers("jurr", estimator, seed).values - TRUTH for seed in range(20)]
    found = answers("jurr", estimator, 0)
    typical = np.sqrt(np.mean((found.replicates - found.values) ** 2))
    assert 0.5 < typical / np.sqrt(np.mean(np.square(real))) < 2.0


def test_em_climbs_to_the_likeliest_table():
    """Where the inverse has nowhere negative it is the likeliest; else nothing beside it is."""
    design = made("jurr", (3, 4), (2, 2), "2")
    channel = matrix(design)
    even = np.full(12, 100.0)
    exact = climb_likelihood(design.channel, (even @ channel)[:, None])[:, 0]
    assert exact == pytest.approx(even, rel=1e-5)
    counts = np.random.default_rng(1).multinomial(400, TRUTH @ channel / 1000).astype(float)
    table = climb_likelihood(design.channel, counts[:, None])[:, 0]

    def likelihood(people):
        return counts[counts > 0] @ np.log((people @ channel)[counts > 0])

    for row in np.eye(12):
        assert likelihood(table) >= likelihood(0.999 * table + 0.4 * row)
