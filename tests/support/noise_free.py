"""A mechanism with the noise switched off, to judge everything but the noise.

A report is a coin that shows the number of a person, and the estimator looks that person's codes
up, so an answer is exact if, and only if, parsing, rewriting, covering, counting and arithmetic
are right. Two doubles serve the two kinds of mechanism: `ExactNodes` answers from tree nodes
through the real `NodeDesign` plans, `ExactBoxes` from boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.partial_designs import PartialDesign, PartialRecipe

from ldpsql.algebra.boxes import LinearQuery, Weight
from ldpsql.algebra.estimate import Array, Estimates, rows_of
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import JointEstimator
from ldpsql.estimators.linear import CellQuery, GroupAnswer, LinearEstimator, Source
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.mechanisms import registry
from ldpsql.mechanisms.registry import mechanism
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram, Reports, Rows
from ldpsql.store import open_store
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import Digit, Face, Keep, Part, Plan
from ldpsql_device.schema import Measure, Schema
from ldpsql_lab.simulation import SeededEntropy, accept_everything


@dataclass(frozen=True)
class People:
    """The raw table behind a double: codes (n, d) and measure fractions (n, k).

    levels: for each measure that may be missing the chance of every code, (n, codes).
    """

    codes: np.ndarray
    fractions: np.ndarray
    levels: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(cls, schema: Schema, table: pa.Table) -> People:
        """Encode a raw table, value by value."""
        rows = table.to_pylist()
        codes = [[d.code(row[d.name], 0)[0] for d in schema.dimensions] for row in rows]
        known = [m for m in schema.measures if not m.has_null]
        fractions = [[m.threshold(row[m.name])[0] / 2**64 for m in known] for row in rows]
        levels = [m for m in schema.measures if m.has_null]
        n = len(rows)
        return cls(
            np.array(codes, dtype=np.int64).reshape(n, len(schema.dimensions)),
            np.array(fractions, dtype=float).reshape(n, len(known)),
            tuple(np.array([chances(m, row[m.name]) for row in rows]) for m in levels),
        )


def chances(measure: Measure, value: object) -> list[float]:
    """How likely each code of a measure is, from its definition."""
    threshold, _ = measure.threshold(value)
    found = [0.0] * measure.size
    below, rest = divmod(threshold / 2**64, 1.0)
    if value is None and measure.has_null:
        found[-1] = 1.0
    elif measure.rounding == "linear":
        found[int(below)] = 1.0 - rest
        found[int(below) + 1] += rest  # that of NULL at the upper bound: nothing
    else:
        down, up = (1.0 - rest) ** 2 / 2.0, rest**2 / 2.0
        for step, chance in enumerate((down, 1.0 - down - up, up)):
            found[int(below) + step] += chance
    return found


@dataclass(frozen=True, eq=False)
class ExactDesign(PartialDesign):
    """What the two doubles share: reports that name their person."""

    domain: RecordDomain
    epsilon: Epsilon
    people: People = field(repr=False)
    name: str = "exact"

    @cached_property
    def plan(self) -> Plan:
        """One question with a coin as large as there are people, and a single answer."""
        sizes = (*self.domain.sizes, *(2 for _ in self.domain.measure_names))
        answer = Part((Digit((), 1),), Keep())
        return Plan(sizes, (), (Face(1, (answer,), coins=(max(len(self.people.codes), 1),)),))

    @property
    def guarantee(self) -> StatedGuarantee:
        return StatedGuarantee("none", None, protects="nothing: a test double")

    def randomize(self, codes: np.ndarray, entropy: object) -> Reports:
        """The reports of all people, in order."""
        numbers = np.arange(len(codes))
        nothing = np.zeros_like(numbers)
        return Reports.pack(self.report_format, [nothing, numbers, nothing])

    def describe(self, planned: Any) -> list[str]:
        return ["exact"]

    def variance(self, queries: Sequence[Any], people: int) -> np.ndarray:
        return np.zeros(len(queries))

    @property
    def estimators(self) -> Mapping[str, Any]:
        return {"unbiased": self.estimator}  # type: ignore[attr-defined]

    def to_json(self) -> Mapping[str, Any]:
        return {"people": len(self.people.codes)}


@dataclass(frozen=True, eq=False)
class ExactNodes(ExactDesign):
    """Answers cell queries of the AHIO design, exactly."""

    @cached_property
    def _inner(self) -> NodeDesign:
        return mechanism("ahio").design(self.domain, self.epsilon, {"fanout": 3})  # type: ignore[return-value]

    def prepare(self, query: LinearQuery) -> CellQuery:
        return self._inner.prepare(query)

    def estimator(self, histogram: Histogram) -> Noiseless:
        inner = self._inner
        frequencies = ExactFrequencies(inner, self.people, histogram)
        return Noiseless(LinearEstimator(frequencies), histogram.people)


@dataclass(frozen=True)
class Noiseless:
    """An estimator's values without its covariance; without people every sum is 0."""

    inner: LinearEstimator
    people: int

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        if not self.people:
            return Estimates.exact([0.0] * len(queries))
        values = self.inner.answer(queries).values
        if np.isnan(values).any():
            raise AssertionError("people answered, and yet a sum is unknown")
        return Estimates.exact(list(values))

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        return rows_of(self.answer, rows)


@dataclass(frozen=True)
class ExactFrequencies:
    """True node frequencies of the people whose reports a histogram holds."""

    design: NodeDesign
    raw: People
    histogram: Histogram
    _counted: dict[tuple[int, Any], np.ndarray] = field(default_factory=dict)
    shape = ()
    weigh, weigh_products = Source.weigh, Source.weigh_products

    @property
    def people(self) -> float:
        return float(self.histogram.people)

    def total(self, weight: Weight | None) -> float:
        return self.histogram.total(weight)

    def size(self, group: int) -> float:
        return self.people

    @property
    def answers(self) -> Sequence[GroupAnswer]:
        return self.design.answers

    def pseudo_count(self, group: int, pair: Any) -> float:
        return 0.0

    def mean(self, group: int, pair: Any) -> float:
        return float(self._rows.moment(*pair).sum()) / max(self.people, 1.0)

    @cached_property
    def _rows(self) -> Rows:
        return self.histogram.load(0)

    def at(self, group: int, nodes: np.ndarray, pair: Any) -> np.ndarray:
        if (group, pair) not in self._counted:
            self._counted[group, pair] = self._count(group, pair) / max(self.people, 1.0)
        return self._counted[group, pair][nodes]

    def _count(self, group: int, pair: Any) -> np.ndarray:
        """Sum of the pair over the people at every node of a group."""
        rows = self._rows
        persons = rows.columns[0]
        moment = rows.moment(*pair)
        sign = self.design.table.groups[group].sign
        size = self.design.table.sizes[group]
        counted = np.zeros(size)
        levels = [range(own.shape[1]) for own in self.raw.levels]
        for bit, *chosen in product((0, 1) if sign is not None else (0,), *levels):
            signs = np.full_like(self.raw.fractions[persons], bit, dtype=np.int64)
            own = np.broadcast_to(np.array(chosen, dtype=np.int64), (len(persons), len(chosen)))
            codes = np.hstack([self.raw.codes[persons], own, signs]).astype(np.int64)
            node = self.design.table.node(group, codes)
            share = np.ones(len(persons))
            for chance, code in zip(self.raw.levels, chosen, strict=True):
                share = share * chance[persons, code]
            if sign is not None:
                fraction = self.raw.fractions[persons, sign]
                share = share * (fraction if bit else 1.0 - fraction)
            counted += np.bincount(node, moment * share, minlength=size)
        return counted


@dataclass(frozen=True, eq=False)
class ExactBoxes(ExactDesign):
    """Answers linear queries by looking at every person."""

    def prepare(self, query: LinearQuery) -> LinearQuery:
        return query

    def estimator(self, histogram: Histogram) -> BoxCounter:
        return BoxCounter(self, histogram.load(0))


@dataclass(frozen=True)
class BoxCounter(JointEstimator[LinearQuery]):
    """Sums over the people in a box."""

    design: ExactBoxes
    rows: Rows

    def answer(self, queries: Sequence[LinearQuery]) -> Estimates:
        return Estimates.exact([self._sum(query) for query in queries])

    def influence(self, queries: Sequence[LinearQuery], slopes: Array) -> Array:
        """Unknown: nobody forges raw data."""
        return np.full((2, len(slopes)), np.nan)

    def _sum(self, query: LinearQuery) -> float:
        persons = self.rows.columns[0]
        codes = self.design.people.codes[persons]
        amount = (
            self.rows.moment(query.weight, None) if query.weight else self.rows.moment(None, None)
        )
        if query.measure is not None:
            low, high = self.design.domain.bounds[query.measure]
            amount = amount * (
                low + (high - low) * self.design.people.fractions[persons, query.measure]
            )
        total = 0.0
        for share, box in query.terms:
            inside = np.ones(len(persons), dtype=bool)
            first, chance = self.design.domain.first_level_axis, np.ones(len(persons))
            for column, side in enumerate(box.sides[:first]):
                if side is not None:
                    inside &= np.logical_or.reduce(
                        [(codes[:, column] >= a) & (codes[:, column] < b) for a, b in side]
                        or [np.zeros(len(persons), dtype=bool)]
                    )
            for levels, side in zip(self.design.people.levels, box.sides[first:], strict=True):
                if side is not None:
                    chance = chance * sum(levels[persons, a:b].sum(axis=1) for a, b in side)
            total += share * float((amount * chance)[inside].sum())
        return total


class ExactMechanism(PartialRecipe):
    """A registry entry that hands out one prepared design."""

    name = "exact"

    def __init__(self, design: ExactDesign) -> None:
        self._design = design

    def design(
        self, domain: RecordDomain, epsilon: Epsilon, options: Mapping[str, Any]
    ) -> ExactDesign:
        return self._design

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> ExactDesign:
        return self._design


def exact_survey(table: str, schema: Schema, raw: pa.Table, kind: type[ExactDesign]) -> Survey:
    """A survey over a raw table, answered without noise."""
    design = kind(RecordDomain.of(schema), Epsilon.parse("1"), People.of(schema, raw))
    return Survey(table, schema, design, accept_no_guarantee=True)


@contextmanager
def known(survey: Survey) -> Iterator[None]:
    """The registry knows the survey's mechanism."""
    with pytest.MonkeyPatch.context() as patch:
        entry = ExactMechanism(survey.design)  # type: ignore[arg-type]
        patch.setattr(registry, "MECHANISMS", {**registry.MECHANISMS, "exact": entry})
        yield


@contextmanager
def storing(survey: Survey, raw: pa.Table) -> Iterator[Store]:
    """A store in memory with the reports of everybody, which can be asked within."""
    with known(survey), open_store(None, read_only=False) as store:
        reports, _ = randomize_batch(
            survey, raw, SeededEntropy(1), policy=accept_everything(survey)
        )
        store.ingest_table(reports, survey)
        yield store
