"""Where there is no browser, or no playwright to drive it, the tests are left out, and the summary
says so; with --require-browser they fail instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import FLAGS, NAMES, Running, Watched, find_browser, run_collector, visit


@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The browser, with a fresh profile.

    As long as it is driven an event loop runs in this thread, so it ends with a module's tests.
    """
    executable = find_browser()
    problem = None if executable else f"there is none of {', '.join(NAMES)} on this machine"
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ModuleNotFoundError:
        problem = "playwright is not installed: make browser"
    if problem:
        (pytest.fail if request.config.getoption("--require-browser") else pytest.skip)(problem)
    with sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield own
        own.close()


@pytest.fixture
def person(chromium: Any) -> Iterator[Watched]:
    """Somebody at a browser of their own; scripts that fail, fail the test."""
    with visit(chromium) as own:
        yield own


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A collector of its own process, as `ldpsql serve` starts it, and a site on another port."""
    with run_collector(tmp_path_factory.mktemp("collector")) as own:
        yield own
