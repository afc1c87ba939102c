"""The exact channel of a design, as numbers."""

from __future__ import annotations

import numpy as np

from ldpsql.estimators.base import AnyDesign


def probabilities(design: AnyDesign) -> np.ndarray:
    """Of every report by record, shape (records, reports)."""
    return np.array([[float(p) for p in row] for row in design.law().probabilities])
