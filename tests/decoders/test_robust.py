"""Bounded contributions of groups: unbiased for every record, smaller than the usual ones, with
intervals that hold; and why other designs have none."""

from __future__ import annotations

from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import tiers
from support.counting import count_record
from support.laws import probabilities
from support.significance import coverage_fits, is_unbiased
from support.surveys import integer, public, survey_toml

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.bounded import SURCHARGE
from ldpsql.decoders.cells import TableDesign
from ldpsql.decoders.marginals import CollectedMarginals
from ldpsql.decoders.nodes import GroupDesign
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.recipes.registry import MECHANISMS, mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Reports
from ldpsql.simulation import SeededEntropy, histogram_of, simulate
from ldpsql.store import open_store
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import NotSupportedError, SurveyError

LINE = RecordDomain(("x",), (8,), (), (), ())
PLANE = RecordDomain(("x", "y"), (4, 3), (), (), ())
SPACE = RecordDomain(("x", "y", "z"), (4, 3, 2), (), (), ())
SIGNED = RecordDomain(("x",), (6,), ("pay",), ((-1.0, 3.0),), (None,))
TWO = RecordDomain(("x",), (5,), ("pay", "age"), ((-1.0, 3.0), (0.0, 1.0)), (None, None))
CASES: list[tuple[str, RecordDomain, dict[str, object]]] = [
    ("olh", LINE, {}),
    ("olh", SIGNED, {}),
    ("hio", LINE, {"fanout": 3}),
    ("hio", PLANE, {"fanout": 2}),
    ("hio", LINE, {"fanout": 4, "inference": "consistent"}),
    ("hio", LINE, {"oracle": "auto"}),
    ("hio", LINE, {"oracle": "hrr"}),
    ("hgrr", LINE, {"fanout": 3}),
    ("hgrr", PLANE, {"inference": "consistent"}),
    ("hgrr", SIGNED, {"fanout": 2}),
    ("hgrr", TWO, {"fanout": 2, "inference": "consistent"}),
    ("ahio", SIGNED, {"fanout": 3}),
    ("ehio", TWO, {"fanout": 3}),
    ("lgrr-repaired", LINE, {}),
    ("staircase", LINE, {}),
    ("staircase", SIGNED, {}),
    ("solh", LINE, {}),
    ("solh", PLANE, {"ways": 2}),
    ("solh", SPACE, {"ways": 2}),
]


@cache
def design_of(
    number: int, epsilon: str = "1"
) -> GroupDesign[Any] | TableDesign | CollectedMarginals:
    name, domain, options = CASES[number]
    made = mechanism(name).design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(made, GroupDesign | TableDesign | CollectedMarginals)
    return made


def asked(domain: RecordDomain) -> list[LinearQuery]:
    """A range, a code, a corner; sums where there is a measure."""
    others = [None] * (len(domain.sizes) - 1)
    boxes = [Box((((1, 4),), *others)), Box((((0, 1),), *others))]
    if others:
        boxes.append(Box((((0, 2),), ((1, 3),), *others[1:])))
    queries = [LinearQuery.count(box) for box in boxes]
    measures = range(len(domain.bounds))
    return queries + [LinearQuery.sum(which, box) for which in measures for box in boxes]


def bounded_of(
    made: GroupDesign[Any] | TableDesign | CollectedMarginals, query: LinearQuery
) -> tuple[Any, ...]:
    """What everybody counts for, bounded and usual contributions of all reports, and these."""
    asks, members = made.ask(made.prepare(query)), tuple(range(len(made.answers)))
    own, found = made._bounded.of_groups(members), made._bounded.of(members, asks.counted)
    assert found is not None
    mean, bounded = found
    return asks.known + mean, bounded, own.contribute(own.centre(asks.counted)[1]), own


@cache
def law_of(number: int, epsilon: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Records, reports as rows, and probabilities by record."""
    made = design_of(number, epsilon)
    return made.law().inputs, np.array(made.law().outputs), probabilities(made)


def on_average(case: int, epsilon: str, known: float, bounded: np.ndarray, own: Any) -> np.ndarray:
    """By record what the contributions count, by the law."""
    made, (_, outputs, chances) = design_of(case, epsilon), law_of(case, epsilon)
    total = np.full(len(chances), known)
    for group, answer in enumerate(made.answers):
        mine = outputs[:, 0] == answer.question
        numbers = own.reports[group].number(list(outputs[mine, 1:].T))
        in_group = chances[:, mine] / chances[:, mine].sum(axis=1, keepdims=True)
        total += own.shares[group] * (in_group @ bounded[own.parts[group]][numbers])
    return total


@pytest.mark.parametrize(
    ("case", "epsilon"),
    tiers.keep_fast(product(range(len(CASES)), ["0.5", "2"]), [(2, "2"), (14, "2"), (16, "0.5")]),
)
def test_unbiased_for_every_record_and_bounded(case: int, epsilon: str) -> None:
    """By the exact law of the plan; clipping alone, the negative control, is not."""
    made = design_of(case, epsilon)
    for query in asked(made.domain):
        truth = [count_record(query, record, made.domain) for record in law_of(case, epsilon)[0]]
        known, bounded, usual, own = bounded_of(made, query)
        found, scale = on_average(case, epsilon, known, bounded, own), np.abs(usual).max()
        assert found == pytest.approx(truth, abs=1e-9 * scale)
        assert np.abs(bounded).max() <= scale * (1.0 + 1e-9)
        assert own.variance(bounded) <= SURCHARGE**2 * own.variance(usual) * (1.0 + 1e-9)
        if np.abs(bounded).max() < 0.9 * scale:
            clipped = np.clip(usual, -np.abs(bounded).max(), np.abs(bounded).max())
            assert own.largest(own.average(clipped) - own.average(usual)) > 1e-4


@pytest.mark.parametrize(
    ("case", "most", "error"),
    [
        (0, 0.7, 1.05),
        (2, 0.7, 0.9),
        (3, 0.35, 0.5),
        (7, 0.85, 1.0),
        (14, 0.65, 1.05),
        (16, 0.7, 1.05),
    ],
    ids=["olh", "hio", "hio, two", "hgrr", "staircase", "solh"],
)
def test_reports_do_less_than_to_the_usual_answer(case: int, most: float, error: float) -> None:
    """To the range of three codes, at epsilon 1: at most such a part; trees have least squares
    behind them, so their error is smaller, too."""
    made = design_of(case)
    planned, people = made.prepare(asked(made.domain)[0]), 10**6
    before = np.abs(made.influence([planned], np.eye(1), people)).max()
    _, bounded, _, own = bounded_of(made, asked(made.domain)[0])
    assert np.abs(bounded).max() < most * before
    usual = float(np.sqrt(made.variance([planned], people)[0] / people))
    assert np.sqrt(own.variance(bounded)) < error * usual


@cache
def answers(case: int, runs: int, people: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors of estimates of two queries, and what they say, of people of whom half are alike."""
    made, found = design_of(case), []
    queries = [query for query in asked(made.domain) if query.measure in (None, 0)]
    planned = [made.prepare(queries[0]), made.prepare(queries[-2])]
    sizes, measures = made.domain.sizes, len(made.domain.bounds)
    chances = [0.5 * (np.arange(size) == 0) + 0.5 / size for size in sizes]
    chances += [np.array([0.7, 0.3]) for _ in range(measures)]
    likely = reduce(np.multiply.outer, chances).ravel()
    records = list(product(*map(range, made.domain.record_sizes)))
    truth = [
        likely @ [count_record(query, record, made.domain) for record in records]
        for query in (queries[0], queries[-2])
    ]
    for seed in range(runs):
        random = np.random.default_rng([seed, 2])
        columns = [
            random.integers(0, size, people) * (random.random(people) < 0.5) for size in sizes
        ]
        columns += [(random.random(people) < 0.3).astype(int) for _ in range(measures)]
        reports = made.randomize(np.stack(columns, axis=1), SeededEntropy(seed))
        own = made.estimators["robust"](histogram_of(reports)).answer(planned)
        found.append((own.values - people * np.array(truth), own.stderr))
    values, errors = (np.array(each) for each in zip(*found, strict=True))
    return values, errors


@pytest.mark.fast(1)
@pytest.mark.parametrize("people", [30, 400])
@pytest.mark.parametrize("case", [0, 3, 7, 9, 11, 14, 16, 18])
def test_estimates_are_unbiased_and_intervals_hold(case: int, people: int) -> None:
    """Of few people, too; half as large errors, the negative control, do not hold. Where nobody was
    asked about a level there is no answer."""
    values, errors = answers(case, tiers.runs(300), people)
    is_told = np.isfinite(values).all(axis=1)
    assert is_told.mean() > 0.85
    values, errors, runs = values[is_told], errors[is_told], int(is_told.sum())
    for own, error in zip(values.T, errors.T, strict=True):
        assert is_unbiased(own, 0.0)
        assert not is_unbiased(own + 0.7 * own.std(), 0.0)
        assert coverage_fits(int((np.abs(own) <= 1.959964 * error).sum()), runs)
        assert not coverage_fits(int((np.abs(own) <= 1.2 * error).sum()), runs)


def test_influence_is_what_a_report_adds_and_weights_count() -> None:
    """Reports of every group are added, to answers with and without a public weight."""
    made, weight = design_of(9), Weight("n")
    queries = [made.prepare(query) for query in asked(SIGNED)]
    weighed = made.prepare(LinearQuery(asked(SIGNED)[0].terms, weight=weight))
    random = np.random.default_rng(3)
    codes = np.stack([random.integers(0, 6, 5_000), random.integers(0, 2, 5_000)], axis=1)
    packed = made.randomize(codes, SeededEntropy(1)).columns.values()
    rows = np.stack([np.asarray(column).astype(np.int64) for column in packed], axis=1)

    def estimator(more: np.ndarray) -> Any:
        every = np.vstack([rows, more])
        own = histogram_of(Reports.pack(made.report_format, list(every.T)))
        weights = {(weight, None): 2.0 * own.counts, (weight, weight): 4.0 * own.counts}
        heavy = Histogram.of(own.types, own.columns, own.counts, weights)
        return made.estimators["robust"](heavy)

    before = estimator(rows[:0]).answer([*queries, weighed])
    assert before.values[-1] == pytest.approx(2.0 * before.values[0])
    assert before.stderr[-1] == pytest.approx(2.0 * before.stderr[0])
    assert estimator(rows[:0]).values(queries) == pytest.approx(before.values[:-1])
    limits = made.report_format.limits.tolist()
    every = [[group, node] for group, (own,) in enumerate(limits) for node in range(own)]
    moved = np.array(
        [estimator(np.array([row])).answer(queries).values - before.values[:-1] for row in every]
    )
    least, most = estimator(rows[:0]).influence(queries, np.eye(len(queries)))
    # To the first order in one of 5,000 people.
    room = 2e-3 * np.abs([least, most]).max()
    assert moved.min(axis=0) == pytest.approx(least, abs=room)
    assert moved.max(axis=0) == pytest.approx(most, abs=room)


@pytest.mark.fast(4)
@pytest.mark.parametrize("case", [2, 3, 7, 8, 10, 13, 16, 17, 18])
def test_everything_has_an_error(case: int) -> None:
    """Every code by itself, everybody, and nothing that is asked of few people or of many."""
    made, people = design_of(case), 2_000
    sizes = made.domain.sizes
    queries = [LinearQuery.count(Box.whole(len(sizes)))]
    for axis, size in enumerate(sizes):
        sides: list[Any] = [None] * len(sizes)
        for code in range(size):
            sides[axis] = ((code, code + 1),)
            queries.append(LinearQuery.count(Box(tuple(sides))))
    planned = [made.prepare(query) for query in queries]
    random = np.random.default_rng(1)
    codes = [random.integers(0, size, people) for size in made.domain.record_sizes]
    reports = made.randomize(np.stack(codes, axis=1), SeededEntropy(1))
    own = made.estimators["robust"](histogram_of(reports))
    together, alone = own.answer(planned), own.answer_rows([[query] for query in planned])
    assert together.stderr[0] == 0.0 and (together.stderr[1:] > 0.0).all()
    assert np.linalg.eigvalsh(together.covariance)[0] > -1e-9 * together.covariance.max()
    assert [each.stderr[0] for each in alone] == pytest.approx(together.stderr)


def test_groups_without_people_have_no_part() -> None:
    """Least squares over the others; where they do not tell it, there is no answer."""
    made = design_of(7)
    planned = [made.prepare(query) for query in asked(LINE)]
    codes = np.random.default_rng(1).integers(0, 8, (900, 1))
    packed = made.randomize(codes, SeededEntropy(1)).columns.values()
    rows = np.stack([np.asarray(column).astype(np.int64) for column in packed], axis=1)

    def answer(groups: set[int]) -> Any:
        own = rows[np.isin(rows[:, 0], list(groups))]
        packed = Reports.pack(made.report_format, list(own.T))
        return made.estimators["robust"](histogram_of(packed)).answer(planned)

    finest = max(range(len(made.answers)), key=lambda group: made.answers[group].nodes)
    alone = answer({finest})
    assert np.isfinite(alone.values).all()
    everybody = answer(set(range(len(made.answers))))
    people = np.sum(rows[:, 0] == finest)
    assert (alone.stderr / people > everybody.stderr / len(rows)).all()
    others = answer(set(range(len(made.answers))) - {finest})
    assert np.isnan(others.values).all() and np.isinf(others.stderr).all()
    nobody = answer(set())
    assert np.isnan(nobody.values).all() and np.isinf(nobody.stderr).all()


def test_a_marginal_without_people_has_no_answer() -> None:
    """The other ones have; what two of them hold counts on both."""
    made = design_of(len(CASES) - 1)
    boxes = [Box((None, ((0, 1),), ((0, 1),))), Box((((0, 2),), ((1, 3),), None))]
    planned = [made.prepare(LinearQuery.count(box)) for box in boxes]
    codes = np.random.default_rng(1).integers(0, 2, (900, 3))
    packed = made.randomize(codes, SeededEntropy(1)).columns.values()
    rows = np.stack([np.asarray(column).astype(np.int64) for column in packed], axis=1)
    ((about,),) = planned[0].alternatives  # type: ignore[union-attr]
    own = rows[rows[:, 0] == made.answers[about.group].question]
    histogram = histogram_of(Reports.pack(made.report_format, list(own.T)))
    found = made.estimators["robust"](histogram).answer(planned)
    assert np.isfinite(found.values).tolist() == [True, False]
    assert np.isinf(found.stderr).tolist() == [False, True]


def test_what_no_group_collects_has_no_answer() -> None:
    """As of the unbiased estimator: a box of all codes, of which there is no group."""
    made, whole = design_of(2), Box((((0, LINE.sizes[0]),),))
    codes = np.random.default_rng(1).integers(0, 8, (300, 1))
    histogram = histogram_of(made.randomize(codes, SeededEntropy(1)))
    planned = [made.prepare(query) for query in [LinearQuery.count(whole), asked(LINE)[0]]]
    for name in ("unbiased", "robust"):
        own = made.estimators[name](histogram)
        found = own.answer(planned)
        assert np.isnan(found.values).tolist() == [True, False]
        assert np.isinf(found.stderr).tolist() == [True, False]
        assert np.isnan(own.influence(planned, np.eye(2))).tolist() == [[True, False]] * 2


@pytest.mark.parametrize("name", ["olh", "hio", "hgrr", "solh"])
def test_sql_answers_by_it_and_says_what_a_report_can_do(name: str) -> None:
    asks = integer("age", 0, 23), public("day", "int")
    survey = design(survey_toml(*asks, epsilon="1", mechanism=name))
    random, people = np.random.default_rng(1), 3_000
    columns = {"age": random.integers(0, 24, people), "day": random.integers(0, 2, people)}
    table = pa.table(columns)
    sql = "SELECT COUNT(*) FROM app WHERE age BETWEEN 4 AND 15"
    found = []
    for estimator in ("unbiased", "robust"):
        with simulate(survey, table, seed=1, estimator=estimator) as connection:
            found.append(connection.execute(sql).result)
            days = connection.execute(
                "SELECT day, COUNT(*), AVG(age) FROM app WHERE age < 12 GROUP BY day"
            )
            assert len(days.fetchall()) == 2
    usual, robust = found
    assert robust.forged()[0][1] < 0.9 * usual.forged()[0][1]
    assert robust.intervals[0].stderr[0] < 1.1 * usual.intervals[0].stderr[0]


REFUSED = [
    ("grr", {}, "no choice between unbiased answers"),
    ("hrr", {}, "no choice"),
    ("haarhrr", {}, "no choice"),
    ("oue", {}, "bit by bit"),
    ("hh", {}, "bit by bit"),
    ("hi", {}, "each with a part of epsilon"),
    ("urr", {}, "no choice"),
    ("urap", {}, "bit by bit"),
]


@pytest.mark.parametrize(("name", "options", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_others_refuse_with_a_reason(name: str, options: dict[str, object], why: str) -> None:
    survey = design(survey_toml(integer("age", 0, 7), epsilon="1", mechanism=name, **options))
    with open_store(None, read_only=False) as store:
        store.register(survey)
        with pytest.raises(NotSupportedError, match=f"no estimator 'robust': .*{why}.* offers"):
            Session(store, estimator="robust").execute("SELECT COUNT(*) FROM app WHERE age < 2")


@pytest.mark.slow
def test_what_is_refused_is_what_is_not_offered() -> None:
    """By every mechanism that takes one of these domains."""
    seen = set[str]()
    for name, domain in product(MECHANISMS, (LINE, PLANE, SIGNED)):
        try:
            made: AnyDesign = MECHANISMS[name].design(domain, Epsilon.parse("1"), {})
        except SurveyError:
            continue
        assert ("robust" in made.estimators) != ("robust" in made.refusals), name
        seen.add(name)
    assert len(seen) > 15


def test_too_many_reports_or_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = mechanism("olh").design(LINE, Epsilon.parse("1"), {})
    assert "robust" in made.estimators
    monkeypatch.setattr("ldpsql.decoders.nodes.MOST_LISTED", 219)
    made = mechanism("olh").design(LINE, Epsilon.parse("1"), {})
    assert made.refusals == {"robust": "220 reports differ, and it looks at each of at most 219"}
    monkeypatch.setattr("ldpsql.decoders.nodes.MOST_DETAILS", 7)
    made = mechanism("olh").design(LINE, Epsilon.parse("1"), {})
    assert "8 are too many" in made.refusals["robust"]
