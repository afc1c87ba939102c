"""The demonstration: a collector and devices in processes of their own, and what it says."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.demo_sessions import quiet, run_demo

from ldpsql_device.collector import Delivery
from ldpsql_device.errors import ReportError, StoreError
from ldpsql_lab.demo import devices, run, shop

PEOPLE, PATIENCE = 300, 600.0
"""Seconds after which something hangs, however loaded the machine is."""


def named(mechanism: str) -> str:
    """The survey of a mechanism that need not be chosen first."""
    return shop.SURVEY.replace('epsilon = "2"', f'epsilon = "2"\nmechanism = "{mechanism}"')


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    """Intervals that missed, and the printed lines, of one that is not on a terminal; `auto`
    compares some mechanisms only."""
    return run_demo(run.run, tmp_path_factory.mktemp("demo"), PEOPLE)


def test_it_says_what_is_made_up_and_what_was_chosen(session: tuple[int, list[str]]) -> None:
    text = "\n".join(session[1])
    assert f"{PEOPLE} shoppers are made up, and their devices run on this machine" in text
    assert re.search(
        r"mechanism  \w+, chosen by auto among \d+: the next best, \w+, has [1-9]\.\d", text
    )
    assert "promised   2-LDP" in text
    assert "only a demonstration knows the truth" in text
    assert text.endswith("the collector was stopped, and its database is deleted")


def test_everybody_answers_some_in_javascript(session: tuple[int, list[str]]) -> None:
    """Reports come from processes, by HTTP, and are counted once."""
    [said] = [line for line in session[1] if line.startswith("devices")]
    share = PEOPLE // run.JAVASCRIPT_SHARE
    if shutil.which("node"):
        assert said == f"devices    {PEOPLE - share} in Python and {share} in JavaScript (node)"
    else:
        assert said == f"devices    {PEOPLE} in Python"
    [said] = [line for line in session[1] if line.startswith("reports")]
    found = re.fullmatch(r"reports    300 acknowledged in \d+ s, such as (.*)", said)
    assert found, said
    assert set(json.loads(found[1])) == {"id", "report", "public"}


def test_the_truth_is_that_of_the_table_and_answers_are_near_it(
    session: tuple[int, list[str]],
) -> None:
    """Counted here without SQL; within four times the 95 % interval."""
    missed, lines = session
    answers = [line for line in lines if " truth " in line]
    ages = shop.shoppers(PEOPLE, shop.SEED)["age"].to_numpy()
    truth = int(((ages >= 26) & (ages <= 49)).sum())
    assert re.search(rf"truth +{truth}  ", answers[0])
    assert sum(line.endswith("outside") for line in answers) == missed
    for line in answers:
        found = re.search(r" (-?[\d,.]+) ± ([\d,.]+) +truth +([\d,.]+) ", line)
        assert found, line
        value, half, exact = (float(number.replace(",", "")) for number in found.groups())
        assert abs(value - exact) < 4 * half, line


def test_a_collector_that_dies_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its devices do not wait for ever."""
    monkeypatch.setattr(run, "SURVEY", named("grr"))
    monkeypatch.setattr(run, "describe", lambda _: ())
    started: list[subprocess.Popen[str]] = []
    begin = run._running

    @contextmanager
    def watched(command: Sequence[str], **pipes: int) -> Iterator[subprocess.Popen[str]]:
        with begin(command, **pipes) as process:
            started.append(process)
            if len(started) == 2:
                started[0].kill()
            yield process

    monkeypatch.setattr(run, "_running", watched)
    with pytest.raises(StoreError):
        run.run(lambda _: None, people=PEOPLE, port=0, stays=False, progress=quiet)
    assert len(started) >= 2
    assert all(process.poll() is not None for process in started)


def test_devices_know_nothing_of_the_collectors_code() -> None:
    """They import the standard library and `ldpsql_device`."""
    tree = ast.parse(Path(devices.__file__).read_text())
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    imported |= {name.name for n in ast.walk(tree) if isinstance(n, ast.Import) for name in n.names}
    roots = {name.partition(".")[0] for name in imported}
    assert roots - set(sys.stdlib_module_names) == {"ldpsql_device"}


def read_until(terminal: int, wanted: str, seconds: float) -> str:
    text, deadline = "", time.monotonic() + seconds
    while wanted not in text and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            try:
                text += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    return text


KILLED = """
import sys, time
from pathlib import Path
from ldpsql_lab.demo.run import SURVEY, serve
from ldpsql.designer import design
folder = Path(sys.argv[1])
named = SURVEY.replace('epsilon = "2"', 'epsilon = "2"\\nmechanism = "grr"')
design(named).write(folder / "shop.survey.json")
given = ["--db", str(folder / "shop.duckdb"), "--survey", str(folder / "shop.survey.json")]
with serve("the collector", given, 0) as (server, address):
    print(server.pid, address, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_collector_ends_with_a_demonstration_that_was_killed(
    tmp_path: Path, how: signal.Signals
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server, address = process.stdout.readline().split()
        try:
            with urllib.request.urlopen(f"{address}/healthz") as answer:
                assert answer.status == 200
            process.send_signal(how)
            process.wait()
            deadline = time.monotonic() + PATIENCE
            with pytest.raises(OSError):
                while time.monotonic() < deadline:
                    urllib.request.urlopen(f"{address}/healthz").close()
                    time.sleep(0.1)
        finally:
            process.kill()
            with suppress(ProcessLookupError):
                os.kill(int(server), signal.SIGKILL)


@pytest.mark.slow
def test_on_a_terminal_it_stays_until_ctrl_c_and_leaves_nothing(tmp_path: Path) -> None:
    """With the port taken it finds another one. The mechanism is named, which the other session
    lets be chosen."""
    code = f"from ldpsql_lab.demo import run; run.SURVEY = {named('hgrr')!r}\n"
    code += "run.describe = lambda _: ()\nfrom ldpsql.cli.main import main; main()"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = listening.getsockname()[1]
        own, terminal = pty.openpty()
        command = [sys.executable, "-c", code, "demo", "--people", "100", "--port", str(taken)]
        own_folder = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, env=own_folder
        ) as process:
            os.close(terminal)
            try:
                text = read_until(own, "Ctrl-C stops", PATIENCE)
                found = re.search(r"page   (http://127.0.0.1:(\d+))", text)
                assert found, text
                assert int(found[2]) != taken
                assert len(list(tmp_path.glob("ldpsql-demo-*"))) == 1
                with urllib.request.urlopen(f"{found[1]}/") as page:
                    assert b"<!doctype html>" in page.read().lower()
                process.send_signal(signal.SIGINT)
                read_until(own, "what nobody says", PATIENCE)  # until the terminal is closed
                assert process.wait(PATIENCE) == 130
            finally:
                process.kill()
                os.close(own)
    assert list(tmp_path.glob("ldpsql-demo-*")) == []
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{found[1]}/healthz")


class Unreachable:
    """A collector that takes nothing."""

    def send(self, survey: object, reports: object) -> Delivery:
        return Delivery(settled=0, refused=0, waiting=[])


def test_devices_end_with_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs they send again; once it has ended they stop."""
    numbers = iter([7, 7, 1])
    monkeypatch.setattr(devices.os, "getppid", lambda: next(numbers))
    monkeypatch.setattr(devices, "PATIENCE", 0.0)
    with pytest.raises(ReportError, match="that started these devices has ended"):
        devices.send(Unreachable(), None, None, 7)  # type: ignore[arg-type]
    assert list(numbers) == []
