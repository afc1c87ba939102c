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
PEOPLE, RUNS = 1_000, 1_000
MANY = 10_000
"""People, for mechanisms by which averages of fewer have an interval too seldom."""
MISSING = ((0.0, True), (0.16, True), (0.16, False), (0.6, True), (0.6, False))
"""Shares of missing values, and whether they are missing at random."""
EPSILONS = ("1", "2", "4")
MECHANISMS = ("fourier", "staircase", "grr", "hgrr", "hio", "ahio", "ehio")
"""Those of the core."""
OTHERS = ("olh", "oue", "hrr", "hi", "lgrr-repaired", "lgrr-fd", "hh", "haarhrr")
"""Further ones that answer averages with an interval; `lgrr` is biased and has none."""
OF_ONE = ("hh", "haarhrr")
"""Mechanisms for one column, which is the income then: they are asked about everybody alone."""
ANSWERED = 0.95
"""A smaller share of averages with an interval is a selection."""
ASKED = ("AVG(income)", "SUM(income)", "COUNT(income)")
COST_HEAD = ["dimensions", "mechanism", "epsilon", "RMSE of AVG, required", "AVG", "SUM", "COUNT"]
HONESTY_HEAD = ["mechanism", "epsilon", "people", "answered", "bias of AVG", "where few", "cover"]
HONESTY_HEAD += [f"{what} of {name}" for name in ("SUM", "COUNT") for what in ("bias", "cover")]
_DIMENSIONS = (
    "",
    '[dimension.sex]\ntype = "category"\nvalues = ["f", "m"]\n',
    '[dimension.age]\ntype = "int"\ndomain = [0, 9]\n',
)


def survey(
    epsilon: str, mechanism: str = "auto", *, required: str = "", dimensions: int = 2
) -> Survey:
    """Incomes by so many dimensions; required: more lines of the measure."""
    more = "accept_no_guarantee = true\n" if mechanism == "lgrr-fd" else ""
    return design(
        f'[survey]\ntable = "people"\nepsilon = "{epsilon}"\nmechanism = "{mechanism}"\n{more}'
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

    truths, values, stderr, low, high: shape (runs,).
    """

    truths: Floats
    values: Floats
    stderr: Floats
    low: Floats
    high: Floats

    @property
    def errors(self) -> Floats:
        """Of those that have a value."""
        return (self.values - self.truths)[np.isfinite(self.values)]

    @property
    def answered(self) -> float:
        """The share that has a value."""
        return float(np.isfinite(self.values).mean())

    @property
    def bias(self) -> float:
        """Of those that have a value, in standard deviations of one."""
        return float(self.errors.mean() / self.errors.std())

    @property
    def rmse(self) -> float:
        """Root of the mean squared standard error: it varies less than that of the errors does."""
        return float(np.sqrt(np.nanmean(self.stderr**2)))

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the interval, of those that have a value, holds what is true of all from whom the
        people of the surveys are drawn: an answer is about these."""
        truth = self.truths.mean()
        held: NDArray[np.bool_] = (self.low <= truth) & (truth <= self.high)
        return held[np.isfinite(self.values)]


def ask(asked: Survey, table: pa.Table, seed: int = 1) -> dict[str, Answers]:
    """The answers to `ASKED` in every survey of a table, and the truths; of everybody, and of women
    where their sex is asked."""
    of_whom = {"": table}
    if asked.schema.dimensions:
        of_whom[" FILTER (WHERE sex = 'f')"] = table.filter(pc.field("sex") == "f")
    truths: dict[str, Floats] = {}
    for condition, members in of_whom.items():
        kinds = [("income", kind) for kind in ("mean", "sum", "count")]
        columns = members.group_by("run").aggregate(kinds).sort_by("run").drop_columns("run")
        for text, column in zip(ASKED, columns.columns, strict=True):
            truths[text + condition] = column.to_numpy().astype(np.float64)
    with simulate(asked, table, seed=seed) as connection:
        sql = f"SELECT run, {', '.join(truths)} FROM people GROUP BY run ORDER BY run"
        found = connection.execute(sql).result
    answers = found.table.columns[1:]
    return {
        text: Answers(
            truth,
            answers[place].to_numpy().astype(np.float64),
            found.intervals[place + 1].stderr,
            found.intervals[place + 1].low,
            found.intervals[place + 1].high,
        )
        for place, (text, truth) in enumerate(truths.items())
    }


def costs(dimensions: int) -> Iterator[list[str]]:
    """By `auto`: RMSE where nobody's income is missing, over that of the same survey with
    required = true; of COUNT, which is exact there, as a share of the people."""
    table = people(0.0)
    for epsilon in EPSILONS:
        kinds = [
            survey(epsilon, required=lines, dimensions=dimensions)
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


def cases(mechanism: str, epsilon: str, runs: int, each: int) -> Iterator[dict[str, Answers]]:
    """The answers for all shares of missing values, at random and not, of everybody and a group."""
    asked = survey(epsilon, mechanism, dimensions=int(mechanism not in OF_ONE))
    for share, at_random in MISSING:
        yield ask(asked, people(share, at_random=at_random, runs=runs, each=each))


def honesty(mechanism: str, epsilon: str, runs: int = RUNS, each: int = PEOPLE) -> list[str]:
    """Of each aggregate the largest bias, in standard errors of one answer, and the coverage, over
    all cases; of averages also in the cases in which few have an interval."""
    found: dict[str, list[Answers]] = {text: [] for text in ASKED}
    for answers in cases(mechanism, epsilon, runs, each):
        for text, own in answers.items():
            found[text.partition(" ")[0]].append(own)
    cells = [mechanism, epsilon, f"{each:,}"]
    for text, members in found.items():
        few = [own for own in members if own.answered < ANSWERED]
        if text == ASKED[0]:
            cells.append(f"{100 * min(own.answered for own in members):.0f} %")
        cells.append(_largest_bias([own for own in members if own.answered >= ANSWERED]))
        if text == ASKED[0]:
            cells.append(_largest_bias(few))
        inside = np.concatenate([own.inside for own in members])
        cells.append(f"{100 * inside.mean():.1f} %")
    return cells


def _largest_bias(members: list[Answers]) -> str:
    return f"{max(abs(own.bias) for own in members):.2f}" if members else ""


def run() -> None:
    """Print the tables."""
    rows = (row for dimensions in range(3) for row in costs(dimensions))
    print_table("Missing, cost of the level where nobody is missing", COST_HEAD, rows)
    asked = [(name, epsilon, RUNS, PEOPLE) for name in MECHANISMS + OTHERS for epsilon in EPSILONS]
    asked += [(name, "1", RUNS, MANY) for name in ("hgrr", "hio", "oue", "hrr", "hi")]
    found = (honesty(*each) for each in asked)
    print_table("Missing, largest bias and coverage", HONESTY_HEAD, found)
