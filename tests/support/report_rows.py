"""Which rows are reports of a design, by its format alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ldpsql.reports.report import Integers, ReportFormat


def find_refused(
    form: ReportFormat, reports: Mapping[str, NDArray[np.unsignedinteger]]
) -> Integers:
    """Row numbers that are no reports of a design, ascending."""
    types = reports[form.columns[0]]
    bad = types >= form.types
    safe = np.where(bad, 0, types).astype(np.int64)
    for position, name in enumerate(form.columns[1:]):
        bad |= reports[name] >= form.limits[safe, position].astype(np.uint64)
    return np.flatnonzero(bad)
