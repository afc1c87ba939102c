"""Mechanisms of this project on the common work."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures.h4mda_work import values_of
from benchmarks.peers.work import Task
from ldpsql.bench.simulation import collect
from ldpsql.boxes import Box, LinearQuery
from ldpsql.domains import int_domain
from ldpsql.engine.backends.base import Selection
from ldpsql.mechanisms.registry import mechanism
from ldpsql.privacy import Epsilon
from ldpsql.schema import Dimension, Schema
from ldpsql.survey import Survey
from ldpsql.workload import QueryClass, Workload

DEFAULT = "fourier"
BEST = {"inference": "consistent", "allocation": "optimal", "oracle": "auto", "fanout": 4}
MECHANISMS: dict[str, tuple[str, dict[str, Any], str]] = {
    DEFAULT: ("fourier", {}, "unbiased"),
    "hio": ("hio", {}, "unbiased"),
    "hio, consistent, optimal": ("hio", BEST, "unbiased"),
    "hh, consistent": ("hh", {"inference": "consistent"}, "unbiased"),
    "haarhrr": ("haarhrr", {}, "unbiased"),
    "ahead": ("ahead", {}, "adaptive"),
}


def answers(
    task: Task, name: str, codes: np.ndarray, queries: np.ndarray, seed: int
) -> tuple[np.ndarray, float]:
    """Estimated shares, and seconds. ldpsql.Error where the mechanism cannot do the task."""
    started = time.process_time()
    survey = _survey(task.sizes, task.epsilon, name)
    names = survey.schema.record_domain.names
    table = pa.table(dict(zip(names, codes.T, strict=True)))
    last, store = collect(survey, table, seed=seed)
    with store:
        ((_, histogram),) = store.histograms("people", Selection())
        boxes = [Box(tuple(((int(lo), int(hi)),) for lo, hi in box)) for box in queries]
        planned = [last.design.plan(LinearQuery.count(box)) for box in boxes]
        values = values_of(last.design.estimators[MECHANISMS[name][2]](histogram), planned)
    return values / len(codes), time.process_time() - started


@lru_cache(maxsize=64)
def _survey(sizes: tuple[int, ...], epsilon: str, name: str) -> Survey:
    """The same for all data: a design sees parameters only, among them what will be asked."""
    maker, options, _ = MECHANISMS[name]
    dimensions = [Dimension(f"c{i}", int_domain(0, size - 1)) for i, size in enumerate(sizes)]
    schema = Schema(tuple(dimensions))
    domain, axes = schema.record_domain, range(len(sizes))
    asked = Workload(domain, (QueryClass(1.0, tuple((i, "range") for i in axes)),), (), len(sizes))
    design = mechanism(maker).design(domain, Epsilon.parse(epsilon), options, asked)
    return Survey("people", schema, design, options)
