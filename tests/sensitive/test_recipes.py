"""Test vectors (docs/spec/uldp.md#9), and formulas against the generic variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.sensitive_domains import made, matrix, noise

from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS

JURR = {
    ((4, 5), (2, 2), "2"): (
        *(0.7112345942, 0.0962551353, 0.5416721105, 0.0733073485, 0.5416721105, 0.0733073485),
        *(0.3217500650, 2.59223274),
    ),
    ((3, 5), (2, 4), "1.5"): (
        *(0.3903336036, 0.0870951995, 0.2479199794, 0.0553184247, 0.1816461803, 0.0405307413),
        *(0.0304785895, 14.46520897),
    ),
}
TOTALS = {
    "cprr": (8.62196389, 22.51976285),
    "tdrr": (11.11760545, 80.57867197),
    "jd-grr": (15.25682397, 25.36572070),
}


def total(design) -> float:
    """Sum of the variances of all cells for an even table of one person."""
    cells = design.channel.cells
    return float(noise(design.channel, np.full(cells, 1 / cells), np.eye(cells)).sum())


def chances(response, kind, mask):
    """(another cell of a kind, the own one) as probabilities."""
    words = response.words[kind, mask]
    return words / WORDS, (words + response.extra[kind]) / WORDS


@pytest.mark.parametrize("case", JURR, ids=str)
def test_jurr(case):
    design = made("jurr", *case)
    (response,) = design.channel.responses
    (b, a), (q, p), (n, m) = (chances(response, kind, kind) for kind in (3, 1, 2))
    t = response.extra[0] / WORDS
    assert (a, b, p, q, m, n, t) == pytest.approx(JURR[case][:7], abs=1e-10)
    assert total(design) == pytest.approx(JURR[case][7], abs=1e-8)


@pytest.mark.parametrize("name", TOTALS)
def test_the_total_variances_of_the_others(name):
    found = [total(made(name, *case)) for case in JURR]
    assert found == pytest.approx(TOTALS[name], abs=1e-8)


@pytest.mark.parametrize(
    ("case", "own", "other", "truth"),
    [
        (((4, 5), (2, 2), "2"), 0.3624030491, 0.0490459193, 0.3133571298),
        (((3, 5), (2, 4), "1.5"), 0.2563647627, 0.0572027105, 0.1991620522),
    ],
    ids=str,
)
def test_cprr(case, own, other, truth):
    (response,) = made("cprr", *case).channel.responses
    assert response.shape.sensitive == (14,)
    assert (*chances(response, 1, 1), response.extra[0] / WORDS) == pytest.approx(
        (other, own, truth), abs=1e-9
    )


def test_urr():
    (response,) = made("urr", (5,), (2,), "2").channel.responses
    found = (*reversed(chances(response, 1, 1)), response.extra[0] / WORDS)
    assert found == pytest.approx((0.8807970780, 0.1192029220, 0.7615941560), abs=1e-10)


@pytest.mark.parametrize(
    ("form", "vector"),
    [
        ("optimised", (0.5, 0.1192029220, 0.5676676416)),
        ("symmetric", (0.7310585786, 0.2689414214, 0.3678794412)),
    ],
)
def test_urap(form, vector):
    thresholds = made("urap", (5,), (2,), "2", form=form).thresholds
    own, other, unnamed = (threshold / WORDS for threshold in thresholds)
    assert (own, other, unnamed) == pytest.approx(vector, abs=1e-10)
    assert own / (other * unnamed) == pytest.approx(math.exp(2))


def test_the_levels_of_jurr_g():
    design = made("jurr-g", (4, 5), (2, 2), "1")
    (response,) = design.channel.responses
    g, h, t = response.words[1, 3], response.words[2, 3], response.extra[0]
    found = (g / WORDS, h / WORDS, t / WORDS)
    assert found == pytest.approx((0.195348, 0.202291, 0.080257), abs=2e-6)
    assert total(design) == pytest.approx(22.7485, abs=1e-4)


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    ("sizes", "held", "epsilon", "jurr_g"),
    [
        ((3, 5), (2, 2), "0.5", 144),
        ((3, 5), (2, 2), "1", 19.8),
        ((3, 5), (2, 2), "1.5", 5.77),
        ((3, 5), (2, 4), "1", 52.3),
        ((8, 8), (2, 2), "0.5", 217),
        ((8, 8), (2, 2), "1.5", 8.40),
        ((8, 8), (2, 2), "2", 3.27),
    ],
)
def test_jurr_g_at_every_epsilon(sizes, held, epsilon, jurr_g):
    """Section 6.3, to the digits given there; never worse than JuRR where there is one."""
    found = total(made("jurr-g", sizes, held, epsilon))
    assert found == pytest.approx(jurr_g, rel=4e-3)
    try:
        assert found <= total(made("jurr", sizes, held, epsilon)) * (1 + 1e-9)
    except SurveyError:
        assert float(epsilon) <= math.log(1 + math.sqrt(held[0] * held[1]))


def test_the_variances_of_jurr_cell_by_cell():
    """Section 6.1, for people who are not spread evenly."""
    design = made("jurr", (4, 5), (2, 3), "2")
    (response,) = design.channel.responses
    (b, a), (q, p), (n, m) = (chances(response, kind, kind) for kind in (3, 1, 2))
    t, table = response.extra[0] / WORDS, np.random.default_rng(1).dirichlet(np.ones(20))
    found = noise(design.channel, table, np.eye(20)).reshape(4, 5)
    shares = table.reshape(4, 5)
    assert found[:2, :3] == pytest.approx(
        b * (1 - b) / (a - b) ** 2 + shares[:2, :3] * (1 - a - b) / (a - b)
    )
    assert found[2:, 3:] == pytest.approx(shares[2:, 3:] * (1 - t) / t)
    assert found[:2, 3:] == pytest.approx(half(shares[:, 3:], 2, p, q, t))
    assert found[2:, :3] == pytest.approx(half(shares[2:].T, 3, m, n, t).T)


def half(shares, held, p, q, t):
    """The formula of (P,I); shares (values of the sensitive attribute, values of the other)."""
    g = q / (p + (held - 1) * q)
    own, other = (1 - g) / (p - q), -g / (p - q)
    truth = (q / t) * (g * held - 1) / (p - q)
    rows = []
    for x in range(held):
        rest = shares[:held].sum(axis=0) - shares[x]
        rows.append(
            shares[x] * (p * own**2 + (held - 1) * q * other**2 - 1)
            + rest * (q * own**2 + p * other**2 + (held - 2) * q * other**2)
            + shares[held:].sum(axis=0) * (q * own**2 + (held - 1) * q * other**2 + t * truth**2)
        )
    return np.array(rows)


@pytest.mark.parametrize("held", [1, 2, 5])
def test_the_variances_of_urr(held):
    """Section 2; s = k is randomized response."""
    table = np.random.default_rng(2).dirichlet(np.ones(5))
    design = made("urr", (5,), (held,), "1")
    c2 = 1 / (held + math.e - 1)
    c1, c3 = math.e * c2, 1 - held * c2
    found = noise(design.channel, table, np.eye(5))
    sensitive = (table * c1 * (1 - c1) + (1 - table) * c2 * (1 - c2)) / (c1 - c2) ** 2
    assert found[:held] == pytest.approx(sensitive[:held])
    assert found[held:] == pytest.approx((table * (1 - c3) / c3)[held:])


@pytest.mark.parametrize("form", ["symmetric", "optimised"])
def test_the_variances_of_urap(form):
    """Section 3."""
    table = np.random.default_rng(3).dirichlet(np.ones(6))
    design = made("urap", (6,), (4,), "1", form=form)
    theta, d1, d2 = (threshold / WORDS for threshold in design.thresholds)
    found = noise(design.channel, table, np.eye(6))
    sensitive = (table * theta * (1 - theta) + (1 - table) * d1 * (1 - d1)) / (theta - d1) ** 2
    assert found[:4] == pytest.approx(sensitive[:4])
    assert found[4:] == pytest.approx((table * d2 / (1 - d2))[4:])


def test_the_estimators_of_the_paper_are_the_inverse():
    """Section 6.1, with the corrected factor; the literal one of equation (27) is not."""
    design = made("jurr", (4, 5), (2, 3), "2")
    (response,) = design.channel.responses
    (q, p), t = chances(response, 1, 1), response.extra[0] / WORDS
    counts = np.random.default_rng(4).integers(0, 100, 20).astype(float)
    inverse = (counts @ np.linalg.inv(matrix(design))).reshape(4, 5)
    assert design.channel.solve(counts[:, None], back=True)[:, 0] == pytest.approx(inverse.ravel())
    seen = counts.reshape(4, 5)

    def estimated(factor):
        others, sensitive = seen[2:, 3:].sum(axis=0), seen[:2, 3:].sum(axis=0)
        shared = sensitive - (q / t) * 2 * others
        return (seen[:2, 3:] - (q / t) * others - factor * shared) / (p - q)

    assert estimated(q / (p + q)) == pytest.approx(inverse[:2, 3:])
    assert estimated(q / (p - q)) != pytest.approx(inverse[:2, 3:])
