"""Designs in product form: what their weights tell, their plans, and when they are taken."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
import pytest
from support.fourier_designs import domain_of

from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.fourier import product_recipe as product
from ldpsql.mechanisms.fourier import recipe
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Group
from ldpsql.mechanisms.fourier.product_recipe import ProductDesign, design_product, list_shapes
from ldpsql.mechanisms.fourier.recipe import (
    Fourier,
    compressed_size,
    group_of,
    mean_variance,
    product_plan_of,
)
from ldpsql.wording.numbers import significant
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Plan
from ldpsql_lab.simulation import SeededEntropy

FOURIER, ONE, PAID = Fourier(), Epsilon.parse("1"), ((0.0, 1.0),)


def everyday(
    form: str = "auto", sizes: tuple[int, ...] = (24, 50), measures: int = 0
) -> FourierDesign:
    """For everything that is asked every day; designed anew."""
    domain = domain_of(sizes, PAID * measures)
    return FOURIER.design(domain, ONE, {"form": form}, Workload.everyday(domain))


@cache
def made(
    sizes: tuple[int, ...],
    measures: int,
    epsilon: str,
    form: str,
    equality: tuple[int, ...] = (),
    predicates: int = 2,
) -> FourierDesign:
    domain = domain_of(sizes, PAID * measures)
    workload = Workload.everyday(domain, dict.fromkeys(equality, "equality"), predicates)
    return FOURIER.design(domain, Epsilon.parse(epsilon), {"form": form}, workload)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("sizes", "measures", "epsilon", "equality", "most"),
    [
        ((32, 32), 0, "0.5", (), 1.02),
        ((32, 32), 0, "2", (), 1.02),
        ((24, 50), 0, "1", (), 1.02),
        ((24, 7, 40), 0, "1", (), 1.02),
        ((16, 12), 1, "1", (), 1.02),
        ((24, 50), 0, "1", (0,), 1.02),
    ],
)
def test_product_form_is_nearly_as_good_as_listing(
    sizes: tuple[int, ...],
    measures: int,
    epsilon: str,
    equality: tuple[int, ...],
    most: float,
) -> None:
    """Expected errors over those of the listed design, both from their finished plans."""
    listed = made(sizes, measures, epsilon, "listed", equality)
    product = made(sizes, measures, epsilon, "product", equality)
    assert product.table.products
    assert not listed.table.products
    assert sqrt(mean_variance(product) / mean_variance(listed)) <= most
    assert compressed_size(product.plan) < compressed_size(listed.plan)


def test_questions_are_those_of_the_plan() -> None:
    """Of shapes over even and odd sizes, with and without a measure, one by one and together."""
    domain = domain_of((7, 12, 10), PAID)
    workload = Workload.everyday(domain)
    group = group_of(domain, workload, 4096)
    folding, epsilon = Folding(group), Epsilon.parse("1")
    shapes = [
        (1.0, shape, [np.full(size, 1.0 / size) for size in shape.tables])
        for face in ((0, 1), (1, 2), (0, 2, 3))
        for shape in list_shapes(folding, face, np.e)
    ]
    for chosen in (*([own] for own in shapes), shapes):
        found = ProductDesign((), chosen)
        assert found.questions == product_plan_of(found, group, epsilon, 4).questions
    design = design_product(group, workload, np.e)
    assert design is not None
    assert design.questions == product_plan_of(design, group, epsilon, 4).questions


def test_sums_alone_may_be_asked_of_pairs() -> None:
    """Where no count needs the pair's own frequencies, those with the measure's sign are needed."""
    everyday = Workload.everyday(domain_of((24, 50), PAID))
    sums = [entry for entry in everyday.classes if entry.measure is not None]
    classes = tuple(replace(entry, weight=1.0 / len(sums)) for entry in sums)
    workload = replace(everyday, classes=classes)
    design = FOURIER.design(workload.domain, Epsilon.parse("1"), {"form": "product"}, workload)
    assert design.table.products
    assert design.find_missing() is None
    assert 0.0 < mean_variance(design) < np.inf


def test_large_listed_plans_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, and the remark says what was saved and what it costs."""
    monkeypatch.setattr(recipe, "LARGE_PLAN", 2000)
    design = everyday()
    assert design.table.products
    assert design.forms is not None
    assert design.forms.product == compressed_size(design.plan) < design.forms.listed
    listed = everyday("listed")
    error = sqrt(mean_variance(design) / mean_variance(listed))
    assert design.forms.error == pytest.approx(error)
    remark = design.remarks[-1]
    assert f"its {design.plan.questions} questions are in product form" in remark
    assert f"{design.forms.listed / 1e3:.1f} kB" in remark
    assert f"{significant(100 * (error - 1))} % more expected error" in remark


def test_forms_are_compared_without_working_anything_out_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the families of a plan nor what they tell."""
    monkeypatch.setattr(recipe, "LARGE_PLAN", 2000)
    plans = []
    of_plan = FamilyTable.of_plan

    def count(plan: Plan, group: Group) -> FamilyTable:
        plans.append(plan)
        return of_plan(plan, group)

    monkeypatch.setattr(FamilyTable, "of_plan", count)
    design = everyday()
    assert design.forms is not None
    assert len(plans) == 2
    assert "information" in vars(design.collected)


@pytest.mark.parametrize(
    ("limit", "value", "end"),
    [
        ("MOST_LOSS", 0.9, "{} % more expected error"),
        ("MOST_PRODUCT_CELLS", 99, "too many, or takes too long to find"),
    ],
)
def test_listed_plans_stay_where_product_form_is_worse_or_too_large(
    limit: str, value: float, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the remark says why, or by how much."""
    monkeypatch.setattr(recipe, "LARGE_PLAN", 2000)
    monkeypatch.setattr(recipe, limit, value)
    design = everyday()
    assert not design.table.products
    assert "listed one by one" in design.remarks[-1]
    more = 100 * (design.forms.error - 1) if design.forms else 0.0
    assert design.remarks[-1].endswith(end.format(significant(more)))


def test_listed_plans_stay_where_a_class_would_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the whole product form would be taken; the remark says what the class would lose."""
    monkeypatch.setattr(recipe, "LARGE_PLAN", 2000)
    monkeypatch.setattr(recipe, "MOST_CLASS_LOSS", 0.9)
    design, product = everyday(), everyday("product")
    workload = design.workload
    assert not design.table.products
    assert design.forms is not None
    losses = [
        mean_variance(replace(product, workload=own)) / mean_variance(replace(design, workload=own))
        for entry in workload.classes
        for own in [replace(workload, classes=(replace(entry, weight=1.0),))]
    ]
    assert design.forms.worst == pytest.approx(sqrt(max(losses)), rel=0.01)
    share = significant(100 * (design.forms.worst - 1))
    more = f"{share} % more expected error for one class of queries"
    assert design.remarks[-1].endswith(more)


def test_small_listed_plans_stay() -> None:
    """Nothing else is tried."""
    design = everyday(sizes=(12, 10))
    assert compressed_size(design.plan) <= recipe.LARGE_PLAN
    assert design.forms is None
    assert not design.table.products


@pytest.mark.parametrize(("sizes", "predicates"), [((12,), 2), ((12, 6, 5), 3), ((12, 6), 1)])
def test_product_form_is_for_pairs_of_dimensions(sizes: tuple[int, ...], predicates: int) -> None:
    domain = domain_of(sizes)
    workload = Workload.everyday(domain, None, predicates)
    group = group_of(domain, workload, 4096)
    assert design_product(group, workload, np.e) is None
    with pytest.raises(SurveyError, match="two dimensions together at most"):
        FOURIER.design(domain, Epsilon.parse("1"), {"form": "product"}, workload)


def test_plans_are_written_with_as_many_bits_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer make them smaller and hardly worse."""
    sizes, errors = [], []
    for most in (10_000, 650, 1):
        monkeypatch.setattr(recipe, "LARGE_PLAN", most)
        design = everyday("product")
        sizes.append(compressed_size(design.plan))
        errors.append(mean_variance(design))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    assert max(errors) < 1.02 * min(errors)


def test_a_device_draws_what_the_plan_says() -> None:
    """Every question of a large survey, and reports within their limits; JSON and back."""
    design = made((24, 50), 1, "1", "product")
    codes = np.zeros((50_000, 3), dtype=np.int64)
    drawn = design.randomize(codes, SeededEntropy(1))
    question, answer = (column.astype(np.int64) for column in drawn.columns.values())
    assert (answer < design.plan.limits[question, 0]).all()
    firsts = [face.first for face in design.table.products]
    assert set(np.searchsorted(firsts, question, "right")) >= set(range(1, len(firsts) + 1))
    again = FOURIER.restore(design.domain, design.epsilon, json.loads(json.dumps(design.to_json())))
    assert again == design


def test_large_surveys_stay_listed_where_product_form_has_too_many_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More than a plan may have are no reason to leave the mechanism out."""
    monkeypatch.setattr(recipe, "LARGE_PLAN", 100)
    small = (12, 10)
    usual = everyday("auto", small, 1)
    assert usual.table.products
    monkeypatch.setattr(product, "MOST_QUESTIONS", 100)
    listed = everyday("auto", small, 1)
    assert not listed.table.products
    assert "product form would have too many" in listed.remarks[-1]
    with pytest.raises(SurveyError, match="no more questions than a plan may have"):
        everyday("product", small, 1)
