"""A collector elsewhere, which answers questions about its reports itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from ldpsql.parser import Parameters
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import find_kind
from ldpsql.store.intake import Intake
from ldpsql.store.rules import Batch
from ldpsql.survey import Survey
from ldpsql_device.statement import Statement

if TYPE_CHECKING:
    from ldpsql.engine.result import Result
    from ldpsql.store.store import Store


class Answering(Protocol):
    """An object that answers questions about a store: a `Session`, or the one of an answering
    store."""

    def execute(
        self, sql: str, parameters: Parameters = None, confidence: float | None = None
    ) -> Result:
        """Answer one SQL text. Raises errors under `ldpsql.Error` only.

        confidence: level of the intervals, where it is not the session's.
        """

    def survey(self, table: str) -> Survey:
        """One survey of the store; QueryError if there is none of that name."""

    def register(self, table: PublicTable) -> None:
        """Let questions join a table that the store does not keep."""

    def unregister(self, name: str) -> None:
        """Forget a registered table; InterfaceError if there is none of that name."""

    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, those of the store and registered ones, by name."""


class Filled(Protocol):
    """A store that takes reports and look-up tables, here or elsewhere: as `Store` says."""

    def surveys(self) -> list[Survey]:
        """All surveys that can be asked, by name."""

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | Intake | None = None,
        tell: Callable[[Batch], None] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        **options: Any,
    ) -> list[Batch]:
        """Take files of reports, each whole or not at all, and each report once."""

    def ingest_table(
        self, reports: pa.Table, survey: Survey | Intake | None = None, **options: Any
    ) -> Batch:
        """Take a table of reports from memory."""

    def add_lookup(self, table: PublicTable, *, replace: bool = False) -> None:
        """Keep a table that everybody may see."""

    def remove_lookup(self, name: str) -> None:
        """Forget it."""

    def close(self) -> None:
        """Let go of the store; a second time does nothing."""


class AnsweringStore(Filled, ABC):
    """Of the group of entry points `ldpsql.stores`, those that answer questions themselves."""

    @classmethod
    @abstractmethod
    def open_address(cls, url: str, token: str | None) -> AnsweringStore:
        """The collector at an address.  token: None for the one of the environment."""

    @abstractmethod
    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name."""

    @abstractmethod
    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, by name."""

    @abstractmethod
    def open_session(self, **settings: Any) -> Answering:
        """A session that answers questions about its reports; settings as of a `Session`."""

    @abstractmethod
    def synthesize(
        self, rows: int | None = None, table: str | None = None, seed: int | None = None
    ) -> pa.Table:
        """A table of made-up people; see `Connection.synthesize`."""

    @abstractmethod
    def keep_statement(self, statement: Statement) -> None:
        """Have what an author says of a table handed out, as `Store.keep_statement`."""


def open_collector(url: str | Path, token: str | None = None) -> AnsweringStore | None:
    """The collector at an address; None for a file, and for the address of another store."""
    kind = find_kind(url)
    if kind is None or not issubclass(kind, AnsweringStore):
        return None
    return kind.open_address(str(url), token)


def open_session(store: Store | AnsweringStore, **settings: Any) -> Answering:
    """A session that answers questions about a store; settings as of a `Session`."""
    if isinstance(store, AnsweringStore):
        return store.open_session(**settings)
    from ldpsql.engine.session import Session  # noqa: PLC0415  (what is heavy is loaded when needed)

    return Session(store, **settings)
