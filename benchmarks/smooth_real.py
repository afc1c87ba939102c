"""Smooth against unbiased on whole simulated surveys of real tables, beside the specification.

Every person's report is drawn by the design, counted, and given to both estimators; nothing is
simulated in the Fourier domain. Mean squared errors are divided by the square of the number
of people. Source: docs/spec/fourier.md#8, docs/spec/fourier.md#9.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.direct import histogram_from
from benchmarks.real_grids import SOURCES, Floats, Integers, People, people_of
from benchmarks.smoothing import GRID, random_boxes
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.engine.arithmetic import typical_error
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.reports.report import Histogram
from ldpsql_device.epsilon import Epsilon

EPSILONS = ("0.5", "1", "2")
BOXES = 200
REPETITIONS = 3
# Boxes that are also asked in two parts.
HALVED = 20
# An average is only judged over boxes of at least so many of the people.
LARGE_BOX = 0.02
# Relative errors are of the truth, but at least of this share of the people.
RELATIVE_FLOOR = 0.01


# docs/spec/fourier.md#9: MSE unbiased, MSE smooth, relative error smooth.
COUNTS: Mapping[tuple[str, str], tuple[float, float, float]] = {
    ("adult", "0.5"): (1.05e-2, 1.45e-3, 0.395),
    ("adult", "1"): (2.70e-3, 4.9e-4, 0.303),
    ("adult", "2"): (4.9e-4, 1.6e-4, 0.161),
    ("acs_income_2018", "0.5"): (3.5e-4, 9.3e-5, 0.147),
    ("acs_income_2018", "1"): (8.0e-5, 3.5e-5, 0.096),
    ("acs_income_2018", "2"): (1.6e-5, 8.6e-6, 0.045),
    ("us_flights", "0.5"): (2.7e-4, 1.2e-4, 0.094),
    ("us_flights", "1"): (5.7e-5, 2.7e-5, 0.054),
    ("us_flights", "2"): (9.8e-6, 5.7e-6, 0.029),
}
# Its second table: MSE of SUM and mean absolute error of AVG, unbiased and smooth.
SUMS: Mapping[tuple[str, str], tuple[float, float, float, float]] = {
    ("adult", "0.5"): (1.24e-2, 0.276, 1.8e-3, 0.144),
    ("adult", "1"): (2.9e-3, 0.208, 6.1e-4, 0.065),
    ("adult", "2"): (7.0e-4, 0.133, 1.6e-4, 0.037),
    ("acs_income_2018", "0.5"): (4.2e-4, 0.097, 1.5e-4, 0.042),
    ("acs_income_2018", "1"): (1.1e-4, 0.057, 4.8e-5, 0.026),
    ("acs_income_2018", "2"): (2.3e-5, 0.029, 1.1e-5, 0.012),
    ("us_flights", "0.5"): (2.5e-4, 0.102, 4.2e-5, 0.033),
    ("us_flights", "1"): (6.4e-5, 0.051, 1.4e-5, 0.017),
    ("us_flights", "2"): (1.3e-5, 0.025, 3.8e-6, 0.0096),
}


@dataclass(frozen=True, eq=False)
class Answered:
    """What one summary said: arrays of shape (boxes, questions per box), COUNT and perhaps SUM.

    replicates: of the smooth values, shape (r, boxes, questions).  seconds: CPU time until the
    first smooth answer, the unbiased tables being there.
    """

    unbiased: Floats
    smooth: Floats
    replicates: Floats
    seconds: float

    @property
    def typical(self) -> Floats:
        """Typical error of the smooth values."""
        return typical_error(self.replicates, self.smooth)


@cache
def made_for(epsilon: str, *, with_measure: bool) -> FourierDesign:
    """The design for ranges on both axes, counts alone or counts and sums alike."""
    measures = 1 if with_measure else 0
    domain = RecordDomain(
        ("x", "y"), GRID, ("v",)[:measures], ((0.0, 1.0),) * measures, (None,) * measures
    )
    targets: list[int | None] = [None, *range(measures)]
    classes = tuple(
        QueryClass(1.0 / len(targets), ((0, "range"), (1, "range")), target) for target in targets
    )
    workload = Workload(domain, classes, (), 2)
    return Fourier().design(domain, Epsilon.parse(epsilon), {}, workload)


def collect(made: FourierDesign, people: People, seed: int) -> Histogram:
    """Everybody's report, drawn and counted; measures become signs at random."""
    codes = people.bins
    if made.domain.bounds:
        random = np.random.default_rng([seed, 3])
        signs = random.random(len(codes)) < people.measure
        codes = np.column_stack([codes, signs.astype(np.int64)])
    return histogram_from(made, codes, seed)


def ask(made: FourierDesign, histogram: Histogram, boxes: Integers) -> Answered:
    """COUNT, and SUM where there is a measure, of every box, by both estimators."""
    asked = [Box(tuple(((int(low), int(end)),) for low, end in box)) for box in boxes]
    sums = range(len(made.domain.bounds))
    rows = [
        [
            made.prepare(LinearQuery.count(box)),
            *(made.prepare(LinearQuery.sum(i, box)) for i in sums),
        ]
        for box in asked
    ]
    smooth = made.smooth(histogram)
    plain = smooth.unbiased.answer_rows(rows)
    start = time.process_time()
    smooth.answer_rows(rows[:1])
    seconds = time.process_time() - start
    found = smooth.answer_rows(rows)
    return Answered(
        np.array([one.values for one in plain]),
        np.array([one.values for one in found]),
        np.stack([one.replicates for one in found if one.replicates is not None], axis=1),
        seconds,
    )


def split(boxes: Integers) -> tuple[Integers, Integers]:
    """Every box as two, cut on its longer side; of one cell there is nothing to the left."""
    rows = np.arange(len(boxes))
    axis = np.diff(boxes)[..., 0].argmax(axis=1)
    middle = boxes[rows, axis].sum(axis=1) // 2
    left, right = boxes.copy(), boxes.copy()
    left[rows, axis, 1] = middle
    right[rows, axis, 0] = middle
    return left, right


def run() -> None:
    """Print the two tables."""
    people = {name: people_of(source) for name, source in SOURCES.items()}
    at_hand = {name: found for name, found in people.items() if found is not None}
    if len(at_hand) < len(SOURCES):
        print("Smooth on real tables: some are skipped, set LDPSQL_DATA to the folder of tables")
    print_table(
        f"COUNT, {BOXES} random boxes of 64 x 64 bins, {REPETITIONS} surveys; (expected)",
        (
            "data",
            "ε",
            "MSE unbiased",
            "MSE smooth",
            "relative error smooth",
            "smooth / unbiased",
            "typical / actual",
            "first answer (s)",
            "consistent",
        ),
        _counts(at_hand),
    )
    print()
    print_table(
        f"SUM and AVG of a measure, the same boxes, {REPETITIONS} surveys; (expected)",
        (
            "data",
            "ε",
            "SUM MSE unbiased",
            "AVG error unbiased",
            "SUM MSE smooth",
            "AVG error smooth",
            "typical / actual, SUM",
            "AVG",
            "first answer (s)",
            "consistent",
        ),
        _sums(at_hand),
    )


def _counts(at_hand: Mapping[str, People]) -> Iterator[tuple[object, ...]]:
    boxes = random_boxes(GRID, BOXES, np.random.default_rng(12))
    for (name, epsilon), expected in COUNTS.items():
        if name not in at_hand:
            continue
        people, made = at_hand[name], made_for(epsilon, with_measure=False)
        size, truth = len(people.bins), people.totals(boxes)
        unbiased, smooth, relative, typical, seconds = [], [], [], [], []
        sound = True
        for seed in range(REPETITIONS):
            said = _ask_with_halves(made, collect(made, people, seed), boxes)
            sound &= _is_consistent(said)
            error = said.smooth[:BOXES, 0] - truth
            unbiased.append(np.square(said.unbiased[:BOXES, 0] - truth).mean() / size**2)
            smooth.append(np.square(error).mean() / size**2)
            relative.append((np.abs(error) / np.maximum(truth, RELATIVE_FLOOR * size)).mean())
            typical.append(_honesty(said.typical[:BOXES, 0], error))
            seconds.append(said.seconds)
        yield (
            name,
            epsilon,
            f"{np.mean(unbiased):.2e} ({expected[0]:.2e})",
            f"{np.mean(smooth):.2e} ({expected[1]:.2e})",
            f"{np.mean(relative):.3f} ({expected[2]:.3f})",
            f"{np.mean(smooth) / np.mean(unbiased):.2f}",
            f"{np.mean(typical):.2f}",
            f"{np.mean(seconds):.1f}",
            "yes" if sound else "NO",
        )


def _sums(at_hand: Mapping[str, People]) -> Iterator[tuple[object, ...]]:
    boxes = random_boxes(GRID, BOXES, np.random.default_rng(12))
    for (name, epsilon), expected in SUMS.items():
        if name not in at_hand:
            continue
        people, made = at_hand[name], made_for(epsilon, with_measure=True)
        size, count = len(people.bins), people.totals(boxes)
        total = people.totals(boxes, people.measure)
        large = count >= LARGE_BOX * size
        found: list[tuple[float, ...]] = []
        sound = True
        for seed in range(REPETITIONS):
            said = _ask_with_halves(made, collect(made, people, seed), boxes)
            sound &= _is_consistent(said)
            plain, smooth = said.unbiased[:BOXES], said.smooth[:BOXES]
            truth = total[large] / count[large]
            guess = np.clip(_average(plain[large]), 0.0, 1.0)
            averages = _average(smooth[large])
            typical = typical_error(_average(said.replicates[:, :BOXES][:, large]), averages)
            known = np.isfinite(typical)
            found.append(
                (
                    np.square(plain[:, 1] - total).mean() / size**2,
                    np.abs(guess - truth).mean(),
                    np.square(smooth[:, 1] - total).mean() / size**2,
                    np.abs(np.nan_to_num(averages, nan=0.5) - truth).mean(),
                    _honesty(said.typical[:BOXES, 1], smooth[:, 1] - total),
                    _honesty(typical[known], (averages - truth)[known]),
                    said.seconds,
                )
            )
        means = np.mean(found, axis=0)
        yield (
            name,
            epsilon,
            f"{means[0]:.2e} ({expected[0]:.2e})",
            f"{means[1]:.3f} ({expected[1]:.3f})",
            f"{means[2]:.2e} ({expected[2]:.2e})",
            f"{means[3]:.3f} ({expected[3]:.3f})",
            *(f"{ratio:.2f}" for ratio in means[4:6]),
            f"{means[6]:.1f}",
            "yes" if sound else "NO",
        )


def _ask_with_halves(made: FourierDesign, histogram: Histogram, boxes: Integers) -> Answered:
    """Boxes, then the left parts of the first few, then the right ones."""
    return ask(made, histogram, np.concatenate([boxes, *split(boxes[:HALVED])]))


def _is_consistent(said: Answered) -> bool:
    """Whether parts add up, no count is negative, and no sum is outside its bounds.

    The tolerance is for rounding in COUNT; where there is a measure, counts and sums come from one
    table, so that sums obey the same.
    """
    whole, left, right = said.smooth[:HALVED], *np.split(said.smooth[BOXES:], 2)
    rounding = 1e-6 * np.abs(whole).max()
    adds_up = np.abs(left + right - whole).max() <= rounding
    counts, sums = said.smooth[:, 0], said.smooth[:, -1]
    inside = (sums >= -rounding).all() and (sums <= counts + rounding).all()
    return bool(adds_up and (counts >= -rounding).all() and inside)


def _average(answers: Floats) -> Floats:
    """SUM / COUNT; NaN where nobody is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(answers[..., 1] / answers[..., 0])


def _honesty(typical: Floats, error: Floats) -> float:
    """Root mean square of the typical errors over that of the actual ones."""
    return math.sqrt(np.square(typical).mean() / np.square(error).mean())
