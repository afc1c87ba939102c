"""Estimates for a plan from the reports of one survey: sums over the people who answered.

For each combination of public GROUP BY keys, every slice of the plan has its own histogram and
estimator; the slices are disjoint sets of people, so their estimates add. Rows are answered in
chunks: one call gives the values and the joint covariance of all sums of a chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.estimators.base import (
    MANY_SETS,
    AnyDecoder,
    AnyEstimator,
    CodeDecoder,
    PlannedQuery,
    SetChooser,
    hides_bias,
)
from ldpsql.planner.plan import Key, QueryPlan
from ldpsql.planner.where import Slice
from ldpsql.reports.report import Decoded, Histogram, Histograms, Integers
from ldpsql.store.base import Moment, Selection

_ROWS_AT_ONCE, _ROUNDING = 64, 1e-9

_MOST_MADE = 4096
"""Estimators of one selection that are kept; more are made anew for whoever asks for one."""
_FEWER_KEYS = (
    "ask about fewer values of the public columns (WHERE), or give it more time; unbiased answers "
    "of most mechanisms are worked out together"
)


class Estimators(Mapping[Key, AnyEstimator]):
    """The estimators of a selection of reports, by public key, ascending, each made when it is
    asked for.

    design, name: whose, and which of its estimators.  found: their reports, by key.  every: of how
    many people one was asked. Answers are about all of them: sums are so many times those of the
    reports, and their covariance includes who was asked.
    """

    def __init__(
        self,
        design: AnyDecoder,
        name: str,
        found: Sequence[tuple[Key, Histogram | Decoded]],
        every: int = 1,
    ) -> None:
        self.design, self.name, self.found, self.every = design, name, found, every
        self._made: dict[Key, AnyEstimator] = {}

    @property
    def size(self) -> int:
        """Rows of counts that are held, or about as much of what they decode to."""
        if isinstance(self.found, Histograms):
            return len(self.found.counts)
        return sum(len(people.counts) for _, people in self.found)

    @property
    def whole(self) -> Histogram | None:
        """The counts behind its only estimator, if those were read."""
        if len(self) != 1 or isinstance(self.found, Histograms):
            return None
        ((_, people),) = self.found
        return people if isinstance(people, Histogram) else None

    @cached_property
    def _ordered(self) -> tuple[Key, ...]:
        if isinstance(self.found, Histograms):
            return tuple(self.found.keys)
        return tuple(key for key, _ in self.found)

    @cached_property
    def _places(self) -> Mapping[Key, int]:
        return {key: place for place, key in enumerate(self._ordered)}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._ordered)

    def __len__(self) -> int:
        return len(self.found)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def people(self, key: Key) -> int:
        """How many people there are under a public key."""
        return self.found[self._places[key]][1].people

    def __getitem__(self, key: Key) -> AnyEstimator:
        if key in self._made:
            return self._made[key]
        _, people = self.found[self._places[key]]
        made = self.design.estimators[self.name](people)
        if len(self) <= _MOST_MADE:
            self._made[key] = made
        return made

    def find(self, keys: Sequence[Key]) -> Integers:
        """Where keys are among its own, -1 for others."""
        if keys is self._ordered:
            return np.arange(len(keys))
        return np.array([self._places.get(key, -1) for key in keys], dtype=np.int64)

    def influence(self, key: Key, queries: Sequence[PlannedQuery], slopes: Array) -> Array:
        """By how much one more report under a key moves answers; see `Estimator.influence`."""
        return self.every * self[key].influence(queries, slopes)

    def answer_all(self, rows: Sequence[Sequence[PlannedQuery]]) -> tuple[Array, Array] | None:
        """All answers to some rows, as `Decoder.answer_sets` gives them; None where one after the
        other is faster."""
        asked = self._answer_sets(rows)
        if asked is None or self.every == 1:
            return asked
        return self._extend(*asked, np.array([self.people(key) for key in self])[:, None])

    def _extend(self, values: Array, covariance: Array, people: Integers) -> tuple[Array, Array]:
        """Sums (..., T) over all people with their covariance, from those over the ones who were
        asked, so many people.

        The number of those who were asked, n, counts as Poisson's: as if each of very many people
        were asked with a small chance. Then the covariance is the mean of the products of what two
        sums have of a person, n of them, which is what it is for a given n and s s' / n more.
        """
        known = np.nan_to_num(values)
        who = known[..., :, None] * known[..., None, :] / np.maximum(people, 1)[..., None]
        return self.every * values, self.every**2 * (covariance + who)

    def _answer_sets(self, rows: Sequence[Sequence[PlannedQuery]]) -> tuple[Array, Array] | None:
        """Those of the people who were asked."""
        found, design = self.found, self.design
        if isinstance(design, CodeDecoder) and all(map(self.people, self)):
            known = list[tuple[Array, Array]]()
            for key in self:  # rows are of codes or not: no other estimator is made in vain
                of_codes = design.answer_codes(self[key], rows)
                if of_codes is None:
                    break
                known.append(of_codes)
            if known and len(known) == len(self):
                values, covariances = zip(*known, strict=True)
                return np.stack(values), np.stack(covariances)
        if not isinstance(found, Histograms):
            if len(found) != 1:
                return None
            [(key, people)] = found
            if not isinstance(people, Histogram) or not people.people:
                return None
            found = Histograms.of_one(key, people)
        is_faster = len(found) >= MANY_SETS
        if not is_faster and isinstance(design, SetChooser):
            is_faster = design.prefers_sets(found, rows)
        return design.answer_sets(self.name, found, rows) if is_faster else None

    def answer_rows(self, key: Key, rows: Sequence[Sequence[PlannedQuery]]) -> list[Estimates]:
        """The answers of one of them: one joint answer per row, some at a time, while there is
        time."""
        is_even = len(set(map(len, rows))) == 1 and len(rows[0]) > 0  # keys alone ask nothing
        found = self.answer_all(rows) if is_even and len(self) == 1 else None
        if found is not None:
            return [Estimates(*own) for own in zip(found[0][0], found[1][0], strict=True)]
        asked, every = self._answer_in_turn(key, rows), self.every
        if every == 1:
            return asked
        people, answers = np.array([self.people(key)]), list[Estimates]()
        for own in asked:
            drawn = None if own.replicates is None else every * own.replicates
            answers.append(Estimates(*self._extend(own.values, own.covariance, people), drawn))
        return answers

    def _answer_in_turn(self, key: Key, rows: Sequence[Sequence[PlannedQuery]]) -> list[Estimates]:
        """Those of the people who were asked, some rows at a time, while there is time."""
        estimator, answers = self[key], list[Estimates]()
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            limits.check()
            answers += estimator.answer_rows(rows[first : first + _ROWS_AT_ONCE])
        return answers


EstimatorsOf = Callable[[Selection], Estimators]
"""The estimators of a selection of reports, by public key."""


def selection(plan: QueryPlan, piece: Slice, *more: QueryPlan) -> Selection:
    """The reports of a slice, with the public sums that the plan's targets need; more: plans with
    the same public keys, which are answered together with it."""
    targets = [target for each in (plan, *more) for target in each.targets]
    weights = list(dict.fromkeys(t.weight for t in targets if t.weight is not None))
    moments: list[Moment] = [(weight, None) for weight in weights]
    moments += [(left, right) for i, left in enumerate(weights) for right in weights[i:]]
    return Selection(piece.condition, plan.public_keys, tuple(moments))


class SumSource(ABC):
    """Where the sums of a plan come from, row by row.

    plan: what is asked.  keys: the combinations of public keys, in ascending order.
    A row is a private row of the plan under a public key; it has one sum per target.
    """

    plan: QueryPlan
    keys: tuple[Key, ...]

    @property
    @abstractmethod
    def samples(self) -> tuple[Sample, ...]:
        """The surveys that answer."""

    @abstractmethod
    def rows(self, key: Key) -> list[Estimates]:
        """The sums of every private row under a public key, jointly within a row."""

    @abstractmethod
    def joint(self, rows: Sequence[tuple[Key, int]]) -> Estimates:
        """The sums of some rows, each a public key and a private row, with their covariance."""

    @abstractmethod
    def hide_biases(self, key: Key) -> NDArray[np.bool_]:
        """Which sums under a public key may have a bias that their covariance leaves out, shape
        (private rows, targets)."""

    def ask(self, key: Key, row: int) -> list[tuple[Slice, Sequence[PlannedQuery]]] | None:
        """The slices with people under a public key, and what they are asked for a private row;
        None where its sums are not simply theirs."""
        return None

    def sums(self) -> tuple[Array, Array, Array | None]:
        """The sums of all rows, public keys outermost: values (R, T), covariances within rows (R,
        T, T), and replicates (r, R, T) beside post-processed values."""
        rows, count = len(self.plan.private_rows), len(self.plan.targets)
        values = np.zeros((len(self.keys) * rows, count))
        covariance, drawn = np.zeros((*values.shape, count)), list[Array]()
        keys = limits.at_pace(self.keys if rows else (), "public keys", _FEWER_KEYS)
        for first, key in enumerate(keys):
            for place, row in enumerate(self.rows(key), first * rows):
                values[place], covariance[place] = row.values, row.covariance
                if row.replicates is not None:
                    drawn.append(row.replicates)
        together = np.stack(drawn, axis=1) if drawn and len(drawn) == len(values) else None
        return values, covariance, together

    @cached_property
    def is_group(self) -> NDArray[np.bool_]:
        """For every row whether somebody may be in it, public keys outermost, shape (R,)."""
        found = [sample.may_hold(self.keys) for sample in self.samples]
        return np.asarray(np.any(found, axis=0).ravel())

    @property
    def may_be_biased(self) -> bool:
        """Whether any sum may have a bias, see `hide_biases`."""
        return any(s.name in s.plan.survey.design.biases for s in self.samples)


@dataclass(frozen=True)
class Sample(SumSource):
    """The people who answered one survey.

    estimators: per slice of the plan, by public key.  name: what the design calls them.
    """

    plan: QueryPlan
    keys: tuple[Key, ...]
    estimators: tuple[Estimators, ...]
    name: str

    @classmethod
    def of(cls, plan: QueryPlan, estimators_of: EstimatorsOf, name: str) -> Sample:
        """Fetch what the plan's slices need; name: of the estimators."""
        estimators = tuple(estimators_of(selection(plan, piece)) for piece in plan.slices)
        keys: tuple[Key, ...] = ((),)
        if plan.public_keys:
            keys = join_keys(estimators)
        limits.require_numbers(len(keys) * len(plan.private_rows), len(plan.targets))
        return cls(plan, keys, estimators, name)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Itself."""
        return (self,)

    def sums(self) -> tuple[Array, Array, Array | None]:
        """Of many public keys all at once, where the design can."""
        rows, count = len(self.plan.private_rows), len(self.plan.targets)
        if not rows or not count:
            return super().sums()
        values = np.zeros((len(self.keys), rows, count))
        covariance = np.zeros((*values.shape, count))
        for planned, own in zip(self.plan.planned, self.estimators, strict=True):
            found = own.answer_all(planned)
            if found is None:
                return super().sums()
            places = own.find(self.keys)
            is_there = places >= 0
            values[is_there] += found[0][places[is_there]]
            covariance[is_there] += found[1][places[is_there]]
        shape = (len(self.keys) * rows, count)
        return values.reshape(shape), covariance.reshape(*shape, count), None

    def rows(self, key: Key) -> list[Estimates]:
        """The slices' estimates, added."""
        nothing = [self._make_empty(1)] * len(self.plan.private_rows)
        parts = [own.answer_rows(key, planned) for planned, own in self._list_asked(key)]
        return [reduce(add, row) for row in zip(*(parts or [nothing]), strict=True)]

    def joint(self, rows: Sequence[tuple[Key, int]]) -> Estimates:
        """Rows under different public keys are disjoint sets of people, hence independent."""
        targets = len(self.plan.targets)
        values = np.zeros(len(rows) * targets)
        covariance = np.zeros((len(values), len(values)))
        for key in dict.fromkeys(key for key, _ in rows):
            inside = [place for place, (own, _) in enumerate(rows) if own == key]
            chosen = [rows[place][1] for place in inside]
            flat = [
                ([query for row in chosen for query in planned[row]], own)
                for planned, own in self._list_asked(key)
            ]
            parts = [part for row, own in flat for part in own.answer_rows(key, [row])]
            found = reduce(add, parts or [self._make_empty(len(chosen))])
            where = (np.array(inside)[:, None] * targets + np.arange(targets)).ravel()
            values[where] = found.values
            covariance[np.ix_(where, where)] = found.covariance
        return Estimates(values, covariance)

    def hide_biases(self, key: Key) -> NDArray[np.bool_]:
        """Of any slice that has people under the key."""
        design, name = self.plan.survey.design, self.name
        found = np.zeros((len(self.plan.private_rows), len(self.plan.targets)), dtype=bool)
        if name in design.biases:
            for planned, _ in self._list_asked(key):
                found |= [[hides_bias(design, each, name) for each in row] for row in planned]
        return found

    def ask(self, key: Key, row: int) -> list[tuple[Slice, Sequence[PlannedQuery]]]:
        """The sums of a row are those of the slices, added."""
        slices = zip(self.plan.slices, self.plan.planned, self.estimators, strict=True)
        return [(piece, planned[row]) for piece, planned, each in slices if key in each]

    def may_hold(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """By key and private row whether some slice has people under the key, and boxes that meet
        the row."""
        plan = self.plan
        shape = (len(keys), len(plan.private_rows))
        if not plan.query.keys or all(piece.condition is None for piece in plan.slices):
            return np.ones(shape, dtype=bool)
        found = np.zeros(shape, dtype=bool)
        for piece, own in zip(plan.slices, self.estimators, strict=True):
            meets = np.array([piece.meets(box) for _, box in plan.private_rows], dtype=bool)
            found |= (own.find(keys) >= 0)[:, None] & meets
        return found

    def _list_asked(self, key: Key) -> list[tuple[Sequence[Sequence[PlannedQuery]], Estimators]]:
        """The planned queries of every slice that has people under a public key, and who answers
        them."""
        slices = zip(self.plan.planned, self.estimators, strict=True)
        return [(planned, own) for planned, own in slices if key in own]

    def _make_empty(self, rows: int) -> Estimates:
        """The sums of some rows where nobody is."""
        return Estimates.exact([0.0] * (rows * len(self.plan.targets)))


def whole_where_exact(values: Array, covariance: Array) -> Array:
    """Values without the rounding errors of those that are known, and are whole numbers."""
    nearest, size = np.rint(values), np.maximum(1.0, np.abs(values))
    is_whole = (np.diagonal(covariance) == 0.0) & (np.abs(values - nearest) <= _ROUNDING * size)
    return np.where(is_whole, nearest, values)


def join_keys(parts: Sequence[Collection[Key]]) -> tuple[Key, ...]:
    """Public keys that any of some parts has, in ascending order, as they are in each."""
    if len(parts) == 1:
        return tuple(parts[0])
    return sort_keys(key for part in parts for key in part)


def sort_keys(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Different public keys in ascending order; NULL comes last, None and a value are never
    compared."""
    distinct = dict.fromkeys(keys)
    return tuple(sorted(distinct, key=lambda key: tuple((part is None, part) for part in key)))
