"""Places are shared: nobody holds more than half of what others leave, and who waits is told."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from starlette.requests import ClientDisconnect

from ldpsql.server import places
from ldpsql.server.places import Places, Turns
from ldpsql.server.problems import Problem


class Door:
    """Places, and requests that hold one until they are told to go."""

    def __init__(self, count=8):
        self.places = Places(count, "questions")
        self.order = []

    def ask(self, who, patience=30.0, gone=None):
        go = asyncio.Event()

        async def hold():
            with self.places.enter(who):
                async with self.places.take(who, time.monotonic() + patience, gone):
                    self.order.append(who)
                    await go.wait()

        return asyncio.create_task(hold()), go

    def held(self):
        """How many places everyone holds, as the door keeps it."""
        return {who: kept.held for who, kept in self.places._kept.items() if kept.held}


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def end(*asked):
    for task, go in asked:
        go.set()
        task.cancel()


def test_each_holds_half_of_what_the_others_leave():
    async def main():
        door = Door(8)
        asked = [door.ask(who) for who in ("a", "b", "c", "d") for _ in range(20)]
        await settle()
        held = door.held()
        end(*asked)
        return held

    assert asyncio.run(main()) == {"a": 4, "b": 2, "c": 1, "d": 1}


def test_who_used_least_is_next():
    async def main():
        door = Door(1)
        first = door.ask("heavy")
        await settle()
        waiting = [door.ask("heavy"), door.ask("light")]
        await asyncio.sleep(0.05)
        first[1].set()
        await settle()
        order = list(door.order)
        end(first, *waiting)
        return order

    assert asyncio.run(main()) == ["heavy", "light"]


def test_who_waits_in_vain_is_told_when_to_come_again():
    async def main():
        door = Door(1)
        first = door.ask("a")
        await settle()
        late, _ = door.ask("b", patience=0.05)
        with pytest.raises(Problem) as refused:
            await late
        end(first)
        await settle()
        again, _ = door.ask("b")
        await settle()
        assert door.order == ["a", "b"]
        again.cancel()
        return refused.value

    refusal = asyncio.run(main())
    assert refusal.status == 429
    assert 1 <= int(refusal.headers["Retry-After"]) <= 30


def test_who_has_gone_waits_no_more_and_leaves_no_place_held():
    async def main():
        door, gone = Door(1), asyncio.get_running_loop().create_future()
        first = door.ask("a")
        await settle()
        left, _ = door.ask("b", gone=gone)
        third = door.ask("c")
        await settle()
        gone.set_result(None)
        with pytest.raises(ClientDisconnect):
            await left
        first[1].set()
        await settle()
        assert door.order == ["a", "c"]
        third[0].cancel()
        await settle()
        return door.held()

    assert not asyncio.run(main())


def test_a_place_that_is_handed_to_one_who_goes_at_that_moment_is_handed_on():
    async def main():
        door = Door(1)
        first, second, third = door.ask("a"), door.ask("b"), door.ask("c")
        await settle()
        first[1].set()
        await asyncio.sleep(0)
        second[0].cancel()
        await settle()
        assert "c" in door.order
        end(third)
        await settle()
        return door.held()

    assert not asyncio.run(main())


def test_requests_that_are_here_are_limited_too():
    door = Places(4, "questions")
    with ExitStack() as here:
        for _ in range(places._MOST_REQUESTS // 2):
            here.enter_context(door.enter("a"))
        with pytest.raises(Problem, match="too many questions"):
            here.enter_context(door.enter("a"))
        here.enter_context(door.enter("b"))
    assert not door._kept


def test_what_is_long_pauses_while_there_is_anything_short(monkeypatch):
    now, pauses = [0.0], []
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=pauses.append)
    monkeypatch.setattr(places, "time", clock)
    turns = Turns()
    with turns.begin(is_long=True) as upload, turns.begin() as question:
        now[0] += 0.02
        question()  # which is short itself
        assert not pauses
        upload()  # beside it
        assert pauses.pop() == pytest.approx(0.02 * 3)
        now[0] += places.QUICK
        upload()  # the question is long by now, too
        assert not pauses
        with turns.begin():
            now[0] += 0.02
            question()
            upload()
            assert pauses == [pytest.approx(each) for each in (0.25, 0.02 * 3 * 2)]
