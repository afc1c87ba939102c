"""Channels with sensitive values: exact, solved kind by kind, and estimates with honest errors."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from support.histograms import histogram_of
from support.repeated_surveys import Repeated
from support.sensitive_domains import made, matrix, noise
from support.significance import is_unbiased, variance_fits
from support.tiers import keep_fast, runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.audit.exact import worst_odds
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.cells import sum_cells
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.sensitive.decoder import Response, ResponseShape
from ldpsql.sensitive.recipes import least_epsilon, make_joint_response
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.law import law as law_of
from ldpsql_device.plan import Digit, Face, Part, Plan, Term
from ldpsql_lab.simulation import SeededEntropy

SHAPES = [
    ResponseShape((5,), (2,)),
    ResponseShape((4, 5), (2, 3)),
    ResponseShape((3, 4), (3, 1)),
    ResponseShape((2, 2), (2, 2)),
    ResponseShape((4, 3, 3), (2, 1, 1)),
    ResponseShape((2, 3, 2, 2), (1, 1, 2, 1)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_channel_is_exact_and_its_algebra_that_of_its_matrix(shape):
    response = make_joint_response(shape, Epsilon.parse("3").odds)
    cells = list(product(*map(range, shape.sizes)))
    digits = tuple(Digit((Term(j),), size) for j, size in enumerate(shape.sizes))
    plan = Plan(shape.sizes, (), (Face(1, (Part(digits, response.ladder),)),))
    laws = []
    for cell in cells:
        law = law_of(plan, cell)
        assert sum(law.values()) == 1
        laws.append([float(law.get((0, number), 0)) for number in range(len(cells))])
    channel = np.array(laws)
    values = np.random.default_rng(1).normal(size=(len(cells), 2))

    def applied(what, back):
        return what(values.reshape(*shape.sizes, 2), back).reshape(len(cells), 2)

    assert applied(response.apply, False) == pytest.approx(channel @ values)
    assert applied(response.apply, True) == pytest.approx(channel.T @ values)
    assert applied(response.solve, False) == pytest.approx(np.linalg.solve(channel, values))
    assert applied(response.solve, True) == pytest.approx(np.linalg.solve(channel.T, values))


def test_three_attributes_spend_exactly_epsilon():
    """The specification's last vector."""
    design = made("jurr", (4, 3, 3), (2, 1, 1), "2.6")
    assert math.log(worst_odds(design)) == pytest.approx(2.6, abs=1e-12)
    assert enumerate_law(design.plan).worst().odds is None


@pytest.mark.parametrize(
    ("sizes", "held", "least"),
    [
        ((3, 3), (1, 1), math.log(2)),
        ((3, 5), (2, 2), math.log(3)),
        ((3, 5), (2, 4), math.log(1 + math.sqrt(8))),
        ((3, 3, 3), (1, 1, 1), 1.55),
        ((5, 5, 5), (4, 4, 4), 3.67),
        ((3, 3, 3, 3), (2, 2, 2, 2), 3.84),
    ],
)
def test_the_least_epsilon_of_jurr(sizes, held, least):
    """Sections 6.1 and 6.4; a table of two decimals where there is no formula."""
    found = least_epsilon(ResponseShape(sizes, held))
    assert float(found) == pytest.approx(least, abs=1.1e-4 if len(sizes) == 2 else 6e-3)
    assert made("jurr", sizes, held, found).guarantee.kind == "uldp-joint"
    below = str(round(float(found) - 2e-4, 4))
    with pytest.raises(SurveyError, match=f"jurr needs epsilon {found} or more for"):
        made("jurr", sizes, held, below)


def test_jurr_is_refused_below_its_least_epsilon_and_names_the_way_out():
    with pytest.raises(SurveyError, match=r"1\.0987 or more for 2x2 .* jurr-g works"):
        made("jurr", (3, 5), (2, 2), "1.0")
    assert made("jurr", (3, 5), (2, 2), "1.2").name == "jurr"
    assert made("jurr-g", (3, 5), (2, 2), "1.0").name == "jurr-g"
    with pytest.raises(SurveyError, match="cprr works"):
        made("jurr", (3, 3, 3), (1, 1, 1), "1.5")


@pytest.mark.parametrize("name", ["urr", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr"])
def test_all_values_sensitive_is_randomized_response(name):
    """One attribute or two; tdrr splits epsilon all the same."""
    sizes = (4,) if name == "urr" else (2, 3)
    design = made(name, sizes, sizes, "1")
    assert design.guarantee.kind == "local"
    cells = math.prod(sizes)
    same = np.eye(cells) * (math.e - 1) + np.ones((cells, cells))
    is_grr = matrix(design) == pytest.approx(same / (math.e + cells - 1))
    assert is_grr == (name != "tdrr")


def test_the_parts_of_tdrr():
    """In proportion to `split`, and never more than epsilon together."""
    design = made("tdrr", (3, 5), (2, 2), "1.5", split=[1, 2])
    first, second = (
        Fraction(response.words[1, 1] + response.extra[1], response.words[1, 1])
        for response in design.responses
    )
    assert math.log(first) == pytest.approx(0.5)
    assert math.log(second) == pytest.approx(1.0)
    assert first * second <= design.epsilon.odds
    for split in ([1], [1, 2, 3], [0, 1], ["1", "2"], [1.0, 2.0]):
        with pytest.raises(SurveyError, match="split"):
            made("tdrr", (3, 5), (2, 2), "1.5", split=split)
    with pytest.raises(SurveyError, match="parts of tdrr leave an attribute less than epsilon"):
        made("tdrr", (3, 5), (2, 2), "0.1", split=[1, 999])


@pytest.mark.parametrize("levels", [[0, 0], [1 << 62, 1 << 62], [3 << 61, 1 << 61]])
def test_levels_beyond_epsilon_are_refused(levels):
    """A survey may come from anybody."""
    design = made("jurr-g", (4, 5), (2, 2), "0.1")
    with pytest.raises(SurveyError, match="level"):
        mechanism("jurr-g").restore(design.domain, design.epsilon, {"levels": levels})


def test_a_response_without_room_for_the_truth_is_refused():
    with pytest.raises(SurveyError, match="room for the truth"):
        Response(ResponseShape((3,), (2,)), {(0, 1): 1 << 63, (1, 1): 1 << 62})


def test_a_table_too_large_is_refused():
    with pytest.raises(SurveyError, match="1 to 16384, not 1000000"):
        made("cprr", (1000, 1000), (3, 3), "1")


def test_large_tables_are_drawn_and_answered():
    """16,384 cells: no matrix is made."""
    design = made("jurr", (128, 128), (2, 2), "2")
    codes = np.zeros((10, 2), dtype=np.int64)
    reports = design.randomize(codes, SeededEntropy(1))
    assert len(reports) == 10
    assert design.channel.solve(np.eye(3, 128 * 128).T).shape == (128 * 128, 3)


RUNS, PEOPLE = runs(300), 3000
NAMES = ("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr")
SIMULATED = keep_fast(NAMES, ("urap", "jurr", "tdrr"))


@cache
def design_of(name):
    """Three by four codes, or twelve."""
    if name in ("urr", "urap"):
        return made(name, (12,), (7,), "1.5")
    return made(name, (3, 4), (2, 2), "1.5")


@cache
def shares():
    return np.random.default_rng(5).dirichlet(np.full(12, 2.0))


def queries(design):
    """Single cells of every kind, and a sum of several."""
    cells = np.eye(12)
    several = np.zeros(12)
    several[[1, 2, 6, 11]] = 1.0
    chosen = [cells[0], cells[3], cells[8], cells[11], several]
    return [sum_cells(weights) for weights in chosen]


@cache
def simulated(name, is_sample):
    """Surveys of one table, or of people drawn anew."""
    design = design_of(name)
    fixed = np.repeat(np.arange(12), table())

    def draw(seed):
        people = np.random.default_rng([seed, 9]).choice(12, PEOPLE, p=shares())
        cells = people if is_sample else fixed
        return np.stack(np.unravel_index(cells, design.domain.sizes), axis=1)

    return Repeated.of(design, queries(design), draw, RUNS)


def table():
    """People per cell, near the shares."""
    counts = np.floor(shares() * PEOPLE).astype(int)
    counts[0] += PEOPLE - counts.sum()
    return counts


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", SIMULATED)
def test_estimates_are_unbiased_and_vary_as_the_formula_says(name):
    """About a fixed table of people."""
    design = design_of(name)
    weights = np.array([query.alternatives[0][0].weights for query in queries(design)])
    values = simulated(name, False).values
    variances = noise(design.channel, table().astype(float), weights)
    for estimates, truth, variance in zip(values.T, weights @ table(), variances, strict=True):
        assert is_unbiased(estimates, truth)
        assert variance_fits(estimates, variance)
        assert not variance_fits(estimates, 2.0 * variance)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", SIMULATED)
def test_intervals_cover_what_holds_for_the_population(name):
    """People are drawn anew for every survey; see docs/decisions.md."""
    weights = np.array([query.alternatives[0][0].weights for query in queries(design_of(name))])
    found, truths = simulated(name, True), PEOPLE * weights @ shares()
    assert found.covers(truths)
    halved = Repeated(found.values, found.covariances / 4.0)
    assert not halved.covers(truths)


def share_covered(design, people, cell):
    """Of surveys of people drawn anew, how many intervals of a cell hold its mean."""
    random, total = np.random.default_rng(6), int(people.sum())

    def draw(_):
        drawn = random.multinomial(total, people / total)
        codes = np.unravel_index(np.repeat(np.arange(len(people)), drawn), design.domain.sizes)
        return np.stack(codes, axis=1)

    found = Repeated.of(design, [sum_cells(np.eye(len(people))[cell])], draw, RUNS)
    return found.shares_inside(people[[cell]])[0]


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "epsilon", "few"),
    keep_fast(
        [("jurr", "1.2", 20), ("jurr", "2", 6), ("tdrr", "1.5", 10), ("urap", "0.5", 8)],
        [("jurr", "2", 6), ("urap", "0.5", 8)],
    ),
)
def test_a_cell_whose_few_people_may_all_keep_silent_has_an_honest_interval(
    name, epsilon, few, monkeypatch
):
    """Its holders alone send its report, and of so few perhaps none does."""
    sizes, held = ((12,), (7,)) if name == "urap" else ((3, 4), (2, 2))
    people = np.full(12, (PEOPLE - few) / 11)
    people[11] = few
    design = made(name, sizes, held, epsilon)
    assert share_covered(design, people, 11) >= 0.94
    monkeypatch.setattr(type(design.channel), "spread", lambda *_: np.zeros(1))
    assert share_covered(design, people, 11) < 0.9


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_of_people_spread_evenly(name):
    """The generic variance with the share of the sample."""
    design = design_of(name)
    asked = queries(design)
    weights, even = (
        np.array([query.alternatives[0][0].weights for query in asked]),
        np.full(12, PEOPLE / 12),
    )
    sampled = (weights**2) @ even - (weights @ even) ** 2 / PEOPLE
    expected = noise(design.channel, even, weights) + sampled
    assert design.variance(asked, PEOPLE) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_everybody_together_is_known(name):
    """Estimates of all cells add up to the people, whatever they are, up to rounding."""
    design = design_of(name)
    codes = np.zeros((500, len(design.domain.sizes)), dtype=np.int64)
    estimator = make_estimator(design, histogram_of(design.randomize(codes, SeededEntropy(3))))
    asked = [sum_cells(row) for row in np.eye(12)]
    answer = estimator.answer(asked)
    assert np.linalg.eigvalsh(answer.covariance).min() > -1e-6
    assert (answer.stderr > 0).all()
    if name != "urap":
        assert answer.values.sum() == pytest.approx(500)


def test_a_query_is_planned_cell_by_cell():
    design = design_of("jurr")
    box = Box((((1, 3),), ((0, 1), (2, 4))))
    planned = design.prepare(LinearQuery(((2.0, box), (1.0, Box.whole(2)))))
    expected = np.zeros((3, 4))
    expected[1:3, [0, 2, 3]] = 2.0
    assert (planned.known, planned.alternatives[0][0].weights.tolist()) == (
        1.0,
        expected.ravel().tolist(),
    )
    assert design.describe(planned) == [
        "known exactly: 1 x all reports",
        "6 of 3 x 4 cells",
    ]
