"""One mechanism at one point of H4MDA's experiments: people answer, windows are asked, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures.cases import Row
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram, Reports
from ldpsql.store import Selection
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error
from ldpsql_device.schema import RESERVED_PREFIX, Dimension, Measure, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy, accept_everything, collect, histogram_of

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
    "fourier, smooth": ("fourier", {}, "smooth"),
    "lgrr-fd, published": ("lgrr-fd", {}, "published"),
    "lgrr, published": ("lgrr", {}, "published"),
    "lgrr, raw counts": ("lgrr", {}, "by_share"),
}
COUNTS_ONLY = ("hio", "ahead")
NOT_PRIVATE = ("lgrr-fd, published", "lgrr, published", "lgrr, raw counts")
WITHOUT_TREES = ("ahead", "fourier")
LEAST = {1: 0.01, 2: 0.002, 3: 0.0005}
"""The share of people that a window on so many attributes holds at least."""
_ATTEMPTS = 100_000


@dataclass(frozen=True)
class Point:
    """Where an experiment is: share of the codes in a window, codes, epsilon, fan-out.

    padded: whether every node has so many children, rather than at most.
    """

    volume: float
    size: int
    epsilon: str
    fanout: int
    padded: bool = False

    @property
    def tree(self) -> dict[str, Any]:
        """The options of a mechanism with trees."""
        return {"fanout": self.fanout, "tree": "padded" if self.padded else "balanced"}

    def at(self, name: str, value: Any) -> Point:
        """The same with another value of one of them."""
        return replace(self, **{name: value})


def errors(
    name: str,
    codes: Callable[[], np.ndarray],
    point: Point,
    mechanism: str,
    runs: int,
    windows: int,
) -> list[Row]:
    """A row per number of predicates and aggregate: mean error over windows and runs, and its
    standard error over runs. None for a mechanism that refuses the point.

    name: of the data that `codes` gives.
    """
    everybody = codes()
    counts = mechanism in COUNTS_ONLY
    numbers = range(1, everybody.shape[1] + 1)
    boxes = {k: _windows(everybody, point, k, windows) for k in numbers}
    try:
        every = [_run(_answered(name, everybody, point, mechanism, r), boxes) for r in range(runs)]
    except Error as error:
        print(f"  {mechanism} at {point}: {error}", flush=True)
        return []
    return [
        {
            "predicates": k,
            "aggregate": aggregate,
            "error": float(np.mean([run[k, aggregate] for run in every])),
            "stderr": _stderr([run[k, aggregate] for run in every]),
            "runs": runs,
        }
        for k in numbers
        for aggregate in (("COUNT",) if counts else ("COUNT", "SUM", "AVG"))
    ]


def _stderr(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class _Answered:
    """People who have answered: their codes, the survey, and what the reports say."""

    codes: np.ndarray
    survey: Survey
    estimator: Any


_last: dict[tuple[Any, ...], _Answered] = {}


def _answered(name: str, codes: np.ndarray, point: Point, mechanism: str, run: int) -> _Answered:
    """The last one is kept: another volume is asked of the same reports. More would fill memory,
    for an estimator keeps what it decodes."""
    tree = {} if MECHANISMS[mechanism][0] in WITHOUT_TREES else point.tree
    names = tuple("abc"[: codes.shape[1]])
    survey = _survey(names, point.size, point.epsilon, tuple(tree.items()), mechanism)
    key = (name, len(codes), survey.fingerprint, mechanism, run)
    if key not in _last:
        _last.clear()
        table = pa.table(dict(zip(names, codes.T + 1, strict=True)))
        last, histogram = _collect(survey, table, run)
        estimator = last.design.estimators[MECHANISMS[mechanism][2]](histogram)
        _last[key] = _Answered(codes, last, estimator)
    return _last[key]


def _collect(survey: Survey, table: pa.Table, run: int) -> tuple[Survey, Histogram]:
    """The survey of the last round, and how often every report is there. Where one round does it
    needs no store, which would decode rich reports once more."""
    if isinstance(survey.design, Rounds):
        last, store = collect(survey, table, seed=run)
        ((_, histogram),) = store.histograms("people", Selection())
        return last, histogram
    policy = accept_everything(survey)
    reports, _ = randomize_batch(survey, table, SeededEntropy(run), policy=policy)
    names = (RESERVED_PREFIX + name for name in survey.plan.columns)
    columns = [reports.column(name).to_numpy() for name in names]
    return survey, histogram_of(Reports.pack(survey.design.report_format, columns))


@lru_cache(maxsize=64)
def _survey(
    names: tuple[str, ...],
    size: int,
    epsilon: str,
    tree: tuple[tuple[str, Any], ...],
    mechanism: str,
) -> Survey:
    """All attributes as dimensions and, unless the mechanism only counts, as measures."""
    name, options, _ = MECHANISMS[mechanism]
    dimensions = tuple(Dimension(column, int_domain(1, size)) for column in names)
    bounds = (1.0, float(size))
    measures = () if mechanism in COUNTS_ONLY else tuple(Measure(own, bounds) for own in names)
    schema = Schema(dimensions, measures)
    chosen = {**options, **dict(tree)}
    domain = RecordDomain.of(schema)
    workload = Workload.everyday(domain, max_predicates=len(names))
    design = registered(name).design(domain, Epsilon.parse(epsilon), chosen, workload)
    nothing = design.guarantee.kind == "none"
    return Survey("people", schema, design, chosen, accept_no_guarantee=nothing)


def _run(
    answered: _Answered, boxes: dict[int, list[tuple[Box, np.ndarray]]]
) -> dict[tuple[int, str], float]:
    survey, codes = answered.survey, answered.codes
    found: dict[tuple[int, str], float] = {}
    for k, windows in boxes.items():
        queries = [LinearQuery.count(box) for box, _ in windows]
        if survey.schema.measures:
            queries += [LinearQuery.sum(1, box) for box, _ in windows]
        planned = [survey.design.prepare(query) for query in queries]
        values = answered.estimator.values(planned)
        truths = [(inside.sum(), (codes[inside, 1] + 1).sum()) for _, inside in windows]
        for aggregate, error in _errors(values, np.array(truths, float), codes, survey).items():
            found[k, aggregate] = error
    return found


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
            found.append((Box((*sides, *([None] * (codes.shape[1] - predicates)))), inside))
            if len(found) == count:
                return found
    raise ValueError("too few windows hold enough people")
