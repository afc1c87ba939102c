"""Deadlines of statements, by a clock of the test's own."""

from __future__ import annotations

import pytest

from ldpsql import limits
from ldpsql.errors import QueryError


def take(items: int, each: float, seconds: float, slow_start: float = 0.0) -> int:
    """How many of some items are taken that last so long each, by the statement's clock."""
    now, taken = 0.0, 0
    with limits.deadline(seconds, clock=lambda: now):
        for _ in limits.at_pace(range(items), "keys", "ask for fewer"):
            now += each + slow_start * (taken < 10)
            taken += 1
    return taken


def test_what_is_in_time_is_all_taken() -> None:
    assert take(1000, each=0.05, seconds=60.0) == 1000


def test_a_slow_start_is_no_pace() -> None:
    assert take(1000, each=0.01, seconds=60.0, slow_start=2.0) == 1000


def test_what_comes_long_after_the_deadline_is_refused_early() -> None:
    with pytest.raises(QueryError, match="10,000 keys one by one would take some 987 s, and 47 s"):
        take(10_000, each=0.1, seconds=60.0)


def test_what_may_yet_be_in_time_ends_with_the_deadline() -> None:
    with pytest.raises(QueryError, match="the statement took longer than 60 s"):
        take(1000, each=0.07, seconds=60.0)


def test_there_may_be_no_deadline() -> None:
    assert [*limits.at_pace(range(300), "keys", "")] == [*range(300)]


@pytest.mark.parametrize(("outer", "inner"), [(5.0, 60.0), (60.0, 5.0)])
def test_a_deadline_within_another_ends_with_the_earlier(outer: float, inner: float) -> None:
    now = 0.0
    with limits.deadline(outer, clock=lambda: now), limits.deadline(inner, clock=lambda: now):
        assert limits.find_remaining() == 5.0
        limits.check()
        now = 5.0
        with pytest.raises(QueryError, match="took longer than 5 s"):
            limits.check()


def test_every_check_takes_a_step() -> None:
    steps = []
    with limits.stepping(lambda: steps.append(1)):
        assert [*limits.in_time("abc")] == ["a", "b", "c"]
    limits.check()
    assert len(steps) == 3
