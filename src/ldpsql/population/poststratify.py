"""Answers about a population, from reports of those of its people who took part.

With g_c for every cell c of strata, n_c people of it who answered, and a sum Y_c over them, the sum
over the population is estimated by

    Y = sum_c g_c Y_c,    where    sum_c g_c n_c x_c = N:

the people n_c, weighted, have the margins N (x_c says to which strata of them a cell belongs). With
one margin, g_c = N_c / n_c: post-stratification. With several, g_c is a product of one factor per
margin, found by iterative proportional fitting: raking.

Strata of dimensions are private, so the n_c are estimates themselves, jointly with the Y_c. Both
enter the variance: to first order the error of Y is that of

    sum_c g_c (Y_c - b' x_c n_c),    b = (sum_c g_c n_c x_c x_c')^-1 sum_c g_c Y_c x_c,

the sum of weighted residuals of a regression on the margins. Those who answered are a sample: how
many of them have which public values is known of them, but chance, and adds to the variance. See
Deville, Sarndal, Sautory, JASA 88 (1993), and for one margin Holt and Smith, JRSS A 142 (1979). It
assumes that within the strata who takes part does not depend on what is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.algebra.numerics import fit_marginals
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.engine.sample import EstimatorsOf, Sample, SumSource, selection, whole_where_exact
from ldpsql.errors import list_some
from ldpsql.estimators.base import AnyEstimator, hides_bias
from ldpsql.planner.plan import Key, QueryPlan, make_linear_queries
from ldpsql.population.strata import Strata
from ldpsql.store.base import Selection
from ldpsql_device.errors import DataError, NotSupportedError

CLEAR = 4.0
"""How many standard errors the number of people in a stratum must lie above 0."""
_HOLDS, _ROUNDING, _LISTED = 1e-6, 1e-9, 4


@dataclass(frozen=True)
class SliceCell:
    """People with the same public values in one slice of the plan, or in none of them.

    key: their public GROUP BY keys.  cell: the number of their public cell.  slice: its number, or
    None.
    """

    key: Key
    cell: int
    slice: int | None
    estimator: AnyEstimator


@dataclass(frozen=True, eq=False)
class Poststratified(SumSource):
    """The population of some strata, of which one survey's people are a sample."""

    plan: QueryPlan
    keys: tuple[Key, ...]
    sample: Sample
    strata: Strata
    parts: tuple[SliceCell, ...]

    @classmethod
    def of(cls, sample: Sample, strata: Strata, estimators_of: EstimatorsOf) -> Poststratified:
        """Fetch everybody who answered, in the parts that the plan and the strata make of them.

        DataError where somebody is in no stratum.
        """
        plan = sample.plan
        if plan.survey.schedule.period is not None:
            raise NotSupportedError(
                f"{plan.survey.table} is answered once a {plan.survey.schedule.period}, and "
                "margins count people, not answers; ask without weights"
            )
        own = [axis.column for axis in strata.public]
        names = tuple(dict.fromkeys((*plan.public_keys, *own)))
        places = [names.index(name) for name in own]
        chosen = [replace(selection(plan, piece), keys=names) for piece in plan.slices]
        conditions = [piece.condition for piece in plan.slices]
        if None not in conditions:
            others = " AND ".join(f"(({text}) IS NOT TRUE)" for text in conditions)
            chosen.append(Selection(others, names))
        parts = []
        for number, each in enumerate(chosen):
            for values, estimator in estimators_of(each).items():
                public = tuple(values[place] for place in places)
                cell = strata.public_cells.get(public)
                if cell is None:
                    shown = ", ".join(
                        f"{name} {value}" for name, value in zip(own, public, strict=True)
                    )
                    raise DataError(
                        f"people of {plan.survey.table} answered with {shown}, which the margins "
                        "do not have; add a row (0 people leaves them out)"
                    )
                is_asked = number < len(plan.slices)
                key = values[: len(plan.public_keys)]
                parts.append(SliceCell(key, cell, number if is_asked else None, estimator))
        return cls(plan, sample.keys, sample, strata, tuple(parts))

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The people who answered."""
        return (self.sample,)

    def rows(self, key: Key) -> list[Estimates]:
        """Row by row, while there is time."""
        found = []
        for row in range(len(self.plan.private_rows)):
            limits.check()
            found.append(self.joint([(key, row)]))
        return found

    def hide_biases(self, key: Key) -> NDArray[np.bool_]:
        """Of what is asked, and of all sums where the sizes of strata have such a bias."""
        design, name = self.plan.survey.design, self.sample.name
        found = self.sample.hide_biases(key)
        if name in design.biases:
            strata = map(design.prepare, self._inside)
            found |= any(hides_bias(design, planned, name) for planned in strata)
        return found

    # -- weights ------------------------------------------------------------------------------

    @cached_property
    def _inside(self) -> list[LinearQuery]:
        """The people of every private cell."""
        sizes = RecordDomain.of(self.plan.survey.schema).sizes
        return [LinearQuery.count(box.normal(sizes)) for box in self.strata.boxes(len(sizes))]

    @cached_property
    def _people(self) -> list[Estimates]:
        """Of every part: how many people there are in every private cell."""
        planned = [self.plan.survey.design.prepare(query) for query in self._inside]
        found = [part.estimator.answer(planned) for part in self.parts]
        if any(people.replicates is not None for people in found):
            raise NotSupportedError(
                f"{self.plan.survey.table}: post-processed estimates cannot be weighted; ask the "
                "unbiased estimator"
            )
        return found

    @cached_property
    def _sizes(self) -> list[float]:
        """Of every part: how many people there are."""
        whole = LinearQuery.count(Box.whole(len(RecordDomain.of(self.plan.survey.schema).sizes)))
        asked = [self.plan.survey.design.prepare(whole)]
        return [float(part.estimator.answer(asked).values[0]) for part in self.parts]

    @cached_property
    def _answered(self) -> tuple[Array, Array]:
        """People who answered by cell, (C, P), and their covariance within public cells, (P, C,
        C)."""
        count, public = len(self._inside), len(self.strata.public_cells)
        values, covariance = np.zeros((count, public)), np.zeros((public, count, count))
        for part, people in zip(self.parts, self._people, strict=True):
            values[:, part.cell] += people.values
            covariance[part.cell] += people.covariance
        return values, covariance

    @cached_property
    def _members(self) -> list[Array]:
        """Of every marginal: the number of the stratum that each cell is in, (C, P)."""
        shape, (count, public) = self.strata.shape, self._answered[0].shape
        places = np.indices(shape).reshape(len(shape), count * public)
        found = []
        for marginal in self.strata.marginals:
            number = np.zeros(count * public, dtype=np.int64)
            for axis in marginal.axes:
                number = number * shape[axis] + places[axis]
            found.append(number.reshape(count, public))
        return found

    @cached_property
    def weights(self) -> Array:
        """How many people of the population one who answered stands for, by cell, (C, P).

        DataError where a stratum has too few people who answered, and where margins do not fit.
        """
        answered, total = self._answered[0], self.strata.total
        self._require_clear()
        people = float(answered.sum())
        aims = [(m.axes, m.people / total) for m in self.strata.marginals]
        start = (answered / people).reshape(self.strata.shape)
        fitted = fit_marginals(start, aims)
        for axes, aim in aims:
            others = tuple(axis for axis in range(fitted.ndim) if axis not in axes)
            if not np.abs(fitted.sum(axis=others) - aim).max() < _HOLDS:
                raise DataError(
                    "no weights of those who answered fit all margins at once; divide people into "
                    "fewer strata, or leave a margin out"
                )
        ratio = np.divide(fitted, start, out=np.zeros_like(start), where=start != 0.0)
        return np.asarray(ratio.reshape(answered.shape) * (total / people))

    def _require_clear(self) -> None:
        """DataError where a stratum with people has none, or too few to tell, who answered."""
        answered, covariance = self._answered
        weak = []
        for marginal, member in zip(self.strata.marginals, self._members, strict=True):
            for stratum in np.flatnonzero(marginal.people.ravel() > 0.0).tolist():
                inside = (member == stratum).astype(np.float64)
                variance = np.einsum("cp,pcd,dp->", inside, covariance, inside)
                value, stderr = float((answered * inside).sum()), float(np.sqrt(max(variance, 0.0)))
                if not value > CLEAR * stderr:
                    error = f" ± {stderr:,.0f}" if stderr else ""
                    weak.append(f"{self.strata.label(marginal, stratum)} ({value:,.0f}{error})")
        if weak:
            shown = list_some(weak, _LISTED, separator="; ")
            raise DataError(
                f"too few people of {self.plan.survey.table} answered in "
                f"{shown} to stand for those who did not; merge strata, with | between values, or "
                "in wider ranges"
            )

    @cached_property
    def _projection(self) -> Array | None:
        """With several marginals: what makes of sums by cell the fitted values b' x_c, (cells,
        cells)."""
        if len(self.strata.marginals) == 1:
            return None
        columns = [
            (member.ravel()[:, None] == np.arange(marginal.people.size)).astype(np.float64)
            for marginal, member in zip(self.strata.marginals, self._members, strict=True)
        ]
        x, g = np.hstack(columns), self.weights.ravel()
        inner = x.T @ ((g * self._answered[0].ravel())[:, None] * x)
        return np.asarray(x @ np.linalg.pinv(inner, rcond=1e-12, hermitian=True) @ (x.T * g))

    def _fit(self, sums: Array) -> Array:
        """b' x_c of sums by cell, both (k, C, P): with one marginal the mean in the cell."""
        answered = self._answered[0]
        if self._projection is None:
            return np.divide(sums, answered, out=np.zeros_like(sums), where=answered != 0.0)
        flat = sums.reshape(len(sums), -1) @ self._projection.T
        return np.asarray(flat.reshape(sums.shape))

    # -- answers ------------------------------------------------------------------------------

    @cached_property
    def _linear(self) -> list[list[list[LinearQuery]]]:
        """The linear queries of every slice, private row and target."""
        return [list(make_linear_queries(self.plan, piece)) for piece in self.plan.slices]

    def joint(self, rows: Sequence[tuple[Key, int]]) -> Estimates:
        """The people of a stratum enter all rows, so these are never independent."""
        g, (answered, _) = self.weights, self._answered
        asked = [self._list_asked(part, rows) for part in self.parts]
        answers = [
            self._answer(part, places) if places else people
            for part, people, places in zip(self.parts, self._people, asked, strict=True)
        ]
        sums = np.zeros((len(rows) * len(self.plan.targets), *g.shape))
        # Of these answers: what a covariance is estimated to be depends on what is asked together.
        variances = np.zeros_like(answered)
        for part, places, answer in zip(self.parts, asked, answers, strict=True):
            variances[:, part.cell] += np.diagonal(answer.covariance)[len(places) :]
            for place, (number, cell, _) in enumerate(places):
                sums[number, cell, part.cell] += answer.values[place]
        slopes = -g * self._fit(sums)
        # A quotient of estimates is biased: E[Y / n] is R + (R Var n - Cov(Y, n)) / n^2 to second
        # order, which is taken off again. Margins of raking divide by more people, and it is small.
        is_quotient = self._projection is None
        shares = np.divide(
            is_quotient, answered, out=np.zeros_like(answered), where=answered != 0.0
        )
        values = np.einsum("kcp,cp->k", sums, g)
        values += np.einsum("kcp,cp,cp->k", slopes, variances, shares)
        covariance = np.zeros((len(sums), len(sums)))
        together = np.zeros(len(sums))
        for part, size, places, answer in zip(self.parts, self._sizes, asked, answers, strict=True):
            own = g[:, part.cell]
            gradient = np.zeros((len(sums), len(answer)))
            gradient[:, len(places) :] = slopes[:, :, part.cell]
            for place, (number, cell, query) in enumerate(places):
                # What is weighted is often what it is divided by, and known exactly then.
                same = len(places) + cell if query == self._inside[cell] else place
                gradient[number, same] += own[cell]
                cross = answer.covariance[place, len(places) + cell]
                values[number] += own[cell] * cross * shares[cell, part.cell]
            gradient[np.abs(gradient) < _ROUNDING * own.max(initial=0.0)] = 0.0
            covariance += gradient @ answer.covariance @ gradient.T
            # How many people each part has is known of those who answered, and chance in a sample:
            # of n people drawn, each in part p with residuals of mean m_p, the sum of residuals
            # varies by sum_p n_p m_p^2 - (sum_p n_p m_p)^2 / n on top of what it does within parts.
            amounts = np.nan_to_num(answer.values)
            residuals = gradient @ amounts
            rounding = _ROUNDING * (np.abs(gradient) @ np.abs(amounts))
            residuals[np.abs(residuals) <= rounding] = 0.0
            together += residuals
            covariance += np.multiply.outer(residuals, residuals) / max(size, 1.0)
        covariance -= np.multiply.outer(together, together) / max(sum(self._sizes), 1.0)
        return self._finish(values, covariance)

    def _list_asked(
        self, part: SliceCell, rows: Sequence[tuple[Key, int]]
    ) -> list[tuple[int, int, LinearQuery]]:
        """The questions of rows about some people: the number of the sum, the private cell, and the
        sum in it."""
        if part.slice is None:
            return []
        targets, found = len(self.plan.targets), []
        sizes = RecordDomain.of(self.plan.survey.schema).sizes
        for number, (key, row) in enumerate(rows):
            for target in range(targets) if key == part.key else ():
                whole = self._linear[part.slice][row][target]
                for cell, inside in enumerate(self._inside):
                    ((_, box),) = inside.terms
                    met = ((amount, (part & box).normal(sizes)) for amount, part in whole.terms)
                    terms = tuple((amount, part) for amount, part in met if not part.is_empty)
                    if terms:
                        asked = replace(whole, terms=terms)
                        found.append((number * targets + target, cell, asked))
        return found

    def _answer(self, part: SliceCell, places: Sequence[tuple[int, int, LinearQuery]]) -> Estimates:
        """The sums in cells, and behind them the people of all cells; NaN has no variance."""
        queries = [query for _, _, query in places] + self._inside
        answer = part.estimator.answer(
            [self.plan.survey.design.prepare(query) for query in queries]
        )
        covariance, is_lost = answer.covariance.copy(), np.isnan(answer.values)
        covariance[is_lost], covariance[:, is_lost] = 0.0, 0.0
        return Estimates(answer.values, covariance)

    def _finish(self, values: Array, covariance: Array) -> Estimates:
        """With infinite variances where a sum is not known, and whole numbers where it is exact."""
        is_lost = np.isnan(values)
        covariance[is_lost], covariance[:, is_lost] = 0.0, 0.0
        covariance[is_lost, is_lost] = np.inf
        return Estimates(whole_where_exact(values, covariance), covariance)
