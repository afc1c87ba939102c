"""Which cases of a family the fast tier runs, and how many examples of a property."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_FAST_EXAMPLES = 8
"""The fast tier tries one in so many of the examples of a property."""
_is_fast = True


def choose_tier(config: pytest.Config) -> None:
    """Called once, before any test is read."""
    global _is_fast  # noqa: PLW0603
    _is_fast = config.option.markexpr.startswith("not slow")
    settings.register_profile(
        "tier",
        max_examples=examples(settings.default.max_examples),
        # How long an example takes says how busy the machine is, not whether the code is right.
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tier")


def examples(most: int) -> int:
    """How many examples hypothesis tries: all, or in the fast tier some."""
    return max(most // _FAST_EXAMPLES, 1) if _is_fast else most


def runs(most: int) -> int:
    """How many surveys a statistical test simulates: all, or in the fast tier half of them.

    Its tolerance follows from their number, and its negative controls simulate as many.
    """
    return most // 2 if _is_fast else most


def mark_slow_cases(items: Iterable[pytest.Item]) -> None:
    """Of the cases of each test that is marked as `fast(n)` all but n are slow, or were before.

    These are in n equal parts of all cases, at another place of each, so that of several parameters
    each takes several values.
    """
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("fast") and not item.get_closest_marker("slow"):
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in families.values():
        wanted = cases[0].get_closest_marker("fast").args[0]  # type: ignore[union-attr]
        kept = _spread(len(cases), wanted)
        for number, case in enumerate(cases):
            if number not in kept:
                case.add_marker(pytest.mark.slow)


def _spread(count: int, wanted: int) -> set[int]:
    """Numbers below `count`, one in each of so many parts of them."""
    if count <= wanted:
        return set(range(count))
    ends = [number * count // wanted for number in range(wanted + 1)]
    parts = pairwise(ends)
    return {low + number % (high - low) for number, (low, high) in enumerate(parts)}


def keep_fast(cases: Iterable[Any], representatives: Collection[Any]) -> list[Any]:
    """All cases as parameters; those that others stand for are slow.

    A case with several parameters is a tuple in both.
    """
    missing = set(representatives) - set(cases := list(cases))
    if missing:
        raise ValueError(f"no such cases: {missing}")
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in representatives else pytest.mark.slow,
        )
        for case in cases
    ]
