"""Classes that count by what each could have alone."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.surveys import boolean, integer, survey_toml

from ldpsql import designer
from ldpsql.algebra.least_error import sign_bound, spectral_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.designer import design_survey
from ldpsql.designer.fairness import ask_alone, find_distances, own_best, weigh_fairly
from ldpsql.designer.file import read_workload
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.spectra import class_power
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.staircase.bound_of_totals import least_variance
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema

TWO = Epsilon.parse("2")
COLUMNS = integer("x", 0, 40), boolean("y")
DOMAIN = RecordDomain(("hour", "day", "zone"), (24, 7, 20), ("fare",), ((0.0, 9.0),), (None,))
ABSOLUTE = Workload.everyday(DOMAIN)


@cache
def design_for(workload: Workload) -> FourierDesign:
    """The design of a workload."""
    design = mechanism("fourier").design(DOMAIN, TWO, {}, workload)
    assert isinstance(design, FourierDesign)
    return design


@cache
def ratios(workload: Workload) -> list[float]:
    """Of every class: the root of its mean variance over all its queries, to that of its own
    best."""
    design, found = design_for(workload), []
    for entry in workload.classes:
        own = class_power(replace(entry, weight=1.0), design.group)
        known = design.collected.information
        variance = sum(float((power / known[face] - power).sum()) for face, power in own)
        found.append(math.sqrt(variance / own_best(entry, DOMAIN, TWO)))
    return found


def test_printed_distances_are_those_of_a_sample() -> None:
    design = design_for(ABSOLUTE)
    found = [each.ratio for each in find_distances(design, ABSOLUTE, TWO, 1000)]
    # Sums are compared with all surveys, and not only with those of two levels.
    own = [
        ratio * math.sqrt(own_best(entry, DOMAIN, TWO) / least_variance(alone, TWO))
        for ratio, entry in zip(ratios(ABSOLUTE), ABSOLUTE.classes, strict=True)
        for alone in [ask_alone(entry, DOMAIN)]
    ]
    np.testing.assert_allclose(found, own, rtol=0.1)
    assert max(np.array(own) / ratios(ABSOLUTE)) > 1.05


def test_people_who_have_a_value_count_as_part_of_a_mean() -> None:
    domain = RecordDomain(
        ("sex", "pay"), (2, 3), (), (), (), (2, 3), nullable=((0.0, 9.0, 2, "linear"),)
    )
    fair = weigh_fairly(Workload.everyday(domain), TWO)
    weights = {entry.predicates[1:]: entry.weight for entry in fair.classes}
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights[((1, "present"),)] == pytest.approx(weights[((1, "level"),)] / 3.0)
    assert weights[()] > 0.1


def test_the_largest_distance_is_within_five_percent_of_the_least() -> None:
    """By duality: no design's largest ratio is below the mean under these weights."""
    fair = weigh_fairly(ABSOLUTE, TWO)
    assert sum(entry.weight for entry in fair.classes) == pytest.approx(1.0)
    found = ratios(fair)
    shares = [entry.weight * own_best(entry, DOMAIN, TWO) for entry in fair.classes]
    pairs = zip(shares, found, strict=True)
    least = math.sqrt(sum(share * own**2 for share, own in pairs) / sum(shares))
    assert max(found) <= 1.05 * least
    # The negative control.
    assert max(ratios(ABSOLUTE)) > 1.25 * max(found)


def test_queries_keep_their_weight() -> None:
    schema = Schema.from_keys(
        {"dimension": {"x": {"type": "int", "domain": [0, 9]}, "y": {"type": "bool"}}}
    )
    keys = {"queries": ["SELECT COUNT(*) FROM t WHERE x < 3"], "max_predicates": 2}
    workload = read_workload(keys, "t", schema)
    fair = weigh_fairly(workload, TWO)
    assert fair.queries == workload.queries
    assert sum(entry.weight for entry in fair.classes) == pytest.approx(0.5)
    assert len({round(entry.weight, 6) for entry in fair.classes}) > 1


def test_the_own_best_is_the_bound_of_a_survey_of_the_class_alone() -> None:
    entry = QueryClass(0.25, ((1, "range"),))
    alone = RecordDomain(("day",), (7,), (), (), ())
    single = Workload(alone, (QueryClass(1.0, ((0, "range"),)),), (), 1)
    assert own_best(entry, DOMAIN, TWO) == spectral_bound(single, TWO)
    paid = replace(alone, measure_names=("pay",), bounds=((0.0, 9.0),), measured=(None,))
    ranges = Workload(paid, (QueryClass(1.0, ((0, "range"),), 0),))
    assert own_best(QueryClass(0.5, ((1, "range"),), 0), DOMAIN, TWO) == sign_bound(ranges, TWO)


def test_a_file_says_which_weights() -> None:
    text = survey_toml(*COLUMNS, epsilon="2", mechanism="fourier")
    fair = design_survey(text)
    assert len({entry.weight for entry in fair.workload.classes}) > 1
    assert len(fair.distances) == len(fair.workload.classes)
    named = design_survey(text + '[workload]\nweights = "fair"\n')
    assert named.workload == fair.workload
    same = design_survey(text + '[workload]\nweights = "absolute"\n')
    assert len({entry.weight for entry in same.workload.classes}) == 1
    assert same.distances == ()
    with pytest.raises(SurveyError, match="fair, absolute, not 'even'"):
        design_survey(text + '[workload]\nweights = "even"\n')


@pytest.mark.parametrize(
    ("mechanism", "times"),
    [("hio", 0), ("grr", 0), ("hio, optimal", 1), ("fourier", 1)],
)
def test_weights_are_found_where_the_design_depends_on_them(monkeypatch, mechanism, times) -> None:
    """Once; and for whoever asks for the workload, in any case."""
    found = list[Workload]()

    def weigh(workload: Workload, epsilon: Epsilon) -> Workload:
        found.append(weigh_fairly(workload, epsilon))
        return found[-1]

    monkeypatch.setattr(designer, "weigh_fairly", weigh)
    name, _, allocation = mechanism.partition(", ")
    options = {"allocation": allocation} if allocation else None
    designed = design_survey(survey_toml(*COLUMNS, epsilon="2", mechanism=name, options=options))
    assert len(found) == times
    assert [designed.workload] == found
    assert [designed.workload] == found


def test_measures_without_dimensions_are_weighed_beside_what_is_known() -> None:
    """How many people there are is known and keeps its weight; the sums share the rest."""
    domain = RecordDomain((), (), ("a", "b"), ((0.0, 1.0), (-1.0, 1.0)), (None, None))
    workload = Workload.everyday(domain)
    known = [entry for entry in workload.classes if entry.measure is None]
    assert known, "the case must be one where something is known"
    weighed = weigh_fairly(workload, Epsilon.parse("1"))
    assert [entry for entry in weighed.classes if entry.measure is None] == known
    sums = [entry.weight for entry in weighed.classes if entry.measure is not None]
    assert sums == pytest.approx([(1.0 - sum(entry.weight for entry in known)) / 2.0] * 2)
