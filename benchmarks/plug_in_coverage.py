"""Coverage of intervals whose errors follow from the estimated people, of SQL statements.

Every survey is answered from decoded sums, as a store keeps them. Its people are drawn from a
population, whose counts, sums and averages are the truth. Answers of one survey go together: the
error of a coverage comes from a bootstrap over whole surveys. Statements are planned once, and no
survey is stored, so that a survey costs little more than its reports and their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.decoded import survey as rich
from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.engine.plan import QueryPlan, make_plans
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Estimators, Sample
from ldpsql.estimate import CONFIDENCE
from ldpsql.parser import parse
from ldpsql.report import Decoded, Histogram
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql.survey import Survey
from ldpsql_device.columns import round_to_levels
from ldpsql_device.table import Encoded, encode_table

POPULATION, RESAMPLED = 300_000, 2_000
LIMITS, ERRORS = (94.0, 96.5), 2.576
"""Per cent within which a coverage should lie, and the standard errors of a verdict at 99 %."""
AGGREGATES = ("COUNT", "SUM", "AVG")
DIMENSION = '[dimension.{}]\ntype = "int"\ndomain = [0, {}]\n'


People = dict[str, NDArray[Any]]
Draw = Callable[[int, np.random.Generator], People]


@dataclass(frozen=True, eq=False)
class Case:
    """A survey, its people, and what it is asked.

    people: a population of so many, drawn with a generator.  value: the column of SUM and AVG.
    keys: what is grouped by and on which condition, one statement each.  surveys: by how many
    people answer one, how many are made.
    """

    name: str
    survey: Callable[[], Survey]
    people: Draw
    value: str
    keys: Sequence[tuple[str, str]]
    surveys: dict[int, int]

    @cached_property
    def population(self) -> People:
        """Of whom every survey asks some."""
        return self.people(POPULATION, np.random.default_rng(9))

    @cached_property
    def statements(self) -> list[str]:
        """COUNT, SUM and AVG of every group, and of everybody who meets a condition."""
        table, value = self.survey().table, self.value
        aggregates = f"COUNT(*), SUM({value}), AVG({value})"
        return [
            f"SELECT {keys}{', ' if keys else ''}{aggregates} FROM {table} WHERE {condition}"
            f"{f' GROUP BY {keys}' if keys else ''}"
            for keys, condition in self.keys
        ]

    @cached_property
    def plans(self) -> list[QueryPlan]:
        """The statements, planned."""
        asked = self.survey()
        bases = (parse(sql, None, lambda _: asked).bases[0] for sql in self.statements)
        return [
            make_plans(own, asked, sql)[-1][1]
            for own, sql in zip(bases, self.statements, strict=True)
        ]

    @cached_property
    def encoded(self) -> Encoded:
        """The population as devices see it."""
        random = np.random.default_rng(8)

        def words_of(_: int, rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
            return random.integers(0, 2**64, rows.sum(), dtype=np.uint64)

        return encode_table(self.survey().record_schema, pa.table(self.population), words_of)

    def ask(self, people: int, seed: int) -> Iterator[Relation]:
        """Every statement's answers by one survey."""
        made, random = self.survey(), np.random.default_rng([seed, people])
        chosen = random.integers(0, POPULATION, people)
        entropy = SeededEntropy(int(random.integers(1 << 62)))
        numbers = self.encoded.numbers[chosen]
        levels = [
            round_to_levels(measure, numbers[:, place], entropy.words(people))
            for place, measure in enumerate(made.record_schema.measures)
        ]
        codes = np.column_stack([self.encoded.codes[chosen], *levels])
        reports: Histogram | Decoded = histogram_of(made.design.randomize(codes, entropy))
        if made.design.decoding is not None:
            [arrays] = made.design.decoding.decode([reports])
            reports = Decoded({name: own[None] for name, own in arrays.items()})
        estimators = Estimators(made.design, "unbiased", [((), reports)])
        for plan in self.plans:
            yield Relation(Sample(plan, ((),), (estimators,), "unbiased"), CONFIDENCE)


def bell(sizes: dict[str, int]) -> Draw:
    """People around a place of every dimension, neighbouring dimensions correlated."""

    def draw(number: int, random: np.random.Generator) -> People:
        found: People = {}
        last = random.normal(size=number)
        for name, size in sizes.items():
            last = 0.5 * last + np.sqrt(0.75) * random.normal(size=number)
            found[name] = np.clip(size / 2.5 + size / 8 * last, 0, size - 1).astype(np.int64)
        return found

    return draw


def alike(sizes: dict[str, int]) -> Draw:
    """Nine of ten people hold the same values, and the others any."""

    def draw(number: int, random: np.random.Generator) -> People:
        is_other = random.random(number) < 0.1
        return {
            name: np.where(is_other, random.integers(0, size, number), size // 3)
            for name, size in sizes.items()
        }

    return draw


def in_one_month(draw: Draw) -> Draw:
    """The month that the rich survey knows in clear is nobody's question here."""
    return lambda number, random: {**draw(number, random), "month": np.ones(number, np.int64)}


def with_pay(draw: Draw, by: str, names: Sequence[str]) -> Draw:
    """Measures between 0 and 100 that grow with a dimension."""

    def drawn(number: int, random: np.random.Generator) -> People:
        people = draw(number, random)
        scale = people[by] / max(1, people[by].max())
        pay = {name: 100.0 * random.beta(1.0 + 3.0 * scale, 3.0) for name in names}
        return {**people, **pay}

    return drawn


SIX = {"a": 24, "b": 24, "c": 25, "d": 12, "e": 12, "f": 12}
SIX_KEYS = [
    *((name, "true") for name in SIX if name != "f"),
    ("d, e", "true"),
    ("e", "a BETWEEN 6 AND 14"),
    ("", "a BETWEEN 8 AND 9 AND b < 12"),
]
LISTED = {"age": 60, "hours": 24, "region": 12}
LEVELS = {"sex": 2, "kind": 3}
PRODUCT = {"hour": 24, "day": 7, "distance": 265, "carrier": 50}


@cache
def listed() -> Survey:
    """Declared queries over three dimensions and a measure."""
    dimensions = "".join(DIMENSION.format(name, size - 1) for name, size in LISTED.items())
    return design(
        '[survey]\ntable = "listed"\nepsilon = "1"\nmechanism = "fourier"\n[survey.options]\n'
        f'form = "listed"\n{dimensions}[measure.pay]\nbounds = [0, 100]\n[workload]\nqueries = ['
        '"SELECT age, COUNT(*), SUM(pay), AVG(pay) FROM listed GROUP BY age", '
        '"SELECT hours, region, COUNT(*), SUM(pay) FROM listed GROUP BY hours, region"]\n'
    )


@cache
def product() -> Survey:
    """Four dimensions, up to two at once, and two measures, in product form."""
    dimensions = "".join(DIMENSION.format(name, size - 1) for name, size in PRODUCT.items())
    return design(
        '[survey]\ntable = "product"\nepsilon = "2"\nmechanism = "fourier"\n[survey.options]\n'
        f'form = "product"\n{dimensions}[measure.pay]\nbounds = [0, 100]\n'
        "[measure.delay]\nbounds = [0, 100]\n[workload]\nmax_predicates = 2\n"
    )


@cache
def levels() -> Survey:
    """Few cells, and a measure of several levels."""
    dimensions = "".join(DIMENSION.format(name, size - 1) for name, size in LEVELS.items())
    return design(
        f'[survey]\ntable = "levels"\nepsilon = "2"\nmechanism = "staircase"\n{dimensions}'
        "[measure.pay]\nbounds = [0, 100]\n[workload]\nqueries = ["
        '"SELECT sex, kind, COUNT(*), SUM(pay), AVG(pay) FROM levels GROUP BY sex, kind"]\n'
    )


CASES = (
    Case("rich, bell", rich, in_one_month(bell(SIX)), "f", SIX_KEYS, {30_000: 60, 300_000: 24}),
    Case("rich, alike", rich, in_one_month(alike(SIX)), "f", SIX_KEYS, {30_000: 60}),
    Case(
        "listed",
        listed,
        with_pay(bell(LISTED), "age", ["pay"]),
        "pay",
        [("age", "true"), ("hours", "true"), ("region", "hours < 10"), ("hours", "region < 6")],
        {3_000: 200, 30_000: 200},
    ),
    Case(
        "product form",
        product,
        with_pay(bell(PRODUCT), "day", ["pay", "delay"]),
        "pay",
        [("hour", "true"), ("day", "true"), ("carrier", "true"), ("day", "hour BETWEEN 6 AND 12")],
        {3_000: 300, 30_000: 300},
    ),
    Case(
        "levels",
        levels,
        with_pay(bell(LEVELS), "kind", ["pay"]),
        "pay",
        [("sex, kind", "true"), ("sex", "true"), ("kind", "true"), ("", "true")],
        {3_000: 400, 30_000: 400},
    ),
)


def run(cases: Sequence[Case] = CASES) -> None:
    """Print the coverage of every case."""
    print_table(
        "Coverage of 95 % intervals from decoded sums, in %; +/- is the bootstrap's standard error",
        ("survey", "people", "surveys", *AGGREGATES),
        (row for case in cases for row in _rows(case)),
    )


def _rows(case: Case) -> Iterator[tuple[object, ...]]:
    truths = _truths(case)
    for people, surveys in case.surveys.items():
        found = np.array([covered(case, truths, people, seed) for seed in range(surveys)])
        yield (case.name, f"{people:,}", surveys, *(_share(found[:, place]) for place in range(3)))


def covered(
    case: Case, truths: Sequence[NDArray[np.float64]], people: int, seed: int
) -> NDArray[np.int64]:
    """Of one survey, per aggregate: how many intervals are shown, and how many hold the truth. What
    is known without asking, as how many answered, does not count."""
    counts = np.zeros((3, 2), dtype=np.int64)
    for relation, truth in zip(case.ask(people, seed), truths, strict=True):
        for place, (form, bounds) in enumerate(zip(relation.forms, relation.bounds, strict=True)):
            bars = form.interval.within(*bounds)
            true = truth[:, place] * (people if AGGREGATES[place] != "AVG" else 1.0)
            is_shown = np.isfinite(form.value) & np.isfinite(true) & (bars.low < bars.high)
            inside = (bars.low <= true) & (true <= bars.high) & is_shown
            counts[place] += [is_shown.sum(), inside.sum()]
    return counts


def _truths(case: Case) -> list[NDArray[np.float64]]:
    """Per statement: counts and sums per person, and averages, of every declared group."""
    with duckdb.connect() as connection:
        connection.register(case.survey().table, pa.table(dict(case.population)))
        found = []
        for sql, (keys, _) in zip(case.statements, case.keys, strict=True):
            rows = connection.execute(sql).fetchnumpy()
            own = np.array([np.ma.filled(rows[c].astype(float), np.nan) for c in list(rows)[-3:]])
            own[:2] /= POPULATION
            shape = [_domain(case, key.strip()) for key in keys.split(",")] if keys else []
            full = np.full((3, *shape), np.nan)
            full[:2] = 0.0
            full[(slice(None), *(rows[key.strip()] for key in keys.split(",") if keys))] = (
                own if keys else own[:, 0]
            )
            found.append(full.reshape(3, -1).T)
        return found


def _domain(case: Case, name: str) -> int:
    schema = case.survey().schema
    (size,) = [d.domain.size for d in schema.dimensions if d.name == name]
    return int(size)


def _share(counts: NDArray[np.int64]) -> str:
    """counts: shown and covered per survey, shape (surveys, 2)."""
    random = np.random.default_rng(1)
    resampled = random.integers(0, len(counts), (RESAMPLED, len(counts)))
    shown, inside = counts[resampled].sum(axis=1).T
    error = 100.0 * float((inside / np.maximum(shown, 1)).std())
    share = 100.0 * float(counts[:, 1].sum() / counts[:, 0].sum())
    return f"{share:.2f} +/- {error:.2f}, {judge(share, error)}"


def judge(share: float, error: float) -> str:
    """Whether a coverage lies within the limits, as far as its interval at 99 % tells."""
    low, high = share - ERRORS * error, share + ERRORS * error
    if LIMITS[0] <= low and high <= LIMITS[1]:
        return "met"
    return "not met" if high < LIMITS[0] or LIMITS[1] < low else "open"
