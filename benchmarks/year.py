"""A year of weekly figures: four reports of each person, as `sample = "1/13"` has them, beside four
reports that miss nothing, and beside 52 reports for the same sum of epsilons.

Everybody has a value in each of 52 weeks, and the mean over all of them is asked. Reports are drawn
from the exact law of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.function_coverage import Floats, level_chances, sums_of
from benchmarks.tables import print_table
from ldpsql.audit.check import count_answers
from ldpsql.designer import design
from ldpsql.engine.arithmetic import form_of
from ldpsql.parser import parse
from ldpsql.planner.plan import make_plans
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Histogram
from ldpsql.sql.aggregates import expand
from ldpsql.survey import Survey
from ldpsql_device.survey import ANY_DAY

PEOPLE, WEEKS, EVERY, YEARS = 100_000, 52, 13, 400
EPSILON, SMALLER = "2", "0.1538"
"""8 / 52, rounded down."""
MOST = 1.05
"""How many times the error of reports that miss nothing the error may be."""
DAYS = 7
SURVEY = """
[survey]
table = "app"
epsilon = "{epsilon}"
period = "week"
{sample}

[measure.days]
bounds = [0, 7]
required = true
"""


def survey_of(epsilon: str, sample: str = "") -> Survey:
    """The survey of the days of a week on which a person was active."""
    return design(SURVEY.format(epsilon=epsilon, sample=sample))


def active_days(random: np.random.Generator, people: int) -> NDArray[np.int8]:
    """By person and week on how many days they are active: people who are always or hardly ever,
    with a season; shape (people, WEEKS)."""
    own = random.beta(0.7, 1.2, (people, 1))
    season = 1.0 + 0.3 * np.sin(2.0 * np.pi * np.arange(WEEKS) / WEEKS)
    return random.binomial(DAYS, np.clip(own * season, 0.0, 1.0)).astype(np.int8)


class Mean:
    """AVG(days) of a survey, from the values that are reported."""

    def __init__(self, survey: Survey) -> None:
        # Whatever the period, all reports together are asked; nobody is left out by a sample here.
        whole = replace(survey, schedule=replace(ANY_DAY, period="week"))
        (base,) = parse("SELECT AVG(days) FROM app", None, lambda _: whole).bases
        self.survey, self.plan = survey, make_plans(base, whole, "")[-1][1]
        law, (days,) = enumerate_law(survey.design.plan), survey.schema.measures
        rounded = np.zeros((DAYS + 1, len(law.inputs)))
        for value in range(DAYS + 1):
            for level, chance in level_chances(days, value):
                rounded[value, law.inputs.index((level,))] += chance
        self.outputs = np.array(law.outputs)
        self.chances = rounded @ np.array(law.probabilities, dtype=float)

    def of(self, counts: NDArray[np.int64], random: np.random.Generator) -> float:
        """The answer from reports of so many values of each number of days."""
        shares = self.chances / self.chances.sum(axis=1, keepdims=True)
        drawn = random.multinomial(counts, shares).sum(axis=0)
        types, some = self.survey.design.report_format.types, drawn > 0
        histogram = Histogram(types, tuple(self.outputs[some].T), drawn[some])
        expression = expand(self.plan.query.columns[0].expression, self.survey.schema)
        sums = sums_of(self.plan, self.survey, histogram)
        return float(form_of(expression, self.plan.targets, sums).value[0])


def errors(people: int = PEOPLE, years: int = YEARS, seed: int = 1) -> dict[str, Floats]:
    """The errors of the yearly mean in so many simulated years, by who answers when."""
    random = np.random.default_rng(seed)
    values = active_days(random, people)
    truth, rows = values.mean(dtype=float), np.arange(people)[:, None]
    everything = count_days(values)
    mean, small = Mean(survey_of(EPSILON, f'sample = "1/{EVERY}"')), Mean(survey_of(SMALLER))
    found: dict[str, list[float]] = {"sampled": [], "nothing missed": [], "every week": []}
    for _ in range(years):
        offsets = random.integers(0, EVERY, (people, 1))
        asked = values[rows, offsets + EVERY * np.arange(WEEKS // EVERY)]
        answer = mean.of(count_days(asked), random)
        found["sampled"].append(answer - truth)
        # The same reports about the mean of what they report: no week of anybody is missing there.
        found["nothing missed"].append(answer - asked.mean(dtype=float))
        found["every week"].append(small.of(everything, random) - truth)
    return {name: np.array(own) for name, own in found.items()}


def count_days(values: NDArray[np.int8]) -> NDArray[np.int64]:
    """How many values there are of each number of days."""
    return np.bincount(values.ravel(), minlength=DAYS + 1)


def root_mean_square(own: Floats) -> tuple[float, float]:
    """The root mean square of errors, and its own standard error, relative to it."""
    return float(np.sqrt(np.mean(own**2))), float(np.std(own**2) / np.mean(own**2) / 2) / np.sqrt(
        len(own)
    )


def rows(people: int = PEOPLE, years: int = YEARS) -> Iterator[tuple[object, ...]]:
    """A row per way to ask."""
    found = errors(people, years)
    best, _ = root_mean_square(found["nothing missed"])
    most, _ = count_answers(survey_of(EPSILON, f'sample = "1/{EVERY}"').schedule)
    for name, words, count, epsilon in (
        ("sampled", f'sample = "1/{EVERY}"', most, EPSILON),
        ("nothing missed", "as many reports, about what they report", WEEKS // EVERY, EPSILON),
        ("every week", "a report in every week", WEEKS, SMALLER),
    ):
        error, relative = root_mean_square(found[name])
        yield (
            words,
            count,
            epsilon,
            f"{count * float(epsilon):.4g}",
            f"{error:.5f} (± {100 * relative:.0f} %)",
            f"{error / best:.3f}",
        )


def run(years: int = YEARS) -> None:
    """Print the error of the yearly mean by who answers when."""
    print_table(
        f"Error of the mean of {WEEKS} weeks, {PEOPLE:,} people, {years:,} simulated years",
        ("asked", "reports of a person", "epsilon of each", "in all", "error", "times"),
        rows(years=years),
    )
