"""Every mechanism on the common work: errors of ranges, distributions and quantiles, and costs."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from benchmarks.field.factorization import Factorization
from benchmarks.field.grids import Calm, Felip, Hdg
from benchmarks.field.pripl import PriPl
from benchmarks.field.privnud import PrivNud
from benchmarks.field.questions import Floats, Integers, Question, mean_bits, questions_of
from benchmarks.field.square_wave import SwEms
from benchmarks.field.work import Table, counts_of, prefixes_of, ranges_of
from benchmarks.figures.cases import Row
from benchmarks.peers import ours
from benchmarks.smoothing import answers
from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import AnyDesign
from ldpsql.report import Histogram
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql.survey import Survey

DECILES = np.arange(1, 10) / 10
_TIMED, _TIMES = 20_000, 20


class Method(Protocol):
    """A published mechanism that this library does not have; its surveys are drawn from the exact
    law."""

    name: str
    biased: bool

    def refuses(self, sizes: Sequence[int]) -> str:
        """Why it cannot be used for these codes, or an empty text."""

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """Estimated shares of all cells from one survey of the people who are counted."""

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> Sequence[Question]:
        """What its devices are asked, and how they answer."""


PEERS: tuple[Method, ...] = (
    Hdg(),
    Felip(),
    Calm(),
    PriPl(),
    PrivNud(),
    SwEms(),
    Factorization(biased=False),
    Factorization(biased=True),
)
UNBIASED, SMOOTH, LEAN = "fourier", "fourier, smooth", "fourier for smooth"
_CHILDREN = {"inference": "consistent"}
OURS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    UNBIASED: ("fourier", {}, "unbiased"),
    SMOOTH: ("fourier", {}, "smooth"),
    LEAN: ("fourier", {"smooth_for": -1}, "smooth"),
    "HIO": ("hio", {}, "unbiased"),
    "HIO, consistent, optimal": ("hio", ours.BEST, "unbiased"),
    "HH, consistent": ("hh", _CHILDREN, "unbiased"),
    "HaarHRR": ("haarhrr", {}, "unbiased"),
    "LGRR, repaired": ("lgrr-repaired", {}, "unbiased"),
    "AHEAD": ("ahead", {}, "adaptive"),
}
"""Mechanisms of this library: the first three its own, the others published ones that it has. -1
stands for the number of people."""
NAMES = (*OURS, *(peer.name for peer in PEERS))
BIASED = (SMOOTH, LEAN, "AHEAD", *(peer.name for peer in PEERS if peer.biased))
_ONE_DIMENSION = ("HH, consistent", "HIO, consistent, optimal", "HaarHRR", "LGRR, repaired")


def peer_of(name: str) -> Method | None:
    """The published mechanism of that name, or None for a mechanism of this library."""
    return next((peer for peer in PEERS if peer.name == name), None)


def refuses(name: str, sizes: Sequence[int]) -> str:
    """Why a mechanism is not run on these codes, or an empty text."""
    peer = peer_of(name)
    if peer is not None:
        return peer.refuses(sizes)
    return "one dimension only, here" if name in _ONE_DIMENSION and len(sizes) > 1 else ""


def survey_of(name: str, sizes: Sequence[int], epsilon: str, people: int) -> Survey:
    """A survey of this library for ranges on every axis."""
    maker, options, _ = OURS[name]
    chosen = {key: people if value == -1 else value for key, value in options.items()}
    return ours._survey(tuple(sizes), epsilon, maker, json.dumps(chosen))


def measure(
    name: str, table: Table, epsilon: str, people: int, seeds: Sequence[int]
) -> Iterator[Row]:
    """One row per survey: mean squared error of ranges, W1 and the mean error of deciles (both per
    axis, on an axis of length 1, in the mean over axes), all as shares."""
    counts = counts_of(table, people)
    boxes = np.concatenate([ranges_of(table.shape), prefixes_of(table.shape)])
    exact, ranges = answers(counts, boxes) / people, len(ranges_of(table.shape))
    for seed in seeds:
        found, spent = _answers(name, counts, epsilon, seed, boxes)
        away, placed = _distances(found[ranges:], exact[ranges:], table.sizes)
        yield {
            "shape": table.shape,
            "table": table.name,
            "epsilon": epsilon,
            "name": name,
            "seed": seed,
            "error": float(np.square(found[:ranges] - exact[:ranges]).mean()),
            "w1": away,
            "deciles": placed,
            "collector": spent,
        }


def _answers(
    name: str, counts: Floats, epsilon: str, seed: int, boxes: Integers
) -> tuple[Floats, float]:
    """Estimated shares of boxes by one survey, and the collector's processor seconds."""
    people, peer = int(counts.sum()), peer_of(name)
    if peer is not None:
        random = np.random.default_rng([seed, 32])
        started = time.process_time()
        table = peer.estimate(counts, float(epsilon), random)
        return answers(table, boxes), time.process_time() - started
    design, histogram, spent = _collected(name, counts.shape, counts.tobytes(), epsilon, seed)
    started = time.process_time()
    estimator = design.estimators[OURS[name][2]](histogram)
    asked = [Box(tuple(((int(low), int(high)),) for low, high in box)) for box in boxes]
    planned = [design.prepare(LinearQuery.count(box)) for box in asked]
    values = np.asarray(estimator.values(planned)) / people
    return values, spent + time.process_time() - started


@lru_cache(maxsize=2)
def _collected(
    name: str, sizes: tuple[int, ...], counts: bytes, epsilon: str, seed: int
) -> tuple[AnyDesign, Histogram, float]:
    """The last design, its histogram, and seconds to count the reports; kept for another estimator
    of the same reports."""
    codes = _people(np.frombuffer(counts).reshape(sizes), seed)
    design = survey_of(name, sizes, epsilon, len(codes)).design
    entropy = SeededEntropy(seed)
    first, *others = _parts(design, codes)
    reports = design.randomize(first, entropy)
    for part in others:
        design = design.design_next(histogram_of(reports))
        reports = design.randomize(part, entropy)
    started = time.process_time()
    histogram = histogram_of(reports)
    return design, histogram, time.process_time() - started


def _people(counts: Floats, seed: int) -> Integers:
    """Codes of everybody in random order, shape (people, axes)."""
    each = np.indices(counts.shape).reshape(counts.ndim, -1)
    codes = np.repeat(each, counts.ravel().astype(np.int64), axis=1).T
    return np.ascontiguousarray(np.random.default_rng([seed, 33]).permutation(codes))


def _parts(design: AnyDesign, codes: Integers) -> list[Integers]:
    """Everybody at once, or dealt to the rounds."""
    return np.array_split(codes, design.rounds if design.asks_in_rounds else 1)


def _distances(found: Floats, exact: Floats, sizes: Sequence[int]) -> tuple[float, float]:
    """W1, and how far deciles are off, from shares up to every code of every axis."""
    away, placed, start = [], [], 0
    for size in sizes:
        part = slice(start, start + size - 1)
        own, true = (np.append(shares[part], 1.0) for shares in (found, exact))
        away.append(float(np.abs(own - true).mean()))
        # A running maximum, for estimates that are not monotone: the first code that reaches it.
        at, right = (
            np.searchsorted(np.maximum.accumulate(one), DECILES - 1e-12) for one in (own, true)
        )
        placed.append(float(np.abs(np.minimum(at, size - 1) - right).mean()) / size)
        start += size - 1
    return float(np.mean(away)), float(np.mean(placed))


# -- what it costs ---------------------------------------------------------------------------------


def questions(name: str, table: Table, epsilon: str, people: int) -> list[Question]:
    """What the devices of one survey are asked. Of AHEAD, in each of its rounds."""
    counts, peer = counts_of(table, people), peer_of(name)
    return questions_about(name, counts, epsilon, peer)


def questions_about(name: str, counts: Floats, epsilon: str, peer: Method | None) -> list[Question]:
    """The same for any table of people."""
    if peer is not None:
        random = np.random.default_rng(34)
        return list(peer.questions(counts, float(epsilon), random))
    design = survey_of(name, counts.shape, epsilon, int(counts.sum())).design
    parts, plans = _parts(design, _people(counts, 34)), [design.plan]
    for number, part in enumerate(parts[:-1]):
        histogram = histogram_of(design.randomize(part, SeededEntropy(number)))
        design = design.design_next(histogram)
        plans.append(design.plan)
    return [
        Question(one.weight / len(plans), one.cells, one.response)
        for plan in plans
        for one in questions_of(plan, float(epsilon))
    ]


def costs(name: str, table: Table, epsilon: str, people: int) -> Row:
    """Bytes of a report, and microseconds of a processor per report on the device and for counting
    it at the collector; a table of people at once, by NumPy, ours and theirs."""
    counts, asked = counts_of(table, people), questions(name, table, epsilon, people)
    random = np.random.default_rng(36)
    cells = random.choice(counts.size, _TIMED, p=counts.ravel() / counts.sum())
    device, counting = _times(name, table, epsilon, people, cells, asked)
    return {
        "shape": table.shape,
        "epsilon": epsilon,
        "name": name,
        "bytes": math.ceil(mean_bits(asked) / 8.0),
        "device": 1e6 * device / _TIMED,
        "counting": 1e6 * counting / _TIMED,
    }


def _times(
    name: str,
    table: Table,
    epsilon: str,
    people: int,
    cells: Integers,
    asked: Sequence[Question],
) -> tuple[float, float]:
    """Seconds to draw the reports of these people, and to count them: the mean of _TIMES times, of
    which one alone may be too short for the clock."""
    if name in OURS:
        design = survey_of(name, table.sizes, epsilon, people).design
        codes = np.stack(np.unravel_index(cells, table.sizes), axis=1)
        design.randomize(codes, SeededEntropy(0))  # what is kept is made once
        started = time.process_time()
        reports = [design.randomize(codes, SeededEntropy(seed)) for seed in range(1, 1 + _TIMES)]
        drawn = time.process_time()
        for own in reports:
            histogram_of(own)
        return (drawn - started) / _TIMES, (time.process_time() - drawn) / _TIMES
    random, device, counting = np.random.default_rng(37), 0.0, 0.0
    weights = np.array([question.weight for question in asked])
    whose = random.choice(len(asked), len(cells), p=weights / weights.sum())
    for number, question in enumerate(asked):
        own = question.cells[cells[whose == number]]
        question.response.draw(own[:1], random)
        started = time.process_time()
        answers = [question.response.draw(own, random) for _ in range(_TIMES)]
        drawn = time.process_time()
        for answer in answers:
            question.response.count(answer)
        device, counting = device + drawn - started, counting + time.process_time() - drawn
    return device / _TIMES, counting / _TIMES
