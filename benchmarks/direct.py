"""A survey without a database: reports drawn, counted with numpy, and given to the estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.reports.report import Histogram
from ldpsql_lab.simulation import SeededEntropy


def estimator_of(made: FourierDesign, codes: NDArray[np.int64], seed: int) -> FourierEstimator:
    """Randomize codes and signs, shape (n, d + k), and count equal reports."""
    return make_estimator(made, histogram_from(made, codes, seed))


def histogram_from(made: FourierDesign, codes: NDArray[np.int64], seed: int) -> Histogram:
    """One drawn report per row of codes and signs, counted."""
    reports = made.randomize(codes, SeededEntropy(seed))
    family, phase = (column.astype(np.int64) for column in reports.columns.values())
    return histogram_of(made, count(made, family, phase))


def count(
    made: FourierDesign, family: NDArray[np.int64], phase: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Reports per cell, families one after the other, shape (cells,)."""
    starts = np.concatenate([[0], np.cumsum(made.table.phases)])
    return np.bincount(starts[family] + phase, minlength=int(starts[-1]))


def histogram_of(made: FourierDesign, cells: NDArray[np.int64]) -> Histogram:
    """The histogram of counts per cell."""
    starts = np.concatenate([[0], np.cumsum(made.table.phases)])
    filled = np.flatnonzero(cells)
    family = np.searchsorted(starts, filled, side="right") - 1
    columns = (family, filled - starts[family])
    return Histogram(len(made.table.phases), columns, cells[filled])
