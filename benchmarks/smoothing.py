"""How much smoothing gains over the unbiased estimates, on range queries over many data shapes.

Reports are simulated in the Fourier domain: coefficient f of the table carries normal noise of
variance n / lambda_f, with lambda proportional to the square root of the workload's spectrum and
scaled to the bound for translation-invariant mechanisms, which real designs come within a few
percent of. Every number is the mean squared error over random boxes, the smooth one divided by the
unbiased one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from benchmarks.real_data import folder
from benchmarks.tables import print_table
from ldpsql.algebra.workload import spectrum
from ldpsql.mechanisms.fourier.projection import Block
from ldpsql.mechanisms.fourier.smoothing import smooth

GRID = (64, 64)
LINE = (256,)
EPSILONS = (0.5, 2.0)
PEOPLE = (45_000, 1_000_000)
BOXES = 2000
REPETITIONS = 2
_HOURS = (1, 99)


@dataclass(frozen=True)
class Gain:
    """MSE of the smooth over that of the unbiased answers, per repetition, and what it cost."""

    ratios: tuple[float, ...]
    branches: tuple[str, ...]
    seconds: float

    @property
    def ratio(self) -> float:
        """Mean smooth MSE relative to the mean unbiased MSE."""
        return float(np.mean(self.ratios))


def shapes(cells: tuple[int, ...]) -> Mapping[str, np.ndarray]:
    """Shares of the people in every cell, by name of the data shape."""
    random = np.random.default_rng(7)
    axes = np.indices(cells) / np.reshape(cells, (-1, *(1 for _ in cells)))
    x, y = axes[0], axes[-1]
    if len(cells) == 1:
        gauss = np.exp(-((x - 0.45) ** 2) / 2 / 0.15**2)
    else:
        u, v = (x - 0.5) / 0.17, (y - 0.5) / 0.17
        gauss = np.exp(-(u**2 - 1.6 * u * v + v**2) / 2 / 0.36)
    spikes = np.zeros(cells)
    spikes.flat[random.choice(spikes.size, 10, replace=False)] = random.random(10) + 0.2
    sparse = np.where(random.random(cells) < 0.05, random.random(cells), 0.0)
    one = np.zeros(cells)
    one.flat[one.size // 3] = 1.0
    ranks = np.arange(1, cells[0] + 1, dtype=float)
    zipf = ranks**-1.2
    bumpy = np.where(random.random(cells[-1]) < 0.1, 1.0, 0.02)
    tables = {
        "gauss": gauss,
        "uniform": np.ones(cells),
        "10 spikes": spikes,
        "checkerboard": (np.indices(cells).sum(axis=0) % 2).astype(float),
        "5 % sparse": sparse,
        "gauss + spikes": gauss / gauss.sum() + 0.5 * spikes / spikes.sum(),
        "one cell": one,
        "Dirichlet": random.gamma(0.3, size=cells),
    }
    if len(cells) == 1:
        tables |= {"zipf": zipf, "spiky": bumpy, "sawtooth": 1.0 - (x * 8) % 1.0}
    else:
        tables |= {"diagonal": np.eye(*cells), "zipf x spiky": np.outer(zipf, bumpy)}
        tables |= _real(cells)
    return {name: table / table.sum() for name, table in tables.items()}


def _real(cells: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Age x weekly hours of the real tables, where they are at hand."""
    place = folder()
    if place is None:
        return {}
    found = {}
    for name, ages in (("adult", (17, 90)), ("acs_income_2018", (17, 96))):
        people = pq.read_table(place / f"{name}.parquet", columns=["age", "hours_per_week"])
        age, hours = (people.column(i).drop_null().to_numpy().astype(float) for i in range(2))
        found[name] = np.histogram2d(
            age, hours, bins=cells, range=((ages[0], ages[1] + 1), (_HOURS[0], _HOURS[1] + 1))
        )[0]
    return found


def spectra(cells: tuple[int, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The workload's spectrum for ranges on every axis, and lambda."""
    workload = np.ones(())
    for size in cells:
        workload = np.multiply.outer(workload, spectrum("range", size, size))
    e, size = math.exp(epsilon), math.prod(cells)
    k = np.arange(1, size)
    budget = (k * (size - k) * (e - 1) ** 2 / (k * e + size - k) ** 2).max()
    root = np.sqrt(workload)
    root.flat[0] = 0.0
    information = budget * root / root.sum()
    information.flat[0] = 1.0
    return workload, information


def observe(table: np.ndarray, information: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Noisy coefficients of a table of counts."""
    noise = np.fft.fftn(random.standard_normal(table.shape)) / math.sqrt(table.size)
    people = table.sum()
    observed = np.fft.fftn(table) + noise * np.sqrt(people / information)
    observed.flat[0] = people
    return observed


def answers(table: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Sums over boxes, given as (box, axis, low or high)."""
    sums = np.pad(table, [(1, 0)] * table.ndim)
    for axis in range(table.ndim):
        sums = sums.cumsum(axis=axis)
    total = np.zeros(len(boxes))
    for corner in np.ndindex(*(2,) * table.ndim):
        index = tuple(boxes[:, axis, side] for axis, side in enumerate(corner))
        total += (-1) ** (table.ndim - sum(corner)) * sums[index]
    return total


def random_boxes(cells: tuple[int, ...], count: int, random: np.random.Generator) -> np.ndarray:
    """Boxes whose sides are uniform among all ranges, shape (count, axes, 2)."""
    sides = []
    for size in cells:
        low, high = np.triu_indices(size)
        picked = random.integers(0, len(low), count)
        sides.append(np.stack([low[picked], high[picked] + 1], axis=1))
    return np.stack(sides, axis=1)


def gain(shares: np.ndarray, epsilon: float, people: int, repetitions: int) -> Gain:
    """Simulate some summaries and compare the two estimators on the same boxes."""
    random = np.random.default_rng(11)
    workload, information = spectra(shares.shape, epsilon)
    boxes = random_boxes(shares.shape, BOXES, random)
    ratios, branches, seconds = [], [], 0.0
    for _ in range(repetitions):
        table = random.multinomial(people, shares.ravel()).reshape(shares.shape).astype(float)
        observed = observe(table, information, random)
        axes = tuple(range(table.ndim))
        started = time.process_time()
        found = smooth([Block(axes, observed, information, workload, table.shape)], people)
        seconds += time.process_time() - started
        truth = answers(table, boxes)
        unbiased = np.square(answers(np.fft.ifftn(observed).real, boxes) - truth).mean()
        ratios.append(np.square(answers(found.tables[0], boxes) - truth).mean() / unbiased)
        branches.append(found.branch)
    return Gain(tuple(ratios), tuple(branches), seconds / repetitions)


def run(repetitions: int = REPETITIONS) -> None:
    """Print the ratio for every shape, epsilon and number of people, then mean and worst."""
    for cells in (LINE, GRID):
        table = {
            (name, epsilon, people): gain(shares, epsilon, people, repetitions)
            for name, shares in shapes(cells).items()
            for epsilon in EPSILONS
            for people in PEOPLE
        }
        columns = [(epsilon, people) for epsilon in EPSILONS for people in PEOPLE]
        print_table(
            f"Smooth over unbiased, MSE on random ranges, {' x '.join(map(str, cells))} cells",
            ("data", *(f"ε {epsilon:g}, n {people:,}" for epsilon, people in columns)),
            _rows(table, columns),
        )
        ratios = [found.ratio for found in table.values()]
        seconds = [found.seconds for found in table.values()]
        print(
            f"\nGeometric mean {math.exp(np.mean(np.log(ratios))):.2f}, worst {max(ratios):.2f}; "
            f"CPU time per "
            f"summary {np.median(seconds):.2f} s (median), {max(seconds):.2f} s (worst).\n"
        )


def _rows(
    table: Mapping[tuple[str, float, int], Gain], columns: list[tuple[float, int]]
) -> Iterator[tuple[object, ...]]:
    for name in dict.fromkeys(key[0] for key in table):
        cells = [table[name, epsilon, people] for epsilon, people in columns]
        yield name, *(f"{found.ratio:.2f} ({found.branches[0]})" for found in cells)


if __name__ == "__main__":
    run()
