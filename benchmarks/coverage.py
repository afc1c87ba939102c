"""How often 95 % intervals hold, by kind of answer, in small surveys of odd populations.

Many surveys are asked at once: a public column numbers them, and every group of it is answered from
its own reports. People are drawn anew for each from a population of `odd_tables`, of which the
truth is: DuckDB's answer over two million people, counts and sums scaled to a survey.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.odd_tables import CODES, KINDS, MORE, ODD_TABLES, OddTable
from benchmarks.tables import print_table
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.survey import Survey
from ldpsql_device.schema import PublicColumn
from ldpsql_lab.simulation import collect

Floats = NDArray[np.float64]

SURVEYS, PEOPLE = 300, 500
EPSILONS = ("0.3", "6")
CROWD, CROWDS, CENTRAL = 1_000, 1_000, "1"
"""People of a shuffled batch, batches of each population, and what they are promised."""
LOW, HIGH = 0.94, 0.965
"""The coverage that is required; quantiles, which are whole values, may cover more."""
_TRUTH_FROM, _ROUNDING = 2_000_000, 1e-9
AT_ONCE, _SELDOM = 250, 0.2
"""Batches that are simulated together. Populations with a smaller share of answers are in the
total alone."""
HEAD = ("answer", "epsilon", "coverage", "+/-", "told", "lowest", "highest", "met")

SMALL = " FILTER (WHERE kind = 'd')"
KINDS_OF_ANSWERS = {
    "COUNT": ("COUNT(*) FILTER (WHERE code <= 7)", "COUNT(*) FILTER (WHERE code = 5)"),
    "SUM": ("SUM(pay)", "SUM(pay) FILTER (WHERE code <= 7)", "COUNT(pay)"),
    "AVG": ("AVG(pay)", "AVG(code)", "AVG(pay) FILTER (WHERE code <= 7)"),
    "VAR": ("VAR_POP(code)",),
    "STDDEV": ("STDDEV_POP(code)",),
    "quantile 0.1": ("QUANTILE_DISC(code, 0.1)",),
    "MEDIAN": ("MEDIAN(code)",),
    "quantile 0.9": ("QUANTILE_DISC(code, 0.9)",),
    "COUNT, small group": (f"COUNT(*){SMALL}", "COUNT(*) FILTER (WHERE kind = 'd' AND code <= 7)"),
    "SUM, small group": (f"SUM(pay){SMALL}",),
    "AVG, small group": (f"AVG(pay){SMALL}", f"AVG(code){SMALL}"),
    "MEDIAN, small group": (f"MEDIAN(code){SMALL}",),
}
"""The questions to every population."""


def survey(epsilon: str, table: OddTable) -> Survey:
    """The survey of a population, by the mechanism that is chosen for it."""
    return design(
        f'[survey]\ntable = "people"\nepsilon = "{epsilon}"\nusers = {PEOPLE}\n'
        + _columns(table)
        + '[public.run]\ntype = "int"\n'
    )


def crowd_survey(epsilon: str, table: OddTable, people: int = CROWD) -> Survey:
    """The same for shuffled batches of so many people, at delta 1 / (100 people).

    Reports to a shuffler have no public columns, so it has the design of such a survey, and trusts
    none: batches are numbered, and counts are the same in whatever order reports come.
    """
    shuffled = _design_once(
        f'[survey]\ntable = "people"\ntrust = "shuffle"\nepsilon = "{epsilon}"\n'
        f'delta = "{1 / (100 * people)}"\nusers = {people}\n' + _columns(table)
    )
    schema = replace(shuffled.schema, public=(PublicColumn("run", "int"),))
    return Survey("people", schema, shuffled.design, shuffled.options)


@cache
def _design_once(text: str) -> Survey:
    """Nine populations of ten have the same columns."""
    return design(text)


def _columns(table: OddTable) -> str:
    """The private columns of a survey file."""
    more = "".join(
        f'[dimension.{name}]\ntype = "int"\ndomain = [0, 2]\n' for name in MORE if table.more
    )
    return (
        f'[dimension.code]\ntype = "int"\ndomain = [0, {CODES - 1}]\n'
        f'[dimension.kind]\ntype = "category"\nvalues = {list(KINDS)}\n'.replace("'", '"')
        + more
        + "[measure.pay]\nbounds = [0, 100]\n"
    )


@dataclass(frozen=True)
class Trial:
    """Questions about a population that many small surveys ask."""

    survey: Survey
    population: OddTable
    asked: tuple[str, ...]
    people: int = PEOPLE
    confidence: float = CONFIDENCE

    @cached_property
    def truths(self) -> Floats:
        """Of the population, shape (asked,)."""
        table = self.population.people(np.random.default_rng(4242), _TRUTH_FROM)
        with duckdb.connect() as database:
            database.register("people", table)
            (row,) = database.execute(f"SELECT {', '.join(self.asked)} FROM people").fetchall()
        scales = [
            self.people / _TRUTH_FROM if text.startswith(("COUNT", "SUM")) else 1.0
            for text in self.asked
        ]
        return np.array([np.nan if v is None else float(v) for v in row]) * scales

    def inside(self, surveys: int, seed: int) -> Floats:
        """Whether intervals hold the truth, NaN where there is none, shape (surveys, asked)."""
        people = self.population.people(np.random.default_rng(seed), surveys * self.people)
        people = people.append_column("run", pa.array(np.arange(surveys).repeat(self.people)))
        with collect(self.survey, people, seed=seed)[1] as store:
            sql = f"SELECT run, {', '.join(self.asked)} FROM people GROUP BY run ORDER BY run"
            found = Session(store, confidence=self.confidence, seconds=3600.0).execute(sql)
        held = np.empty((surveys, len(self.asked)))
        for place, truth in enumerate(self.truths.tolist()):
            bars = found.intervals[place + 1]
            slack = _ROUNDING * max(1.0, abs(truth))
            own = (bars.low - slack <= truth) & (truth <= bars.high + slack)
            is_told = found.table.column(place + 1).is_valid().to_numpy() & np.isfinite(bars.low)
            held[:, place] = np.where(is_told, own, np.nan)
        return held


# -- the most frequent of many items ---------------------------------------------------------------

ITEMS, TOP, TOP_PEOPLE, TOP_SURVEYS = 100, 5, 1_000, 200
TOP_SHARES = {
    "Zipf": 1.0 / np.arange(1, ITEMS + 1),
    "even": np.ones(ITEMS),
    "half in one": np.array([1.0] + [1.0 / (ITEMS - 1)] * (ITEMS - 1)),
}
"""How people spread over the items, up to a factor."""


def joint_inside(
    epsilon: str, shares: Floats, order: str, surveys: int, seed: int
) -> tuple[Floats, Floats]:
    """Per survey whether all intervals that `LIMIT` shows hold what the population says, and the
    share of those that do; order: DESC for the most frequent items, ASC for the rarest."""
    made = design(
        f'[survey]\ntable = "people"\nepsilon = "{epsilon}"\nusers = {TOP_PEOPLE}\n'
        f'[dimension.item]\ntype = "int"\ndomain = [0, {ITEMS - 1}]\n'
        '[public.run]\ntype = "int"\n[workload.kinds]\nitem = "equality"\n'
    )
    shares = shares / shares.sum()
    drawn = np.random.default_rng(seed).choice(ITEMS, surveys * TOP_PEOPLE, p=shares)
    people = pa.table({"item": drawn, "run": np.arange(surveys).repeat(TOP_PEOPLE)})
    parts = np.empty(surveys)
    with collect(made, people, seed=seed)[1] as store:
        session = Session(store, seconds=3600.0)
        for run in range(surveys):
            found = session.execute(
                f"SELECT item, COUNT(*) AS n FROM people WHERE run = {run} "
                f"GROUP BY item ORDER BY 2 {order} LIMIT {TOP}"
            )
            truths, bars = TOP_PEOPLE * shares[found.table["item"].to_numpy()], found.intervals[1]
            parts[run] = np.mean((bars.low <= truths) & (truths <= bars.high))
    return (parts == 1.0).astype(np.float64), parts


# -- tables ----------------------------------------------------------------------------------------


def run(surveys: int = SURVEYS) -> None:
    """Print coverage by kind of answer, and of the intervals of the most frequent items."""
    print_table(
        f"Coverage by kind of answer, {len(ODD_TABLES)} odd populations, {surveys:,} surveys of "
        f"{PEOPLE} people each",
        HEAD,
        (row for epsilon in EPSILONS for row in _rows(epsilon, surveys)),
    )
    print()
    print_table(
        f"Coverage behind a shuffler, {len(ODD_TABLES) * CROWDS:,} batches of {CROWD:,} people",
        HEAD,
        crowd_rows(CROWDS),
    )
    print()
    print_table(
        f"Coverage of the intervals of the {TOP} most frequent and rarest of {ITEMS} items, "
        f"{TOP_SURVEYS:,} surveys of {TOP_PEOPLE:,} people each",
        ("people", "shown", "epsilon", "all hold", "+/-", "single ones"),
        _top_rows(),
    )


def _rows(epsilon: str, surveys: int) -> Iterator[tuple[object, ...]]:
    asked = tuple(text for texts in KINDS_OF_ANSWERS.values() for text in texts)
    held = {
        name: Trial(survey(epsilon, table), table, asked).inside(surveys, seed)
        for seed, (name, table) in enumerate(ODD_TABLES.items())
    }
    yield from _judge(epsilon, KINDS_OF_ANSWERS, asked, held)


def crowd_rows(surveys: int) -> Iterator[tuple[object, ...]]:
    """Rows by kind of answer, of so many batches of each population."""
    kinds = {kind: KINDS_OF_ANSWERS[kind] for kind in ("COUNT", "SUM", "AVG")}
    asked = tuple(text for texts in kinds.values() for text in texts)
    held = {}
    for seed, (name, table) in enumerate(ODD_TABLES.items()):
        trial = Trial(crowd_survey(CENTRAL, table), table, asked, CROWD)
        parts = [trial.inside(AT_ONCE, seed + 100 * k) for k in range(-(-surveys // AT_ONCE))]
        held[name] = np.concatenate(parts)[:surveys]
    yield from _judge(CENTRAL, kinds, asked, held)


def _judge(
    epsilon: str,
    kinds: Mapping[str, Sequence[str]],
    asked: Sequence[str],
    held: Mapping[str, Floats],
) -> Iterator[tuple[object, ...]]:
    """A row per kind of answer.  held: by population whether intervals hold, (surveys, asked)."""
    for kind, texts in kinds.items():
        places = [asked.index(text) for text in texts]
        own = {name: inside[:, places] for name, inside in held.items()}
        every = np.concatenate(list(own.values()))
        covered, error = float(np.nanmean(every)), standard_error(every)
        by_table = {
            name: float(np.nanmean(each))
            for name, each in own.items()
            if (~np.isnan(each)).mean() > _SELDOM
        }
        order = sorted(by_table, key=by_table.__getitem__)
        high = 1.0 if kind.startswith(("quantile", "MEDIAN")) else HIGH
        is_met = LOW - 2.0 * error <= covered <= high + 2.0 * error
        yield (
            *(kind, epsilon, f"{100 * covered:.1f} %", f"{100 * error:.2f}"),
            f"{100 * np.mean(~np.isnan(every)):.0f} %",
            *(f"{100 * by_table[name]:.1f} %, {name}" for name in (order[:1] + order[-1:])),
            *([""] * (2 - 2 * bool(order))),
            "yes" if is_met else "NO",
        )


def standard_error(inside: Floats) -> float:
    """Of the share of intervals (surveys, answers) that hold: answers of one survey depend on each
    other.

    Never less than that of independent surveys of the level, for few can all be inside.
    """
    known = ~np.isnan(inside)
    excess = np.where(known, inside - np.nanmean(inside), 0.0).sum(axis=1)
    seen = math.sqrt(float((excess**2).sum())) / int(known.sum())
    surveys = max(1, int(known.any(axis=1).sum()))
    least = math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / surveys) / inside.shape[1]
    return max(seen, least)


def _top_rows() -> Iterator[tuple[object, ...]]:
    error = np.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / TOP_SURVEYS)
    for epsilon, (name, shares), (shown, order) in product(
        EPSILONS, TOP_SHARES.items(), (("most frequent", "DESC"), ("rarest", "ASC"))
    ):
        joint, single = joint_inside(epsilon, shares, order, TOP_SURVEYS, 11)
        yield (
            *(name, shown, epsilon, f"{100 * joint.mean():.1f} %", f"{100 * error:.1f}"),
            f"{100 * single.mean():.2f} %",
        )
