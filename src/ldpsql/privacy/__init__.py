"""Public. Sees parameters. Epsilon, guarantees, composition.

`ldpsql.privacy.shuffle` is the accountant of the shuffle model.
"""

from __future__ import annotations

from ldpsql.privacy.epsilon import (
    LARGEST_EPSILON,
    LARGEST_PRECISION,
    SMALLEST_EPSILON,
    Epsilon,
    compose,
    epsilon_of,
    odds_below,
)
from ldpsql.privacy.guarantee import Central, Guarantee, local_guarantee

__all__ = [
    "LARGEST_EPSILON",
    "LARGEST_PRECISION",
    "SMALLEST_EPSILON",
    "Central",
    "Epsilon",
    "Guarantee",
    "compose",
    "epsilon_of",
    "local_guarantee",
    "odds_below",
]
