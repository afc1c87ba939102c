import pytest
from support.fake_survey import FakeMechanism

from ldpsql.recipes import registry
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
