"""Adaptive grids: vectors, bands of the specification, rounds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli.running import run
from client.surveys import Seeded
from mechanisms.test_acceptance import X1, X2

from ldpsql.bench import simulate
from ldpsql.bench.entropy import SeededEntropy
from ldpsql.bench.memory import histogram_of
from ldpsql.boxes import Box, LinearQuery
from ldpsql.client.table import randomize_batch
from ldpsql.designer import design
from ldpsql.engine.backends.duckdb import DuckDBStore
from ldpsql.errors import SurveyError
from ldpsql.mechanisms.ahead import AheadDesign
from ldpsql.mechanisms.ahead_estimator import fitted_share
from ldpsql.mechanisms.partitions import Node, Partition, on_simplex, splitting_threshold
from ldpsql.mechanisms.registry import mechanism
from ldpsql.privacy import Epsilon
from ldpsql.schema import RecordDomain
from ldpsql.survey import Survey

# -- pieces ----------------------------------------------------------------------------------------


def test_vectors_of_the_specification() -> None:
    """Section 6: thresholds and norm-sub."""
    found = [splitting_threshold(axes, 1e5 / 7, float(np.e)) for axes in (1, 2)]
    assert found == pytest.approx([0.0278094556, 0.0359018528], abs=1e-9)
    fitted = on_simplex(np.array([0.5, -0.1, 0.4, 0.3]))
    assert fitted == pytest.approx([0.43333, 0, 0.33333, 0.23333], abs=1e-5)


def test_a_grid_covers_every_code_once() -> None:
    """However it is split, also with padding; covers count codes where leaves are single codes."""
    partition = Partition.first((5, 3), 3)
    while any(partition.nodes[number].depth < 3 for number in partition.leaves):
        depth = min(partition.nodes[number].depth for number in partition.leaves)
        partition = partition.grown(depth, 0.0)
    labels = partition.labels
    assert sorted(labels.ravel()) == list(range(15))
    counts = np.arange(15.0).reshape(5, 3)
    sums = np.array([counts[partition._span(node)].sum() for node in partition.nodes])
    for side in (((1, 4),), ((0, 5),), ((0, 1), (3, 5))):
        inside = sum(counts[low:high, 1:3].sum() for low, high in side)
        assert partition.cover([side, ((1, 3),)]) @ sums == pytest.approx(inside)


def test_a_leaf_that_is_cut_counts_by_its_share() -> None:
    """Two codes of four."""
    partition = Partition.first((8,), 3)
    assert partition.cover([((2, 8),)]).tolist() == [0.0, 0.5, 1.0]


def test_inner_nodes_settle_by_inverse_variance() -> None:
    """A parent measured once, two children measured twice each: weights 1/2 and 1/2."""
    nodes = (
        Node(0, (0,), -1, 1.0, 1.0),
        Node(1, (0,), 0, 0.6, 1.0),
        Node(1, (1,), 0, 0.4, 1.0),
        Node(2, (0,), 1, 0.2, 2.0),
        Node(2, (1,), 1, 0.2, 2.0),
    )
    frequency, rounds = Partition((4,), 2, nodes).settled()
    assert frequency.tolist() == pytest.approx([1.0, 0.5, 0.4, 0.2, 0.2])
    assert rounds[1] == pytest.approx(2.0)


def test_grids_from_json_are_checked() -> None:
    """A survey may come from somebody else."""
    good = [node.to_json() for node in Partition.first((4,), 2).nodes]
    assert Partition.from_json((4,), 2, good) == Partition.first((4,), 2)
    for number, place, value in ((1, 2, 5), (2, 0, 3), (2, 1, [7]), (0, 4, 0.0), (1, 0, 1.0)):
        bad = json.loads(json.dumps(good))
        bad[number][place] = value
        with pytest.raises(SurveyError):
            Partition.from_json((4,), 2, bad)
    with pytest.raises(SurveyError):
        Partition.from_json((4,), 2, good[:-1])


def test_three_sides_are_fitted_to_their_pairs() -> None:
    """Independent sides give the product; pairs that agree with a table give it back."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    p = (0.5, 0.3, 0.8)
    shares = np.array([[p[i] * p[j], p[i], p[j]] for i, j in pairs])
    assert fitted_share(3, pairs, shares) == pytest.approx(0.12, abs=1e-6)
    same = np.array([[0.4, 0.4, 0.4]] * 3)
    assert fitted_share(3, pairs, same) == pytest.approx(0.4, abs=1e-3)


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
            return design, design.estimator(histogram)
        design = design.following(histogram)


@pytest.mark.parametrize(
    ("dimensions", "epsilon", "mean", "spread", "truth"),
    [
        (1, "1", 52_549, 1872, 52_342),
        (1, "2", 52_210, 941, 52_342),
        (2, "1", 33_054, 2176, 33_560),
        (2, "2", 33_335, 1744, 33_560),
    ],
)
def test_bands_of_the_specification(
    dimensions: int, epsilon: str, mean: float, spread: float, truth: float
) -> None:
    """Section 13: root mean square errors. 12 runs, so the band is a factor of two."""
    domain = RecordDomain(("x", "y")[:dimensions], (125,) * dimensions, (), (), ())
    codes = np.stack([X1, X2], axis=1)[:, :dimensions]
    box = Box((((12, 56),), ((30, 100),))[:dimensions])
    found = []
    for seed in range(12):
        design, estimator = after_all_rounds(domain, epsilon, codes, seed)
        found.append(estimator.answer([design.plan(LinearQuery.count(box))]).values[0])
    error = np.sqrt(np.mean((np.array(found) - truth) ** 2))
    expected = np.hypot(mean - truth, spread)
    assert 0.5 < error / expected < 2.0


def test_more_than_two_dimensions_are_answered_from_pairs() -> None:
    """One, two and three predicates, where people are independent and evenly spread."""
    domain = RecordDomain(("x", "y", "z"), (8, 8, 8), (), (), ())
    codes = np.random.default_rng(4).integers(0, 8, (60_000, 3))
    design, estimator = after_all_rounds(domain, "3", codes, 1)
    half = ((0, 4),)
    boxes = [Box((half, None, None)), Box((half, half, None)), Box((half, half, half))]
    answer = estimator.answer([design.plan(LinearQuery.count(box)) for box in boxes])
    assert answer.values == pytest.approx([30_000, 15_000, 7_500], rel=0.1)
    assert (answer.stderr > 0).all()


TEXT = """
[survey]
table = "app"
epsilon = "3"
mechanism = "ahead"
[dimension.age]
type = "int"
domain = [0, 7]
"""


def test_rounds_on_the_command_line(tmp_path: Path) -> None:
    """Each round is a survey of its own that names the one before; the last one answers."""
    (tmp_path / "app.toml").write_text(TEXT)
    path = tmp_path / "r1.json"
    assert "round 1 of 3" in run("design", tmp_path / "app.toml", "-o", path).stdout
    ages = np.random.default_rng(1).binomial(7, 0.2, 30_000)
    previous = None
    for number in (1, 2, 3):
        survey = Survey.from_json(path)
        assert json.loads(survey.to_json()).get("previous") == previous
        assert survey.design.round == number
        previous = survey.fingerprint
        people = pa.table({"age": ages[number - 1 :: 3]})
        reports, _ = randomize_batch(survey, people, Seeded(number))
        database = tmp_path / f"r{number}.duckdb"
        with DuckDBStore.open(database, read_only=False) as store:
            store.ingest_table(reports, survey)
        path = tmp_path / f"r{number + 1}.json"
        made = run("design", "--next", database, "-o", path)
        assert made.exit_code == (0 if number < 3 else 1)
    assert "was the last one" in made.stderr
    asked = "SELECT COUNT(*) FROM app WHERE age BETWEEN 1 AND 2"
    answer = json.loads(run("--db", database, "--format", "json", asked).stdout)
    truth = ((ages >= 1) & (ages <= 2)).sum()
    assert next(iter(answer["rows"][0].values())) == pytest.approx(truth, rel=0.1)


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
    with pytest.raises(SurveyError, match="leave them out"):
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
