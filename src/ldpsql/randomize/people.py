"""The made-up people of the documentation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_WOMEN, _MEN, _THIRTIES, _BUSY = 14_695, 30_527, 12_362, 296


def make_people() -> pa.Table:
    """45,222 made-up people, always the same: age, sex, hours_per_week.

    As many women, people of 30 to 39, and people who work more than 80 hours as README says.
    """
    random, people = np.random.default_rng(1), _WOMEN + _MEN
    others = np.concatenate([np.arange(17, 30), np.arange(40, 91)])
    weights = np.exp(-np.maximum(others - 25, 0) / 16.0)
    ages = np.concatenate(
        [
            random.integers(30, 40, _THIRTIES),
            random.choice(others, people - _THIRTIES, p=weights / weights.sum()),
        ]
    )
    hours = np.concatenate([random.normal(36.5, 9, _WOMEN), random.normal(42.4, 9, _MEN)])
    hours = np.clip(np.rint(hours), 1, 80)
    hours[random.choice(people, _BUSY, replace=False)] = 90
    table = {
        "age": pa.array(random.permutation(ages), pa.int8()),
        "sex": pa.array(["Female"] * _WOMEN + ["Male"] * _MEN),
        "hours_per_week": pa.array(hours, pa.int8()),
    }
    return pa.table(table).take(random.permutation(people))
