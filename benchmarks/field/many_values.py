"""Counts of each of many values, by published oracles and this library: errors that follow exactly
from the laws, lengths of reports, and what one report gives away."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.parquet as pq

from benchmarks.field.attacks import reconstruct
from benchmarks.field.points import (
    ModularSubsetSelection,
    ProjectiveGeometry,
    Sets,
    SubsetSelection,
)
from benchmarks.field.questions import (
    Choice,
    Floats,
    LocalHash,
    Question,
    Table,
    Unary,
    alone,
    mean_bits,
    questions_of,
)
from benchmarks.figures.cases import Row
from benchmarks.figures.data import folder
from ldpsql.boxes import Box, LinearQuery
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.workload import QueryClass, Workload
from ldpsql_device.epsilon import Epsilon

VALUES, OWN = 1_024, "fourier for values"
NAMES = ("GRR", "OUE", "OLH", "HR", "subset selection", "PGR", "MSS", OWN)
TABLES = ("zipf", "clicks")
_CHECKED = 64


def shares_of(table: str) -> Floats:
    """Shares of the values: made up, or of the pages at which a shop's visitors entered. In both
    the values are in random order."""
    order = np.random.default_rng(40).permutation(VALUES)
    if table == "zipf":
        shares = 1.0 / np.arange(1, VALUES + 1) ** 1.1
        return np.asarray((shares / shares.sum())[order])
    place = folder()
    if place is None or not (place / "bms_webview2.parquet").exists():
        raise FileNotFoundError("bms_webview2.parquet")
    items = pq.read_table(place / "bms_webview2.parquet", columns=["items"])["items"]
    first = np.array([row[0] for row in items.to_pylist() if row])
    counts = np.sort(np.unique(first, return_counts=True)[1])[::-1][:VALUES].astype(float)
    counts = np.pad(counts, (0, VALUES - len(counts)))
    return np.asarray((counts / counts.sum())[order])


def law(name: str, epsilon: float) -> tuple[list[Question], Floats | float]:
    """The questions of an oracle, and (p, q) of its sets, or for MSS the expected variance."""
    odds = math.exp(epsilon)
    if name == "GRR":
        return alone(Choice(VALUES, epsilon)), np.array([odds, 1.0]) / (odds + VALUES - 1)
    if name == "OUE":
        return alone(Unary(VALUES, epsilon)), np.array([0.5, 1 / (odds + 1)])
    if name == "OLH":
        classes = round(odds) + 1
        inside = odds / (odds + classes - 1)
        return alone(LocalHash.optimal(VALUES, epsilon)), np.array([inside, 1 / classes])
    if name == "HR":
        # Acharya, Sun, Zhang (AISTATS 2019): a row of a Hadamard matrix, but for the first column.
        rows = 2 * VALUES
        parity = np.bitwise_count(np.arange(rows)[:, None] & np.arange(1, VALUES + 1)) & 1
        matrix = np.where(parity == 0, odds, 1.0) * 2 / rows / (odds + 1)
        return alone(Table(matrix)), np.array([odds / (odds + 1), 0.5])
    if name == "MSS":
        oracle = ModularSubsetSelection.spread(VALUES, epsilon)
        questions = [
            Question(1 / len(oracle.parts), np.arange(VALUES) % part.k, _subset(part))
            for part in oracle.parts
        ]
        return questions, oracle.expected_variance
    if name == "PGR":
        return _projective(epsilon)
    sets: Sets = SubsetSelection(VALUES, epsilon)
    return alone(_subset(sets)), np.array([sets.inside, sets.beside])


def _subset(part: Sets) -> Choice:
    assert isinstance(part, SubsetSelection)
    return Choice(part.k, part.epsilon, part.size)


def _projective(epsilon: float) -> tuple[list[Question], Floats]:
    """PGR, whose reports are the points of the space."""
    space = ProjectiveGeometry(VALUES, epsilon)
    every = ProjectiveGeometry(space.points, epsilon).vectors
    products = every @ space.vectors.T % space.field
    unit = space.inside / (space.odds * space.plane)
    matrix = np.where(products == 0, space.odds * unit, unit)
    return alone(Table(matrix)), np.array([space.inside, space.beside])


def rows(table: str, epsilon: str, people: int, names: Sequence[str] = NAMES) -> Iterator[Row]:
    """One row per oracle: the mean squared error of a value's share. It is exact, except that of
    MSS, which is estimated with random probes (for values spread evenly, for which its variance is
    known)."""
    shares = shares_of(table)
    even = np.full(VALUES, 1 / VALUES)
    for name in names:
        started = time.process_time()
        if name == OWN:
            questions, error = _own(epsilon, shares, people)
        else:
            questions, found = law(name, float(epsilon))
            error = found / people if isinstance(found, float) else _error(found, shares) / people
        guessed = reconstruct(questions, [even, shares])
        yield {
            "table": table,
            "epsilon": epsilon,
            "name": name,
            "error": error,
            "bytes": math.ceil(mean_bits(questions) / 8.0),
            "even": guessed[0],
            "real": guessed[1],
            "seconds": time.process_time() - started,
        }


def _error(found: Floats, shares: Floats) -> float:
    """The mean over the values, times people, without the sampling of the people."""
    p, q = found
    own = shares * p * (1 - p) + (1 - shares) * q * (1 - q)
    return float(own.mean() / (p - q) ** 2)


def _own(epsilon: str, shares: Floats, people: int) -> tuple[list[Question], float]:
    """The library's design for single values; its variances are those at an even spread."""
    domain = RecordDomain(("x",), (VALUES,), (), (), (None,) * 0)
    asked = Workload(domain, (QueryClass(1.0, ((0, "equality"),)),), (), 1)
    design = mechanism("fourier").design(domain, Epsilon.parse(epsilon), {}, asked)
    chosen = np.random.default_rng(41).choice(VALUES, _CHECKED, replace=False)
    boxes = [Box((((int(value), int(value) + 1),),)) for value in chosen]
    planned = [design.prepare(LinearQuery.count(box)) for box in boxes]
    variances = np.array(design.variance(planned, people)) / people**2
    # That of a share is known with the people's sampling, which the others' errors leave out.
    sampling = (1 / VALUES) * (1 - 1 / VALUES) / people
    return list(questions_of(design.plan, float(epsilon))), float(variances.mean() - sampling)
