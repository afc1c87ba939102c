"""Error bars of whatever an outer query computes from estimates.

The outer query gives each of its numbers with its gradient (`parser.gradients`): to first order the
number varies as that linear map of the estimates does. An estimate taken over, scaled or shifted
keeps the shape of its interval, which may be lopsided (Fieller's). What depends on several has the
normal interval with the variance g' C g, C the joint covariance of the estimates, also where they
are of different rows or relations. For linear SQL that is exact; else it is the delta method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra.estimate import Array, Estimates, quantile
from ldpsql.algebra.numerics import distinct, join_ranges
from ldpsql.engine.arithmetic import Affine, Interval, typical_error
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Estimators, selection
from ldpsql.estimators.base import PlannedQuery
from ldpsql.parser.query import DISPLACED, TOO_FEW, UNKNOWN
from ldpsql.planner.plan import Key
from ldpsql.reports.report import Integers
from ldpsql.sql.arrow_arrays import read_numbers
from ldpsql.sql.quoting import Scalar
from ldpsql.store.base import Selection
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LARGEST_JOINT = 4000
"""Sums with a joint covariance, which takes 128 MB."""
_MOST_ENTRIES = 50_000_000
"""Entries of all covariances where every row has one of its own."""
_AT_ONCE = 256
MOST_FOLLOWED = 1000
"""Rows of a column for which the effect of a forged report is worked out."""
_ROUNDING = 1e-12
"""Derivatives that cancel leave no more than that of themselves: n / n depends on no n."""

_TOO_MANY = "it depends on too many estimates; ask for fewer rows"
_OVERLAP = "it compares people with some of the same, told apart by public columns"
_BIASED = "it has a bias of which reports do not tell the size"
"""Why numbers have no error bar."""

EstimatorsOf = Callable[[str, Selection], Estimators]
"""The estimators of a selection of a survey's reports, by public key."""
Point = tuple[int, int]
"""A relation, by number, and a row of it."""


@dataclass(frozen=True)
class Gradients:
    """The gradients of R numbers.

    The number of row rows[e] has the derivative slopes[e] by the estimate numbers[e]; sorted by
    rows and numbers, each pair once, no slope is 0. displaced: by how much rounding moved each
    number, shape (R,).  unknown: UNKNOWN or below where a number has no error bar, else 0, (R,).
    """

    rows: Integers
    numbers: Integers
    slopes: Array
    displaced: Array
    unknown: Integers

    @classmethod
    def of(cls, size: int, rows: Integers, numbers: Integers, slopes: Array) -> Gradients:
        """From pairs in any order, some of which may concern the same estimate."""
        unknown = np.zeros(size, dtype=np.int64)
        is_unknown = (numbers <= UNKNOWN) | np.isnan(slopes)
        np.minimum.at(unknown, rows[is_unknown], np.minimum(numbers[is_unknown], UNKNOWN))
        is_moved = numbers == DISPLACED
        displaced = np.zeros(size)
        np.add.at(displaced, rows[is_moved], slopes[is_moved])
        kept = np.flatnonzero((numbers >= 0) & ~is_unknown)
        kept = kept[np.lexsort((numbers[kept], rows[kept]))]
        rows, numbers, slopes = rows[kept], numbers[kept], slopes[kept]
        if kept.size:
            is_first = np.append(True, (np.diff(rows) != 0) | (np.diff(numbers) != 0))
            starts = np.flatnonzero(is_first)
            size_of_parts = np.add.reduceat(np.abs(slopes), starts)
            slopes = np.add.reduceat(slopes, starts)
            used = np.abs(slopes) > _ROUNDING * size_of_parts
            rows, numbers, slopes = rows[starts][used], numbers[starts][used], slopes[used]
        return cls(rows, numbers, slopes, displaced, unknown)

    @classmethod
    def from_lists(cls, column: pa.ChunkedArray) -> Gradients:
        """From lists of (i, c), one per row; NULL for an empty one."""
        lists = column.combine_chunks()
        is_known = read_numbers(lists.is_valid().cast(pa.int8()))
        lengths = np.diff(read_numbers(lists.offsets)) * is_known
        pairs = lists.flatten()
        numbers, slopes = (read_numbers(pairs.field(name)) for name in ("i", "c"))
        rows = np.repeat(np.arange(len(lists)), lengths)
        return cls.of(len(lists), rows, numbers.astype(np.int64), slopes.astype(np.float64))

    @classmethod
    def identity(cls, numbers: Integers) -> Gradients:
        """Of estimates themselves."""
        size = len(numbers)
        nothing = np.zeros(size), np.zeros(size, dtype=np.int64)
        return cls(np.arange(size), numbers, np.ones(size), *nothing)

    def choose(self, is_chosen: NDArray[np.bool_]) -> Gradients:
        """Those of some rows; the others are as if they were exact."""
        kept = is_chosen[self.rows]
        parts = (self.rows[kept], self.numbers[kept], self.slopes[kept])
        return Gradients(*parts, self.displaced, self.unknown)

    @property
    def counts(self) -> Integers:
        """How many estimates each number depends on, shape (R,)."""
        return np.bincount(self.rows, minlength=len(self.unknown))


@dataclass(frozen=True)
class Respondents:
    """People who answer together: of a survey, with a condition on public columns and values of
    public keys; or those behind one relation, by number, where its sums are not simply theirs."""

    tables: frozenset[str]
    condition: str | None = None
    keys: tuple[str | Scalar, ...] = ()
    key: Key = ()
    relation: int | None = None


Asked = dict[int, list[tuple[int, Sequence[PlannedQuery]]]]
"""By row what a group is asked: where the sums stand, and the planned queries."""


@dataclass(frozen=True)
class Covariances:
    """Joint covariances of the sums of several relations.

    relations: those that the numbers of points mean.  shares: whether somebody of a survey may
    satisfy two conditions on public columns.
    """

    relations: Sequence[Relation]
    estimators_of: EstimatorsOf
    shares: Callable[[str, str | None, str | None], bool]

    def of_rows(self, rows: Sequence[Sequence[Point]]) -> Iterator[Array]:
        """For each row the covariance of all sums of its points, in order.

        Surveys are independent, as are people who differ in public columns. NaN where people are
        partly the same, which no report tells.
        """
        asked: dict[Respondents, Asked] = {}
        parts: list[dict[Respondents, tuple[Integers, Array]]] = [{} for _ in rows]
        sizes: list[int] = []
        for number, points in enumerate(rows):
            size = 0
            whole: dict[int, list[tuple[int, int]]] = {}
            for relation, row in points:
                groups = self._ask((relation, row))
                if groups is None:
                    whole.setdefault(relation, []).append((size, row))
                for group, planned in groups or ():
                    asked.setdefault(group, {}).setdefault(number, []).append((size, planned))
                size += len(self.relations[relation].plan.targets)
            sizes.append(size)
            for relation, placed in whole.items():
                group, found = self._whole(relation, placed)
                parts[number][group] = found
        for group, by_row in asked.items():
            for number, found in self._answers(group, by_row):
                parts[number][group] = found
        for own, size in zip(parts, sizes, strict=True):
            yield self._together(own, size)

    def _ask(self, point: Point) -> list[tuple[Respondents, Sequence[PlannedQuery]]] | None:
        """Who answers the sums of a point, and what they are asked; None where the sums are not
        simply those of people who answered."""
        relation, row = point
        source = self.relations[relation].source
        table, keys = frozenset([source.plan.survey.table]), source.plan.public_keys
        place, private = divmod(row, len(source.plan.private_rows))
        key = source.keys[place]
        queries = source.ask(key, private)
        if queries is None:
            return None
        return [(Respondents(table, part.condition, keys, key), asked) for part, asked in queries]

    def _together(self, parts: Mapping[Respondents, tuple[Integers, Array]], size: int) -> Array:
        """The covariance of sums from those of groups of people, each with the places of sums."""
        covariance = np.zeros((size, size))
        for places, own in parts.values():
            covariance[np.ix_(places, places)] += own
        is_random = np.diagonal(covariance) > 0.0
        for (group, (places, _)), (other, (others, _)) in permutations(parts.items(), 2):
            if self._may_overlap(group, other):
                left, right = places[is_random[places]], others[is_random[others]]
                covariance[np.ix_(left, right)] = np.nan
        return covariance

    def _whole(
        self, relation: int, placed: Sequence[tuple[int, int]]
    ) -> tuple[Respondents, tuple[Integers, Array]]:
        """Some rows of a relation, each with where its sums stand: who answers, and how."""
        source = self.relations[relation].source
        size, private = len(source.plan.targets), len(source.plan.private_rows)
        rows = [(source.keys[row // private], row % private) for _, row in placed]
        places = np.concatenate([np.arange(at, at + size) for at, _ in placed])
        tables = frozenset(sample.plan.survey.table for sample in source.samples)
        return Respondents(tables, relation=relation), (places, source.joint(rows).covariance)

    def _answers(
        self, group: Respondents, by_row: Asked
    ) -> Iterator[tuple[int, tuple[Integers, Array]]]:
        """By row the places of the sums that a group of people answers, and their covariance."""
        queries = [[q for _, planned in parts for q in planned] for parts in by_row.values()]
        found = self._find_estimators(group).answer_rows(group.key, queries)
        for (row, parts), estimates in zip(by_row.items(), found, strict=True):
            places = [np.arange(at, at + len(planned)) for at, planned in parts]
            yield row, (np.concatenate(places), estimates.covariance)

    def _find_estimators(self, group: Respondents) -> Estimators:
        (table,) = group.tables
        plans = [each.plan for each in self.relations if each.plan.public_keys == group.keys]
        asked = [
            (plan, piece)
            for plan in plans
            for piece in plan.slices
            if plan.survey.table == table and piece.condition == group.condition
        ]
        chosen = selection(*asked[0], *(plan for plan, _ in asked[1:]))
        return self.estimators_of(table, chosen)

    def influence(self, slopes: Mapping[Point, Array]) -> Array:
        """By how much one more report moves a sum of sums at the least and at the most, shape (2,).

        slopes: by the sums of some points.  Without limit where public values are summed, which may
        be anything; NaN where sums are not simply those of people who answered.
        """
        asked: dict[Respondents, tuple[list[PlannedQuery], list[float]]] = {}
        for point, own in slopes.items():
            groups = self._ask(point)
            if groups is None or not np.isfinite(own).all():
                return np.full(2, np.nan)
            weights = zip(self.relations[point[0]].plan.targets, own, strict=True)
            if any(target.weight is not None and slope for target, slope in weights):
                return np.array([-np.inf, np.inf])
            for group, planned in groups:
                of_group = asked.setdefault(group, ([], []))
                of_group[0].extend(planned)
                of_group[1].extend(own.tolist())
        nothing = np.zeros((2, 1))
        ends = [
            self._find_estimators(group).influence(group.key, planned, np.array([own]))
            for group, (planned, own) in asked.items()
        ]
        if any(self._may_overlap(*pair) for pair in combinations(asked, 2)):
            # A report may be one of several groups: no more than what it does in each of them.
            return np.array([np.minimum(ends, 0.0)[:, 0].sum(), np.maximum(ends, 0.0)[:, 1].sum()])
        return join_ranges([nothing, *ends])[:, 0]

    def _may_overlap(self, group: Respondents, other: Respondents) -> bool:
        """Whether somebody may be in two different groups."""
        tables = group.tables & other.tables
        if not tables or group.relation is not None or other.relation is not None:
            return bool(tables)
        (table,) = tables
        is_apart = group.keys == other.keys and group.key != other.key
        return not is_apart and self.shares(table, group.condition, other.condition)


@dataclass(frozen=True)
class ErrorBars:
    """Error bars of one column: standard errors and interval ends, NaN where there are none.

    lost: for every reason how many numbers of the column have none.  typical: typical errors,
    beside post-processed values alone.
    """

    interval: Interval
    lost: Mapping[str, int]
    typical: Array | None

    @property
    def is_known(self) -> bool:
        """Whether a number has one, or all are NULL."""
        return not self.lost or not bool(np.isnan(self.interval.stderr).all())


@dataclass(frozen=True)
class Propagation:
    """Error bars from gradients.

    measured: for every m of the M measurements the number of its relation and its place there; the
    estimate r M + m is that measurement in row r.  level: of the intervals.  reasons: why numbers
    are unknown, see `Statement`.
    """

    measured: Sequence[tuple[int, int]]
    covariances: Covariances
    level: float
    reasons: Sequence[str]

    def error_bars(self, values: Array, gradients: Gradients) -> ErrorBars:
        """Of the numbers of a column, shape (R,); NaN for NULL."""
        centre = values - gradients.displaced
        stderr, low, high = np.zeros_like(centre), centre.copy(), centre.copy()
        counts = gradients.counts
        self._take_over(gradients.choose(counts == 1), centre, (stderr, low, high))
        places = enumerate(self.reasons)
        unknown = {reason: gradients.unknown == UNKNOWN - place for place, reason in places}
        unknown[_BIASED] = self._hide_biases(gradients)
        if (counts > 1).any():
            variances, more = self._variances(gradients.choose(counts > 1))
            spread = np.sqrt(variances)
            stderr += spread
            low -= quantile(self.level) * spread
            high += quantile(self.level) * spread
            more[TOO_FEW] |= unknown[TOO_FEW]
            unknown |= more
        lost = {reason: int((which & ~np.isnan(values)).sum()) for reason, which in unknown.items()}
        is_lost = np.any([np.isnan(values), *unknown.values()], axis=0)
        ends = (np.where(is_lost, np.nan, each) for each in (stderr, low, high))
        kept = {reason: count for reason, count in lost.items() if count}
        return ErrorBars(Interval(*ends), kept, self._typical(gradients))

    def reach_further(self, values: Array, bars: ErrorBars, gradients: Gradients) -> ErrorBars:
        """Intervals of a level so high that the skewness of errors counts, longer on either side.

        Far out, an error with the skewness g exceeds z + g (z^2 - 1) / 6 standard errors where a
        normal one exceeds z (the Cornish-Fisher expansion, Abramowitz and Stegun 26.2.49). The
        third moment of a sum is at most its variance times the most c that one report adds, so g
        times the standard error is at most c. On the other side, a standard error s estimated from
        the same reports is too small with the estimate: of a number larger by d the variance is up
        to s^2 + c d, and d = z sqrt(s^2 + c d) solved for d is the end of a score interval.
        Nothing is added where c is not known. A quotient whose denominator can be told from 0 at
        the level of a single answer alone may be anything at this one.
        """
        (least, most), z, own = self.influence(gradients), quantile(self.level), bars.interval
        low, high = own.low, own.high
        if np.isfinite([least, most]).all():
            error, is_random = (z * z - 1.0) / 6.0, own.stderr > 0.0
            down, up = (
                z * (half + np.sqrt(own.stderr**2 + half**2) - own.stderr)
                for half in (-z * least / 2.0, z * most / 2.0)
            )
            low = low - np.where(is_random, np.maximum(error * most, down), 0.0)
            high = high + np.where(is_random, np.maximum(-error * least, up), 0.0)
        if not bars.lost:
            is_open = np.isnan(low) & ~np.isnan(values)
            low, high = np.where(is_open, -np.inf, low), np.where(is_open, np.inf, high)
        return replace(bars, interval=Interval(own.stderr, low, high))

    def _hide_biases(self, gradients: Gradients) -> NDArray[np.bool_]:
        """Which numbers depend on an estimate that has no error, shape (R,)."""
        found = np.zeros(len(gradients.unknown), dtype=bool)
        for (number, place), own, base in self._by_measurement(gradients):
            hidden = self.covariances.relations[number].hides_bias(place)
            found[gradients.rows[own[hidden[base]]]] = True
        return found

    def _take_over(
        self, gradients: Gradients, centre: Array, bars: tuple[Array, Array, Array]
    ) -> None:
        """The error bars of numbers that depend on one estimate each: its own, scaled."""
        stderr, low, high = bars
        for (number, place), own, base in self._by_measurement(gradients):
            form = self.covariances.relations[number].forms[place]
            rows = gradients.rows[own]
            slope, bar = gradients.slopes[own], form.interval
            shift = centre[rows] - slope * form.value[base]
            ends = slope * bar.low[base] + shift, slope * bar.high[base] + shift
            stderr[rows] = np.abs(slope) * bar.stderr[base]
            low[rows], high[rows] = np.minimum(*ends), np.maximum(*ends)

    def bounds(self, values: Array, gradients: Gradients) -> tuple[Array, Array]:
        """Between which values the numbers of a column must lie, each of shape (R,).

        Only an estimate that is shown as it is has bounds; what is computed from one has none.
        """
        low, high = np.full(len(values), -np.inf), np.full(len(values), np.inf)
        alone = gradients.choose((gradients.counts == 1) & (gradients.displaced == 0.0))
        for (number, place), own, base in self._by_measurement(alone):
            relation = self.covariances.relations[number]
            rows = alone.rows[own]
            is_shown = values[rows] == relation.forms[place].value[base]
            rows = rows[is_shown & (alone.slopes[own] == 1.0)]
            low[rows], high[rows] = relation.bounds[place]
        return low, high

    def scales(self, gradients: Gradients, people: Sequence[int]) -> Array:
        """What the intervals of a column are measured by, shape (R,): of one estimate its own
        scale, of several the sizes of the parts that they add. people: those asked, by relation."""
        found, is_alone = np.zeros(len(gradients.unknown)), gradients.counts == 1
        for (number, place), own, base in self._by_measurement(gradients):
            relation, rows = self.covariances.relations[number], gradients.rows[own]
            part, alone = (
                relation.scales(place, people[number], is_alone=each)[base]
                for each in (False, True)
            )
            sizes = np.where(is_alone[rows], alone, part)
            np.add.at(found, rows, np.abs(gradients.slopes[own]) * sizes)
        return found

    def _by_measurement(
        self, gradients: Gradients
    ) -> Iterator[tuple[tuple[int, int], Integers, Integers]]:
        """Every measurement that numbers depend on, where its gradients are, and their rows there.

        A column depends on few of the measurements of a statement, which may have thousands.
        """
        bases, which = np.divmod(gradients.numbers, len(self.measured))
        for m in distinct(which):
            own = np.flatnonzero(which == m)
            yield self.measured[m], own, bases[own]

    def influence(self, gradients: Gradients) -> tuple[float, float]:
        """The least and the most by which one more report moves any number of a column; NaN where
        that is not known of one, or there are more than MOST_FOLLOWED.

        To first order, and a bound where a number is a sum, or one aggregate that is a quotient of
        two; of a quotient that the outer SQL makes of two aggregates only the slopes are known.
        """
        rows = distinct(gradients.rows)
        if len(rows) > MOST_FOLLOWED or (gradients.unknown < 0).any():
            return float("nan"), float("nan")
        found = [np.zeros(2)]
        for row in limits.in_time(rows):
            by_point: dict[Point, Array] = {}
            places = np.flatnonzero(gradients.rows == row)
            room = 1.0
            for place in places:
                base, m = divmod(int(gradients.numbers[place]), len(self.measured))
                relation, measurement = self.measured[m]
                form = self.covariances.relations[relation].forms[measurement]
                own = gradients.slopes[place] * form.slope[base]
                by_point[relation, base] = by_point.get((relation, base), 0.0) + own
                if len(places) == 1 and form.denominator is not None:
                    room = self._shrink((relation, base), form.denominator)
            ends = self.covariances.influence(by_point)
            if np.isinf(room) and not np.isnan(ends).any():
                ends = np.array([-np.inf, np.inf])
            found.append(np.where(np.isinf(ends), ends, room * ends))
        least, most = np.array(found).T
        return float(least.min()), float(most.max())

    def _shrink(self, point: Point, denominator: Affine) -> float:
        """By how much more than to first order one more report may move a quotient of sums.

        One that adds a to x and b to y moves x / y by (a - b x / y) / (y + b), and it takes away
        from y what it can at most.
        """
        ends = self.covariances.influence({point: denominator.slope[point[1]]})
        value = float(denominator.value[point[1]])
        left = value + float(ends[0] if value >= 0.0 else ends[1])
        return value / left if value * left > 0.0 else float("inf")

    def estimates(self, values: Array, gradients: Sequence[Gradients]) -> Estimates:
        """The numbers of some columns, shape (R, columns), row by row with their covariance.

        NotSupportedError where it would be too large.
        """
        width = len(gradients)
        together = Gradients.of(
            values.size,
            np.concatenate([each.rows * width + place for place, each in enumerate(gradients)]),
            np.concatenate([each.numbers for each in gradients]),
            np.concatenate([each.slopes for each in gradients]),
        )
        on_sums = self._on_sums(together)
        size = max(on_sums.matrix.shape[1], values.size)
        if size > _LARGEST_JOINT:
            raise NotSupportedError(
                f"the covariance of {size} sums is too large; ask for fewer rows"
            )
        (covariance,) = self.covariances.of_rows([on_sums.points])
        is_known = np.isfinite(covariance)
        slopes = on_sums.matrix.toarray()
        joint = slopes @ np.where(is_known, covariance, 0.0) @ slopes.T
        used = (slopes != 0.0).astype(np.float64)
        unknown = np.stack([each.unknown for each in gradients], axis=1).ravel() < 0
        unknown |= np.stack([*map(self._hide_biases, gradients)], axis=1).ravel()
        unknown |= np.isnan(values.ravel())
        is_lost = (used @ ~is_known @ used.T > 0) | unknown[:, None] | unknown
        moved = self._move(together)
        drawn = None if moved is None else values.ravel() + moved
        return Estimates(values.ravel(), np.where(is_lost, np.nan, joint), drawn)

    # -- covariances ----------------------------------------------------------------------

    def _on_sums(self, gradients: Gradients) -> _Slopes:
        """The derivatives by the sums that the estimates are computed from."""
        from scipy.sparse import csr_array  # noqa: PLC0415  (slow to import)

        relations, measured = self.covariances.relations, list(self._by_measurement(gradients))
        asked = np.zeros((2, len(gradients.numbers)), dtype=np.int64)
        for (number, _), own, base in measured:
            asked[0, own], asked[1, own] = number, base
        points, inverse = np.unique(asked, axis=1, return_inverse=True)
        sizes = np.array([len(each.plan.targets) for each in relations])[points[0]]
        starts = np.cumsum(sizes) - sizes
        nothing = np.zeros(0, dtype=np.int64)
        parts: list[tuple[Array, Integers, Integers]] = [(np.zeros(0), nothing, nothing)]
        for (number, place), own, base in measured:
            by_sums = relations[number].forms[place].slope[base]
            columns = starts[inverse.ravel()[own]][:, None] + np.arange(by_sums.shape[1])
            rows = np.broadcast_to(gradients.rows[own][:, None], by_sums.shape)
            slopes = gradients.slopes[own][:, None] * by_sums
            parts.append((slopes.ravel(), rows.ravel(), columns.ravel()))
        slopes, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
        shape = len(gradients.unknown), int(sizes.sum())
        matrix = csr_array((slopes, (rows, columns)), shape=shape)
        return _Slopes(matrix, [(int(n), int(row)) for n, row in points.T], starts, sizes)

    def _variances(self, gradients: Gradients) -> tuple[Array, dict[str, NDArray[np.bool_]]]:
        """Variances of numbers that depend on several estimates, shape (R,), 0 for the others; and
        for each reason which of them are not known."""
        slopes = self._on_sums(gradients)
        variances = np.zeros(len(gradients.unknown))
        rows = {int(row): slopes.of_row(int(row)) for row in distinct(gradients.rows)}
        for row, (used, own) in rows.items():
            if len(used) == 1:
                number, base = slopes.points[used[0]]
                covariance = self.covariances.relations[number].sums.covariance[base]
                variances[row] = _quadratic(own[None, :], covariance)[0]
        several = [row for row, (used, _) in rows.items() if len(used) > 1]
        cost = sum(rows[row][1].size ** 2 for row in several)
        largest = max((rows[row][1].size for row in several), default=0)
        size = slopes.matrix.shape[1]
        is_many = np.zeros(len(variances), dtype=bool)
        chunks = (several[at : at + _AT_ONCE] for at in range(0, len(several), _AT_ONCE))
        if size <= _LARGEST_JOINT and size * size <= cost:
            (covariance,) = self.covariances.of_rows([slopes.points])
            for chunk in limits.in_time(chunks):
                variances[chunk] = _quadratic(slopes.matrix[chunk].toarray(), covariance)
        elif largest <= _LARGEST_JOINT and cost <= _MOST_ENTRIES:
            for chunk in limits.in_time(chunks):
                points = [[slopes.points[point] for point in rows[row][0]] for row in chunk]
                for row, own in zip(chunk, self.covariances.of_rows(points), strict=True):
                    variances[row] = _quadratic(rows[row][1][None, :], own)[0]
        else:
            is_many[several] = True
        is_overlap, is_few = np.isnan(variances), np.isinf(variances)
        unknown = {_TOO_MANY: is_many, _OVERLAP: is_overlap, TOO_FEW: is_few}
        return np.where(is_overlap | is_few, 0.0, variances), unknown

    # -- post-processed values ------------------------------------------------------------

    def _move(self, gradients: Gradients) -> Array | None:
        """By how much each replicate moves each number, shape (r, R); None where an estimate that
        it depends on has none."""
        moved = list[Array]()
        for m in distinct(gradients.numbers % len(self.measured)):
            number, place = self.measured[m]
            relation = self.covariances.relations[number]
            drawn = relation.replicates(place)
            if drawn is None:
                return None
            own = np.flatnonzero(gradients.numbers % len(self.measured) == m)
            base = gradients.numbers[own] // len(self.measured)
            steps = (drawn[:, base] - relation.forms[place].value[base]) * gradients.slopes[own]
            part = np.zeros((len(gradients.unknown), len(drawn)))
            np.add.at(part, gradients.rows[own], steps.T)
            moved.append(part.T)
        return sum(moved[1:], moved[0]) if moved else None

    def _typical(self, gradients: Gradients) -> Array | None:
        """Typical errors, (R,); None where nothing was post-processed."""
        moved = self._move(gradients)
        return None if moved is None else typical_error(moved, np.zeros(moved.shape[1]))


@dataclass(frozen=True)
class _Slopes:
    """Derivatives of R numbers by the sums of some points, shape (R, sums), sparse.

    starts, sizes: where the sums of each point stand, and how many they are.
    """

    matrix: csr_array
    points: Sequence[Point]
    starts: Integers
    sizes: Integers

    def of_row(self, row: int) -> tuple[Integers, Array]:
        """The points that a number depends on, by place, and the derivatives by their sums."""
        at = slice(*self.matrix.indptr[row : row + 2])
        columns, slopes = self.matrix.indices[at], self.matrix.data[at]
        of_points = np.searchsorted(self.starts, columns, side="right") - 1
        used = distinct(of_points)
        starts = np.cumsum(self.sizes[used]) - self.sizes[used]
        dense = np.zeros(int(self.sizes[used].sum()))
        places = starts[np.searchsorted(used, of_points)] + columns - self.starts[of_points]
        np.add.at(dense, places, slopes)
        return used, dense


def _quadratic(slopes: Array, covariance: Array) -> Array:
    """The variance g' C g for each row g; NaN where it needs an unknown covariance, infinite where
    it needs a sum that no report could tell."""
    is_unknown, is_infinite = np.isnan(covariance), np.isinf(covariance)
    known = np.where(is_unknown | is_infinite, 0.0, covariance)
    variances = np.maximum(np.einsum("rs,rs->r", slopes @ known, slopes), 0.0)
    variances[~np.isfinite(slopes).all(axis=1)] = np.inf
    for is_lost, instead in ((is_infinite, np.inf), (is_unknown, np.nan)):
        if is_lost.any():
            used = (slopes != 0.0).astype(np.float64)
            variances[np.einsum("rs,rs->r", used @ is_lost, used) > 0.0] = instead
    return np.asarray(variances)
