"""A collector's application over a store in memory, to be asked without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ldpsql.server.app import make_app
from ldpsql.server.writer import Writer
from ldpsql.store import open_store


@contextmanager
def collecting(*surveys: Any, **settings: Any) -> Iterator[tuple[Any, Any]]:
    """The application and its store. surveys: each alone, or with its reports; settings: those of
    `make_app`, as tokens."""
    with open_store(None, read_only=False) as store:
        for each in surveys:
            survey, *reports = each if isinstance(each, tuple) else (each,)
            store.register(survey)
            for table in reports:
                store.ingest_table(table, survey)
        own = Writer(store, "http")
        try:
            yield make_app(store, own, **settings), store
        finally:
            own.close()
