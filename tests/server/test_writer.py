"""The writer, whatever becomes of what it hands reports to."""

from __future__ import annotations

import pytest
from support.http import ask
from support.planned_survey import both_texts, device_text
from support.surveys import ANYTHING

from ldpsql.server import writer
from ldpsql.server.app import make_app
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.store import open_store
from ldpsql.store.intake import Intake
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.survey import Survey

SURVEY, INTAKE = Survey.from_json(device_text()), Intake.read(both_texts())
LATER = "what came cannot be put in order, and is tried again: "


def send(own):
    """Have a report committed."""

    line = respond(SURVEY, {"age": 3, "shop": "north"}, policy=ANYTHING).to_json()
    return own.submit(INTAKE, [line.encode()]).result()


@pytest.fixture
def hasty(monkeypatch):
    """Everything is put in order after every commit."""
    monkeypatch.setattr(writer, "SECONDS", 0.0)
    monkeypatch.setattr(writer, "_TIDY", 1)
    monkeypatch.setattr(writer, "_WHILE", 0.05)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("the disk is full"), "the disk is full"),
        (MemoryError("SECRET"), "MemoryError"),
    ],
)
def test_what_cannot_be_put_in_order_is_told_once_and_reports_are_taken(
    hasty, monkeypatch, error, said
):
    told, tries = [], []
    with open_store(None, read_only=False) as store:
        store.register(INTAKE)
        tidy = store.tidy

        def fails():
            tries.append(True)
            raise error

        monkeypatch.setattr(store, "tidy", fails)
        own = Writer(store, "http", told.append)
        try:
            while len(tries) < 3:
                assert send(own) == []
            monkeypatch.setattr(store, "tidy", tidy)
        finally:
            own.close()
        assert told == [LATER + said, "what came was put in order"]
        assert own.untidied == len(tries)
        assert store.sizes("people").sum() == own.counts["people", "counted"]
        assert len(store.batches("people")) == 1


def test_it_is_counted_and_not_tried_with_every_commit(hasty, monkeypatch, capsys, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    asked = {"client": "127.0.0.1", "authorization": f"Bearer {tokens.add('ann', 'analyst')}"}
    monkeypatch.setattr(writer, "_WHILE", 60.0)
    with open_store(None, read_only=False) as store:
        store.register(INTAKE)
        monkeypatch.setattr(store, "tidy", lambda: 1 // 0)
        own = Writer(store, "http")
        try:
            for _ in range(5):
                assert send(own) == []
            counters = ask(make_app(store, own, tokens), "/metrics", **asked).body.decode()
            assert "\nldpsql_failed_tidying_total 1\n" in counters
        finally:
            own.close()
        # At the end, whatever the time, and once more where the writer is about to try.
        assert own.untidied in (2, 3)
    assert capsys.readouterr().err == f"ldpsql: {LATER}ZeroDivisionError\n"
