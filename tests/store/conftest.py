import shutil
from datetime import date

import pytest
from support.fake_survey import FakeMechanism, fake_survey, reports_of

from ldpsql.mechanisms import registry
from ldpsql.store import open_store


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    """Registers the mechanism of `fake_survey`."""
    monkeypatch.setitem(registry.MECHANISMS, "fake", FakeMechanism())


@pytest.fixture
def store():
    """An empty store in memory."""
    with open_store(None, read_only=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """The folder of a store with ten reports of one survey, which nobody changes."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.MECHANISMS, "fake", FakeMechanism())
        survey = fake_survey()
        with open_store(folder / "s.duckdb", read_only=False) as opened:
            opened.ingest_table(reports_of(survey, 10), survey)
    return folder


@pytest.fixture
def path(filled, tmp_path):
    """A copy of that store, with its snapshot and all that lies beside it."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path / "s.duckdb"


@pytest.fixture
def clock(monkeypatch):
    """Sets the day on which reports arrive, at first the first of March 2026."""

    def to(day):
        monkeypatch.setattr("ldpsql.store.store.utc_today", lambda: day)

    to(date(2026, 3, 1))
    return to
