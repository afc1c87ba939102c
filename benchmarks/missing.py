"""Measures that may be missing: what their level costs, and whether answers are right.

Many surveys are asked at once: a public column numbers them, and every group of it is answered from
its own reports. People with larger incomes are the ones who leave the question out where values are
not missing at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

Floats = NDArray[np.float64]
PEOPLE, RUNS = 2_000, 200
SHARES = (0.0, 0.16, 0.6)
EPSILONS = ("1", "2", "4")
ASKED = ("AVG(income)", "SUM(income)", "COUNT(income)")
WHERE = {"of everybody": "", "of a group": " WHERE sex = 'f'"}
COMPARED = ("1", "2")
COST_HEAD = ["dimensions", "mechanism", "epsilon", "RMSE of AVG, required", "AVG", "SUM", "COUNT"]
HONESTY_HEAD = ["mechanism", "epsilon", "missing", "asked"]
HONESTY_HEAD += [
    f"{what} of {text.partition('(')[0]}" for text in ASKED for what in ("bias", "cover")
]
_DIMENSIONS = (
    "",
    '[dimension.sex]\ntype = "category"\nvalues = ["f", "m"]\n',
    '[dimension.age]\ntype = "int"\ndomain = [0, 9]\n',
)


def survey(
    epsilon: str, mechanism: str = "auto", *, required: str = "", dimensions: int = 2
) -> Survey:
    """Incomes by so many dimensions; required: more lines of the measure."""
    return design(
        f'[survey]\ntable = "people"\nepsilon = "{epsilon}"\nmechanism = "{mechanism}"\n'
        + "".join(_DIMENSIONS[: dimensions + 1])
        + f"[measure.income]\nbounds = [0, 100]\n{required}\n"
        + '[public.run]\ntype = "int"\n'
    )


def people(
    share: float, *, at_random: bool = True, runs: int = RUNS, each: int = PEOPLE
) -> pa.Table:
    """So many surveys of so many people, this share of whose incomes are missing."""
    random, count = np.random.default_rng(37), runs * each
    sex, age = random.integers(0, 2, count), random.integers(0, 10, count)
    income = np.clip(5 + 4 * age + 10 * sex + random.gamma(2.0, 8.0, count), 0, 100)
    ranks = income.argsort().argsort() / count
    chance = share if at_random else share * (0.5 + ranks)
    return pa.table(
        {
            "sex": pa.array(["f", "m"]).take(pa.array(sex)),
            "age": age,
            "income": pa.array(income, mask=random.random(count) < chance),
            "run": np.repeat(np.arange(runs), each),
        }
    )


@dataclass(frozen=True)
class Answers:
    """Of one aggregate in every survey; NaN where there is none.

    truths, values, low, high: shape (runs,).
    """

    truths: Floats
    values: Floats
    low: Floats
    high: Floats

    @property
    def errors(self) -> Floats:
        """Of those that have a value."""
        return (self.values - self.truths)[np.isfinite(self.values)]

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt((self.errors**2).mean()))

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the interval holds the truth, of those that have a value."""
        held = (self.low <= self.truths) & (self.truths <= self.high)
        return held[np.isfinite(self.values)]


def ask(asked: Survey, table: pa.Table, where: str = "", seed: int = 1) -> dict[str, Answers]:
    """The answers to `ASKED`, and the truths, in every survey of a table."""
    with simulate(asked, table, seed=seed) as connection:
        sql = f"SELECT run, {', '.join(ASKED)} FROM people{where} GROUP BY run ORDER BY run"
        found = connection.execute(sql).result
    shown = table if not where else table.filter(pc.field("sex") == "f")
    grouped = shown.group_by("run").aggregate(
        [("income", "mean"), ("income", "sum"), ("income", "count")]
    )
    truths = grouped.sort_by("run").select(["income_mean", "income_sum", "income_count"])
    return {
        text: Answers(
            truths.column(place).to_numpy().astype(np.float64),
            found.table.column(place + 1).to_numpy(zero_copy_only=False).astype(np.float64),
            found.intervals[place + 1].low,
            found.intervals[place + 1].high,
        )
        for place, text in enumerate(ASKED)
    }


def costs(mechanism: str, dimensions: int) -> Iterator[list[str]]:
    """RMSE where nobody's income is missing, over that of the same survey with required = true; of
    COUNT, which is exact there, as a share of the people."""
    table = people(0.0)
    for epsilon in COMPARED:
        kinds = [
            survey(epsilon, mechanism, required=lines, dimensions=dimensions)
            for lines in ("required = true", "")
        ]
        required, own = (ask(each, table) for each in kinds)
        average, total = (own[text].rmse / required[text].rmse for text in ASKED[:2])
        count = own[ASKED[2]].rmse / PEOPLE
        names = " / ".join(dict.fromkeys(each.design.name for each in kinds))
        yield [
            *(str(dimensions), names, epsilon, f"{required[ASKED[0]].rmse:.3g}"),
            *(f"**{average:.3f}**", f"{total:.3f}", f"{100 * count:.2g} %"),
        ]


def honesty(mechanism: str) -> Iterator[list[str]]:
    """Bias in standard errors of the mean, and coverage, of the three aggregates."""
    for epsilon in EPSILONS:
        asked = survey(epsilon, mechanism)
        for share, at_random in ((s, r) for s in SHARES for r in (True, False) if s or r):
            table = people(share, at_random=at_random)
            for of_whom, where in WHERE.items():
                found = ask(asked, table, where)
                cells = [
                    cell
                    for each in found.values()
                    for cell in (
                        f"{each.errors.mean() / each.errors.std() * len(each.errors) ** 0.5:+.1f}",
                        f"{100 * each.inside.mean():.1f} %",
                    )
                ]
                shown = f"{100 * share:.0f} %" + (" at random" if at_random and share else "")
                yield [asked.design.name, epsilon, shown, of_whom, *cells]


def costs_of_all() -> Iterator[list[str]]:
    """By numbers of dimensions."""
    for dimensions in range(3):
        for mechanism in ("auto", "fourier"):
            yield from costs(mechanism, dimensions)


def run() -> None:
    """Print the tables."""
    print_table("Missing, cost of the level where nobody is missing", COST_HEAD, costs_of_all())
    print_table("Missing, bias and coverage", HONESTY_HEAD, honesty("fourier"))
