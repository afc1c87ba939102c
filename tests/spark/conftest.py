import pytest
from support.fake_survey import FakeMechanism

from ldpsql.mechanisms import registry


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    """Registers the mechanism of `fake_survey`."""
    monkeypatch.setitem(registry.MECHANISMS, "fake", FakeMechanism())
