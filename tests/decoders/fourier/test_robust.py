"""Bounded contributions: unbiased for every record, smaller than the usual ones, and honest
intervals."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support import tiers
from support.counting import count_record
from support.significance import coverage_fits, is_unbiased
from support.surveys import integer, measure, public, survey_toml

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.bounded import SURCHARGE
from ldpsql.decoders.fourier.contributions import bare
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.robust import BoundedContributions
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Reports
from ldpsql.simulation import SeededEntropy, accept_everything, histogram_of
from ldpsql.store import open_store
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import NotSupportedError
from ldpsql_device.table import randomize_batch

LINE = RecordDomain(("x",), (16,), (), (), ())
SIGNED = RecordDomain(("x",), (6,), ("pay",), ((-1.0, 3.0),), (None,))
PLANE = RecordDomain(("x", "y"), (4, 5), (), (), ())


@cache
def design_of(domain: RecordDomain, epsilon: str = "1", **options: object) -> FourierDesign:
    made = mechanism("fourier").design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(made, FourierDesign)
    return made


def asked(domain: RecordDomain) -> list[LinearQuery]:
    """A range, the same further up, a code, and a corner; sums where there is a measure."""
    others = [None] * (len(domain.sizes) - 1)
    sides = [((1, 4),), ((2, 5),), ((0, 1),)]
    boxes = [Box((side, *others)) for side in sides if side[-1][1] <= domain.sizes[0]]
    if others:
        boxes.append(Box((((0, 2),), ((1, 3),))))
    queries = [LinearQuery.count(box) for box in boxes]
    return queries + [LinearQuery.sum(0, box) for box in boxes if domain.bounds]


def contributions(made: FourierDesign, query: LinearQuery) -> tuple[np.ndarray, np.ndarray]:
    """Bounded and usual ones of every report."""
    planned = bare(made.prepare(query))
    bounded = BoundedContributions(made.collected)
    return bounded.of(planned), made._shared.of(planned)


@pytest.mark.fast(3)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize("domain", [LINE, SIGNED, PLANE], ids=["line", "signed", "plane"])
def test_unbiased_for_every_record_and_bounded(domain: RecordDomain, epsilon: str) -> None:
    """By the exact law of the plan; clipping alone, the negative control, is not."""
    made = design_of(domain, epsilon)
    law = made.law()
    chances = np.array([[float(p) for p in row] for row in law.probabilities])
    starts = BoundedContributions(made.collected).starts
    places = np.array([starts[family] + phase for family, phase in law.outputs])
    for query in asked(domain):
        truth = [count_record(query, record, domain) for record in law.inputs]
        found, usual = contributions(made, query)
        scale = np.abs(usual).max()
        assert chances @ usual[places] == pytest.approx(truth, abs=1e-9 * scale)
        assert chances @ found[places] == pytest.approx(truth, abs=1e-9 * scale)
        clipped = np.clip(usual, -np.abs(found).max(), np.abs(found).max())
        if np.abs(found).max() < 0.9 * scale:
            assert np.abs(chances @ clipped[places] - truth).max() > 1e-4
        spread = [
            chances.mean(axis=0) @ own[places] ** 2 - np.mean(truth) ** 2 for own in (found, usual)
        ]
        assert spread[0] <= SURCHARGE**2 * spread[1] * (1.0 + 1e-9)
    # The range of three of 16 codes: two thirds at most, up to epsilon 1.
    found, usual = contributions(made, asked(domain)[0])
    most = 0.67 if domain is LINE and epsilon != "2" else 0.85
    assert np.abs(found).max() < most * np.abs(usual).max()


@pytest.mark.slow
def test_the_page_says_how_little_is_gained_on_small_domains_and_what_it_costs() -> None:
    """By the exact law: largest contributions, and the error where everybody is alike."""
    gains, costs = dict[str, list[float]](), dict[str, list[float]]()
    for epsilon, domain in product(("0.5", "1", "2", "4"), (LINE, SIGNED, PLANE)):
        made = design_of(domain, epsilon)
        law, starts = made.law(), BoundedContributions(made.collected).starts
        chances = np.array([[float(p) for p in row] for row in law.probabilities])
        places = [starts[family] + phase for family, phase in law.outputs]
        for query in asked(domain):
            own = contributions(made, query)
            found, usual = (chances @ c[places] ** 2 - (chances @ c[places]) ** 2 for c in own)
            costs.setdefault(epsilon, []).append(float(np.sqrt((found / usual).max())))
            largest = [np.abs(c).max() for c in own]
            gains.setdefault(epsilon, []).append(float(largest[1] / largest[0]))
    page = " ".join((Path(__file__).parents[3] / "docs/fourier.md").read_text("utf-8").split())
    some = [gain for epsilon in ("0.5", "1", "2") for gain in gains[epsilon]]
    assert (
        f"becomes {min(some):.1f} to {max(some):.1f} times less at epsilon 0.5, 1 and 2, and "
        f"{min(gains['4']):.1f} to {max(gains['4']):.1f} times at 4"
    ) in page
    more = [f"{100 * (max(own) - 1):.0f}" for own in costs.values()]
    assert f"up to {', '.join(more[:3])} and {more[3]} % more at epsilon 0.5, 1, 2 and 4" in page


def test_what_is_moved_has_moved_contributions() -> None:
    """A range and the same further up are worked out as one."""
    made = design_of(LINE)
    one, other = (contributions(made, query)[0] for query in asked(LINE)[:2])
    assert np.sort(one) == pytest.approx(np.sort(other), abs=1e-9)
    assert np.abs(one - other).max() > 1.0


@cache
def survey_answers(runs: int, people: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates and errors of a range in simulated surveys of skewed people, and predictions."""
    made, query = design_of(LINE), LinearQuery.count(Box((((4, 12),),)))
    planned, found = made.prepare(query), []
    for seed in range(runs):
        random = np.random.default_rng([seed, 2])
        codes = random.integers(0, 16, (people, 1)) * (random.random((people, 1)) < 0.5)
        own = made.estimators["robust"](histogram_of(made.randomize(codes, SeededEntropy(seed))))
        estimates = own.answer([planned])
        found.append((estimates.values[0], estimates.stderr[0]))
    values, errors = np.array(found).T
    return values, errors, made.variance([planned], people)


@pytest.mark.parametrize("people", [30, 1_000])
def test_estimates_are_unbiased_and_intervals_hold(people: int) -> None:
    """Of few people, too, whose variance is known from few reports."""
    runs = tiers.runs(400)
    values, errors, predicted = survey_answers(runs, people)
    truth = people * 0.25
    assert is_unbiased(values, truth)
    assert not is_unbiased(values + 0.5 * values.std(), truth)
    inside = int((np.abs(values - truth) <= 1.959964 * errors).sum())
    assert coverage_fits(inside, runs)
    assert not coverage_fits(int((np.abs(values - truth) <= 1.2 * errors).sum()), runs)
    assert np.mean(errors**2) < (1.2 + 4.0 / people) * SURCHARGE**2 * predicted


def test_influence_is_what_a_report_adds_and_weights_count() -> None:
    """Every report is added, to answers with and without a public weight."""
    made, weight = design_of(SIGNED), Weight("n")
    queries = [made.prepare(query) for query in asked(SIGNED)]
    weighed = made.prepare(LinearQuery(asked(SIGNED)[0].terms, weight=weight))
    random = np.random.default_rng(3)
    codes = np.stack([random.integers(0, 6, 500), random.integers(0, 2, 500)], axis=1)
    rows = np.stack(
        [
            np.asarray(c).astype(np.int64)
            for c in made.randomize(codes, SeededEntropy(1)).columns.values()
        ],
        axis=1,
    )

    def answer(more: np.ndarray) -> np.ndarray:
        every = np.vstack([rows, more])
        own = histogram_of(Reports.pack(made.report_format, list(every.T)))
        heavy = Histogram.of(
            own.types,
            own.columns,
            own.counts,
            {(weight, None): 2.0 * own.counts, (weight, weight): 4.0 * own.counts},
        )
        found = made.estimators["robust"](heavy)
        assert found.values([*queries, weighed]) == pytest.approx(
            found.answer([*queries, weighed]).values
        )
        return found.answer([*queries, weighed]).values

    before = answer(rows[:0])
    assert before[-1] == pytest.approx(2.0 * before[0])
    limits = made.report_format.limits.tolist()
    every = [(family, phase) for family, (own,) in enumerate(limits) for phase in range(own)]
    some = [every[place] for place in np.random.default_rng(1).choice(len(every), 60, False)]
    moved = np.array([answer(np.array([row])) - before for row in some])[:, :-1]
    said = made.estimators["robust"](
        histogram_of(Reports.pack(made.report_format, list(rows.T)))
    ).influence(queries, np.eye(len(queries)))
    room = 1e-9 * np.abs(said).max()
    assert (moved >= said[0] - room).all() and (moved <= said[1] + room).all()


def test_sql_answers_by_it_and_says_what_a_report_can_do() -> None:
    """Less than what one can do to the usual answer; of days too."""
    columns = [integer("age", 0, 23), measure("pay", 0, 10), public("day", "int")]
    survey = design(survey_toml(*columns, epsilon="1", mechanism="fourier"))
    random, people = np.random.default_rng(1), 3_000
    table = {
        "age": random.integers(0, 24, people),
        "pay": random.uniform(0, 10, people),
        "day": random.integers(0, 2, people),
    }
    reports = randomize_batch(
        survey, pa.table(table), SeededEntropy(1), policy=accept_everything(survey)
    )[0]
    sql = "SELECT COUNT(*) AS n, AVG(pay) AS pay FROM app WHERE age BETWEEN 4 AND 15"
    with open_store(None, read_only=False) as store:
        store.ingest_table(reports, survey)
        usual = Session(store).execute(sql)
        robust = Session(store, estimator="robust").execute(sql)
        assert robust.forged()[0][1] < 0.7 * usual.forged()[0][1]
        errors = [result.intervals[0].stderr[0] for result in (usual, robust)]
        assert errors[0] < errors[1] < 1.1 * errors[0]
        values = [result.table.column(0)[0].as_py() for result in (usual, robust)]
        assert values[0] != values[1] and abs(values[0] - values[1]) < 2.0 * errors[0]
        days = Session(store, estimator="robust").execute(
            "SELECT day, COUNT(*) FROM app WHERE age < 12 GROUP BY day"
        )
        assert days.table.num_rows == 2


def test_refused_where_reports_are_too_many_or_contributions_are_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mechanism whose reports are as many as its codes has one unbiased answer."""
    survey = design(survey_toml(integer("age", 0, 3), epsilon="1", mechanism="grr"))
    with open_store(None, read_only=False) as store:
        store.register(survey)
        with pytest.raises(NotSupportedError, match=r"no estimator 'robust': .* no choice"):
            Session(store, estimator="robust").execute("SELECT COUNT(*) FROM app WHERE age < 2")
    assert "robust" in design_of(LINE).estimators
    reports = int(design_of(LINE).table.phases.sum())
    monkeypatch.setattr("ldpsql.decoders.fourier.design.MOST_BOUNDED", reports - 1)
    assert "robust" not in design_of(LINE).estimators
    assert f"{reports:,} reports differ" in design_of(LINE).refusals["robust"]
