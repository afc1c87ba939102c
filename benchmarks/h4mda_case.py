"""One mechanism on one real table at one epsilon: errors, CPU seconds and peak memory, as JSON.

`python -m benchmarks.h4mda_case TABLE EPSILON CASE`; `benchmarks.h4mda` runs it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.real_data import folder
from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import AnyEstimator as Estimator
from ldpsql.designer import design
from ldpsql.simulation import Spent, collect
from ldpsql.store import Selection
from ldpsql.survey import Survey

EPSILONS = ("0.5", "1", "2", "5")
TABLES = {"adult": (17, 90), "acs_income_2018": (17, 96)}
HOURS = (1, 99)
RUNS = {"adult": 5, "acs_income_2018": 1}
COSTS = ("design", "randomize", "ingest", "answer", "peak")
WINDOWS, VOLUME, LEAST = 100, 0.15, {1: 0.01, 2: 0.002}
BEST = {"oracle": "auto", "inference": "consistent", "allocation": "optimal"}
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "hio (counts only)": ("hio", {}, "unbiased"),
    "hio, consistent, optimal (counts only)": ("hio", BEST, "unbiased"),
    "ahio": ("ahio", {}, "unbiased"),
    "ehio": ("ehio", {}, "unbiased"),
    "ehio, oracle auto": ("ehio", {"oracle": "auto"}, "unbiased"),
    "hgrr": ("hgrr", {}, "unbiased"),
    "lgrr-repaired": ("lgrr-repaired", {}, "unbiased"),
    "ahio, consistent, optimal": ("ahio", BEST, "unbiased"),
    "ehio, consistent, optimal": ("ehio", BEST, "unbiased"),
    "hgrr, consistent, optimal": (
        "hgrr",
        {"inference": "consistent", "allocation": "optimal"},
        "unbiased",
    ),
    "fourier": ("fourier", {}, "unbiased"),
    "fourier, smooth": ("fourier", {}, "smooth"),
    "grr": ("grr", {}, "unbiased"),
    "olh": ("olh", {}, "unbiased"),
    "oue (age only)": ("oue", {}, "unbiased"),
    "hi (age only)": ("hi", {}, "unbiased"),
    "hi, hrr": ("hi", {"oracle": "hrr"}, "unbiased"),
    "hh, oue (age only)": ("hh", {"oracle": "oue"}, "unbiased"),
    "hh, hrr, consistent (age only)": (
        "hh",
        {"fanout": 2, "oracle": "hrr", "inference": "consistent"},
        "unbiased",
    ),
    "haarhrr (age only)": ("haarhrr", {}, "unbiased"),
    "haarhrr, optimal (age only)": ("haarhrr", {"allocation": "optimal"}, "unbiased"),
    "ahead (counts only)": ("ahead", {}, "adaptive"),
    "lgrr-fd, published (NOT PRIVATE)": ("lgrr-fd", {}, "published"),
    "lgrr-fd, unbiased (NOT PRIVATE)": ("lgrr-fd", {}, "unbiased"),
    "lgrr, published (NOT PRIVATE)": ("lgrr", {}, "published"),
    "lgrr, by share (NOT PRIVATE)": ("lgrr", {}, "by_share"),
}


def survey(table: str, epsilon: str, case: str) -> Survey:
    """Age and weekly hours; the hours are a measure too, unless the mechanism only counts."""
    name, options, _ = CASES[case]
    low, high = TABLES[table]
    text = f'[survey]\ntable = "people"\nepsilon = "{epsilon}"\nmechanism = "{name}"\n'
    if name.startswith("lgrr") and name != "lgrr-repaired":
        text += "accept_no_guarantee = true\n"
    text += "[survey.options]\n"
    text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    text += f'[dimension.age]\ntype = "int"\ndomain = [{low}, {high}]\n'
    if "age only" not in case:
        text += f'[dimension.hours_per_week]\ntype = "int"\ndomain = [{HOURS[0]}, {HOURS[1]}]\n'
    if "counts only" not in case:
        text += f"[measure.hours_per_week]\nbounds = [{HOURS[0]}, {HOURS[1]}]\n"
    return design(text)


def measure(table: str, epsilon: str, case: str) -> dict[str, float]:
    """Mean errors over the runs that a table gets, and what the first one cost."""
    runs = [measured_once(table, epsilon, case, seed) for seed in range(1, RUNS[table] + 1)]
    found = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {**found, **{key: runs[0][key] for key in COSTS}, "runs": len(runs)}


def measured_once(table: str, epsilon: str, case: str, seed: int) -> dict[str, float]:
    """NMSE of COUNT and SUM, MRE of AVG for one and two predicates, and what it cost."""
    place = folder()
    assert place is not None
    people = pq.read_table(place / f"{table}.parquet", columns=["age", "hours_per_week"])
    low = TABLES[table][0]
    age = np.asarray(people["age"], dtype=np.int64) - low
    hours = np.asarray(people["hours_per_week"], dtype=np.int64)
    spent = Spent(clock=time.process_time)
    with spent.on("design"):
        first_round = survey(table, epsilon, case)
    asked, store = collect(first_round, people, seed=seed, spent=spent)
    result = dict(spent.seconds)
    with store:
        ((_, histogram),) = store.histograms("people", Selection())
        estimator = asked.design.estimators[CASES[case][2]](histogram)
        first, asked_so_far, repeat = 0.0, 0, 0.0
        for predicates in range(1, len(asked.design.domain.sizes) + 1):
            windows, inside = _windows(asked, age, hours - HOURS[0], predicates)
            queries = [LinearQuery.count(window) for window in windows]
            if asked.schema.measures:
                queries += [LinearQuery.sum(0, window) for window in windows]
            started = time.process_time()
            planned = [asked.design.prepare(query) for query in queries]
            values = _answered(estimator, planned)
            first, asked_so_far = first + time.process_time() - started, asked_so_far + len(queries)
            started = time.process_time()
            _answered(estimator, [asked.design.prepare(query) for query in queries[:100]])
            repeat += (time.process_time() - started) / 100 / len(asked.design.domain.sizes)
            result.update(_errors(values, inside, hours, predicates))
        # Reports are decoded once, by the first queries; the rest cost what a repetition costs.
        result["answer"] = first + repeat * (1000 - asked_so_far)
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return result


def _answered(estimator: Estimator, planned: list[Any]) -> np.ndarray:
    """Values of queries that are asked one by one, each with its error."""
    return np.concatenate([found.values for found in estimator.answer_rows([[q] for q in planned])])


def _windows(
    asked: Survey, age: np.ndarray, hours: np.ndarray, predicates: int
) -> tuple[list[Box], list[np.ndarray]]:
    """Random windows of a share of each domain's codes that hold enough people."""
    random = np.random.default_rng([7, predicates])
    boxes: list[Box] = []
    inside: list[np.ndarray] = []
    sizes = asked.design.domain.sizes
    while len(boxes) < WINDOWS:
        sides, members = [], np.ones(len(age), dtype=bool)
        for size, codes in list(zip(sizes, (age, hours), strict=False))[:predicates]:
            width = round(VOLUME * size)
            first = int(random.integers(0, size - width + 1))
            sides.append(((first, first + width),))
            members &= (codes >= first) & (codes < first + width)
        if members.mean() >= LEAST[predicates]:
            boxes.append(Box((*sides, *([None] * (len(sizes) - predicates)))))
            inside.append(np.flatnonzero(members))
    return boxes, inside


def _errors(
    values: np.ndarray, inside: list[np.ndarray], hours: np.ndarray, predicates: int
) -> dict[str, float]:
    counts = np.array([len(members) for members in inside], dtype=float)
    sums = np.array([hours[members].sum() for members in inside], dtype=float)
    found = {f"count{predicates}": ((values[:WINDOWS] - counts) / len(hours)) ** 2}
    if len(values) > WINDOWS:
        found[f"sum{predicates}"] = ((values[WINDOWS:] - sums) / hours.sum()) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            average = np.clip(values[WINDOWS:] / values[:WINDOWS], *HOURS)
        average = np.where(np.isnan(average), np.mean(HOURS), average)  # 0 hours of 0 people
        found[f"avg{predicates}"] = np.abs(average - sums / counts) / (sums / counts)
    return {key: float(np.mean(error)) for key, error in found.items()}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:4])))
