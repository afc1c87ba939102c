"""What a table tells, from its rounded weights, and least squares over the cells that exist.

Division and moments by face. Restricted answers are exactly unbiased, their variance is exactly
predicted, and one-sided questions are cheaper by what docs/spec/fourier.md#6.2 says.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import lcm

import numpy as np
import pytest
from support.counting import count_record
from support.fourier_designs import (
    counted,
    domain_of,
    records,
    single_answers,
)

from benchmarks.fourier_bounds import sample_share
from ldpsql.algebra.boxes import Box, LinearQuery, Side
from ldpsql.algebra.least_error import spectral_bound
from ldpsql.algebra.workload import DeclaredQuery, Kind, QueryClass, Workload
from ldpsql.mechanisms.fourier import listed
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import Cluster, FamilyTable, mix
from ldpsql.mechanisms.fourier.group import gather_faces, mirror
from ldpsql.mechanisms.fourier.listed import ListedQuestions
from ldpsql.mechanisms.fourier.recipe import Fourier, find_one_sided, group_of, is_mostly_one_sided
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy


def asked(sizes: tuple[int, ...], kind: Kind = "prefix", measures: int = 0) -> Workload:
    """Predicates on all dimensions at once, counts and sums alike."""
    predicates = tuple((axis, kind) for axis in range(len(sizes)))
    targets: list[int | None] = [None, *range(measures)]
    classes = tuple(QueryClass(1.0 / len(targets), predicates, target) for target in targets)
    return Workload(domain_of(sizes, ((10.0, 50.0),) * measures), classes, (), len(sizes))


@cache
def made(
    sizes: tuple[int, ...], epsilon: str, kind: Kind = "prefix", measures: int = 0, how: str = "yes"
) -> FourierDesign:
    workload = asked(sizes, kind, measures)
    return Fourier().design(workload.domain, Epsilon.parse(epsilon), {"one_sided": how}, workload)


SMALL = [((6,), "1", 0), ((3, 4), "0.7", 0), ((4,), "1.5", 1)]


def sides(size: int) -> list[Side]:
    """A prefix, a suffix, one code, two pieces, everything."""
    return [((0, 2),), ((1, size),), ((1, 2),), ((0, 1), (size - 1, size)), None]


def questions(design: FourierDesign) -> list[LinearQuery]:
    sizes = design.domain.sizes
    boxes = [Box(own) for own in product(*map(sides, sizes)) if any(own)]
    found = [LinearQuery.count(box) for box in boxes]
    if design.domain.bounds:
        found += [LinearQuery.sum(0, box) for box in [*boxes, Box.whole(len(sizes))]]
    return found


@cache
def law_of(case: tuple[tuple[int, ...], str, int]) -> np.ndarray:
    """Pr[report | record], shape (records, reports)."""
    rows = enumerate_law(made(*case[:2], "prefix", case[2]).plan).probabilities
    return np.array([[float(p) for p in row] for row in rows])


@cache
def amounts_of(case: tuple[tuple[int, ...], str, int]) -> np.ndarray:
    """What every report alone is answered to `questions`, shape (reports, queries)."""
    design = made(*case[:2], "prefix", case[2])
    return single_answers(design, [design.prepare(query) for query in questions(design)])


@pytest.mark.fast(2)
@pytest.mark.parametrize("case", SMALL, ids=str)
def test_answers_are_exactly_unbiased(case: tuple[tuple[int, ...], str, int]) -> None:
    """Over the exact law, for every record and question."""
    design = made(*case[:2], "prefix", case[2])
    assert design.restricted
    assert design.group.orders[0] > design.domain.sizes[0]
    means = law_of(case) @ amounts_of(case)
    truths = [
        [count_record(query, record, design.domain) for query in questions(design)]
        for record in records(design)
    ]
    np.testing.assert_allclose(means, truths, atol=1e-8)


@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.parametrize("points", [1 << 19, 16])
def test_the_predicted_variance_is_that_of_the_law(
    case: tuple[tuple[int, ...], str, int], points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For records spread evenly over the real cells; from all families, or from a sample."""
    monkeypatch.setattr(listed, "MOST_CELLS_OF_ALL", 0)
    monkeypatch.setattr(listed, "POINTS", points)
    design = made(*case[:2], "prefix", case[2])
    vars(design).pop("_shared", None)  # with the sample that it keeps
    planned = [design.prepare(query) for query in questions(design)]
    shares = law_of(case).mean(axis=0)
    amounts = amounts_of(case)
    exact = shares @ amounts**2 - (shares @ amounts) ** 2
    found = design.variance(planned, 1)
    np.testing.assert_allclose(found, exact, rtol=1e-6 if points > 16 else 0.2, atol=1e-9)


def mean_variance(design: FourierDesign, kind: Kind) -> float:
    """Of exactly these people, over the prefixes or ranges of every dimension."""
    spans: list[list[Side]] = []
    for size in design.domain.sizes:
        ends = [(0, b) for b in range(1, size + 1)] if kind == "prefix" else []
        ends += [(a, b) for b in range(1, size + 1) for a in range(b)] if kind == "range" else []
        spans.append([(end,) for end in ends])
    queries = [LinearQuery.count(Box(own)) for own in product(*spans)]
    cells = np.prod(design.domain.sizes)
    shares = np.array(
        [np.prod([high - low for ((low, high),) in own]) for own in product(*spans)]  # type: ignore[misc]
    )
    shares = shares / cells
    found = design.variance([design.prepare(query) for query in queries], 1)
    return float(np.mean(found - shares + shares**2))


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("sizes", "epsilon", "most"),
    [((64,), "1", 10.03), ((64,), "0.5", 42.46), ((12, 12), "1", 22.78)],
)
def test_prefixes_cost_what_the_specification_says(
    sizes: tuple[int, ...], epsilon: str, most: float
) -> None:
    """Section 6.2, and no less than the bound that holds for every mechanism."""
    design = made(sizes, epsilon, "prefix", 0, "auto")
    assert design.restricted
    bound = spectral_bound(asked(sizes), Epsilon.parse(epsilon))
    assert bound is not None
    assert bound - sample_share(asked(sizes)) < mean_variance(design, "prefix") <= most
    plain = made(sizes, epsilon, "prefix", 0, "no")
    assert mean_variance(plain, "prefix") > 1.2 * most


def test_ranges_lose_little() -> None:
    """8 % in docs/spec/fourier.md#6.2; by themselves they do not turn it on."""
    plain = made((24,), "1", "range", 0, "auto")
    assert not plain.restricted
    widened = mean_variance(made((24,), "1", "range"), "range")
    assert widened < 1.08 * mean_variance(plain, "range")


# -- when -----------------------------------------------------------------------------------------


def test_a_restricted_design_survives_its_json() -> None:
    design = made((6,), "1")
    data = design.to_json()
    assert data["restricted"] is True
    again = Fourier().restore(design.domain, design.epsilon, data)
    assert again == design
    with pytest.raises(SurveyError, match="true or false"):
        Fourier().restore(design.domain, design.epsilon, {**data, "restricted": 1})
    assert "restricted" not in made((6,), "1", "range", 0, "auto").to_json()


def test_only_prefixes_turn_it_on_by_themselves() -> None:
    assert find_one_sided(asked((8, 8))) == {0, 1}
    assert not find_one_sided(asked((8, 8), "range"))
    mixed = Workload(domain_of((8, 5)), (QueryClass(1.0, ((0, "prefix"), (1, "equality"))),), (), 2)
    assert find_one_sided(mixed) == {0}
    assert is_mostly_one_sided(mixed)
    design = Fourier().design(mixed.domain, Epsilon.parse("1"), {}, mixed)
    assert design.restricted
    assert design.group.orders == (10, 5)


def test_declared_queries_count_by_their_ends() -> None:
    """From either end; one code alone is an equality."""

    def declared(*spans: tuple[int, int]) -> Workload:
        share = 1.0 / len(spans)
        queries = tuple(DeclaredQuery(share, ((1.0, ((span,),)),)) for span in spans)
        return Workload(domain_of((20,)), (), queries, 1)

    assert is_mostly_one_sided(declared((0, 5), (12, 20)))
    assert is_mostly_one_sided(declared((0, 5), (3, 7)))
    assert not is_mostly_one_sided(declared((0, 5), (3, 7), (4, 9)))
    assert not is_mostly_one_sided(declared((0, 1), (19, 20)))


def test_what_is_too_large_stays_as_it_was_or_is_refused() -> None:
    """Several blocks of attributes, or too many cells."""
    small = Workload.everyday(domain_of((4, 4, 4)), dict.fromkeys(range(3), "prefix"), 2)
    epsilon = Epsilon.parse("1")
    assert not Fourier().design(small.domain, epsilon, {}, small).restricted
    with pytest.raises(SurveyError, match="one block"):
        Fourier().design(small.domain, epsilon, {"one_sided": "yes"}, small)
    large = asked((60, 60))
    with pytest.raises(SurveyError, match="3600 cells"):
        Fourier().design(large.domain, epsilon, {"one_sided": "yes"}, large)
    with pytest.raises(SurveyError, match="one_sided must be one of"):
        Fourier().design(large.domain, epsilon, {"one_sided": "maybe"}, large)


def test_smoothing_keeps_the_people_on_the_real_cells() -> None:
    design = made((24,), "2", "prefix", 1)
    codes = np.stack([np.arange(2_000) % 24, np.arange(2_000) % 2], axis=1)
    held = counted(design, design.randomize(codes, SeededEntropy(1)))
    planned = [design.prepare(LinearQuery.count(Box((((a, b),),)))) for a, b in [(0, 12), (12, 24)]]
    answer = design.smooth(held).answer(planned)
    assert answer.values.min() >= 0.0
    assert answer.values.sum() == pytest.approx(2_000)


@pytest.mark.parametrize("factors", [((0,), (1,)), ((0, 2), (1,)), ((1,), (0,), (2,))])
def test_products_of_arcs_tell_the_product_of_what_their_factors_tell(
    factors: tuple[tuple[int, ...], ...],
) -> None:
    """Against every family by itself, characters of smaller order than their factor among them;
    the negative control gives the families each other's shares."""
    workload = Workload.everyday(domain_of((6, 5, 4)), max_predicates=3)
    group, random = group_of(workload.domain, workload, 4096), np.random.default_rng(5)
    axes = [axis for factor in factors for axis in factor]
    orders = tuple(lcm(*group.shape(factor)) for factor in factors)
    characters = np.stack([random.integers(1, group.orders[a], 9) for a in axes], axis=1)
    lengths = np.stack([random.integers(1, order // 2 + 1, 9) for order in orders], axis=1)
    cluster, shares = Cluster("arcs", factors, orders, characters, lengths, group), random.random(9)
    expected = np.zeros(group.cells(cluster.axes))
    *_, (batch,) = mix([cluster], 3.0, np.arange(9), (), 1 << 20)
    power = batch.spread(shares) * np.abs(batch.transform) ** 2 * batch.halves()
    np.add.at(expected, batch.places().ravel(), power.ravel())
    dense = expected.reshape(group.shape(cluster.axes))
    faces = gather_faces({cluster.axes: dense + mirror(dense)})
    told = ListedQuestions(group, FamilyTable([cluster], shares), 3.0)
    found = gather_faces(dict(told.information()))
    assert found.keys() == faces.keys()
    for face, own in faces.items():
        np.testing.assert_allclose(found[face], own, 1e-12, 1e-15)
    exchanged = ListedQuestions(group, FamilyTable([cluster], shares[::-1]), 3.0)
    swapped = gather_faces(dict(exchanged.information()))
    assert any(not np.allclose(swapped[face], own) for face, own in faces.items())
