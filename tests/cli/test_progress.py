"""What takes long: a bar on terminals, only for as long as it does."""

from __future__ import annotations

import io
import time

import pytest

from ldpsql.terminal import progress
from ldpsql.terminal.progress import Progress

ERASED = "\x1b[1A\x1b[2K"  # the line above


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATIENCE", "EVERY"):
        monkeypatch.setattr(progress, name, 0.02)


def until(stream: io.StringIO, words: str) -> None:
    """Wait until the stream holds the words."""
    end = time.monotonic() + 10.0
    while words not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_a_terminal_sees_what_is_being_done_and_in_the_end_nothing() -> None:
    stream = Terminal()
    with Progress("designing", stream) as shown:
        until(stream, "designing")
        shown.show("trying [hio]")
        until(stream, "designing: trying [hio]")
        shown.advance(250, 1500)
        until(stream, "designing 250 of 1,500: trying [hio]")
        for done in range(300, 700, 50):
            shown.advance(done, 1500)
            time.sleep(0.05)
        until(stream, " left")
        shown.show("trying, 5 s left")
        until(stream, "trying, 5 s left ")
    assert stream.getvalue().endswith(ERASED)


def test_elsewhere_there_is_none() -> None:
    stream = io.StringIO()
    with Progress("designing", stream) as shown:
        shown.show("trying hio")
        shown.advance(7, 10)
        time.sleep(0.2)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_short_work_is_done_in_silence(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with Progress("designing", stream):
        pass
    assert stream.getvalue() == ""


def test_an_error_passes_and_the_bar_is_erased() -> None:
    stream = Terminal()
    with pytest.raises(ValueError, match="no such thing"), Progress("designing", stream):
        until(stream, "designing")
        raise ValueError("no such thing")
    assert stream.getvalue().endswith(ERASED)


def test_a_closed_stream_stops_no_work() -> None:
    stream = Terminal()
    with Progress("designing", stream):
        stream.close()
        time.sleep(0.1)
