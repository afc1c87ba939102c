"""The optimiser on dictionaries whose optimum the specification gives (section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from support.fourier_designs import channel, domain_of, told

from ldpsql.boxes import Box, LinearQuery
from ldpsql.mechanisms.fourier import optimise
from ldpsql.mechanisms.fourier.components import Component
from ldpsql.mechanisms.fourier.demand import demand, floor
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.dictionary import Dictionary
from ldpsql.mechanisms.fourier.finish import table_of
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.layout import group_of
from ldpsql.mechanisms.fourier.optimise import Problem
from ldpsql.workload import QueryClass, Workload
from ldpsql_device.epsilon import Epsilon

STEPS = 600


@dataclass(frozen=True, eq=False)
class ArcsOnly(Dictionary):
    """Arcs with the two widths about t0 r, as in the specification's vectors."""

    def components(self) -> list[Component]:
        """Arcs of every face."""
        return [arc for face in self.folding.group.faces for arc in self._arcs(face)]

    def _arc_lengths(self, order: int) -> np.ndarray:
        ideal = self._least * order
        wanted = np.clip([np.floor(ideal), np.ceil(ideal)], 1, max(order // 2, 1))
        return np.unique(wanted.astype(np.int64))


def all_of(sizes: tuple[int, ...], kind: str) -> Workload:
    """All queries with a predicate of the kind on every dimension."""
    entry = QueryClass(1.0, tuple((axis, kind) for axis in range(len(sizes))))
    return Workload(domain_of(sizes), (entry,), (), len(sizes))


def problem_of(workload: Workload, epsilon: str) -> Problem:
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group)
    needed = folding.folded(demand(workload, group))
    odds = float(Epsilon.parse(epsilon).odds)
    dictionary = ArcsOnly(folding, needed, odds, frozenset())
    return Problem(folding, needed, floor(workload, group), dictionary.components())


def solved(
    sizes: tuple[int, ...], kind: str, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[FourierDesign, float, float]:
    """(design, F in the units of the specification, v) at a gap of 1e-12."""
    monkeypatch.setattr(optimise, "GAP", 1e-12)
    workload = all_of(sizes, kind)
    problem = problem_of(workload, epsilon)
    weights = problem.solve(problem.start(), 60_000)
    table = table_of(weights, problem.components)
    group = problem.folding.group
    design = FourierDesign(workload.domain, Epsilon.parse(epsilon), workload, group, table)
    needed, known = demand(workload, group), design.collected.information
    objective = float(sum((needed[face] / known[face]).sum() for face in needed))
    assert objective == pytest.approx(problem.objective(problem.information(weights)), rel=1e-8)
    return design, objective * int(np.prod(sizes)), objective + floor(workload, group)


def moment(design: FourierDesign, *sides: tuple[int, int]) -> float:
    """M2 of the count of a box."""
    query = design.plan(LinearQuery.count(Box(tuple((side,) for side in sides))))
    faces = query.faces(design.group)
    return design.collected.moment(faces, faces, query.whole(design.group) ** 2)


def at_zero(design: FourierDesign, *sides: tuple[int, int]) -> float:
    """E c^2 of the count of a box if everybody is at 0, from the channel and one-report answers."""
    query = design.plan(LinearQuery.count(Box(tuple((side,) for side in sides))))
    return float(channel(design)[:, 0] @ told(design, [query])[:, 0] ** 2)


def test_two_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    design, objective, error = solved((2,), "range", "1", monkeypatch)
    assert design.collected.information[(0,)] == pytest.approx([0.21355227], abs=1e-8)
    assert objective == pytest.approx(1.56089813, abs=1e-8)
    assert error == pytest.approx(0.61378240, abs=1e-8)


def test_five_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    design, objective, error = solved((5,), "range", "1", monkeypatch)
    expected = [0.07762530, 0.05139837, 0.05139837, 0.07762530]
    np.testing.assert_allclose(design.collected.information[(0,)], expected, atol=2e-7)
    assert objective == pytest.approx(13.71931019, abs=1e-7)
    assert error == pytest.approx(2.55719537, abs=1e-7)
    assert moment(design, (0, 3)) == pytest.approx(3.65264287, abs=1e-5)
    assert at_zero(design, (0, 3)) == pytest.approx(3.86894043, abs=1e-4)


def test_eight_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    design, objective, error = solved((8,), "range", "1", monkeypatch)
    half = [0.05987020, 0.03650061, 0.02479905, 0.02110215]
    np.testing.assert_allclose(design.collected.information[(0,)][:4], half, atol=1e-7)
    assert objective == pytest.approx(33.30338495, abs=1e-7)
    assert error == pytest.approx(3.98063145, abs=1e-7)
    assert moment(design, (0, 5)) == pytest.approx(5.24564520, abs=1e-5)
    assert at_zero(design, (0, 5)) == pytest.approx(5.29920318, abs=1e-4)


def test_the_weights_and_contributions_of_eight_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters are listed by order, widths from small to large."""
    design, *_ = solved((8,), "range", "1", monkeypatch)
    found, contributions = {}, {}
    query = design.plan(LinearQuery.count(Box((((0, 5),),))))
    amounts, start, number = told(design, [query])[:, 0], 0, 0
    for cluster in design.table.clusters:
        for row in range(len(cluster)):
            key = (int(cluster.characters[row, 0]), int(cluster.parameters[row, 0]))
            found[key] = design.table.shares[number]
            contributions[key] = amounts[start : start + cluster.phases]
            start, number = start + cluster.phases, number + 1
    expected = {(4, 1): 0.08515545, (1, 2): 0.57084487, (3, 2): 0.17302953}
    expected |= {(1, 3): 0.13559007, (3, 3): 0.03538009}
    for key, share in found.items():
        assert share == pytest.approx(expected.get(key, 0.0), abs=1e-3)
    assert sorted(contributions[4, 1]) == pytest.approx([-2.11238226, 3.36238226], abs=1e-5)


def test_the_objective_never_rises_at_half_steps() -> None:
    """The first twenty updates have the power one half."""
    for sizes, epsilon in (((12,), "0.5"), ((5, 6), "2")):
        problem = problem_of(all_of(sizes, "range"), epsilon)
        weights = problem.start()
        path = [problem.objective(problem.information(weights))]
        for _ in range(15):
            weights = problem.solve(weights, 1)
            assert sum(float(own.sum()) for own in weights) == pytest.approx(1.0)
            path.append(problem.objective(problem.information(weights)))
        assert all(after <= before * (1 + 1e-12) for before, after in pairwise(path))
        assert path[-1] < path[0]


def test_at_the_end_no_candidate_gains_more_than_the_objective() -> None:
    """The certificate: max gain - F at most a thousandth of the error."""
    problem = problem_of(all_of((5, 6), "range"), "1")
    weights = problem.solve(problem.start(), STEPS)
    known = problem.information(weights)
    objective = problem.objective(known)
    slope = np.where(problem.demand > 0.0, problem.demand / known**2, 0.0)
    best = max(float(component.gains(slope).max()) for component in problem.components)
    assert best - objective <= optimise.GAP * (objective + problem.floor)
    early = problem.information(problem.solve(problem.start(), 2))
    slope = np.where(problem.demand > 0.0, problem.demand / early**2, 0.0)
    best = max(float(component.gains(slope).max()) for component in problem.components)
    assert best - problem.objective(early) > optimise.GAP * (objective + problem.floor)


def test_something_needed_and_not_informed_costs_infinitely_much() -> None:
    problem = problem_of(all_of((8,), "range"), "1")
    nothing = [np.zeros(component.shape) for component in problem.components]
    assert problem.objective(problem.information(nothing)) == float("inf")


def test_equality_on_six_codes_is_randomized_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best is to tell the whole value: one family of single points."""
    design, _, error = solved((6,), "equality", "2", monkeypatch)
    np.testing.assert_allclose(design.collected.information[(0,)], [0.26594814] * 5, atol=1e-7)
    assert error == pytest.approx(0.38335160, abs=1e-7)


def test_a_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    design, objective, error = solved((4, 3), "range", "1", monkeypatch)
    known = design.collected.information
    np.testing.assert_allclose(known[(1,)], [0.0363686] * 2, atol=1e-6)
    np.testing.assert_allclose(known[(0,)], [0.03287271] * 3, atol=1e-6)
    inner = [[0.01754532] * 2, [0.0134667] * 2, [0.01754532] * 2]
    np.testing.assert_allclose(known[(0, 1)], inner, atol=1e-6)
    assert objective == pytest.approx(69.63145256, abs=1e-6)
    assert error == pytest.approx(5.64058401, abs=1e-7)
    assert moment(design, (0, 3), (0, 2)) == pytest.approx(8.83661451, abs=1e-4)
    assert at_zero(design, (0, 3), (0, 2)) == pytest.approx(8.34528609, abs=1e-3)
