"""A disk that is full at any point of an answer: nothing leaves that is not kept."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from support.giving import PLENTY, sealed_anew, yes_or_no
from support.surveys import ANYTHING

from ldpsql_device import ledger as module
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.ledger import Ledger

resource = pytest.importorskip("resource")

SURVEYS = 20
LIMITS = range(0, 36_000, 3_000)


@contextmanager
def files_up_to(size):
    """No file of this process may grow beyond a size; the system then refuses to write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def give(asked, ledger):
    try:
        return respond(asked, {"positive": True}, policy=ANYTHING, ledger=ledger)
    except StoreError as error:
        assert "nothing was sent" in str(error)
        return None


def contradictions(folder):
    """How many reports left a device with a full disk, and differ from what it says afterwards."""
    surveys, failed, found = list(sealed_anew(yes_or_no(), SURVEYS)), 0, 0
    for limit in LIMITS:
        path = folder / f"ledger{limit}"
        ledger = Ledger(path, **PLENTY)
        with files_up_to(limit):
            given = [give(asked, ledger) for asked in surveys]
        failed += given.count(None)
        for asked, report in zip(surveys, given, strict=True):
            again = give(asked, ledger)
            assert again is not None  # the ledger is sound
            found += report is not None and report != again
    assert 0 < failed < len(LIMITS) * SURVEYS
    assert {place.name for place in folder.iterdir()} == {f"ledger{limit}" for limit in LIMITS}
    return found


def test_nothing_leaves_that_is_not_kept(memory_folder):
    assert contradictions(memory_folder) == 0


@pytest.mark.slow
def test_control_a_ledger_that_sends_what_it_could_not_keep_is_found_out(
    memory_folder, monkeypatch
):
    careful = Ledger.answer

    def careless(self, survey, draw, **when):
        drawn = []

        def remember(day):
            drawn.append(draw(day))
            return drawn[-1]

        try:
            return careful(self, survey, remember, **when)
        except StoreError:
            if not drawn:
                raise
            return drawn[-1]

    monkeypatch.setattr(Ledger, "answer", careless)
    assert contradictions(memory_folder) > 0


def test_a_full_database_is_said_to_be(memory_folder, monkeypatch):
    """As SQLite says it, where the system reports that no space is left."""
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    first, *others = sealed_anew(yes_or_no(), 60)
    kept = respond(first, {"positive": True}, policy=ANYTHING, ledger=ledger)
    connect = module._connect

    def full(address):
        database = connect(address)
        database.execute("PRAGMA max_page_count = 1")  # SQLite makes it what there is
        return database

    with monkeypatch.context() as patch:
        patch.setattr(module, "_connect", full)
        with pytest.raises(StoreError, match=r"\(database or disk is full\); nothing was sent"):
            for asked in others:
                respond(asked, {"positive": True}, policy=ANYTHING, ledger=ledger)
    again = respond(first, {"positive": True}, policy=ANYTHING, ledger=ledger)
    assert again == kept
