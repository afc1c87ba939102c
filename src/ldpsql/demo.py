"""The shopping example from start to end, on people that it makes up.

A table of shoppers is made up (seeded), each of them answers the survey once, and four questions
are asked of the reports. Because the shoppers are made up, the truth can stand beside each
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ldpsql.dbapi import Connection
from ldpsql.designer import design
from ldpsql.errors import pluralize
from ldpsql.estimate import CONFIDENCE
from ldpsql.simulation import simulate

PEOPLE = 400_000
SEED = 1
STATES = ("CA", "FL", "IL", "NY", "PA", "TX")

SURVEY = """\
[survey]
table = "shop"
epsilon = "2.0"
mechanism = "ehio"
[survey.options]
fanout = 8
oracle = "auto"

[dimension.age]
type = "int"
domain = [18, 81]

[dimension.salary]
type = "int"
domain = [0, 199999]
bin_width = 25000

[dimension.state]
type = "category"
values = ["CA", "FL", "IL", "NY", "PA", "TX"]

[measure.purchase]
bounds = [0, 500]
"""

QUESTIONS = (
    ("Q1", "SELECT COUNT(*) FROM shop WHERE age BETWEEN 26 AND 49"),
    ("Q2", "SELECT SUM(purchase) FROM shop WHERE salary >= 50000"),
    ("Q3", "SELECT AVG(purchase) FROM shop WHERE age < 50 AND NOT state = 'NY'"),
    ("Q4", "SELECT state, COUNT(*), AVG(purchase) FROM shop GROUP BY state"),
)


def shoppers(people: int = PEOPLE, seed: int = SEED) -> pa.Table:
    """Made-up shoppers: age, salary, state, purchase."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(6.0, 5.0, people) + 17, 18, 81).astype(np.int64)
    experience = 1.0 - np.exp(-(age - 16) / 12.0)
    salary = np.clip(random.lognormal(10.9, 0.5, people) * experience, 0, 199_999)
    shares = np.array([0.28, 0.17, 0.1, 0.16, 0.1, 0.19])
    state = random.choice(len(STATES), size=people, p=shares)
    spend = random.gamma(2.0, 0.0011 * salary + 25.0)
    return pa.table(
        {
            "age": age,
            "salary": salary.astype(np.int64),
            "state": pa.array(STATES).take(pa.array(state)),
            "purchase": np.minimum(spend, 500.0),
        }
    )


def run(echo: Callable[[str], None], *, people: int = PEOPLE, seed: int = SEED) -> int:
    """Design, randomize, ingest, ask; returns how many intervals missed the truth."""
    table = shoppers(people, seed)
    survey = design(SURVEY)
    form = survey.design.report_format
    echo(f"{people:,} shoppers; mechanism {survey.design.name}, epsilon {survey.epsilon}")
    echo(f"each sends one report of {form.bits_per_report:.1f} bits: {', '.join(form.columns)}")
    connection = simulate(survey, table, seed=seed)
    echo("the collector now holds the reports, and nothing else")
    missed = 0
    with duckdb.connect() as truth:
        truth.register("shop", table)
        for name, sql in QUESTIONS:
            echo(f"\n{name}  {sql}")
            for line, is_inside in _compare(connection, sql, truth.execute(sql).fetchall()):
                echo(line)
                missed += not is_inside
    rare = f"at {100 * CONFIDENCE:g} % about one in {1 / (1 - CONFIDENCE):.0f} does"
    echo(f"\n{pluralize(missed, 'interval')} missed the truth; {rare}")
    echo(f"promised to each person: {survey.design.guarantee}")
    echo(f"  {survey.design.guarantee.protects}")
    for exception in survey.design.guarantee.not_protected:
        echo(f"  not covered: {exception}")
    return missed


def _compare(
    connection: Connection, sql: str, truth: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[str, bool]]:
    """A line for every estimate beside the exact answer with the same key, and whether its interval
    holds that; a NULL claims nothing."""
    cursor = connection.execute(sql)
    result = cursor.result
    keys = [i for i in range(len(result.columns)) if i not in result.intervals]
    exact = {tuple(row[i] for i in keys): row for row in truth}
    for number, row in enumerate(cursor.fetchall()):
        key = tuple(row[i] for i in keys)
        for index, bars in result.intervals.items():
            label = " ".join([*map(str, key), result.columns[index].name.lower()])
            value, low, high = row[index], bars.low[number], bars.high[number]
            if value is None:
                yield f"   {label:<16} NULL: the reports are too few for an answer", True
                continue
            half, true_value = (high - low) / 2, exact[key][index]
            digits, is_inside = 2 if half < 100 else 0, low <= true_value <= high
            yield (
                f"   {label:<16} {value:>14,.{digits}f} +/- {half:<10,.{digits}f}"
                f" truth {true_value:>14,.{digits}f}  {'inside' if is_inside else 'outside'}",
                is_inside,
            )
