"""Answers over repeated surveys of people drawn anew, and whether their errors are honest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.histograms import histogram_of
from support.significance import coverage_fits, is_unbiased, variance_fits

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Ratio, quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign, AnyEstimator, make_estimator
from ldpsql.reports.report import Histogram
from ldpsql_lab.simulation import SeededEntropy

LEVELS = (0.5, 0.95)
"""In few runs only the level of 50 % can show intervals that are too wide."""


@dataclass(frozen=True)
class Crowd:
    """Kinds of people, each as likely as the others: codes, shape (kinds, dimensions), and how
    likely the upper bound of every measure is, shape (kinds, measures)."""

    domain: RecordDomain
    codes: np.ndarray
    chances: np.ndarray

    def draw(self, people: int, seed: int) -> np.ndarray:
        """Records of people drawn anew, shape (people, dimensions + measures)."""
        random = np.random.default_rng([seed, 4])
        kinds = random.integers(0, len(self.codes), people)
        levels = random.random((people, self.chances.shape[1])) < self.chances[kinds]
        return np.hstack([self.codes[kinds], levels]).astype(np.int64)

    def mean(self, query: LinearQuery) -> float:
        """What a person adds to the true answer, on average."""
        amounts = np.zeros(len(self.codes))
        for share, box in query.terms:
            inside = np.ones(len(self.codes), dtype=bool)
            for side, codes in zip(box.sides, self.codes.T, strict=True):
                if side is not None:
                    inside &= np.any([(codes >= low) & (codes < end) for low, end in side], axis=0)
            amounts += share * inside
        if query.measure is not None:
            low, high = self.domain.bounds[query.measure]
            amounts *= low + (high - low) * self.chances[:, query.measure]
        return float(amounts.mean())


@dataclass(frozen=True)
class Repeated:
    """Values, shape (runs, k), and covariances, shape (runs, k, k)."""

    values: np.ndarray
    covariances: np.ndarray

    @classmethod
    def of(
        cls,
        design: AnyDesign,
        planned: Sequence[Any],
        draw: Callable[[int], np.ndarray],
        runs: int,
        make: Callable[[Histogram], AnyEstimator] | None = None,
    ) -> Repeated:
        """Of surveys of the records that are drawn by a seed, by the default estimator or
        another."""
        answers = []
        for seed in range(runs):
            histogram = histogram_of(design.randomize(draw(seed), SeededEntropy(seed)))
            estimator = make(histogram) if make else make_estimator(design, histogram)
            answers.append(estimator.answer(planned))
        values, covariances = zip(*((own.values, own.covariance) for own in answers), strict=True)
        return cls(np.array(values), np.array(covariances))

    @property
    def variances(self) -> np.ndarray:
        """Those that were told, shape (runs, k)."""
        return np.diagonal(self.covariances, axis1=1, axis2=2)

    def along(self, direction: Sequence[float]) -> Repeated:
        """Of one combination of the answers."""
        one = np.array(direction)
        values = self.values @ one
        return Repeated(values[:, None], (one @ self.covariances @ one)[:, None, None])

    def is_unbiased(self, truths: Sequence[float]) -> bool:
        """Whether the answers are right on average."""
        return all(map(is_unbiased, self.values.T, truths))

    def varies_as_told(self) -> bool:
        """Whether the answers spread as their mean variances say."""
        return all(map(variance_fits, self.values.T, self.variances.mean(axis=0)))

    def shares_inside(self, truths: Sequence[float], level: float = 0.95) -> np.ndarray:
        """How many intervals of every answer hold the truth, shape (k,)."""
        half = quantile(level) * np.sqrt(self.variances)
        return np.asarray((np.abs(self.values - np.array(truths)) <= half).mean(axis=0))

    def covers(self, truths: Sequence[float], level: float = 0.95) -> bool:
        """Whether intervals hold the truth as often as they say."""
        runs = len(self.values)
        inside = np.rint(self.shares_inside(truths, level) * runs).astype(int)
        return all(coverage_fits(int(own), runs, level) for own in inside)

    def check_honest(self, truths: Sequence[float], levels: Sequence[float] = LEVELS) -> None:
        """Mean and spread of every answer, and how often its intervals hold the truth."""
        told = self.variances.mean(axis=0)
        assert self.is_unbiased(truths), (self.values.mean(axis=0), truths)
        assert self.varies_as_told(), (self.values.var(axis=0), told)
        for level in levels:
            assert self.covers(truths, level), (level, self.shares_inside(truths, level))

    def averages_cover(self, total: int, count: int, truth: float, scale: float = 1.0) -> bool:
        """Whether intervals of a quotient of two answers (Fieller) hold the truth as often as they
        say; most must be told. scale: what the covariance of the two is multiplied with."""
        pair, fits = [total, count], []
        for level in LEVELS:
            told = held = 0
            for value, covariance in zip(self.values, self.covariances, strict=True):
                (above, cross), (_, below) = covariance[np.ix_(pair, pair)]
                ratio = Ratio(value[total], value[count], above, below, float(cross) * scale)
                low, high = ratio.interval(level)
                told += not np.isnan(low)
                held += bool(low <= truth <= high)
            assert told > 0.8 * len(self.values)
            fits.append(coverage_fits(held, told, level))
        return all(fits)
