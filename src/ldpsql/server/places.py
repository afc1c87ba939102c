"""Places for work of one kind: so much is done at once, shared among those who ask for it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect

from ldpsql.server.problems import Problem

PATIENCE = 10.0
"""Seconds that a request waits for a place at most."""
QUICK = 0.25
"""Seconds after which work is long, and makes way for what has begun later."""
_MOST_REQUESTS = 256
_SLICE, _SHARE, _LONGEST_PAUSE = 0.01, 3, 0.25
_LEAST_RETRY, _MOST_RETRY, _RECENT = 1.0, 30.0, 30.0


class Turns:
    """Has work that goes on for long pause while other work has just begun.

    All threads of Python share one processor, which a thread may keep for milliseconds each time:
    beside three that never rest, what takes a moment would take many times as long. What is long
    works a slice and pauses, so that all of it together has a quarter of the time as long as there
    is anything short.
    """

    def __init__(self) -> None:
        self._begun: dict[object, float] = {}

    @contextmanager
    def begin(self, *, is_long: bool = False) -> Iterator[Callable[[], None]]:
        """Count work as going on; what it calls now and then, on its thread, which may pause.

        is_long: whether it is known to go on for long.
        """
        own, begun = object(), -math.inf if is_long else time.monotonic()
        self._begun[own] = begun
        resumed = time.monotonic()

        def step() -> None:
            nonlocal resumed
            now = time.monotonic()
            if now - resumed < _SLICE or now - begun < QUICK:
                return
            others = tuple(self._begun.values())
            is_short = [now - each < QUICK for each in others]
            if any(is_short):
                pause = (now - resumed) * _SHARE * (len(others) - sum(is_short))
                time.sleep(min(pause, _LONGEST_PAUSE))
            resumed = time.monotonic()

        try:
            yield step
        finally:
            del self._begun[own]


@dataclass
class _Kept:
    """The record of one who asks: requests that are here, places held, and seconds that they were
    held lately, halved every half minute."""

    requests: int = 0
    held: int = 0
    used: float = 0.0
    since: float = field(default_factory=time.monotonic)

    def use(self, seconds: float) -> float:
        """Count seconds of a place; all that count now."""
        now = time.monotonic()
        self.used = self.used * 0.5 ** ((now - self.since) / _RECENT) + seconds
        self.since = now
        return self.used


class Places:
    """The places for one kind of work. One event loop uses them.

    One who asks holds at most half of those that the others leave, and waits in as many: some are
    left however many ask for all. Of those who wait, who used least lately is next.
    """

    def __init__(self, count: int, what: str) -> None:
        """what: the kind of work, as a refusal names it."""
        self._count, self._what = count, what
        self._kept: dict[str, _Kept] = {}
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._usual = _LEAST_RETRY

    @contextmanager
    def enter(self, who: str) -> Iterator[None]:
        """Count a request as here, before anything of it is read; Problem 429 for too many."""
        here = sum(kept.requests for kept in self._kept.values())
        kept = self._kept.setdefault(who, _Kept())
        if kept.requests + 1 > _find_share(_MOST_REQUESTS, here - kept.requests):
            self._forget(who)
            raise self.refusal()
        kept.requests += 1
        try:
            yield
        finally:
            kept.requests -= 1
            self._forget(who)

    @asynccontextmanager
    async def take(
        self, who: str, until: float, gone: asyncio.Future[None] | None = None
    ) -> AsyncIterator[None]:
        """Hold a place, within `enter`, as soon as there is one for who asks.

        until: when it is too late, of `time.monotonic`: Problem 429 then.  gone: done once nobody
        waits for the answer any more: ClientDisconnect then.
        """
        await self._wait(who, until, gone)
        begun = time.monotonic()
        try:
            yield
        finally:
            took, kept = time.monotonic() - begun, self._kept[who]
            kept.held -= 1
            kept.use(took)
            self._usual += (took - self._usual) / 8.0
            self._hand_on()

    def refusal(self) -> Problem:
        """The answer for who waits in vain: when to come again."""
        ahead = 1.0 + len(self._waiting) / self._count
        wait = min(max(self._usual * ahead, _LEAST_RETRY), _MOST_RETRY)
        detail = f"too many {self._what} at once; send it again in {math.ceil(wait)} s"
        return Problem(429, "busy", detail, {"Retry-After": str(math.ceil(wait))})

    async def _wait(self, who: str, until: float, gone: asyncio.Future[None] | None) -> None:
        if self._may_hold(who) and not any(self._may_hold(other) for other, _ in self._waiting):
            self._kept[who].held += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((who, turn))
        try:
            await asyncio.wait(
                {turn} if gone is None else {turn, gone},
                timeout=max(0.0, until - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            self._leave(who, turn)
            raise
        if gone is not None and gone.done():
            self._leave(who, turn)
            raise ClientDisconnect
        if not turn.done():
            refusal = self.refusal()
            self._leave(who, turn)
            raise refusal

    def _leave(self, who: str, turn: asyncio.Future[None]) -> None:
        """Wait no more; a place that was handed on already is for the next."""
        if turn.done():
            self._kept[who].held -= 1
            self._hand_on()
        else:
            self._waiting.remove((who, turn))

    def _may_hold(self, who: str) -> bool:
        total, own = sum(kept.held for kept in self._kept.values()), self._kept[who].held
        return total < self._count and own < _find_share(self._count, total - own)

    def _hand_on(self) -> None:
        """Give what is free to those who wait: least used first, then who came first."""
        while ready := [pair for pair in self._waiting if self._may_hold(pair[0])]:
            who, turn = min(ready, key=lambda pair: self._kept[pair[0]].use(0.0))
            self._waiting.remove((who, turn))
            self._kept[who].held += 1
            turn.set_result(None)

    def _forget(self, who: str) -> None:
        """Keep nothing of who has nothing here and used little lately."""
        for name in (who, *self._kept) if len(self._kept) > _MOST_REQUESTS else (who,):
            kept = self._kept.get(name)
            if kept is not None and not kept.requests and kept.use(0.0) < _SLICE:
                del self._kept[name]


def _find_share(count: int, others: int) -> int:
    """How many of so many one may have, of which others have some: half of the rest, or one."""
    return max(1, (count - others) // 2)
