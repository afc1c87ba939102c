"""Errors of whole simulated Fourier surveys against the predicted ones, and against hierarchies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.direct import estimator_of
from benchmarks.fourier_bounds import boxes_of
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.dbapi.connection import Connection
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.group import spread_faces
from ldpsql.mechanisms.registry import mechanism
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import simulate

PEOPLE, EPSILON, QUERIES, TOLERANCE = 1_000_000, "1", 200, 0.1
Codes = NDArray[np.int64]
Reals = NDArray[np.float64]
CASES: tuple[tuple[tuple[int, ...], tuple[str, ...], int, tuple[int, int]], ...] = (
    ((64, 64), ("smooth", "spiky"), 40, (30, 6)),
    ((256,), ("smooth", "heavy-tailed", "spiky"), 60, (3, 3)),
    ((64, 64, 64), ("smooth",), 3, (2, 2)),
)
"""Sizes, data, surveys beyond the one that is asked in SQL, and surveys of each of OTHERS."""
LEAST = {2: 15.0}
"""How many times Fourier's error HIO's must at least be, by the number of dimensions."""
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "HIO": {"fanout": 4},
    "hierarchy": {
        "fanout": 4,
        "oracle": "auto",
        "inference": "consistent",
        "allocation": "optimal",
    },
}


def people(sizes: Sequence[int], data: str) -> Codes:
    """Codes of everybody, shape (n, d); the dimensions depend on each other."""
    random = np.random.default_rng(11)
    common = random.normal(size=PEOPLE)
    columns = []
    for size in sizes:
        own = 0.8 * common + 0.6 * random.normal(size=PEOPLE)
        if data == "smooth":
            column = size * (0.45 + 0.15 * own)
        elif data == "heavy-tailed":
            column = np.exp(1.2 * own + 1.0)
        else:
            spikes = random.choice(size, 10)
            column = spikes[np.clip((own + 2.5) * 2, 0, 9).astype(np.int64)]
        columns.append(np.clip(column, 0, size - 1).astype(np.int64))
    return np.column_stack(columns)


def boxes(sizes: Sequence[int]) -> Codes:
    """Random boxes, every range of an axis equally likely, shape (q, d, 2): low, end."""
    random = np.random.default_rng(12)
    axes = []
    for size in sizes:
        every = np.array([(i, j + 1) for i in range(size) for j in range(i, size)])
        axes.append(every[random.integers(len(every), size=QUERIES)])
    return np.stack(axes, axis=1)


def run() -> None:
    """Print predicted and empirical errors, and those of the hierarchies."""
    print_table(
        f"{QUERIES} random boxes, {PEOPLE:,} people, epsilon {EPSILON}, from SQL",
        (
            "domain",
            "data",
            "mean squared error / n (SQL)",
            "predicted",
            "surveys",
            "empirical / predicted",
            "+/-",
            f"within {TOLERANCE:.0%}",
            *(f"{name} / Fourier, {of}" for name in OTHERS for of in ("predicted", "empirical")),
            "HIO at least",
        ),
        _rows(),
    )


def _rows() -> Iterator[tuple[object, ...]]:
    for sizes, data, repeats, rivals in CASES:
        asked = boxes(sizes)
        survey = _survey("fourier", sizes, {})
        made = survey.design
        assert isinstance(made, FourierDesign)
        planned = [made.prepare(LinearQuery.count(Box(_sides(box)))) for box in asked]
        predicted = float(made.variance(planned, PEOPLE).mean())
        others = [_survey("hio", sizes, options) for options in OTHERS.values()]
        expected = [_predicted(other, asked) / predicted for other in others]
        for kind in data:
            codes = people(sizes, kind)
            truth = _box_sums(np.asarray(_table(codes, sizes)), asked)
            first = _from_sql(survey, codes, asked, truth, 0)
            more = [_direct(made, codes, asked, truth, seed) for seed in range(1, repeats + 1)]
            errors = np.array([first, *more])
            ratios = errors / predicted
            spread = ratios.std(ddof=1) / math.sqrt(len(ratios))
            found = [
                _quotient([_from_sql(o, codes, asked, truth, s) for s in range(runs)], errors)
                for o, runs in zip(others, rivals, strict=True)
            ]
            yield (
                " x ".join(map(str, sizes)),
                kind,
                f"{first / PEOPLE:.2f}",
                f"{predicted / PEOPLE:.2f}",
                len(ratios),
                f"{ratios.mean():.3f}",
                f"{spread:.3f}",
                "yes" if abs(ratios.mean() - 1.0) <= TOLERANCE else "NO",
                *_beside(expected, found),
                _least(len(sizes), found[0][0]),
            )


def _quotient(theirs: Sequence[float], ours: Reals) -> tuple[float, float]:
    """Ratio of two mean errors and its standard error, from the spread over surveys."""
    means = np.mean(theirs), np.mean(ours)
    spreads = (np.std(each, ddof=1) / math.sqrt(len(each)) for each in (theirs, ours))
    relative = [spread / mean for spread, mean in zip(spreads, means, strict=True)]
    ratio = float(means[0] / means[1])
    return ratio, ratio * math.hypot(*relative)


def _beside(expected: Sequence[float], found: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Predicted and empirical ratio of every hierarchy."""
    for prediction, (ratio, spread) in zip(expected, found, strict=True):
        yield f"{prediction:.2f}"
        yield f"{ratio:.2f} +/- {spread:.2f}"


def _least(dimensions: int, ratio: float) -> str:
    """Whether HIO's error is as many times Fourier's as it must at least be."""
    limit = LEAST.get(dimensions)
    return "-" if limit is None else f"{limit:g}: {'yes' if ratio >= limit else 'NO'}"


def _survey(name: str, sizes: Sequence[int], options: Mapping[str, Any]) -> Survey:
    workload = boxes_of(sizes, ("range",) * len(sizes))
    names = workload.domain.names
    schema = Schema(
        tuple(Dimension(n, int_domain(0, m - 1)) for n, m in zip(names, sizes, strict=True))
    )
    made = mechanism(name).design(
        RecordDomain.of(schema), Epsilon.parse(EPSILON), dict(options), workload
    )
    return Survey("people", schema, made, dict(options))


def _predicted(survey: Survey, asked: Codes) -> float:
    """Mean variance of the answers if people were spread evenly; one box at a time, for memory."""
    made = survey.design
    planned = ([made.prepare(LinearQuery.count(Box(_sides(box))))] for box in asked)
    return float(np.mean([made.variance(one, PEOPLE) for one in planned]))


def _from_sql(survey: Survey, codes: Codes, asked: Codes, truth: Reals, seed: int) -> float:
    """Mean squared error of a survey's answers."""
    names = survey.design.domain.names
    table = pa.table({name: codes[:, i] for i, name in enumerate(names)})
    with simulate(survey, table, seed=seed) as connection:
        found = [_ask(connection, names, box) for box in asked]
    return float(np.mean((np.array(found) - truth) ** 2))


def _ask(connection: Connection, names: Sequence[str], box: Codes) -> float:
    sides = (
        f"{name} BETWEEN {low} AND {end - 1}"
        for name, (low, end) in zip(names, box.tolist(), strict=True)
    )
    row = connection.execute(f"SELECT COUNT(*) FROM people WHERE {' AND '.join(sides)}").fetchone()
    assert row is not None
    return float(row[0])


def _direct(made: FourierDesign, codes: Codes, asked: Codes, truth: Reals, seed: int) -> float:
    """The same from the table of counts, whose sums are the answers."""
    estimator = estimator_of(made, codes, seed)
    axes = tuple(range(len(made.domain.sizes)))
    dense = spread_faces(estimator.spectrum(None), axes, made.group.shape(axes))
    table = np.fft.ifftn(dense).real
    return float(np.mean((_box_sums(table, asked) - truth) ** 2))


def _sides(box: Codes) -> tuple[tuple[tuple[int, int], ...], ...]:
    return tuple(((low, end),) for low, end in box.tolist())


def _table(codes: Codes, sizes: Sequence[int]) -> Reals:
    """People per cell."""
    flat = np.ravel_multi_index(tuple(codes.T), tuple(sizes))
    counted = np.bincount(flat, minlength=math.prod(sizes)).astype(np.float64)
    return counted.reshape(sizes)


def _box_sums(table: NDArray[np.float64], asked: Codes) -> Reals:
    """Sum of a table over boxes, shape (q,)."""
    return np.array([table[tuple(slice(*side) for side in box)].sum() for box in asked])
