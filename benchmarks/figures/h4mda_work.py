"""One mechanism at one point of H4MDA's experiments: people answer, windows are asked, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures.cases import Row
from ldpsql.bench.simulation import collect
from ldpsql.boxes import Box, LinearQuery
from ldpsql.domains import int_domain
from ldpsql.engine.backends.base import Selection
from ldpsql.errors import Error
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql.privacy import Epsilon
from ldpsql.schema import Dimension, Measure, Schema
from ldpsql.survey import Survey

BEST = {"oracle": "auto", "inference": "consistent", "allocation": "optimal"}
MECHANISMS: dict[str, tuple[str, dict[str, Any], str]] = {
    "hio": ("hio", {}, "unbiased"),
    "ahio": ("ahio", {}, "unbiased"),
    "ehio": ("ehio", {}, "unbiased"),
    "ehio, oracle auto": ("ehio", {"oracle": "auto"}, "unbiased"),
    "hgrr": ("hgrr", {}, "unbiased"),
    "lgrr, repaired": ("lgrr-repaired", {}, "unbiased"),
    "ahead": ("ahead", {}, "adaptive"),
    "ehio, consistent, optimal": ("ehio", BEST, "unbiased"),
    "fourier": ("fourier", {}, "unbiased"),
    "lgrr-fd, published": ("lgrr-fd", {}, "published"),
    "lgrr, published": ("lgrr", {}, "published"),
    "lgrr, raw counts": ("lgrr", {}, "by_share"),
}
COUNTS_ONLY = ("hio", "ahead")
NOT_PRIVATE = ("lgrr-fd, published", "lgrr, published", "lgrr, raw counts")
WITHOUT_FANOUT = ("ahead", "fourier")
LEAST = {1: 0.01, 2: 0.002}
_BATCH, _ATTEMPTS = 50, 100_000


@dataclass(frozen=True)
class Point:
    """Where an experiment is: share of the codes in a window, codes, epsilon, fan-out."""

    volume: float
    size: int
    epsilon: str
    fanout: int

    def at(self, name: str, value: Any) -> Point:
        """The same with another value of one of them."""
        return replace(self, **{name: value})


def errors(
    codes: Callable[[], np.ndarray],
    point: Point,
    mechanism: str,
    runs: int,
    windows: int,
) -> list[Row]:
    """A row per number of predicates and aggregate: mean error over windows and runs, and its
    standard error over runs. None for a mechanism that refuses the point."""
    everybody = codes()
    counts = mechanism in COUNTS_ONLY
    table = pa.table({"a": everybody[:, 0] + 1, "b": everybody[:, 1] + 1})
    boxes = {k: _windows(everybody, point, k, windows) for k in (1, 2)}
    try:
        survey = _survey(point, mechanism)
        every = [_run(survey, table, everybody, mechanism, boxes, run) for run in range(runs)]
    except Error as error:
        print(f"  {mechanism} at {point}: {error}", flush=True)
        return []
    return [
        {
            "predicates": k,
            "aggregate": aggregate,
            "error": float(np.mean([run[k, aggregate] for run in every])),
            "stderr": _stderr([run[k, aggregate] for run in every]),
        }
        for k in (1, 2)
        for aggregate in (("COUNT",) if counts else ("COUNT", "SUM", "AVG"))
    ]


def _stderr(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _survey(point: Point, mechanism: str) -> Survey:
    """Both attributes as dimensions and, unless the mechanism only counts, as measures."""
    name, options, _ = MECHANISMS[mechanism]
    dimensions = tuple(Dimension(column, int_domain(1, point.size)) for column in ("a", "b"))
    bounds = (1.0, float(point.size))
    measures = () if mechanism in COUNTS_ONLY else (Measure("a", bounds), Measure("b", bounds))
    schema = Schema(dimensions, measures)
    chosen = {**options, **({} if name in WITHOUT_FANOUT else {"fanout": point.fanout})}
    design = registered(name).design(schema.record_domain, Epsilon.parse(point.epsilon), chosen)
    nothing = design.guarantee.kind == "none"
    return Survey("people", schema, design, chosen, accept_no_guarantee=nothing)


def _run(
    survey: Survey,
    table: pa.Table,
    codes: np.ndarray,
    mechanism: str,
    boxes: dict[int, list[tuple[Box, np.ndarray]]],
    run: int,
) -> dict[tuple[int, str], float]:
    last, store = collect(survey, table, seed=run)
    with store:
        ((_, histogram),) = store.histograms("people", Selection())
        estimator = last.design.estimators[MECHANISMS[mechanism][2]](histogram)
        found: dict[tuple[int, str], float] = {}
        for k, windows in boxes.items():
            queries = [LinearQuery.count(box) for box, _ in windows]
            if last.schema.measures:
                queries += [LinearQuery.sum(1, box) for box, _ in windows]
            planned = [last.design.plan(query) for query in queries]
            values = values_of(estimator, planned)
            truths = [(inside.sum(), (codes[inside, 1] + 1).sum()) for _, inside in windows]
            for aggregate, error in _errors(values, np.array(truths, float), codes, survey).items():
                found[k, aggregate] = error
    return found


def values_of(estimator: Any, planned: list[Any]) -> np.ndarray:
    """Values without their covariance where an estimator offers that."""
    if isinstance(estimator, FourierEstimator):
        return estimator.values(planned)
    parts = [planned[start : start + _BATCH] for start in range(0, len(planned), _BATCH)]
    return np.concatenate([estimator.answer(part).values for part in parts])


def _errors(
    values: np.ndarray, truths: np.ndarray, codes: np.ndarray, survey: Survey
) -> dict[str, float]:
    """NMSE of COUNT and SUM, MRE of AVG after clipping it to the measure's bounds."""
    windows, (count, total) = len(truths), truths.T
    found = {"COUNT": float(np.mean(((values[:windows] - count) / len(codes)) ** 2))}
    if len(values) > windows:
        everything = (codes[:, 1] + 1).sum()
        found["SUM"] = float(np.mean(((values[windows:] - total) / everything) ** 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            average = np.clip(
                values[windows:] / values[:windows], *survey.schema.measures[1].bounds
            )
        found["AVG"] = float(np.mean(np.abs(average - total / count) / (total / count)))
    return found


def _windows(
    codes: np.ndarray, point: Point, predicates: int, count: int
) -> list[tuple[Box, np.ndarray]]:
    """Random windows that hold enough people, the same for every mechanism, with who is inside."""
    random = np.random.default_rng([7, predicates, point.size, round(1000 * point.volume)])
    width = max(1, round(point.volume * point.size))
    found: list[tuple[Box, np.ndarray]] = []
    for _ in range(_ATTEMPTS):
        starts = random.integers(0, point.size - width + 1, predicates)
        inside = np.ones(len(codes), dtype=bool)
        for axis, start in enumerate(starts):
            inside &= (codes[:, axis] >= start) & (codes[:, axis] < start + width)
        if inside.mean() >= LEAST[predicates]:
            sides = [((int(start), int(start) + width),) for start in starts]
            found.append((Box((*sides, *([None] * (2 - predicates)))), inside))
            if len(found) == count:
                return found
    raise ValueError("too few windows hold enough people")
