"""Adaptive grids: vectors, bands of the specification, rounds."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.node_sources import X1, X2
from support.significance import ALPHA, chi_square_bound, coverage_fits, variance_fits
from support.surveys import integer, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.numerics import project_on_simplex
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.cli.forecast import expectations
from ldpsql.designer import design, design_survey
from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.mechanisms.adaptive_grids import GridNode, MeasuredGrid, Partition, fit_pairs
from ldpsql_lab.mechanisms.ahead import AheadDesign, splitting_threshold
from ldpsql_lab.simulation import SeededEntropy, histogram_of, simulate

NODES = (
    GridNode(0, (0,), -1, 1.0),
    GridNode(1, (0,), 0, 0.6),
    GridNode(1, (1,), 0, 0.4),
    GridNode(2, (0,), 1, 0.2),
    GridNode(2, (1,), 1, 0.2),
)
EMPTY = tuple(replace(node, frequency=0.0) for node in NODES)

# -- pieces ----------------------------------------------------------------------------------------


def test_vectors_of_the_specification() -> None:
    """Section 6: thresholds and norm-sub."""
    found = [splitting_threshold(axes, 1e5 / 7, float(np.e)) for axes in (1, 2)]
    assert found == pytest.approx([0.0278094556, 0.0359018528], abs=1e-9)
    fitted = project_on_simplex(np.array([0.5, -0.1, 0.4, 0.3]))
    assert fitted == pytest.approx([0.43333, 0, 0.33333, 0.23333], abs=1e-5)


def test_a_grid_covers_every_code_once() -> None:
    """However it is split, also with padding; covers count codes where leaves are single codes."""
    partition = Partition.first((5, 3), 3)
    while any(partition.nodes[number].depth < 3 for number in partition.leaves):
        depth = min(partition.nodes[number].depth for number in partition.leaves)
        partition = partition.grow(depth, 0.0)
    labels = partition.labels
    assert sorted(labels.ravel()) == list(range(15))
    counts = np.arange(15.0).reshape(5, 3)
    sums = np.array([counts[partition.span(node)].sum() for node in partition.nodes])
    for side in (((1, 4),), ((0, 5),), ((0, 1), (3, 5))):
        inside = sum(counts[low:high, 1:3].sum() for low, high in side)
        assert partition.cover([side, ((1, 3),)]) @ sums == pytest.approx(inside)


def test_a_leaf_that_is_cut_counts_by_its_share() -> None:
    """Two codes of four."""
    partition = Partition.first((8,), 3)
    assert partition.cover([((2, 8),)]).tolist() == [0.0, 0.5, 1.0]


def test_inner_nodes_settle_by_inverse_variance() -> None:
    """A parent asked about by 100 people, its two children by 200: weights 1/2 and 1/2."""
    settled = MeasuredGrid(Partition((4,), 2, NODES, (100, 200)), (1.0, 1.0))
    assert settled.frequencies.tolist() == pytest.approx([1.0, 0.5, 0.4, 0.2, 0.2])
    noise = MeasuredGrid(replace(settled.partition, nodes=EMPTY), (1.0, 1.0)).covariance(np.eye(5))
    # A leaf of both rounds has 300 people; the inner node half of its own 1/100 variance.
    assert np.diagonal(noise) == pytest.approx([0.0, 0.005, 1 / 300, 1 / 200, 1 / 200])
    assert noise[1, 3] == pytest.approx(0.5 / 200)


def test_people_of_a_round_are_a_sample() -> None:
    """Half of the people on one side, asked in one round: 1/4 over their number."""
    partition = Partition.first((2,), 1).measure(np.array([0.5, 0.5]), 50)
    found = MeasuredGrid(partition, (0.0,)).covariance(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    assert found == pytest.approx(np.array([[0.25 / 50, 0.0], [0.0, 0.0]]))


def test_rounds_count_by_their_people() -> None:
    """A leaf asked about by 10 and by 90 people."""
    partition = Partition.first((4,), 2).measure(np.array([1.0, 0.0]), 10)
    partition = partition.measure(np.array([0.5, 0.5]), 90)
    assert [node.frequency for node in partition.nodes[1:]] == pytest.approx([0.55, 0.45])


def test_children_without_reports_leave_their_parent_alone() -> None:
    """Nothing is known of them, and that spoils no other answer."""
    partition = Partition.first((4,), 2).measure(np.array([0.7, 0.3]), 100).grow(1, 0.5)
    settled = MeasuredGrid(partition.measure(np.zeros(3), 0), (1.0, 1.0))
    assert settled.frequencies.tolist() == [1.0, 0.7, 0.3, 0.0, 0.0]
    found = np.diagonal(settled.covariance(np.eye(5)))
    assert np.isfinite(found).tolist() == [True, True, True, False, False]


def test_grids_from_json_are_checked() -> None:
    """A survey may come from somebody else."""
    split = Partition((4,), 2, NODES, (100,))
    good = json.loads(json.dumps(split.to_json()))
    assert Partition.from_json((4,), 2, good) == split
    for number, place, value in ((1, 2, 5), (2, 0, 3), (2, 1, [7]), (0, 3, 0.5), (1, 0, 1.0)):
        bad = json.loads(json.dumps(good))
        bad["nodes"][number][place] = value
        with pytest.raises(SurveyError):
            Partition.from_json((4,), 2, bad)
    for broken in ({"nodes": good["nodes"][:-1]}, {"people": []}, {"people": [0]}):
        with pytest.raises(SurveyError):
            Partition.from_json((4,), 2, {**good, **broken})


def test_three_sides_are_fitted_to_their_pairs() -> None:
    """Independent sides give the product; pairs that agree with a table give it back."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    p = (0.5, 0.3, 0.8)
    shares = np.array([[p[i] * p[j], p[i], p[j]] for i, j in pairs])
    assert fit_pairs(3, pairs, shares) == pytest.approx(0.12, abs=1e-6)
    same = np.array([[0.4, 0.4, 0.4]] * 3)
    assert fit_pairs(3, pairs, same) == pytest.approx(0.4, abs=1e-3)


# -- rounds ----------------------------------------------------------------------------------------


def after_all_rounds(domain: RecordDomain, epsilon: str, codes: np.ndarray, seed: int) -> tuple:
    """The last round's design and estimator."""
    design = mechanism("ahead").design(domain, Epsilon.parse(epsilon), {})
    assert isinstance(design, AheadDesign)
    chosen = np.random.default_rng(seed).integers(1, design.rounds + 1, len(codes))
    entropy = SeededEntropy(seed)
    while True:
        reports = design.randomize(codes[chosen == design.round], entropy)
        histogram = histogram_of(reports)
        if design.round == design.rounds:
            return design, make_estimator(design, histogram)
        design = design.design_next(histogram)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimensions", "epsilon", "mean", "spread", "truth"),
    [
        (1, "1", 52_549, 1872, 52_342),
        pytest.param(1, "2", 52_210, 941, 52_342, marks=pytest.mark.slow),
        pytest.param(2, "1", 33_054, 2176, 33_560, marks=pytest.mark.slow),
        pytest.param(2, "2", 33_335, 1744, 33_560, marks=pytest.mark.slow),
    ],
)
def test_bands_of_the_specification(
    dimensions: int, epsilon: str, mean: float, spread: float, truth: float
) -> None:
    """Section 13: root mean square errors, within 30 % and what chance allows so many runs."""
    domain = RecordDomain(("x", "y")[:dimensions], (125,) * dimensions, (), (), ())
    codes = np.stack([X1, X2], axis=1)[:, :dimensions]
    box = Box((((12, 56),), ((30, 100),))[:dimensions])
    found = []
    runs = 24 * dimensions
    for seed in range(runs):
        design, estimator = after_all_rounds(domain, epsilon, codes, seed)
        found.append(estimator.answer([design.prepare(LinearQuery.count(box))]).values[0])
    error = np.sqrt(np.mean((np.array(found) - truth) ** 2))
    expected = np.hypot(mean - truth, spread)
    few, many = chi_square_bound(runs, 1.0 - ALPHA / 2.0), chi_square_bound(runs, ALPHA / 2.0)
    assert 0.7 * math.sqrt(few / runs) < error / expected < 1.3 * math.sqrt(many / runs)


@pytest.mark.slow
def test_errors_hold_the_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails where hardly anybody is, of a bell and of a Zipf law: squared errors over those told.

    The negative control: the errors without the bias that the grid lets expect.
    """
    random, people, runs = np.random.default_rng(0), 50_000, 40
    tails = [(60, 75), (70, 100), (85, 93)]
    queries = [LinearQuery.count(Box((((low, high),),))) for low, high in tails]
    domain = RecordDomain(("x",), (100,), (), (), ())
    ratios: dict[bool, list[float]] = {False: [], True: []}
    for x in (random.normal(40, 8, people), random.zipf(1.6, people) - 1.0):
        codes = np.clip(x, 0, 99).astype(np.int64)
        truths = np.array([((codes >= low) & (codes < high)).sum() for low, high in tails])
        for seed in range(130, 130 + runs):
            design, estimator = after_all_rounds(domain, "1", codes[:, None], seed)
            planned = [design.prepare(query) for query in queries]
            for told, found in ratios.items():
                with monkeypatch.context() as patch:
                    if not told:
                        patch.setattr(
                            MeasuredGrid, "drift", lambda self, slopes: np.zeros(len(slopes))
                        )
                        patch.setattr(MeasuredGrid, "unevenness", 0.0)
                    answer = estimator.answer(planned)
                found.append(float(np.mean(((answer.values - truths) / answer.stderr) ** 2)))
    assert np.mean(ratios[True]) < 1.2
    assert np.mean(ratios[False]) > 1.5


def test_unevenness_is_that_of_the_people() -> None:
    """Nobody knows within a leaf, but the split nodes tell: even people, and all at one code."""
    domain = RecordDomain(("x",), (16,), (), (), ())
    even = np.random.default_rng(1).integers(0, 16, (40_000, 1))
    lumped = np.full((40_000, 1), 2)
    for codes, low, high in ((even, 0.0, 0.02), (lumped, 0.9, 1.0)):
        _, estimator = after_all_rounds(domain, "3", codes, 7)
        assert low <= estimator.grids[0].unevenness <= high


def test_more_than_two_dimensions_are_answered_from_pairs() -> None:
    """One, two and three predicates, where people are independent and evenly spread."""
    domain = RecordDomain(("x", "y", "z"), (8, 8, 8), (), (), ())
    codes = np.random.default_rng(4).integers(0, 8, (60_000, 3))
    design, estimator = after_all_rounds(domain, "3", codes, 1)
    half = ((0, 4),)
    boxes = [Box((half, None, None)), Box((half, half, None)), Box((half, half, half))]
    answer = estimator.answer([design.prepare(LinearQuery.count(box)) for box in boxes])
    assert answer.values == pytest.approx([30_000, 15_000, 7_500], rel=0.1)
    assert (answer.stderr > 0).all()


TEXT = survey_toml(integer("age", 0, 7), epsilon="3", mechanism="ahead")


def test_rounds_on_the_command_line(tmp_path: Path) -> None:
    """Each round is a survey of its own that names the one before; the last one answers.

    Everybody of one table is dealt to one round.
    """
    (tmp_path / "app.toml").write_text(TEXT)
    path = tmp_path / "r1.json"
    assert "round 1 of 3" in run("design", tmp_path / "app.toml", "-o", path).stdout
    ages = np.random.default_rng(1).binomial(7, 0.2, 30_000)
    table = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": ages}), table)
    previous = None
    for number in (1, 2, 3):
        survey = Survey.from_json(path)
        assert json.loads(survey.device_text).get("previous") == previous
        assert survey.design.round == number
        previous = survey.fingerprint
        reports, database = tmp_path / f"r{number}.parquet", tmp_path / f"r{number}.duckdb"
        dealt = run("randomize", "--rounds", table, "--survey", path, "-o", reports)
        assert f"10000 reports, round {number} of 3" in dealt.stderr
        assert run("ingest", reports, "--db", database).exit_code == 0
        path = tmp_path / f"r{number + 1}.json"
        made = run("design", "--next", database, "--users", 40_000, "-o", path)
        assert made.exit_code == (0 if number < 3 else 1)
        if number == 1:
            assert "people       10,000 answered in 1 round\n" in made.stdout
            assert "30,000 of 40,000 are left, 15,000 for each of 2 rounds" in made.stdout
            again = run("design", "--next", database, "--users", 10_000, "-o", tmp_path / "no.json")
            assert again.exit_code == 1
            assert "so --users must be larger than that, not 10000" in again.stderr
            assert not (tmp_path / "no.json").exists()
    assert "was the last one" in made.stderr
    asked = "SELECT COUNT(*) FROM app WHERE age BETWEEN 1 AND 2"
    answer = json.loads(run("--db", database, "--format", "json", asked).stdout)
    truth = ((ages >= 1) & (ages <= 2)).sum()
    assert next(iter(answer["rows"][0].values())) == pytest.approx(truth, rel=0.1)


def test_bits_that_may_not_reach_the_last_round_are_told_of(tmp_path: Path) -> None:
    """At the design, not after people have answered half of the rounds."""
    wide = TEXT + '[dimension.hours]\ntype = "int"\ndomain = [0, 199]\n'
    bits = wide.replace('"ahead"\n', '"ahead"\noptions = { oracle = "oue" }\n')
    for text, told in ((TEXT, False), (wide, False), (bits, True)):
        (tmp_path / "app.toml").write_text(text)
        made = run("design", tmp_path / "app.toml", "-o", tmp_path / "app.json")
        assert made.exit_code == 0
        assert ("one of 1600 codes" in " ".join(made.stdout.split())) == told


def test_a_simulation_drives_all_rounds() -> None:
    """And counts the people of all of them."""
    ages = np.random.default_rng(1).binomial(7, 0.2, 30_000)
    with simulate(design(TEXT), pa.table({"age": ages})) as connection:
        everybody = connection.execute("SELECT COUNT(*) FROM app").fetchone()
        young = connection.execute("SELECT COUNT(*) FROM app WHERE age < 2").fetchone()
    assert everybody[0] == 30_000
    assert young[0] == pytest.approx((ages < 2).sum(), rel=0.1)


def test_what_rounds_refuse(tmp_path: Path) -> None:
    """Public columns, another mechanism's next round, a file beside --next."""
    with pytest.raises(SurveyError, match="leave them and the period out"):
        design(TEXT + '[public.day]\ntype = "date"\n')
    other = design(TEXT.replace("ahead", "hio"))
    empty = histogram_of(other.design.randomize(np.zeros((0, 1), dtype=np.int64), SeededEntropy(1)))
    with pytest.raises(SurveyError, match="does not ask in rounds"):
        other.next_round(empty)
    first = design(TEXT)
    empty = histogram_of(first.design.randomize(np.zeros((0, 1), dtype=np.int64), SeededEntropy(1)))
    with pytest.raises(SurveyError, match="no reports yet"):
        first.next_round(empty)
    assert run("design").exit_code == 2


def unequal(runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, told errors and predicted ones where the first round has 80 % of the people.

    The codes split at the middle of the whole: what is asked is never spread over a cut leaf.
    """
    domain = RecordDomain(("x",), (8,), (), (), ())
    found = []
    for seed in range(runs):
        random = np.random.default_rng([seed, 8])
        codes = random.choice(8, (6_000, 1), p=[0.2, 0.1, 0.1, 0.1, 0.05, 0.15, 0.1, 0.2])
        design, entropy = (
            mechanism("ahead").design(domain, Epsilon.parse("2"), {}),
            SeededEntropy(seed),
        )
        for first, last in ((0, 4_800), (4_800, 5_400), (5_400, 6_000)):
            histogram = histogram_of(design.randomize(codes[first:last], entropy))
            if last < 6_000:
                design = design.design_next(histogram)
        planned = design.prepare(LinearQuery.count(Box((((0, 4),),))))
        answer = make_estimator(design, histogram).answer([planned])
        predicted = np.sqrt(design.variance([planned], 6_000)[0])
        found.append((answer.values[0], answer.stderr[0], predicted))
    values, told, predicted = np.array(found).T
    return values, told, predicted


def test_unequal_rounds_have_honest_errors() -> None:
    """Half of the space, where there is no bias to speak of: every round counts by its people."""
    runs = 150
    values, told, predicted = unequal(runs)
    assert variance_fits(values, np.mean(told**2))
    inside = np.abs(values - 3_000) <= quantile(0.95) * told
    assert coverage_fits(int(inside.sum()), runs, 0.95)
    assert predicted == pytest.approx(told, rel=0.2)
    # The negative control: as if every round had had as many people as the last.
    assert not variance_fits(values, np.mean(told**2) * 2_000 / 600)


def test_a_last_round_without_reports_answers_from_the_others() -> None:
    """Without a warning; n_reports, the prediction of EXPLAIN and the note speak of all rounds."""
    domain = RecordDomain(("x",), (4,), (), (), ())
    design = mechanism("ahead").design(domain, Epsilon.parse("3"), {})
    codes = np.repeat([0, 3], [600, 400])[:, None]
    design = design.design_next(histogram_of(design.randomize(codes, SeededEntropy(1))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = histogram_of(design.randomize(np.zeros((0, 1), dtype=np.int64), SeededEntropy(2)))
        boxes = (Box((((0, 2),),)), Box((((0, 1),),)))
        planned = [design.prepare(LinearQuery.count(box)) for box in boxes]
        answer = make_estimator(design, empty).answer(planned)
    assert answer.values[0] == pytest.approx(600, abs=150)
    assert answer.stderr[0] < 100
    assert np.isnan(answer.values[1])
    assert np.isinf(answer.stderr[1])


def test_answers_say_what_they_leave_out_and_whom_they_count() -> None:
    """The bias as a note; EXPLAIN tells the error of the reports, and predicts none."""
    ages = np.random.default_rng(1).binomial(7, 0.2, 9_000)
    young = "SELECT COUNT(*) FROM app WHERE age < 2"
    with simulate(design(TEXT), pa.table({"age": ages})) as connection:
        found = connection.execute(young).result
        plan = connection.execute(f"EXPLAIN {young}").result.explain
    assert found.reports == 9_000
    (note,) = [note for note in found.notes if "biased" in note]
    assert note.startswith("app: estimator adaptive is biased: frequencies are made non-negative")
    assert f"standard error of these reports: {found.intervals[0].stderr[0]:.4g}" in plan
    assert "predicted" not in plan


def test_no_error_is_expected_before_people_have_answered() -> None:
    """What people who are spread evenly would get was up to 22 times too small."""
    made = design_survey(TEXT)
    with pytest.raises(SurveyError, match="its error depends on the people"):
        made.forecast  # noqa: B018
    assert not any("±" in line for line in expectations(made))
