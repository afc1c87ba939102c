"""Sensitive values on nursery (parents x class): errors through SQL, coverage of intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.tables import print_table
from benchmarks.uldp_tables import Floats, Setting, exact_error
from ldpsql.algebra.estimate import quantile
from ldpsql.dbapi.connection import Connection
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.cells import sum_cells
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram
from ldpsql.sensitive.recipes import CellDesign
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy, accept_everything

NURSERY = Setting("nursery", ("parents", "class"))
SQL = "SELECT parents, class, COUNT(*) FROM nursery GROUP BY parents, class"
MECHANISMS, EPSILONS = ("jurr", "jurr-g", "cprr", "tdrr", "jd-grr"), ("1.5", "2", "4")
ESTIMATORS = ("unbiased", "smooth", "em")
RUNS, COVERAGE_RUNS = 200, 2000


def run() -> None:
    """Print errors against the formula, and the coverage of 95 % intervals."""
    _, source = NURSERY.records()
    print_table(
        f"Errors through SQL: {source}, parents x class, 2 of 3 and 2 of 5 values sensitive; root "
        f"of the mean squared error of the 15 shares, {RUNS} surveys each",
        ("epsilon", "mechanism", "exact", *ESTIMATORS),
        _errors(),
    )
    print()
    print_table(
        "TDRR with the product of its marginals, as the paper's text has it (not in the library)",
        ("epsilon", "error", "tdrr, exact"),
        _products(),
    )
    print()
    print_table(
        f"95 % intervals of single cells, {COVERAGE_RUNS:,} surveys each: percent that cover, "
        "least and most of the 11 cells with more than 100 people, and of the other 4",
        (
            "epsilon",
            "mechanism",
            "population (people drawn anew)",
            "cells of fewer people",
            "table (the same people)",
        ),
        _coverage(),
    )


def _errors() -> Iterator[tuple[object, ...]]:
    truth = NURSERY.counts()
    for epsilon in EPSILONS:
        for name in MECHANISMS:
            made = NURSERY.survey(name, epsilon)
            assert isinstance(made.design, CellDesign)
            found = np.array([_through_sql(made, run) for run in range(RUNS)]) - truth
            errors = np.sqrt(np.mean(np.square(found), axis=(0, 2))) / truth.sum()
            shown = [f"{error:.4f}" for error in errors]
            yield epsilon, f"`{name}`", f"{exact_error(made.design, truth):.4f}", *shown


def _through_sql(made: Survey, seed: int) -> Floats:
    """The fifteen counts that SQL gives, by every estimator."""
    table, _ = NURSERY.records()
    reports, _ = randomize_batch(made, table, SeededEntropy(seed), policy=accept_everything(made))
    with open_store(None, read_only=False) as store:
        store.ingest_table(reports, made)
        answers = [Connection(store, estimator=name).execute(SQL) for name in ESTIMATORS]
        return np.array([answer.result.table.column(2) for answer in answers], dtype=float)


def _products() -> Iterator[tuple[object, ...]]:
    truth = NURSERY.counts()
    shares = truth / truth.sum()
    for epsilon in ("0.5", "1", *EPSILONS):
        made = NURSERY.survey("tdrr", epsilon).design
        assert isinstance(made, CellDesign)
        found = [product_of_marginals(made, counts) - shares for counts in surveys(made, 200)]
        error = np.sqrt(np.mean(np.square(found)))
        yield epsilon, f"{error:.4f}", f"{exact_error(made, truth):.4f}"


def product_of_marginals(made: CellDesign, counts: Floats) -> Floats:
    """Shares of cells as if the attributes were independent: biased."""
    table = made.channel.solve(counts[:, None], back=True).reshape(made.domain.sizes)
    shares = table / counts.sum()
    return np.outer(shares.sum(axis=1), shares.sum(axis=0)).ravel()


def surveys(made: CellDesign, runs: int, *, anew: bool = False) -> Iterator[Floats]:
    """Counts of reports of many surveys, of the same people or of people drawn anew."""
    truth = NURSERY.counts()
    channel = made.channel.apply(np.eye(len(truth)))
    random = np.random.default_rng(11)
    for _ in range(runs):
        people = truth
        if anew:
            people = random.multinomial(int(truth.sum()), truth / truth.sum())
        reports = random.multinomial(people.astype(np.int64), channel)
        yield reports.sum(axis=0).astype(float)


def _coverage() -> Iterator[tuple[object, ...]]:
    for epsilon in EPSILONS:
        for name in MECHANISMS:
            made = NURSERY.survey(name, epsilon).design
            assert isinstance(made, CellDesign)
            anew, same = (_covered(made, anew=anew) for anew in (True, False))
            many = NURSERY.counts() > 100
            yield epsilon, f"`{name}`", _span(anew[many]), _span(anew[~many]), _span(same[many])


def _span(shares: Floats) -> str:
    return f"{100 * shares.min():.1f} .. {100 * shares.max():.1f}"


def _covered(made: CellDesign, *, anew: bool) -> Floats:
    """Share of surveys whose interval of each cell holds the cell's count."""
    truth = NURSERY.counts()
    asked = [sum_cells(row) for row in np.eye(len(truth))]
    inside = np.zeros(len(truth))
    for counts in surveys(made, COVERAGE_RUNS, anew=anew):
        answer = make_estimator(made, _histogram(counts)).answer(asked)
        inside += np.abs(answer.values - truth) <= quantile(0.95) * answer.stderr
    return inside / COVERAGE_RUNS


def _histogram(counts: Floats) -> Histogram:
    whole = counts.astype(np.int64)
    return Histogram(1, (np.zeros_like(whole), np.arange(len(whole))), whole)
