"""Dimensions on a log scale: their edges, and quantiles that are interpolated between them."""

from __future__ import annotations

import json
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import dimension, survey_toml

from ldpsql.algebra.numerics import bound_probability
from ldpsql.designer import design
from ldpsql.engine.arithmetic import Form, Sums, form_of
from ldpsql.sql.aggregates import QuantileBetweenEdges, Target
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import simulate


def survey(name: str = "ms", kind: str = "float", **keys: object) -> Survey:
    own = {"scale": "log", **keys}
    return design(survey_toml(dimension(name, kind, **own), epsilon="4", mechanism="grr"))


def edges_of(**keys: object) -> list[float]:
    (own,) = survey(**keys).schema.dimensions  # type: ignore[arg-type]
    return list(own.domain.points)  # type: ignore[union-attr]


# -- edges ----------------------------------------------------------------------------------------


def test_edges_of_real_numbers_are_a_series_of_four_digits() -> None:
    edges = edges_of(domain=[1, 1000], bins=6)
    assert edges == [1, 3.162, 10, 31.62, 100, 316.2, 1000]
    fine = np.array(edges_of(domain=[0.05, 30_000], bins=200))
    assert (fine[0], fine[-1], len(fine)) == (0.05, 30_000, 201)
    assert np.diff(np.log(fine)) == pytest.approx(np.log(30_000 / 0.05) / 200, rel=0.02)
    assert [float(f"{edge:.4g}") for edge in fine] == fine.tolist()


def test_edges_of_whole_numbers_are_whole_and_each_is_there_once() -> None:
    assert edges_of(kind="int", domain=[0, 99], bins=12) == [
        *(0, 1, 2, 3, 5, 7, 10, 15, 22, 32, 46, 68, 100)
    ]
    assert edges_of(kind="int", domain=[10, 9999], bins=3) == [10, 100, 1000, 10_000]


def test_a_published_survey_has_the_edges_themselves() -> None:
    made = survey(domain=[1, 100], bins=2)
    (column,) = json.loads(made.device_text)["schema"]["dimension"]
    assert column == {
        "name": "ms",
        "type": "float",
        "edges": ["1", "10", "100"],
        "scale": "log",
    }
    stated = survey(edges=[1, 10, 100])
    assert stated.schema == made.schema
    assert Survey.from_json(made.to_json()).schema == made.schema


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"domain": [1, 10]}, "a log scale needs edges = .*, or bins, a whole number"),
        ({"domain": [1, 10], "bins": 0}, "a log scale needs edges"),
        ({"domain": [0, 10], "bins": 5}, r"\[low, high\], two numbers above 0"),
        ({"kind": "int", "domain": [-1, 10], "bins": 5}, "two numbers of at least 0"),
        ({"bins": 5}, "two numbers above 0"),
        ({"domain": [1, 1.01], "bins": 50}, "the edges of a domain must increase"),
        ({"domain": [1, 10], "bins": 5, "scale": "cubic"}, 'scale must be "log"'),
        ({"kind": "date", "range": ["2026-01-01", "2026-01-03"]}, "unknown key|log scale needs"),
        ({"edges": [-1, 1, 10]}, "no negative edges"),
    ],
)
def test_what_is_no_log_scale_is_refused(keys: dict, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        survey(**keys)


# -- quantiles ------------------------------------------------------------------------------------

EDGES = tuple(np.geomspace(1.0, 2.0**16, 17).tolist())
"""Each bin reaches to twice its beginning."""
BELOW = tuple(Target(amounts=(0, ((1.0, ((0, code),)),))) for code in range(1, 16))
PEOPLE = 10_000.0


def function(share: float, **more: object) -> QuantileBetweenEdges:
    known = {"edges": EDGES, "people": Target(), "below": BELOW, **more}
    lowest = known["edges"][:-1]  # type: ignore[index]
    return QuantileBetweenEdges(share, "disc", False, lowest, lowest, **known)  # type: ignore[arg-type]


def form(own: QuantileBetweenEdges, below: np.ndarray, error: float = 0.0) -> Form:
    """Its form where so many people are below each inner edge, rows of them, each with an error
    that is its own."""
    values = np.column_stack([np.full(len(below), PEOPLE), below])
    covariance = np.diag([0.0, *[error**2] * len(own.below)])
    together = np.broadcast_to(covariance, (len(values), *covariance.shape))
    return form_of(own, (own.people, *own.below), Sums(values, together, 0.95))


def log_normal(share: float | None = None) -> np.ndarray | float:
    """How many people are below each inner edge, of a log-normal distribution; or its quantile."""
    law = NormalDist(np.log(300.0), 1.7)
    if share is not None:
        return float(np.exp(law.inv_cdf(share)))
    return PEOPLE * np.array([law.cdf(np.log(edge)) for edge in EDGES[1:-1]])


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.75, 0.95])
def test_without_errors_a_quantile_lies_where_people_even_in_the_logarithm_have_it(share) -> None:
    found = form(function(share), log_normal()[None])
    bars = found.interval
    assert bars.low[0] == pytest.approx(found.value[0])
    assert bars.high[0] == pytest.approx(found.value[0])
    # Far closer than the bin, which holds values that differ by a factor of 2.
    assert found.value[0] == pytest.approx(log_normal(share), rel=0.06)


def test_from_above_and_from_below_it_is_the_same() -> None:
    below = form(function(0.8), log_normal()[None], 40.0)
    above = QuantileBetweenEdges(
        0.2, "disc", True, EDGES[:-1], EDGES[:-1], Target(), BELOW, edges=EDGES
    )
    other = form(above, log_normal()[None], 40.0)
    assert other.value == pytest.approx(below.value)
    assert other.interval.low == pytest.approx(below.interval.low)
    assert other.interval.high == pytest.approx(below.interval.high)


def coverage(share: float, error: float, draws: int = 4_000) -> float:
    random = np.random.default_rng(11)
    drawn = log_normal() + random.normal(0.0, error, (draws, len(BELOW)))
    bars = form(function(share), drawn, error).interval
    # What interpolation itself gets wrong is not at issue here.
    truth = form(function(share), log_normal()[None]).value[0]
    return float(np.mean((bars.low <= truth) & (truth <= bars.high)))


@pytest.mark.fast(1)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("error", [30.0, 150.0])
def test_intervals_end_between_edges_and_hold(share: float, error: float) -> None:
    covered = coverage(share, error)
    low, high = bound_probability(round(4_000 * covered), 4_000, 1e-6)
    assert high >= 0.95
    assert low <= 0.97


def test_control_interpolated_evenly_they_do_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth is 6 % of a bin away, and the error 2 % of one."""
    truth = form(function(0.5), log_normal()[None]).value[0]
    random = np.random.default_rng(11)
    drawn = log_normal() + random.normal(0.0, 30.0, (4_000, len(BELOW)))
    monkeypatch.setattr(
        QuantileBetweenEdges,
        "point",
        lambda self, place, part: (
            np.asarray(self.edges)[place]
            + part * (np.asarray(self.edges)[place + 1] - np.asarray(self.edges)[place])
        ),
    )
    bars = form(function(0.5), drawn, 30.0).interval
    assert np.mean((bars.low <= truth) & (truth <= bars.high)) < 0.9


def test_where_a_rank_is_not_told_from_everybody_the_interval_ends_with_the_domain() -> None:
    """Then nothing is missed above, and below it may be missed in all of 5 %."""
    covered, bars = coverage(0.99, 150.0), form(function(0.99), log_normal()[None], 150.0).interval
    assert bars.high[0] == EDGES[-1]
    low, high = bound_probability(round(4_000 * covered), 4_000, 1e-6)
    assert high >= 0.95
    assert low <= 0.985


def test_whole_numbers_have_whole_quantiles() -> None:
    edges = (0.0, 1.0, 2.0, 5.0, 20.0)
    below = BELOW[:3]
    counts = np.array([[4_000.0, 6_000.0, 9_000.0]])
    for share, expected in (
        (0.3, 0.0),
        (0.4, 0.0),
        (0.55, 1.0),
        (0.6, 1.0),
        (0.9, 4.0),
        (0.75, 3.0),
    ):
        own = function(share, edges=edges, below=below, is_whole=True)
        found = form(own, counts)
        assert found.value[0] == expected
        assert found.interval.low[0] <= expected <= found.interval.high[0]


def test_sql_says_that_it_interpolates() -> None:
    random = np.random.default_rng(2)
    table = pa.table({"ms": random.lognormal(np.log(80), 1.0, 20_000)})
    with simulate(survey(domain=[1, 10_000], bins=30), table, seed=3) as connection:
        sql = "SELECT MEDIAN(ms), QUANTILE_CONT(ms, [0.5, 0.9]), MODE(ms) FROM app"
        result = connection.execute(sql).result
    low, high = result.intervals[0].low[0], result.intervals[0].high[0]
    assert low < 80 < high
    edges = edges_of(domain=[1, 10_000], bins=30)
    assert not {low, high, result.table.column(0)[0].as_py()} & set(edges)
    assert "interpolated within one, as if people were spread evenly in the logarithm" in str(
        result.notes
    )
    assert result.intervals[1].low[0] < low  # intervals that hold together are longer
