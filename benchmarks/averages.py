"""The average of a measure alone, and by a dimension, beside published mechanisms for one number.

Standard errors follow from the channels, without simulation: what one person adds to a variance is
its mean over the table. Measures count in half of the distance of their bounds, about their middle.
Duchi et al. (2018), the Piecewise and the Hybrid Mechanism of Wang et al. (ICDE 2019), and the
optimal piecewise mechanism of Zheng, Mishra and Hu (PETS 2025), whose estimate is the mean of the
reports and is biased.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures.data import people
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.estimators.cells import MatrixChannel
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon

Floats = NDArray[np.float64]
EPSILONS = ("0.5", "1", "2", "4")
ALONE = RecordDomain((), (), ("x",), ((-1.0, 1.0),), (None,))
BY_SEX = RecordDomain(("sex",), (2,), ("x",), ((-1.0, 1.0),), (None,))


@dataclass(frozen=True)
class Source:
    """A column of a table with the bounds that a survey would state."""

    table: str
    column: str
    bounds: tuple[float, float]
    stand_in: Callable[[np.random.Generator], Floats]

    def values(self) -> tuple[Floats, str]:
        """The measure of every person between -1 and 1, and a line that says where it is from."""
        table, text = people(self.table, [self.column], self._generate)
        column = table[self.column].combine_chunks().drop_null()
        low, high = self.bounds
        values = np.clip(column.to_numpy(zero_copy_only=False).astype(np.float64), low, high)
        return (2.0 * values - low - high) / (high - low), f"{self.column} in {text}"

    def _generate(self) -> pa.Table:
        random = np.random.default_rng(7)
        return pa.table({self.column: self.stand_in(random)})


def _hours(random: np.random.Generator) -> Floats:
    worked = np.where(random.random(40_000) < 0.47, 40.0, random.normal(40.0, 16.0, 40_000))
    return np.asarray(np.rint(worked))


def _balances(random: np.random.Generator) -> Floats:
    return np.asarray(np.rint(random.lognormal(6.2, 1.5, 40_000) - 100.0))


def _delays(random: np.random.Generator) -> Floats:
    return np.asarray(np.rint(random.gamma(1.1, 28.0, 40_000) - 25.0))


SOURCES = (
    Source("adult", "hours_per_week", (0.0, 80.0), _hours),
    Source("acs_income_2018", "hours_per_week", (0.0, 99.0), _hours),
    Source("bank_marketing", "balance", (-8_000.0, 20_000.0), _balances),
    Source("us_flights", "arr_delay", (-60.0, 180.0), _delays),
    Source("us_flights", "dep_delay", (-30.0, 180.0), _delays),
)


# -- published mechanisms: squared error of the mean, times people ---------------------------------


def duchi(values: Floats, epsilon: float) -> float:
    """Two reports, +-(e^epsilon + 1) / (e^epsilon - 1)."""
    return (1.0 / math.tanh(epsilon / 2.0)) ** 2 - float(values.mean()) ** 2


def piecewise(values: Floats, epsilon: float) -> float:
    """A window on a line longer than the bounds."""
    half = math.exp(epsilon / 2.0)
    spread = values**2 / (half - 1.0) + (half + 3.0) / (3.0 * (half - 1.0) ** 2)
    return float(spread.mean()) + float(values.var())


def hybrid(values: Floats, epsilon: float) -> float:
    """From epsilon .61 on the piecewise one with probability 1 - e^(-epsilon / 2), else Duchi's."""
    share = 1.0 - math.exp(-epsilon / 2.0) if epsilon > 0.61 else 0.0
    return share * piecewise(values, epsilon) + (1.0 - share) * duchi(values, epsilon)


def optimal_piecewise(values: Floats, epsilon: float) -> float:
    """A window within the bounds, cut off at their ends; with the square of its bias."""
    high = math.exp(epsilon / 2.0)
    half = (high - 1.0) / (2.0 * (math.exp(epsilon) - 1.0))
    middle = np.clip((values + 1.0) / 2.0, half, 1.0 - half)
    ends = middle - half, middle + half
    first, second = (
        [high * (ends[1] ** k - ends[0] ** k) / k, (1 - ends[1] ** k + ends[0] ** k) / high / k]
        for k in (2, 3)
    )
    mean, square = np.sum(first, axis=0), np.sum(second, axis=0)
    bias = 2.0 * float(np.mean(mean)) - 1.0 - float(values.mean())
    return 4.0 * (float(square.mean()) - float(mean.mean()) ** 2) + len(values) * bias**2


PUBLISHED = {
    "Duchi": duchi,
    "PM": piecewise,
    "HM": hybrid,
    "OPM, biased": optimal_piecewise,
}


# -- this library ----------------------------------------------------------------------------------


def own(values: Floats, epsilon: str, levels: int = 0) -> tuple[float, int]:
    """The same of the average of a measure alone, and how many levels it has."""
    total = Workload(ALONE, (QueryClass(1.0, (), 0),))
    design = mechanism("staircase").design(ALONE, Epsilon.parse(epsilon), {"levels": levels}, total)
    assert isinstance(design.channel, MatrixChannel)
    places = design.domain.level_values(0)
    squares = design.channel.matrix.T @ (design.channel.contributions @ places) ** 2
    # Between two levels people are rounded to one or the other.
    second = float(np.interp(values, places, squares).mean())
    return second - float(values.mean()) ** 2, design.domain.levels[0]


def by_sex(epsilon: str, levels: int = 0) -> tuple[float, int]:
    """Expected standard error of the average of a group of two, times the root of people."""
    kinds = ((0, "equality"),)
    asked = Workload(BY_SEX, (QueryClass(0.25, kinds), QueryClass(0.75, kinds, 0)))
    design = mechanism("staircase").design(
        BY_SEX, Epsilon.parse(epsilon), {"levels": levels}, asked
    )
    # The average is 0 where people are spread evenly, so its error is that of the sum.
    query = design.prepare(LinearQuery.sum(0, Box((((0, 1),),))))
    return 2.0 * math.sqrt(float(design.variance([query], 1)[0])), design.domain.levels[0]


def rows(source: Source) -> Iterator[list[str]]:
    """One row per epsilon: RMSE of the average over that of the Piecewise Mechanism."""
    values, _ = source.values()
    for epsilon in EPSILONS:
        unit, (error, levels) = piecewise(values, float(epsilon)), own(values, epsilon)
        low, high = source.bounds
        shown = math.sqrt(unit / len(values)) * (high - low) / 2.0
        others = (each(values, float(epsilon)) for each in PUBLISHED.values())
        yield [
            epsilon,
            f"{shown:.3g}",
            *(f"{math.sqrt(other / unit):.3f}" for other in others),
            f"**{math.sqrt(error / unit):.3f}**",
            str(levels),
        ]


def run() -> None:
    """Print the tables."""
    for source in SOURCES:
        title = f"{source.values()[1]}, bounds {source.bounds}"
        print_table(title, ["epsilon", "RMSE of PM", *PUBLISHED, "ldpsql", "levels"], rows(source))
    found = [(epsilon, by_sex(epsilon, 2)[0], *by_sex(epsilon)) for epsilon in EPSILONS]
    table = [
        [epsilon, f"{two:.3f}", f"{error:.3f}", f"{error / two:.3f}", str(levels)]
        for epsilon, two, error, levels in found
    ]
    title = "Average by a dimension of two codes, expected error x root of people"
    print_table(title, ["epsilon", "two levels", "chosen levels", "ratio", "levels"], table)
