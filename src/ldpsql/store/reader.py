"""A store that is asked without its file being open between two questions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ldpsql.store import companion
from ldpsql.store.base import refusing
from ldpsql.store.opening import (
    Connection,
    DamagedError,
    Identity,
    LockedError,
    connect,
    disconnect,
    find_state,
    has_table,
    identify,
    open_memory,
    require_file,
)
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import StoreError


class Reader(Store):
    """A store in a file that others may write to meanwhile.

    Every statement is answered from one state of the store: from its snapshot, where that is of
    what was committed last; else from the store itself, which is opened for the statement; and
    where another process writes to it, from the snapshot there is (see `lag`).
    """

    def __init__(self, path: Path, *, patience: float, memory: int | None) -> None:
        """As `read_store`."""
        self._place = path
        self._loading = threading.Lock()
        self._loaded: companion.Snapshot | None = None
        self._seen: Identity | None = None
        self._known: dict[str, str] = {}
        self._compared: Connection | None = None
        super().__init__(path, read_only=True, patience=patience, memory=memory)
        try:
            with self.snapshot():
                pass
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Connection:
        loaded = self._load()
        return open_memory() if loaded is None else loaded.connection

    def _disconnect(self, connection: Connection) -> None:
        connection.close()  # of a database in memory
        self._loaded = None

    def survey(self, table: str) -> Survey:
        with self.snapshot():  # or what the name stood for before might be given
            return super().survey(table)

    # -- which state answers -----------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._pinned.cursor is not None:
            yield
            return
        with ExitStack() as opened:
            connection = self._find_source(opened)
            opened.enter_context(self._pin(connection))
            self._pinned.last, self._pinned.opened = None, opened
            if connection is not self._compared:
                self._forget_replaced()
                self._compared = connection
            yield

    @contextmanager
    def _pin(self, connection: Connection) -> Iterator[None]:
        try:
            with super()._pin(connection):
                yield
        except DamagedError:
            if self._pinned.source is None:
                raise
            self._loaded = None  # the next statement reads the store itself
            raise DamagedError(
                f"the snapshot {companion.companion_of(self._place)} is damaged, and the store is "
                "perhaps not; remove the snapshot and ask again"
            ) from None

    def _find_source(self, opened: ExitStack) -> Connection:
        """The source of this statement; what is opened for it alone is closed by the stack."""
        self._require_connection()
        require_file(self._place)
        self._pinned.lag = None
        with self._loading:
            while True:
                state, loaded = find_state(self._place), self._load()
                self._pinned.source = loaded
                if loaded is not None and loaded.state == state:
                    return loaded.connection
                if find_state(self._place) != state:
                    continue  # somebody committed or published meanwhile
                try:
                    connection = self._open_file(own := ExitStack(), waits=loaded is None)
                except LockedError as error:
                    if self._is_replaced():
                        continue
                    if loaded is None:
                        raise
                    self._pinned.lag = (
                        f"as of {loaded.made:%Y-%m-%d %H:%M:%S} UTC: there may be later reports; "
                        f"{error}"
                    )
                    return loaded.connection
                if self._is_replaced():
                    own.close()
                    continue
                opened.enter_context(own)
                self._pinned.source = None
                return connection

    def _is_replaced(self) -> bool:
        """Whether the snapshot's file is not the one that was looked at last."""
        return identify(companion.companion_of(self._place)) != self._seen

    def _load(self) -> companion.Snapshot | None:
        """The snapshot there is now, in memory; None where there is none that can be read."""
        if self._is_replaced():
            # Statements of other threads go on: DuckDB keeps what their cursors read.
            self._seen = identify(companion.companion_of(self._place))
            self._loaded = companion.load(self._place)
            if self._loaded is not None:
                self._limit(self._loaded.connection)
                self._connection = self._loaded.connection
        return self._loaded

    def _open_file(self, opened: ExitStack, *, waits: bool) -> Connection:
        """Open the store itself.  waits: for whoever writes to it."""
        patience = self._patience if waits else 0.0
        connection = connect(self._place, read_only=True, patience=patience)
        opened.callback(disconnect, connection, self._place)
        self._limit(connection)
        return connection

    def _forget_replaced(self) -> None:
        """Forget surveys where some were removed, and came again as others."""
        known = dict(self._rows("SELECT name, fingerprint FROM surveys"))
        if not self._known.items() <= known.items():
            self._forget_surveys()
        self._known = known

    # -- reports -----------------------------------------------------------------------------

    def _reach_counts(self, table: str) -> None:
        """Have the rest of this statement read the store itself where the snapshot does not hold
        the counts; StoreError as `connect`, and where it was changed meanwhile."""
        source, cursor = self._pinned.source, self._pinned.cursor
        if source is None or cursor is None or has_table(cursor, f"histogram_{table.lower()}"):
            return
        opened = self._pinned.opened
        connection = self._open_file(opened, waits=True)
        if self._pinned.lag or find_state(self._place) != source.state:
            raise StoreError(
                f"reports of {table} arrived while the question was answered; ask it again"
            )
        self._pinned.source = None
        opened.enter_context(self._pin(connection))

    # -- what a snapshot does not hold -------------------------------------------------------

    check = refusing("check itself")
    export = refusing("export surveys")
