"""Mechanisms of this project on the common work."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.peers.work import Task, codes_of
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.mechanisms.registry import mechanism
from ldpsql.store import Selection
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import collect

DEFAULT = "fourier"
SMOOTH = "fourier, smooth"
BEST = {"inference": "consistent", "allocation": "optimal", "oracle": "auto", "fanout": 4}
MECHANISMS: dict[str, tuple[str, dict[str, Any], str]] = {
    DEFAULT: ("fourier", {}, "unbiased"),
    SMOOTH: ("fourier", {}, "smooth"),
    "haarhrr": ("haarhrr", {}, "unbiased"),
    "hio": ("hio", {}, "unbiased"),
    "hio, consistent, optimal": ("hio", BEST, "unbiased"),
    "hh, consistent": ("hh", {"inference": "consistent"}, "unbiased"),
    "ahead": ("ahead", {}, "adaptive"),
}

# The ones that share reports together, the quick ones first.
COMPARED = (DEFAULT, SMOOTH)
ORDER = (COMPARED, *((name,) for name in MECHANISMS if name not in COMPARED))


def answers(
    task: Task, name: str, codes: np.ndarray, queries: np.ndarray, seed: int
) -> tuple[np.ndarray, float]:
    """Estimated shares, and CPU seconds. ldpsql.Error where the mechanism cannot do the task."""
    maker, options, estimator = MECHANISMS[name]
    design, store, spent = _collected(task, maker, json.dumps(options), seed)
    started = time.process_time()
    ((_, histogram),) = store.histograms("people", Selection())
    boxes = [Box(tuple(((int(lo), int(hi)),) for lo, hi in box)) for box in queries]
    planned = [design.prepare(LinearQuery.count(box)) for box in boxes]
    values = design.estimators[estimator](histogram).values(planned)
    return values / len(codes), spent + time.process_time() - started


@lru_cache(maxsize=4)
def _collected(task: Task, maker: str, options: str, seed: int) -> tuple[Design, Store, float]:
    """Everybody's reports, and CPU seconds; kept for another estimator of the same reports.

    The stores are in memory, as many as there are repetitions.
    """
    codes = codes_of(task)
    started = time.process_time()
    survey = _survey(task.sizes, task.epsilon, maker, options)
    names = RecordDomain.of(survey.schema).names
    table = pa.table(dict(zip(names, codes.T, strict=True)))
    last, store = collect(survey, table, seed=seed)
    return last.design, store, time.process_time() - started


@lru_cache(maxsize=64)
def _survey(sizes: tuple[int, ...], epsilon: str, maker: str, options: str) -> Survey:
    """The same for all data: a design sees parameters only, among them what will be asked."""
    chosen: dict[str, Any] = json.loads(options)
    dimensions = [Dimension(f"c{i}", int_domain(0, size - 1)) for i, size in enumerate(sizes)]
    schema = Schema(tuple(dimensions))
    domain, axes = RecordDomain.of(schema), range(len(sizes))
    asked = Workload(domain, (QueryClass(1.0, tuple((i, "range") for i in axes)),), (), len(sizes))
    design = mechanism(maker).design(domain, Epsilon.parse(epsilon), chosen, asked)
    return Survey("people", schema, design, chosen)
