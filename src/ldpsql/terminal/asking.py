"""The opening of what commands ask: a store or a collector, and a session of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpsql.engine.collector import Answering, AnsweringStore
    from ldpsql.store.store import Store


def open_to_ask(database: Path | str) -> Store | AnsweringStore:
    """The store in a file, or a collector."""
    from ldpsql.engine.collector import open_collector  # noqa: PLC0415  (what is heavy comes late)
    from ldpsql.store import read_store  # noqa: PLC0415

    return open_collector(database) or read_store(database)


def make_session(
    store: Store | AnsweringStore,
    weights: tuple[Path, ...],
    *,
    one_population: bool = False,
    census: bool = False,
    **settings: Any,
) -> Answering:
    """A session that answers questions; settings: as of `connect`, and others of a `Session`."""
    from ldpsql.engine.collector import open_session  # noqa: PLC0415
    from ldpsql.engine.sources import choose_sources  # noqa: PLC0415

    sources = choose_sources(weights, one_population=one_population, census=census)
    return open_session(store, sources=sources, **settings)
