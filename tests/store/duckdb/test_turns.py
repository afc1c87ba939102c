"""Writers wait for each other in the order in which they came, and are named."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ldpsql.store import open_store
from ldpsql.store.duckdb import turns
from ldpsql_device.errors import StoreError

pytestmark = pytest.mark.skipif(turns.fcntl is None, reason="there are no locks of bytes here")

WRITE = """
import sys, time
from ldpsql.store import open_store
name, path, order = sys.argv[1:]
print("starts", flush=True)
sys.stdin.readline()
with open_store(path, read_only=False, patience=120) as store:
    with open(order, "a") as file:
        file.write(name + "\\n")
    print("has it", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def writer(name, path):
    command = [sys.executable, "-c", WRITE, name, str(path), str(path.with_name("order"))]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "starts\n"
        yield process
        process.stdin.close()


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def drawn(path):
    """The last number that was drawn."""
    return json.loads(path.with_name(f"{path.name}.lock").read_text())["last"]


def wait_for(number, path):
    until = time.monotonic() + 60
    while drawn(path) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_writers_have_the_store_in_the_order_in_which_they_came(path):
    first = drawn(path) + 1
    with ExitStack() as started:
        waiting = [started.enter_context(writer(str(number), path)) for number in range(4)]
        for number in (2, 0, 3, 1):
            go(waiting[number])
            wait_for(first, path)
            first += 1
        assert waiting[2].stdout.readline() == "has it\n"
        with pytest.raises(StoreError, match=rf"locked by process {waiting[2].pid} "):
            open_store(path, read_only=False, patience=0.3)
        waiting[0].kill()  # who gives up, or is killed, keeps nobody waiting
        waiting[0].wait()
        go(waiting[2])
        for number in (3, 1):
            assert waiting[number].stdout.readline() == "has it\n"
            go(waiting[number])
    assert path.with_name("order").read_text().split() == ["2", "3", "1"]
    open_store(path, read_only=False, patience=0).close()


def test_who_writes_is_named_with_its_command_and_since_when(path):
    with writer("a", path) as process:
        go(process)
        assert process.stdout.readline() == "has it\n"
        for read_only in (True, False):
            with pytest.raises(StoreError) as caught:
                open_store(path, read_only=read_only, patience=0)
            program = re.escape(Path(sys.executable).name)
            assert re.search(
                rf"is locked by process {process.pid} \({program}\) since 20\d\d-\d\d-\d\d "
                r"\d\d:\d\d:\d\d UTC; wait for it to end",
                str(caught.value),
            )
        go(process)
        process.wait()
    assert turns.find_writer(os.path.realpath(path)) is None


def test_a_command_is_named_without_what_was_given_to_it(monkeypatch):
    for words, name in (
        (["/bin/ldpsql", "db", "forget", "people"], "ldpsql db forget"),
        (["/bin/ldpsql", "ingest", "/secret/r.parquet"], "ldpsql ingest"),
        (["/x/ldpsql/__main__.py", "serve", "--db", "a"], "ldpsql serve"),
        (["collect.py", "token"], "collect.py"),
        (["-c"], Path(sys.executable).name),
        ([], Path(sys.executable).name),
    ):
        monkeypatch.setattr(sys, "argv", words)
        assert turns._command() == name


def test_threads_of_a_process_share_a_turn(path):
    found = []

    def work():
        with open_store(path, read_only=False, patience=60) as store:
            found.append(len(turns._TURNS))
            store.surveys()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 6
    assert turns._TURNS == {}
    before = drawn(path)
    with open_store(path, read_only=False), open_store(path, read_only=False):
        assert drawn(path) == before + 1


@pytest.mark.parametrize("text", [b"", b"{", b"x" * 600, b'{"last": "a", "writer": 1}'])
def test_a_damaged_queue_keeps_nobody_from_writing(path, text):
    queue = path.with_name(f"{path.name}.lock")
    queue.write_bytes(text)
    with open_store(path, read_only=False, patience=0):
        assert json.loads(queue.read_text())["writer"]["process"] == os.getpid()
    queue.unlink()
    queue.mkdir()
    open_store(path, read_only=False, patience=0).close()


def test_who_was_killed_is_not_said_to_write(path):
    with writer("a", path) as process:
        go(process)
        assert process.stdout.readline() == "has it\n"
        assert f"process {process.pid} " in turns.find_writer(os.path.realpath(path))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert turns.find_writer(os.path.realpath(path)) is None
    open_store(path, read_only=False, patience=0).close()
