"""Public. Sees parameters. Epsilon, guarantees, trust, composition.

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
from ldpsql.privacy.trust import TRUSTS, Shuffled

__all__ = [
    "LARGEST_EPSILON",
    "LARGEST_PRECISION",
    "SMALLEST_EPSILON",
    "TRUSTS",
    "Central",
    "Epsilon",
    "Guarantee",
    "Shuffled",
    "compose",
    "epsilon_of",
    "local_guarantee",
    "odds_below",
]
