"""The choice of a mechanism by its expected error."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np
import pytest
from support.partial_designs import PartialRecipe

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload
from ldpsql.designer import auto
from ldpsql.designer.auto import (
    FINAL,
    Ranking,
    bound_of,
    choose,
)
from ldpsql.designer.forecast import Forecast, sample_queries
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.fourier.recipe import choose_bins, find_fitting_group
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central

ONE = Epsilon.parse("1")
SIGNED = RecordDomain(("x", "y"), (12, 3), ("pay",), ((2.0, 10.0),), (None,))


def everyday(*sizes: int, bounds=()) -> Workload:
    names = tuple(f"x{i}" for i in range(len(sizes)))
    measures = tuple(f"m{i}" for i in range(len(bounds)))
    domain = RecordDomain(names, sizes, measures, tuple(bounds), (None,) * len(bounds))
    return Workload.everyday(domain)


MEASURED = everyday(12, bounds=[(0.0, 5.0)])


@cache
def chosen(workload: Workload) -> Ranking:
    """What is chosen for 1000 people."""
    return choose(workload, ONE, 1000)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "workload",
    [
        MEASURED,
        everyday(12, 3),
        everyday(1),
        everyday(bounds=[(0.0, 1.0)]),
    ],
    ids=["a measure", "2 dimensions", "one code", "a measure alone"],
)
def test_the_chosen_one_is_the_best_of_all(workload):
    choice = chosen(workload)
    samples = sample_queries(workload, FINAL)
    for name, maker in MECHANISMS.items():
        if name in choice.left_out:
            continue
        for options in ({}, {"fanout": 2}, {"inference": "consistent", "allocation": "optimal"}):
            try:
                design = maker.design(workload.domain, ONE, options, workload)
                error = Forecast.of(design, samples, 1000).error
            except (SurveyError, UnsupportedSQL):
                continue
            assert choice.best.forecast.error <= error * 1.001, (name, options)
    errors = [candidate.rank for candidate in choice.ranked]
    assert errors == sorted(errors)


def test_what_wants_to_be_asked_for_by_name_is_left_out_with_its_reason(monkeypatch):
    """A prior is nobody's workload; a slow design is not made to be thrown away."""
    workloads = [Workload.everyday(everyday(size).domain, {0: "prefix"}) for size in (12, 100)]
    small = choose(workloads[0], ONE, 1000)
    few = {name: mechanism(name) for name in ("staircase", "hio")}
    monkeypatch.setattr(auto, "MECHANISMS", few)
    large = choose(workloads[1], ONE, 1000)
    assert "by name" in small.left_out["truthful"]
    assert small.best.name == "staircase"
    assert "takes about 5 s for 100 combinations" in large.left_out["staircase"]


@pytest.mark.slow
def test_it_is_the_same_every_time():
    first, second = (choose(everyday(4, 3), ONE, 1000) for _ in range(2))
    assert [c.name for c in first.ranked] == [c.name for c in second.ranked]
    assert first.best.forecast.design == second.best.forecast.design


def test_what_is_left_out_says_why():
    choice = chosen(MEASURED)
    assert "takes no private measure" in choice.left_out["hio"]
    assert "no option" not in "".join(choice.left_out.values())
    assert {c.name for c in choice.ranked} | set(choice.left_out) == set(MECHANISMS)


@pytest.mark.slow
def test_sensitive_values_bring_in_what_spares_the_others():
    """The stronger definition only; the weaker one is left to whoever names it."""
    domain = RecordDomain(("x", "y"), (8, 8), (), (), (), (8, 8), ((0,), (0,)))
    choice = choose(Workload.everyday(domain), Epsilon.parse("2"), 1000)
    kinds = {c.name: c.forecast.design.guarantee.kind for c in choice.ranked}
    assert (choice.best.name, kinds["cprr"]) == ("cprr", "uldp")
    assert set(kinds.values()) == {"local", "uldp"}
    for name in ("jurr", "jurr-g", "tdrr"):
        assert "name it to use it" in choice.left_out[name]
    assert choice.left_out["jd-grr"] == "it is grr under another name"
    line = RecordDomain(("x",), (9,), (), (), (), (), ((0, 1),))
    names = {c.name for c in choose(Workload.everyday(line), ONE, 1000).ranked}
    assert {"urr", "urap", "cprr", "grr"} <= names


@pytest.mark.slow
def test_what_takes_too_long_is_left_out(monkeypatch):
    """By a clock that goes on whenever it is looked at: the first has time of its own, every other
    one ten seconds, and a tenth of them in haste."""
    few = {name: mechanism(name) for name in ("staircase", "fourier", "grr")}
    monkeypatch.setattr(auto, "MECHANISMS", few)
    looks = 0

    def choose_by(seconds, *, quick=False):
        def look():
            nonlocal looks
            looks += 1
            return looks * seconds

        monkeypatch.setattr(auto, "clock", look)
        told = []
        choice = choose(everyday(12, bounds=[(0.0, 5.0)]), ONE, 1000, told.append, quick=quick)
        late = {n for n, why in choice.left_out.items() if "comparing it would take" in why}
        return late, told[0]

    assert choose_by(0.0) == (set(), "trying staircase, at most 330 s left")
    tick = 20.0 / looks  # all looks together take twenty seconds, and most are fourier's
    assert choose_by(tick)[0] == {"fourier"}
    assert choose_by(tick / 10.0)[0] == set()
    late, told = choose_by(tick / 10.0, quick=True)
    assert (late, told) == ({"fourier"}, "trying staircase, at most 303 s left")


def test_without_time_nothing_is_said_to_take_more_than_0_s(monkeypatch):
    few = {name: mechanism(name) for name in ("staircase", "fourier")}
    monkeypatch.setattr(auto, "MECHANISMS", few)
    ticks = itertools.count()
    monkeypatch.setattr(auto, "clock", lambda: 1e-3 * next(ticks))
    reasons = []
    for seconds in (10.0, 0.0):
        monkeypatch.setattr(auto, "MOST_SECONDS", seconds)
        reasons.append(choose(everyday(12), ONE, 1000).left_out)
    used_up = "the time for comparing mechanisms is used up; name it to use it"
    assert reasons == [{}, {"fourier": used_up}]


def test_for_a_crowd_those_are_tried_first_that_choose_their_budgets_for_one(monkeypatch):
    """Trees over many columns would use up the time, and never be chosen."""
    few = {name: mechanism(name) for name in ("hio", "fourier", "grr", "srr-ss")}
    monkeypatch.setattr(auto, "MECHANISMS", few)
    tried = {}
    for promise in (ONE, Central(ONE, Fraction(1, 100_000), 1000)):
        told: list[str] = []
        choose(everyday(6), promise, 1000, told.append)
        tried[promise] = [text.split()[1].rstrip(",") for text in told]
    assert [*tried.values()] == [[*few], ["fourier", "srr-ss", "hio", "grr"]]


def test_for_a_crowd_what_errs_less_where_people_are_uneven_may_err_a_little_more(monkeypatch):
    """Forecasts are for people spread evenly, of whom answers to drawn questions say least."""
    monkeypatch.setattr(
        auto, "MECHANISMS", {name: mechanism(name) for name in ("fourier", "srr-ss")}
    )
    sizes = (12, 9, 7, 6, 4, 3, 3, 2, 2, 2)
    classes = [
        QueryClass(size / sum(sizes), ((axis, "equality"),)) for axis, size in enumerate(sizes)
    ]
    workload = Workload(everyday(*sizes).domain, tuple(classes))
    central = Central(Epsilon.parse("0.6"), Fraction(1, 45_211), 45_211)
    first, second = choose(workload, central, 45_211).ranked
    assert (first.name, second.name) == ("srr-ss", "fourier")
    assert second.rank < first.rank < auto.NEARLY_BEST * second.rank
    smooth = choose(workload, central, 45_211, estimator="smooth")
    assert smooth.best.name == "fourier"
    pairs = choose(Workload.everyday(everyday(16, 8).domain), central, 45_211)
    assert pairs.ranked[0].rank == min(each.rank for each in pairs.ranked)


def test_nothing_unsound_is_chosen(monkeypatch):
    """Unlimited epsilon would win every comparison."""

    @dataclass(frozen=True)
    class Unsound(PartialRecipe):
        name: str = "unsound"

        def design(self, domain, epsilon, options, workload=None):
            design = mechanism("grr").design(domain, Epsilon.parse("20"), options, workload)
            nothing = StatedGuarantee("none", None)
            return type("Bad", (type(design),), {"guarantee": nothing})(**vars_of(design))

    def vars_of(design):
        return {key: getattr(design, key) for key in type(design).__dataclass_fields__}

    monkeypatch.setattr(auto, "MECHANISMS", {"unsound": Unsound(), "grr": mechanism("grr")})
    choice = choose(everyday(9), ONE, 1000)
    assert choice.best.name == "grr"
    assert choice.left_out == {"unsound": "it is not differentially private"}


def test_no_mechanism_at_all_is_refused_with_the_reasons(monkeypatch):
    monkeypatch.setattr(auto, "MECHANISMS", {"hio": mechanism("hio")})
    with pytest.raises(
        SurveyError, match=r"no mechanism fits this survey: hio: .*no private measure"
    ):
        choose(everyday(9, bounds=[(0.0, 5.0)]), ONE, 1000)


def test_a_mechanism_that_cannot_answer_is_left_out():
    """Consistent inference where no group informs what is asked would predict infinity."""
    workload, samples = everyday(12), sample_queries(everyday(12), 10)
    design = mechanism("hio").design(workload.domain, ONE, {"fanout": 12})
    nothing = type("Silent", (type(design),), {"variance": lambda _, q, n: np.full(len(q), np.inf)})
    silent = nothing(**{key: getattr(design, key) for key in type(design).__dataclass_fields__})
    with pytest.raises(SurveyError, match="does not answer every query: x0 range"):
        Forecast.of(silent, samples, 100)


def test_the_forecast_is_the_designs_mean_variance():
    workload = Workload(
        SIGNED, (QueryClass(0.5, ((1, "equality"),)), QueryClass(0.5, ((1, "equality"),), 0))
    )
    samples = sample_queries(workload, 100)
    design = mechanism("ehio").design(SIGNED, ONE, {})
    found = Forecast.of(design, samples, 5000)
    boxes = [Box((None, ((code, code + 1),))) for code in range(3)]
    counts = design.variance([design.prepare(LinearQuery.count(box)) for box in boxes], 5000).mean()
    assert found.variances[0] == pytest.approx(counts)
    middle = replace(SIGNED, bounds=((-4.0, 4.0),))
    centred = mechanism("ehio").design(middle, ONE, {})
    sums = centred.variance(
        [centred.prepare(LinearQuery.sum(0, box)) for box in boxes], 5000
    ).mean()
    shown = found.expect_errors(5)
    assert shown[1].error == pytest.approx(sqrt(sums))
    assert found.error == pytest.approx(sqrt((counts + sums / 16) / 2))


def test_declared_sums_are_predicted_as_they_are_asked():
    query = DeclaredQuery(1.0, ((1.0, (None, ((0, 1),))),), 0, 0.6, 0.4)
    samples = sample_queries(Workload(SIGNED, (), (query,)), 100)
    design = mechanism("ehio").design(SIGNED, ONE, {})
    asked = LinearQuery.sum(0, Box((None, ((0, 1),))))
    variance = design.variance([design.prepare(asked)], 700)[0]
    found = Forecast.of(design, samples, 700)
    assert found.expect_errors(5)[0].error == pytest.approx(sqrt(variance))
    assert found.error == pytest.approx(sqrt(variance) / 10)
    assert found.expect_errors(5)[0].share == pytest.approx(sqrt(variance) / 10 / 700)


def test_a_bound_is_given_below_epsilon_3_and_nobody_is_below_it():
    choice = chosen(MEASURED)
    assert choice.bound is not None
    assert all(candidate.forecast.ratio(choice.bound) > 0.99 for candidate in choice.ranked)
    assert bound_of(everyday(16), Epsilon.parse("3")) is None
    assert bound_of(everyday(64, 64), ONE) is None


def test_large_domains_are_tried_with_defaults_alone():
    large = RecordDomain(("x", "y"), (4096, 4096), (), (), ())
    for recipe in MECHANISMS.values():
        assert list(recipe.variants(Workload.everyday(large), ONE, 1000)) == [{}]


def test_mechanisms_over_marginals_collect_what_is_asked_together():
    """For a local promise too, unless the domain is large."""
    domain = everyday(4, 3, 5).domain
    asked = (Box((((1, 2),), ((0, 1),), None)), Box((None, None, ((2, 3),))))
    queries = tuple(DeclaredQuery(0.5, ((1.0, box.sides),)) for box in asked)
    choice = choose(Workload(domain, (), queries, 2), ONE, 1000)
    found = {candidate.name: candidate for candidate in choice.ranked}["srr-ss"]
    assert found.options == {"ways": 0}
    assert found.forecast.design.marginals == ((0, 1), (2,))


def test_marginals_of_several_attributes_are_tried_where_that_is_quick_or_made_for_them():
    central = Central(ONE, Fraction(1, 10_000), 10_000)
    for sizes, promise, count in (
        ((64, 64), ONE, 1),
        ((128, 128), ONE, 0),
        ((128, 128), central, 1),
        ((64,), central, 0),
    ):
        tried = list(mechanism("srr-ss").variants(everyday(*sizes), promise, 1000))
        assert tried == [{}, {"ways": 0}][: 1 + count]


def test_a_very_large_dimension_gets_bins_that_its_people_can_tell():
    large = RecordDomain(("x",), (70_000,), (), (), ())
    asked = Workload.everyday(large)
    assert list(mechanism("fourier").variants(asked, ONE, 100_000)) == [{"bins": 1024}]
    assert [choose_bins(n) for n in (1, 10_000, 1_000_000, 10**9)] == [256, 256, 2048, 4096]


@pytest.mark.parametrize("declared", [False, True])
def test_codes_that_are_asked_one_by_one_are_never_binned(declared: bool) -> None:
    """Of few too many codes for the default bins every one keeps its own; of very many an oracle is
    chosen, and fourier says why it is not."""
    for size in (5_000, 100_000):
        domain = RecordDomain(("item",), (size,), (), (), ())
        workload = Workload.everyday(domain, {0: "equality"})
        if declared:
            row = DeclaredQuery(1.0, ((1.0, (((7, 8),),)),))
            workload = replace(workload, classes=(), queries=(row,))
        recipe = mechanism("fourier")
        if size < 10_000:
            group = find_fitting_group(domain, workload, 4096)
            assert group.bins == (size,)
            assert not group.is_coarse
        else:
            with pytest.raises(SurveyError, match="item has 100000 values that are asked for one"):
                recipe.design(domain, ONE, {}, workload)
            assert choose(workload, ONE, 1_000_000).best.name == "olh"
    ranges = Workload.everyday(domain)
    assert find_fitting_group(domain, ranges, 4096).is_coarse
