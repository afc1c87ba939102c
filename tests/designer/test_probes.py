"""Probes: all queries of small classes, evenly spread ones of large classes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ldpsql.designer.probes import MOST_CLASSES, MOST_PER_CLASS, _predicate, probes_of
from ldpsql.designer.wishes import Wishes, read_wishes
from ldpsql.workload import QueryClass, Workload, gram
from ldpsql_device.schema import RecordDomain, Schema


def domain(*sizes: int) -> RecordDomain:
    return RecordDomain(
        tuple(f"x{i}" for i in range(len(sizes))), sizes, ("pay",), ((0.0, 4.0),), (None,)
    )


def single(*predicates, sizes) -> Wishes:
    return Wishes(Workload(domain(*sizes), (QueryClass(1.0, predicates),)))


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("kind", ["range", "prefix", "equality"])
def test_numbers_go_through_all_predicates(kind, size):
    count = size * (size + 1) // 2 if kind == "range" else size
    found = [_predicate(kind, size, number) for number in range(count)]
    assert len(set(found)) == count
    matrix = np.zeros((size, size))
    for ((low, high),) in found:
        matrix[low:high, low:high] += 1 / count
    assert matrix == pytest.approx(gram(kind, size))
    if kind == "range":
        lengths = [high - low for ((low, high),) in found]
        assert lengths == sorted(lengths)


def test_a_small_class_is_probed_by_all_its_queries():
    (probe,) = probes_of(single((0, "range"), sizes=(8,)), 200)
    assert len(set(probe.queries)) == 36


@pytest.mark.parametrize("kind", ["range", "prefix", "equality"])
def test_a_large_class_is_probed_evenly(kind):
    """The Gram of the probes is near that of the class, for one predicate and for two."""
    size = 64
    (probe,) = probes_of(single((0, kind), (1, "range"), sizes=(size, 40)), 200)
    assert len(probe.queries) == MOST_PER_CLASS
    for axis, (own, length) in enumerate(((kind, size), ("range", 40))):
        cover = np.zeros(length)
        for query in probe.queries:
            for low, high in query.terms[0][1].sides[axis] or ((0, length),):
                cover[low:high] += 1 / len(probe.queries)
        assert np.abs(cover - gram(own, length).diagonal()).max() < 0.15
    mean = np.mean(
        [
            np.prod([_share(s, m) for s, m in zip(q.terms[0][1].sides, (size, 40), strict=True)])
            for q in probe.queries
        ]
    )
    expected = gram(kind, size).trace() / size * gram("range", 40).trace() / 40
    assert mean == pytest.approx(expected, rel=0.06)


def _share(side, size) -> float:
    return 1.0 if side is None else sum(high - low for low, high in side) / size


def test_words_units_and_targets():
    schema = Schema.from_keys(
        {
            "dimension": {
                "age": {"type": "int", "domain": [0, 3]},
                "state": {"type": "category", "values": ["CA", "NY"]},
            },
            "measure": {"pay": {"bounds": [2, 10]}},
        }
    )
    text = "SELECT AVG(pay), SUM(pay) FROM app WHERE age < 2"
    found = {
        p.text: p
        for p in probes_of(
            read_wishes({"queries": [text], "max_predicates": 2}, "app", schema), 100
        )
    }
    assert (
        list(found)
        == [
            "age range",
            "SUM(pay) by age range",
            "state =",
            "SUM(pay) by state =",
            "age range x state =",
            "SUM(pay) by age range x state =",
            "query 1: COUNT",
            "query 1: SUM(pay)",
        ]
        or len(found) == 8
    )
    middle = found["SUM(pay) by age range"]
    assert (middle.is_about_middle, middle.unit, middle.shown, middle.is_count) == (
        True,
        1,
        4,
        False,
    )
    assert found["age range"].is_count
    assert found["age range x state ="].group == "COUNT, 2 predicates"


def test_sums_of_declared_queries_are_in_units_of_the_largest_bound():
    schema = Schema.from_keys(
        {
            "dimension": {"age": {"type": "int", "domain": [0, 3]}},
            "measure": {"pay": {"bounds": [-10, 2]}},
        }
    )
    text = "SELECT SUM(pay) FROM app WHERE age < 2"
    (probe,) = probes_of(read_wishes({"queries": [text]}, "app", schema), 100)
    assert (probe.is_about_middle, probe.unit, probe.shown) == (False, pytest.approx(10), 1.0)


def test_of_many_classes_some_are_drawn_and_weights_stay():
    wishes = Wishes(Workload.everyday(domain(*[20] * 12)))
    probes = probes_of(wishes, 72)
    assert len(wishes.workload.classes) == 2 * (12 + 66)
    assert len(probes) <= MOST_CLASSES
    assert probes == probes_of(wishes, 72)
    drawn, whole = Counter(), Counter()
    for probe in probes:
        drawn[probe.group] += probe.weight
    for entry in wishes.workload.classes:
        target = "COUNT" if entry.measure is None else "SUM(pay)"
        number = len(entry.predicates)
        whole[f"{target}, {number} predicate{'s' * (number > 1)}"] += entry.weight
    assert drawn == pytest.approx(whole)
