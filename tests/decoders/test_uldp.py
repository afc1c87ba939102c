"""Responses over several attributes: exact rows, the structured algebra, where they exist."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.sensitive_domains import made, matrix

from ldpsql.decoders.uldp import Response, Shape
from ldpsql.mechanisms.registry import mechanism
from ldpsql.recipes.uldp_responses import joint_response, least_epsilon
from ldpsql.simulation import SeededEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.law import law as law_of
from ldpsql_device.plan import Digit, Face, Part, Plan, Term

SHAPES = [
    Shape((5,), (2,)),
    Shape((4, 5), (2, 3)),
    Shape((3, 4), (3, 1)),
    Shape((2, 2), (2, 2)),
    Shape((4, 3, 3), (2, 1, 1)),
    Shape((2, 3, 2, 2), (1, 1, 2, 1)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_channel_is_exact_and_its_algebra_that_of_its_matrix(shape):
    response = joint_response(shape, Epsilon.parse("3").odds)
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

    def applied(what):
        return what(response, values.reshape(*shape.sizes, 2)).reshape(len(cells), 2)

    assert applied(Response.forward) == pytest.approx(channel @ values)
    assert applied(Response.backward) == pytest.approx(channel.T @ values)
    assert applied(Response.solve) == pytest.approx(np.linalg.solve(channel, values))
    assert applied(Response.solve_reports) == pytest.approx(np.linalg.solve(channel.T, values))


def test_three_attributes_spend_exactly_epsilon():
    """The specification's last vector."""
    design = made("jurr", (4, 3, 3), (2, 1, 1), "2.6")
    assert math.log(design.selector_odds()) == pytest.approx(2.6, abs=1e-12)
    assert design.law().worst_odds() is None


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
    found = least_epsilon(Shape(sizes, held))
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
        Response(Shape((3,), (2,)), {(0, 1): 1 << 63, (1, 1): 1 << 62})


def test_a_table_too_large_is_refused():
    with pytest.raises(SurveyError, match="1 to 16384, not 1000000"):
        made("cprr", (1000, 1000), (3, 3), "1")


def test_large_tables_are_drawn_and_answered():
    """16,384 cells: no matrix is made."""
    design = made("jurr", (128, 128), (2, 2), "2")
    codes = np.zeros((10, 2), dtype=np.int64)
    reports = design.randomize(codes, SeededEntropy(1))
    assert len(reports) == 10
    assert design.channel.weights(np.eye(3, 128 * 128)).shape == (128 * 128, 3)
