"""Coverage of the 95 % intervals of quantiles of durations that are collected on a log scale.

People are drawn anew for every survey from a distribution of durations, and their reports from the
exact law of the plan. The truth is the quantile of the distribution, not that of bins: what the
interpolation within a bin gets wrong counts against the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.function_coverage import Floats, sums_of
from benchmarks.tables import print_table
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.designer import design
from ldpsql.engine.arithmetic import Sums, form_of
from ldpsql.parser import parse
from ldpsql.planner.plan import QueryPlan, make_plans
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Histogram
from ldpsql.sql.aggregates import expand
from ldpsql.survey import Survey
from ldpsql_device.plan import Plan

SURVEYS, PEOPLE = 160, 100_000
EPSILONS, SHARES = ("1", "2"), (0.5, 0.95, 0.99)
DRAWN = 4_000_000
"""Durations that stand for a distribution."""
SURVEY = """
[survey]
table = "requests"
epsilon = "{epsilon}"
mechanism = "staircase"

[dimension.ms]
type = "float"
scale = "log"
domain = [1, 60_000]
bins = {bins}

[workload.kinds]
ms = "prefix"
"""
BINS = 128
"""Each is 9 % wide."""


def _bimodal(random: np.random.Generator, count: int) -> Floats:
    hit = random.random(count) < 0.7
    return np.where(
        hit, random.lognormal(np.log(20), 0.4, count), random.lognormal(np.log(900), 0.5, count)
    )


DISTRIBUTIONS: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    "log-normal": lambda random, count: random.lognormal(np.log(120), 1.0, count),
    "bimodal: cache hits and misses": _bimodal,
    "Pareto, exponent 1.5": lambda random, count: 15.0 * (1.0 + random.pareto(1.5, count)),
    "Weibull, shape 0.6": lambda random, count: 200.0 * random.weibull(0.6, count),
    "log-logistic, shape 2": lambda random, count: (
        80.0 * (1.0 / random.uniform(1e-12, 1.0, count) - 1.0) ** 0.5
    ),
}
"""Durations in milliseconds."""


def plan_of(survey: Survey) -> QueryPlan:
    """The quantiles of all shares, planned."""
    wanted = ", ".join(f"QUANTILE_CONT(ms, {share})" for share in SHARES)
    sql = f"SELECT {wanted} FROM requests"
    (base,) = parse(sql, None, lambda _: survey).bases
    return make_plans(base, survey, sql)[-1][1]


@lru_cache(maxsize=1)
def law_of(plan: Plan) -> tuple[NDArray[np.int64], Floats]:
    """Every report as a row, and how likely it is by code, shape (codes, reports)."""
    law = enumerate_law(plan)
    return np.array(law.outputs), np.array(law.probabilities, dtype=np.float64)


def histograms(
    survey: Survey, durations: Floats, people: int, surveys: int, seed: int
) -> Iterator[Histogram]:
    """The reports of every simulated survey of so many people."""
    outputs, chances = law_of(survey.design.plan)
    (dimension,) = survey.schema.dimensions
    edges = np.array(dimension.domain.points)  # type: ignore[union-attr]
    codes = np.clip(np.searchsorted(edges, durations, side="right") - 1, 0, len(edges) - 2)
    shares = np.bincount(codes, minlength=len(edges) - 1) / len(codes)
    likely, random = shares @ chances, np.random.default_rng(seed)
    for _ in range(surveys):
        counts = random.multinomial(people, likely / likely.sum())
        some = counts > 0
        yield Histogram(survey.design.report_format.types, tuple(outputs[some].T), counts[some])


def judge(
    survey: Survey,
    durations: Floats,
    *,
    people: int = PEOPLE,
    surveys: int = SURVEYS,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Whether intervals hold the quantiles of the distribution, NaN for NULL, and their widths over
    these: (surveys, shares)."""
    plan, truth = plan_of(survey), np.quantile(durations, SHARES)
    found = [sums_of(plan, survey, h) for h in histograms(survey, durations, people, surveys, seed)]
    values, covariance = (
        np.concatenate(part)
        for part in zip(*((s.values, s.covariance) for s in found), strict=True)
    )
    sums, inside, widths = Sums(values, covariance, CONFIDENCE), list[Floats](), list[Floats]()
    for column, true in zip(plan.query.columns, truth, strict=True):
        form = form_of(expand(column.expression, survey.schema), plan.targets, sums)
        low, high = form.interval.low, form.interval.high
        is_null = np.isnan(form.value)
        inside.append(np.where(is_null, np.nan, (low <= true) & (true <= high)))
        widths.append(np.where(is_null, np.nan, (high - low) / true))
    return np.stack(inside, axis=1), np.stack(widths, axis=1)


def rows(surveys: int = SURVEYS, people: int = PEOPLE) -> Iterator[tuple[object, ...]]:
    """A row per distribution, epsilon and share."""
    for epsilon in EPSILONS:
        survey, every = design(SURVEY.format(epsilon=epsilon, bins=BINS)), list[Floats]()
        for number, (name, draw) in enumerate(DISTRIBUTIONS.items()):
            durations = draw(np.random.default_rng(number), DRAWN)
            inside, widths = judge(survey, durations, people=people, surveys=surveys)
            for place, share in enumerate(SHARES):
                yield (
                    name,
                    epsilon,
                    f"p{100 * share:g}",
                    f"{np.quantile(durations, share):.4g}",
                    f"{100 * np.nanmean(inside[:, place]):.1f} %",
                    f"{100 * np.nanmedian(widths[:, place]):.0f} %",
                )
            every.append(inside)
        for share, covered in zip(SHARES, np.nanmean(np.concatenate(every), axis=0), strict=True):
            yield "all", epsilon, f"p{100 * share:g}", "", f"{100 * covered:.1f} %", ""


def run(surveys: int = SURVEYS) -> None:
    """Print the coverage of every quantile."""
    print_table(
        f"Coverage of 95 % intervals of quantiles on a log scale, {surveys:,} surveys of "
        f"{PEOPLE:,} people, {BINS} bins",
        ("durations", "epsilon", "quantile", "true", "coverage", "median width"),
        rows(surveys),
    )
