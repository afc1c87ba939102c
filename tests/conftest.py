"""Options and fixtures for all tests."""

from __future__ import annotations

import atexit
import gc
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import spark as spark_here
from support.tiers import choose_tier, mark_slow_cases

from ldpsql.designer import auto


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-goldens",
        action="store_true",
        help="write the golden files anew instead of comparing with them; read the difference",
    )
    parser.addoption(
        "--require-browser",
        action="store_true",
        help="fail where tests/browser finds no browser, instead of leaving it out",
    )
    parser.addoption(
        "--require-spark",
        action="store_true",
        help="fail where there is no PySpark or no Java, instead of leaving out what needs them",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line each that the tests in a browser and those with Spark were left out, and
    why."""
    skipped = terminalreporter.stats.get("skipped", [])
    kinds = {
        "in a browser": [each for each in skipped if each.nodeid.startswith("tests/browser/")],
        "with Spark": [each for each in skipped if "spark" in each.keywords],
    }
    for kind, reports in kinds.items():
        if reports:
            reason = reports[0].longrepr[2].removeprefix("Skipped: ")
            terminalreporter.write_line(f"tests {kind} left out: {len(reports)} ({reason})")


def pytest_configure(config: pytest.Config) -> None:
    choose_tier(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_slow_cases(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected, which stays, out of the sight of the garbage collector."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # or libraries would call it leaked
        gc.enable()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `auto` compare all mechanisms, however little of the machine a test gets."""
    monkeypatch.setattr(auto, "clock", lambda: 0.0)


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session of Spark, for tests that are marked so; without it they are left out, and the
    summary says so; with --require-spark they fail instead."""
    problem = spark_here.find_problem()
    if problem:
        (pytest.fail if request.config.getoption("--require-spark") else pytest.skip)(problem)
    session = spark_here.start_here()
    yield session
    session.stop()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a golden file, or writes it there with --rewrite-goldens."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--rewrite-goldens"):
            path.write_text(text)
        assert text == path.read_text()

    return check


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where a shell started the tests in the background.

    Python drops an exception that a signal raises within a callback of the garbage collector, and
    hypothesis has one; without callbacks it is never lost.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder in memory, where the system has one: a disk is what takes a ledger's time."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
