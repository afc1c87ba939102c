"""Five everyday questions about ages, sex and hours: the expected error over the least possible.

Nothing but them is asked, so ages that none tells apart are collected as one. Among surveys that
round hours to their bounds the least error is known within a few hundredths, by all patterns of
cells; that of all surveys is not, and the bound on it is looser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from benchmarks.tables import print_table
from ldpsql.designer import design_survey
from ldpsql.mechanisms.staircase.bound_of_cells import bound_of_cells
from ldpsql_device.epsilon import Epsilon

EPSILONS = ("1", "2")
SURVEY = """
[survey]
table = "people"
epsilon = "{epsilon}"
[dimension.age]
type = "int"
domain = [17, 90]
[dimension.sex]
type = "category"
values = ["f", "m"]
{hours}
[workload]
queries = {queries}
"""
MEASURE = "[measure.hours]\nbounds = [0, 80]\nrequired = true"
DIMENSION = '[dimension.hours]\ntype = "int"\ndomain = [0, 80]'
GROUPS = "CASE WHEN age < 20 THEN 1 WHEN age < 30 THEN 2 WHEN age < 50 THEN 3 WHEN age < 65 THEN 4 \
ELSE 5 END AS ages"
SETS = {
    "groups and ranges": (
        MEASURE,
        (
            "SELECT sex, COUNT(*) FROM people GROUP BY sex",
            "SELECT sex, AVG(hours) FROM people GROUP BY sex",
            "SELECT COUNT(*) FROM people WHERE age >= 65",
            "SELECT AVG(hours) FROM people WHERE age BETWEEN 30 AND 49",
            "SELECT sex, COUNT(*) FROM people WHERE age BETWEEN 20 AND 29 GROUP BY sex",
        ),
    ),
    "sums of ranges": (
        MEASURE,
        (
            f"SELECT {GROUPS}, COUNT(*) FROM people GROUP BY ages",
            "SELECT sex, AVG(hours) FROM people GROUP BY sex",
            "SELECT COUNT(*) FROM people WHERE age < 30 AND sex = 'f'",
            "SELECT SUM(hours) FROM people WHERE age BETWEEN 20 AND 64",
            "SELECT AVG(hours) FROM people WHERE age >= 50 AND sex = 'm'",
        ),
    ),
    "all groups": (
        MEASURE,
        (
            f"SELECT {GROUPS}, sex, COUNT(*), AVG(hours) FROM people GROUP BY ages, sex",
            "SELECT sex, AVG(hours) FROM people GROUP BY sex",
            "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 49",
            "SELECT AVG(hours) FROM people",
            "SELECT COUNT(*) FROM people WHERE age >= 50",
        ),
    ),
    "counts alone": (
        DIMENSION,
        (
            "SELECT sex, COUNT(*) FROM people GROUP BY sex",
            "SELECT COUNT(*) FROM people WHERE hours >= 40",
            "SELECT COUNT(*) FROM people WHERE age >= 65",
            "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 49 AND hours >= 40",
            "SELECT sex, COUNT(*) FROM people WHERE age BETWEEN 20 AND 29 GROUP BY sex",
        ),
    ),
}


def distances(name: str, epsilon: str) -> tuple[str, tuple[int, ...], float, float]:
    """Mechanism, levels of measures, and the expected error over two bounds: on all surveys, and on
    those that round measures to their bounds."""
    hours, queries = SETS[name]
    text = SURVEY.format(epsilon=epsilon, hours=hours, queries=json.dumps(queries))
    made = design_survey(text)
    two = bound_of_cells(made.workload, Epsilon.parse(epsilon))
    whole, rounded = (made.forecast.ratio(least) for least in (made.bound, two))
    assert whole is not None and rounded is not None
    return made.survey.design.name, made.survey.design.domain.levels, whole, rounded


def rows(names: Sequence[str] = tuple(SETS)) -> Iterator[list[str]]:
    """One row per set of questions and epsilon."""
    for name in names:
        for epsilon in EPSILONS:
            mechanism, levels, whole, rounded = distances(name, epsilon)
            shown = ", ".join(map(str, levels))
            yield [name, epsilon, mechanism, shown, f"{rounded:.3f}", f"{whole:.3f}"]


def run() -> None:
    """Print the table."""
    head = ("questions", "epsilon", "mechanism", "levels", "over two levels", "over the bound")
    print_table("Five everyday questions, expected error over the least", head, rows())
