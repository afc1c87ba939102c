"""Connections that say nothing, too much or too slowly, or that do not read, are closed."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from ldpsql.server import run
from ldpsql.server.run import PatientProtocol

BODY = b"x" * (8 << 20)
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answer(scope, receive, send):
    body = BODY if scope["path"] == "/large" else b"ok"
    while scope["path"] != "/unread" and (await receive()).get("more_body"):
        pass
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def talk(monkeypatch):
    """Run a conversation with a server that waits a third of a second at most; connections that
    are left are told."""
    monkeypatch.setattr(run, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(run, "READ_SECONDS", 0.3)

    def start(conversation, protocol=PatientProtocol, idle=30):
        async def main():
            config = uvicorn.Config(
                answer, log_level="critical", lifespan="off", timeout_keep_alive=idle
            )
            config.load()
            state = ServerState()
            loop = asyncio.get_running_loop()
            server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 25)
            try:
                await asyncio.wait_for(conversation(reader, writer), 2.0)
            finally:
                left = len(state.connections)
                writer.close()
                server.close()
            return left

        return asyncio.run(main())

    return start


async def end(reader):
    """Wait until the other side has closed."""
    try:
        while await reader.read(1 << 16):
            pass
    except ConnectionError:
        pass


async def ask(reader, writer):
    writer.write(HEAD + b"\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    await reader.readexactly(2)


async def silent(reader, writer):
    await end(reader)


async def slow_head(reader, writer):
    await trickle(reader, writer, HEAD + b"A: " + b"b" * 1000)


async def slow_second_head(reader, writer):
    await ask(reader, writer)
    await slow_head(reader, writer)


async def empty_lines(reader, writer):
    await ask(reader, writer)
    await trickle(reader, writer, b"\r\n" * 1000)


async def trickle(reader, writer, data):
    closed = asyncio.create_task(end(reader))
    for place in range(len(data)):
        if closed.done():
            return
        writer.write(data[place : place + 1])
        await asyncio.sleep(0.02)
    raise AssertionError("it was never closed")


async def large_head(reader, writer):
    writer.write(HEAD + b"A: " + b"b" * (1 << 17))
    await end(reader)


async def unread(reader, writer):
    writer.transport.pause_reading()
    writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
    await asyncio.sleep(1.5)


async def body_after_its_answer(reader, writer):
    """Every byte that comes has uvicorn forget that it waits for the next request."""
    writer.write(b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
    await reader.readuntil(b"\r\n\r\nok")
    await trickle(reader, writer, b"x" * 999)


FOES = [
    silent,
    slow_head,
    slow_second_head,
    empty_lines,
    large_head,
    unread,
    body_after_its_answer,
]


@pytest.mark.parametrize("conversation", FOES)
def test_it_is_closed(talk, conversation):
    assert talk(conversation) == 0


class Impatient(run.HttpToolsProtocol):
    """What uvicorn does by itself."""


@pytest.mark.parametrize("conversation", FOES)
def test_uvicorn_alone_waits(talk, conversation):
    """Negative control."""
    try:
        left = talk(conversation, Impatient)
    except (TimeoutError, AssertionError):
        left = 1
    assert left == 1


def test_who_sends_the_rest_of_a_body_after_its_answer_may_go_on(talk):
    async def late(reader, writer):
        writer.write(b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nx")
        await reader.readuntil(b"\r\n\r\nok")
        writer.write(b"xx")
        await asyncio.sleep(0.4)  # longer than the rest may take
        await ask(reader, writer)

    assert talk(late) == 1


def test_requests_one_after_another_and_at_once_are_answered(talk):
    async def several(reader, writer):
        for _ in range(3):
            await ask(reader, writer)
            await asyncio.sleep(0.4)  # longer than a head may take
        writer.write((HEAD + b"\r\n") * 5)
        for _ in range(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            await reader.readexactly(2)
        writer.write(HEAD)
        await asyncio.sleep(0.1)
        writer.write(b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")

    assert talk(several) == 1


def test_a_large_body_is_no_head(talk):
    async def post(reader, writer):
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600000\r\n\r\n")
            for _ in range(2):
                writer.write(b"x" * 300_000)
                await writer.drain()
                await asyncio.sleep(0.2)  # together longer than a head may take
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            await reader.readexactly(2)

    assert talk(post) == 1


def test_a_large_answer_that_is_read_slowly_comes_whole(talk):
    async def slow(reader, writer):
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(8):
            await reader.readexactly(1 << 20)
            await asyncio.sleep(0.1)

    assert talk(slow) == 1
