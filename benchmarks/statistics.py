"""Bias, variance and coverage of every mechanism over repeated surveys, in narrow bands."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

RUNS = 400
PEOPLE = 50_000
MECHANISMS = ("hio", "hgrr", "ahio", "ehio", "grr", "olh", "oue")
WHERE = {
    1: ("age BETWEEN 20 AND 39", "age < 35", "age BETWEEN 15 AND 24 OR age >= 36"),
    2: (
        "age BETWEEN 20 AND 39",
        "age < 45 AND region <= 2",
        "age >= 20 AND NOT region = 3",
    ),
}


def survey(mechanism: str, dimensions: int) -> Survey:
    """Ages in bins of five (and a region), with a measure that is public for HIO."""
    text = f'[survey]\ntable = "app"\nepsilon = "2"\nmechanism = "{mechanism}"\n'
    if mechanism not in ("grr", "olh", "oue"):
        text += "[survey.options]\nfanout = 4\n"
    text += '[dimension.age]\ntype = "int"\ndomain = [0, 79]\n'
    text += "bin_width = 5\n" if dimensions == 2 else ""
    if dimensions == 2:
        text += '[dimension.region]\ntype = "int"\ndomain = [0, 5]\n'
    if mechanism == "hio":
        return design(text + '[public.pay]\ntype = "float"\n')
    return design(text + "[measure.pay]\nbounds = [0, 100]\nrequired = true\n")


def table(run: int) -> pa.Table:
    """Made-up people: age, region and pay depend on each other. A new sample every run."""
    random = np.random.default_rng([run, 17])
    age = np.clip(random.gamma(5, 7, PEOPLE), 0, 79).astype(np.int64)
    region = (age // 20 + random.integers(0, 3, PEOPLE)) % 6
    pay = np.clip(random.normal(20 + age, 15, PEOPLE), 0, 100)
    return pa.table({"age": age, "region": region, "pay": pay})


def run() -> None:
    """Print one row per mechanism, number of dimensions and aggregate."""
    print_table(
        f"Honesty over {RUNS} surveys of {PEOPLE:,} people, epsilon 2, three predicates each",
        (
            "mechanism",
            "d",
            "aggregate",
            "largest bias (in s.e.)",
            "variance / reported",
            "coverage of 95 % intervals",
        ),
        _rows(),
    )


def _rows() -> Iterator[tuple[object, ...]]:
    for mechanism in MECHANISMS:
        for dimensions in (1, 2):
            yield from _cases(mechanism, dimensions)


def _cases(mechanism: str, dimensions: int) -> Iterator[tuple[object, ...]]:
    chosen = survey(mechanism, dimensions)
    errors: list[list[list[float]]] = []
    for number in range(RUNS):
        people = table(number)
        rows = []
        with simulate(chosen, people, seed=number) as connection, duckdb.connect() as exact:
            exact.register("app", people)
            for where in WHERE[dimensions]:
                sql = f"SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE {where}"
                result = connection.execute(sql).result
                truth = exact.execute(sql).fetchone()
                for index, bars in result.intervals.items():
                    value = result.table.column(index)[0].as_py()
                    rows.append(
                        [
                            np.nan if value is None else value - truth[index],
                            bars.stderr[0],
                            bars.low[0] - truth[index],
                            bars.high[0] - truth[index],
                        ]
                    )
        errors.append(rows)
    found = np.array(errors, dtype=float).reshape(RUNS, len(WHERE[dimensions]), 3, 4)
    for position, name in enumerate(("COUNT", "SUM", "AVG")):
        yield (mechanism, dimensions, name, *_summary(found[:, :, position, :]))


def _summary(errors: np.ndarray) -> tuple[str, str, str]:
    """From (runs, predicates, [error, stderr, low, high]); runs without an interval left out."""
    error, stderr, low, high = np.moveaxis(errors, 2, 0)
    bias = np.nanmean(error, axis=0) / (np.nanstd(error, axis=0) / np.sqrt(RUNS))
    ratio = np.nanvar(error, axis=0) / np.nanmean(stderr**2, axis=0)
    known = ~np.isnan(low)
    inside = ((low <= 0) & (high >= 0))[known].mean()
    return f"{np.abs(bias).max():.1f}", f"{ratio.mean():.2f}", f"{100 * inside:.1f} %"
