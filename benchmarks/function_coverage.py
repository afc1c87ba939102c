"""Coverage of the 95 % intervals of functions of sums, over many simulated surveys.

A survey's histogram of reports is drawn at once, from the exact law of reports of people who are
drawn from a population: as many people as the population has, each report by the channel of its
record. That is the law of collecting person by person, at a thousandth of its price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.real_data import folder
from benchmarks.tables import print_table
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.algebra.numerics import bound_probability
from ldpsql.designer import design
from ldpsql.engine.arithmetic import Sums, form_of
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Estimators, Sample
from ldpsql.parser import parse
from ldpsql.planner.plan import QueryPlan, make_plans
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Histogram
from ldpsql.sql.aggregates import Quantile, Target, expand
from ldpsql.store.base import Selection
from ldpsql.survey import Survey
from ldpsql_device.schema import Measure
from ldpsql_lab.simulation import simulate

Floats = NDArray[np.float64]

SURVEYS = 5_000
EPSILONS = ("1", "2")
ALPHA = 1e-6
FUNCTIONS_COVER, QUANTILES_COVER = (0.94, 0.965), (0.945, 1.0)
"""What coverage has to be."""
SQUARES_COVER = (0.94, 0.975)
"""Where the interval of a root holds 0, that of its square begins at 0, and nothing lies below: it
misses on one side alone, so that it may hold in 97.5 %."""
MECHANISMS = ("grr", "fourier", "hio", "hgrr")
FINE, FINE_QUANTILES_COVER = "256 smooth values", (0.945, 0.975)
"""People with a smooth distribution over many values, and what quantiles cover there."""
_ROUNDING, _AT_ONCE = 1e-9, 100

DRAWS, PEOPLE = 1_000, 45_222
SHARES = (0.1, 0.5, 0.9)

SURVEY = """
[survey]
table = "people"
epsilon = "{epsilon}"
mechanism = "{mechanism}"
{columns}
"""
SCHOOL = """
[dimension.years]
type = "int"
domain = [1, 16]
[dimension.income]
type = "category"
values = ["<=50K", ">50K"]
"""
AGE = """
[dimension.age]
type = "int"
domain = [17, 90]
"""
HOURS = """
[dimension.income]
type = "category"
values = ["<=50K", ">50K"]
[measure.hours]
bounds = [0, 80]
required = true
[workload]
queries = ["SELECT income, COUNT(*), AVG(hours){more} FROM people GROUP BY income",
           "SELECT SUM(hours) FROM people"]
"""
LINE = """
[dimension.value]
type = "int"
domain = [0, 255]
"""
FUNCTIONS = (
    "AVG({0})",
    "VAR_POP({0})",
    "STDDEV({0})",
    "QUANTILE_DISC({0}, 0.1)",
    "MEDIAN({0})",
    "QUANTILE_DISC({0}, 0.9)",
)
OF_TWO = (
    "AVG(years)",
    "VAR_POP(years)",
    "STDDEV(years)",
    "STDDEV(years) FILTER (WHERE income = '>50K')",
    "CORR(years, (income = '>50K')::INT)",
    "COVAR_SAMP(years, (income = '>50K')::INT)",
    "REGR_SLOPE(years, (income = '>50K')::INT)",
    "REGR_INTERCEPT(years, (income = '>50K')::INT)",
    "REGR_R2(years, (income = '>50K')::INT)",
    "AVG(years) FILTER (WHERE income = '>50K') - AVG(years) FILTER (WHERE income = '<=50K')",
    "AVG((years >= 13)::INT)",
    "AVG((years >= 13)::INT) FILTER (WHERE income = '>50K')",
    "MEDIAN(years) FILTER (WHERE income = '>50K')",
)
OF_RICH = "{} FILTER (WHERE income = '>50K')"
OF_LEVELS = (
    OF_RICH.format("COUNT(*)"),
    "SUM(hours)",
    OF_RICH.format("SUM(hours)"),
    "AVG(hours)",
    OF_RICH.format("AVG(hours)"),
    "AVG(hours) FILTER (WHERE income = '>50K') - AVG(hours) FILTER (WHERE income = '<=50K')",
)
OF_SQUARES = (
    *OF_LEVELS,
    "VAR_POP(hours)",
    "STDDEV(hours)",
    OF_RICH.format("VAR_POP(hours)"),
    OF_RICH.format("STDDEV(hours)"),
)


def adult() -> pa.Table:
    """Age, years of school, income and hours of work, at most 80, of the people of Adult."""
    place = folder()
    assert place is not None
    columns = ["age", "education_num", "income", "hours_per_week"]
    table = pq.read_table(place / "adult.parquet", columns=columns)
    hours = pa.array(np.minimum(table["hours_per_week"].to_numpy(), 80), pa.int64())
    return table.rename_columns(["age", "years", "income", "hours"]).set_column(3, "hours", hours)


def level_chances(measure: Measure, value: float) -> list[tuple[int, float]]:
    """The levels to which a device rounds a value, and how likely each is (docs/format.md)."""
    low, high = measure.bounds
    part = (value - low) / (high - low)
    if measure.rounding == "linear":
        below = min(int(part * (measure.levels - 1)), measure.levels - 2)
        up = part * (measure.levels - 1) - below
        return [(below, 1.0 - up), (below + 1, up)]
    steps = measure.levels - 2
    first = min(int(part * steps), steps - 1)
    u = part * steps - first - 0.5  # from the level in the middle of three, in steps
    return list(enumerate(((0.5 - u) ** 2 / 2, 0.75 - u**2, (0.5 + u) ** 2 / 2), first))


def line(people: int = 1_000_000) -> pa.Table:
    """Values of a smooth distribution over 256 codes: a mixture of two wide normal ones."""
    random = np.random.default_rng(3)
    own = random.random(people) < 0.6
    drawn = np.where(own, random.normal(90, 35, people), random.normal(170, 40, people))
    return pa.table({"value": np.clip(np.rint(drawn), 0, 255).astype(np.int64)})


@dataclass(frozen=True)
class Trial:
    """Questions about a population that a survey asks, over and over.

    table: the population.  wanted: the select list.
    """

    survey: Survey
    table: pa.Table
    wanted: tuple[str, ...]

    @cached_property
    def truth(self) -> Floats:
        """What DuckDB says of the population."""
        sql = ", ".join(self.wanted)
        with duckdb.connect() as database:
            database.register("people", self.table)
            (row,) = database.execute(f"SELECT {sql} FROM people").fetchall()
        return np.array(row, dtype=np.float64)

    @cached_property
    def plan(self) -> QueryPlan:
        """The questions, planned."""
        sql = f"SELECT {', '.join(self.wanted)} FROM people"
        (base,) = parse(sql, None, lambda _: self.survey).bases
        return make_plans(base, self.survey, sql)[-1][1]

    @cached_property
    def law(self) -> tuple[NDArray[np.int64], Floats]:
        """Every report as a row, and how likely it is of somebody who is drawn."""
        law, schema = enumerate_law(self.survey.design.plan), self.survey.schema
        names = [column.name for column in (*schema.dimensions, *schema.measures)]
        people = self.table.group_by(names).aggregate([([], "count_all")])
        counts = dict.fromkeys(law.inputs, 0.0)
        for row in people.to_pylist():
            codes = tuple(d.code(row[d.name], 0)[0] for d in schema.dimensions)
            for levels in product(*(level_chances(m, row[m.name]) for m in schema.measures)):
                record = (*codes, *(level for level, _ in levels))
                counts[record] += row["count_all"] * prod(chance for _, chance in levels)
        shares = np.array(list(counts.values())) / self.table.num_rows
        chances = np.array(law.probabilities, dtype=np.float64)
        likely = shares @ chances
        return np.array(law.outputs), likely / likely.sum()

    def histograms(self, surveys: int, seed: int) -> Iterator[Histogram]:
        """The reports of every simulated survey."""
        outputs, chances = self.law
        random = np.random.default_rng(seed)
        for _ in range(surveys):
            counts = random.multinomial(self.table.num_rows, chances)
            some = counts > 0
            yield Histogram(
                self.survey.design.report_format.types, tuple(outputs[some].T), counts[some]
            )

    def sums(self, surveys: int, seed: int) -> Sums:
        """The jointly estimated sums of every simulated survey, one after the other as rows."""
        values, covariances = [], []
        for histogram in self.histograms(surveys, seed):
            sums = sums_of(self.plan, self.survey, histogram)
            values.append(sums.values[0])
            covariances.append(sums.covariance[0])
        return Sums(np.array(values), np.array(covariances), CONFIDENCE)

    def judge(self, sums: Sums) -> tuple[Floats, Floats]:
        """Whether intervals hold the truth, NaN for NULL, and their widths: (surveys, wanted)."""
        inside, widths = [], []
        for column, truth in zip(self.plan.query.columns, self.truth, strict=True):
            expression = expand(column.expression, self.survey.schema)
            form = form_of(expression, self.plan.targets, sums)
            low, high = form.interval.low, form.interval.high
            holds = (low - _ROUNDING <= truth) & (truth <= high + _ROUNDING)
            inside.append(np.where(np.isnan(form.value), np.nan, holds))
            widths.append(np.where(np.isnan(form.value), np.nan, high - low))
        return np.stack(inside, axis=1), np.stack(widths, axis=1)


def trials(epsilon: str) -> Iterator[tuple[str, Trial]]:
    """Name and trial of every survey."""
    of_age, of_line = (tuple(each.format(name) for each in FUNCTIONS) for name in ("age", "value"))
    levels, squares = HOURS.format(more=""), HOURS.format(more=", STDDEV_POP(hours)")
    for name, mechanism, columns, table, wanted in (
        ("Adult, income and hours", "staircase", levels, adult(), OF_LEVELS),
        ("Adult, income and hours", "staircase", squares, adult(), OF_SQUARES),
        ("Adult, years and income", "fourier", SCHOOL, adult(), OF_TWO),
        ("Adult, years and income", "staircase", SCHOOL, adult(), OF_TWO),
        ("Adult, age", "grr", AGE, adult(), of_age),
        (FINE, "grr", LINE, line(), of_line[3:]),
    ):
        text = SURVEY.format(epsilon=epsilon, mechanism=mechanism, columns=columns)
        yield name, Trial(design(text), table, wanted)


def limits_of(name: str, sql: str) -> tuple[float, float]:
    """What the coverage of an answer has to be."""
    if "QUANTILE" not in sql and "MEDIAN" not in sql:
        return SQUARES_COVER if sql.startswith("REGR_R2") else FUNCTIONS_COVER
    return FINE_QUANTILES_COVER if name == FINE else QUANTILES_COVER


def is_met(inside: Floats, limits: tuple[float, float]) -> bool:
    """Whether the interval of a coverage at ALPHA meets its limits."""
    known = inside[~np.isnan(inside)]
    low, high = bound_probability(int(known.sum()), len(known), ALPHA / 2.0)
    return high >= limits[0] and low <= limits[1]


# -- quantiles under normal errors ----------------------------------------------------------------


def crowds() -> Iterator[tuple[str, Floats]]:
    """Distributions over 256 values, as numbers of people: smooth ones, and some with atoms."""
    values = np.arange(256)
    table = line(PEOPLE)["value"].to_numpy()
    yield "mixture of normals", np.bincount(table, minlength=256).astype(np.float64)
    yield "uniform", np.full(256, PEOPLE / 256)
    yield "exponential", (falling := np.exp(-values / 50.0)) * PEOPLE / falling.sum()
    heaps = np.where(values % 10 == 5, np.exp(-0.5 * ((values - 110.0) / 50.0) ** 2), 0.0)
    yield "every tenth value", heaps * PEOPLE / heaps.sum()
    few = np.zeros(256)
    few[[20, 70, 128, 180, 230]] = (0.11, 0.25, 0.28, 0.25, 0.11)
    yield "five values", few * PEOPLE


def quantile_coverage(
    sums: Sums, counts: Floats, share: float, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Coverage and mean width of the interval of a quantile.

    Errors are normal with the covariance of the sums of one survey: how many people there are, and
    how many have at most each value. counts: of people by value. Where some values have nobody the
    share is moved to where a count is just as high as the rank, which is the hardest place.
    """
    covariance, values = sums.covariance[0], tuple(map(float, range(len(counts))))
    cumulative = np.cumsum(counts)
    if (counts == 0.0).any():
        share = float(cumulative[np.searchsorted(cumulative, share * cumulative[-1])])
        share /= cumulative[-1]
    truth = np.append(cumulative[-1], cumulative[:-1])
    random = np.random.default_rng(seed)
    drawn = random.multivariate_normal(truth, covariance, draws, method="eigh")
    targets = tuple(Target(filter=place) for place in range(len(truth)))
    function = Quantile(share, "disc", False, values, values, targets[0], targets[1:])
    held = np.broadcast_to(covariance, (draws, *covariance.shape))
    bars = form_of(function, targets, Sums(drawn, held, sums.level)).interval
    rank = np.ceil(share * cumulative[-1] - 1e-6)
    own = float(np.sum(cumulative < rank - 0.5))
    return float(np.mean((bars.low <= own) & (own <= bars.high))), float(
        np.mean(bars.high - bars.low)
    )


def sums_of(plan: QueryPlan, survey: Survey, histogram: Histogram) -> Sums:
    """What reports tell of the sums that a plan asks for."""
    estimators = Estimators(survey.design, "unbiased", [((), histogram)])
    return Relation(Sample(plan, ((),), (estimators,), "unbiased"), CONFIDENCE).sums


def sums_of_one_survey(mechanism: str, epsilon: str) -> Sums:
    """What a survey of the smooth values tells of the median."""
    survey = design(SURVEY.format(epsilon=epsilon, mechanism=mechanism, columns=LINE))
    with simulate(survey, line(PEOPLE), seed=1) as connection:
        sql = "SELECT MEDIAN(value) FROM people"
        (base,) = parse(sql, None, lambda _: survey).bases
        ((_, histogram),) = connection.session.store.histograms(survey.table, Selection())
        return sums_of(make_plans(base, survey, sql)[-1][1], survey, histogram)


def _quantile_rows(mechanism: str) -> Iterator[tuple[object, ...]]:
    for epsilon in EPSILONS:
        sums = sums_of_one_survey(mechanism, epsilon)
        for name, counts in crowds():
            found = [quantile_coverage(sums, counts, share) for share in SHARES]
            shown = (f"{100 * covered:.1f} %, {width:.1f}" for covered, width in found)
            yield name, mechanism, epsilon, *shown


# -- tables ---------------------------------------------------------------------------------------


def run(surveys: int = SURVEYS) -> None:
    """Print coverage of quantiles under normal errors, and per answer and epsilon.

    "met": the interval of the coverage at alpha 1e-6 does not lie wholly outside of its limits.
    """
    print_quantiles()
    if folder() is None:
        print("Coverage of functions: skipped, set LDPSQL_DATA to a folder with adult.parquet")
        return
    print_table(
        f"Coverage of 95 % intervals of functions, {surveys:,} surveys",
        ("people", "mechanism", "epsilon", "answer", "coverage", "told", "median width", "met"),
        (row for epsilon in EPSILONS for row in _rows(epsilon, surveys)),
    )


def print_quantiles() -> None:
    """Print coverage of quantiles under normal errors, which needs no data."""
    wanted = (f"{share}: coverage, mean width" for share in SHARES)
    print_table(
        f"Coverage of 95 % intervals of quantiles of 256 values, {DRAWS:,} draws of normal errors",
        ("people", "mechanism", "epsilon", *wanted),
        (row for mechanism in MECHANISMS for row in _quantile_rows(mechanism)),
    )


def _rows(epsilon: str, surveys: int) -> Iterator[tuple[object, ...]]:
    for name, trial in trials(epsilon):
        seeds = range(0, surveys, _AT_ONCE)
        parts = [trial.judge(trial.sums(min(_AT_ONCE, surveys - s), s)) for s in seeds]
        inside, widths = (np.concatenate(part) for part in zip(*parts, strict=True))
        for place, sql in enumerate(trial.wanted):
            own = inside[:, place]
            yield (
                name,
                trial.survey.design.name,
                epsilon,
                f"`{sql}`",
                f"{100 * np.nanmean(own):.1f} %",
                f"{100 * np.mean(~np.isnan(own)):.0f} %",
                f"{np.nanmedian(widths[:, place]):.3g}",
                "yes" if is_met(own, limits_of(name, sql)) else "NO",
            )
