"""How many reports a survey may be sent a second: nothing is kept of who sends them."""

from __future__ import annotations

import time

BURST_SECONDS = 10.0
"""So many seconds' reports may come at once."""


class Rate:
    """A bucket for each survey, which fills with the time (the leaky bucket as a meter)."""

    def __init__(self, per_second: float | None) -> None:
        """per_second: reports of one survey; None for any number."""
        self._per_second = per_second
        self._levels: dict[str, tuple[float, float]] = {}

    def find_wait(self, survey: str, reports: int) -> float:
        """Count reports that come now, and 0; or count none, and in how many seconds to come again.

        What is more than a bucket holds is taken when it is empty.
        """
        if self._per_second is None:
            return 0.0
        now, most = time.monotonic(), self._per_second * BURST_SECONDS
        level, since = self._levels.get(survey, (0.0, now))
        level = max(0.0, level - (now - since) * self._per_second)
        over = level + min(float(reports), most) - most
        if over > 0.0:
            return over / self._per_second
        self._levels[survey] = (level + reports, now)
        return 0.0
