"""Writers wait for each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest

from ldpsql.store import open_store
from ldpsql_device.errors import StoreError

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


def test_writers_wait_for_each_other_and_for_nobody_who_was_killed(path):
    with ExitStack() as started:
        first, *others = [started.enter_context(writer(str(n), path)) for n in range(4)]
        go(first)
        assert first.stdout.readline() == "has it\n"
        for process in others:
            go(process)
        with pytest.raises(StoreError, match=rf"locked by process {first.pid} \(.*\); wait for it"):
            open_store(path, read_only=False, patience=0.3)
        others[0].kill()
        others[0].wait()
        go(first)
        for process in others[1:]:
            go(process)
        assert {process.stdout.readline() for process in others[1:]} == {"has it\n"}
    names = path.with_name("order").read_text().split()
    assert names[0] == "0"
    assert sorted(names[1:]) == ["2", "3"]
    open_store(path, read_only=False, patience=0).close()


def test_threads_of_a_process_share_a_store(path):
    found = []

    def work():
        with open_store(path, read_only=False, patience=60) as store:
            found.append(store.surveys())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6


def test_who_was_killed_leaves_no_lock(path):
    with writer("a", path) as process:
        go(process)
        assert process.stdout.readline() == "has it\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    open_store(path, read_only=False, patience=0).close()
    assert not path.with_name(f"{path.name}.lock").exists()
