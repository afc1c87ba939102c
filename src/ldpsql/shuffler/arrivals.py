"""Reports that devices send one by one, until there are enough for a batch.

They wait in an SQLite file, apart from the ids that tell repeats: the reports of a batch under
random keys, whose order is that of the batch, and ids by themselves. What is acknowledged is there,
and neither order tells which id was whose or when a report came. A batch is full in the commit that
brings its last report. It is then written to a file under an id that was drawn in that commit, and
what waited for it is deleted. After a kill between the two the same file is written again, which a
collector that has it knows by its id.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from ldpsql.errors import QueryError
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.permutation import ROW_GROUP
from ldpsql.shuffler.batch_file import require_trust, write_batch
from ldpsql.store.incoming import Read
from ldpsql.store.intake import Intake, check_statement, day_of_arrival, day_of_forgetting
from ldpsql.store.shuffled_batch import ShuffledBatch, pack_reports
from ldpsql.survey import Survey
from ldpsql_device.errors import ReportError, StoreError
from ldpsql_device.reports import ID_BYTES
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import utc_today

if TYPE_CHECKING:
    from ldpsql.shuffler.sealing import SealedDoor

_FORMAT = 2
_APPLICATION = 0x6C647071  # "ldpq"
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_FORMAT};
CREATE TABLE surveys (
    number INTEGER PRIMARY KEY, fingerprint TEXT UNIQUE, text TEXT, batch INTEGER, filled INTEGER,
    opener BLOB
);
CREATE TABLE ids (
    survey INTEGER, id BLOB, last TEXT, PRIMARY KEY (survey, id)
) WITHOUT ROWID;
CREATE TABLE waiting (
    survey INTEGER, batch INTEGER, place BLOB, report BLOB, PRIMARY KEY (survey, batch, place)
) WITHOUT ROWID;
CREATE TABLE full_batches (
    survey INTEGER, batch INTEGER, id TEXT, day TEXT, PRIMARY KEY (survey, batch)
) WITHOUT ROWID;
CREATE TABLE statements (fingerprint TEXT PRIMARY KEY, text TEXT);
CREATE TABLE seen (latest TEXT);
INSERT INTO seen VALUES (NULL);
"""


class Arrivals:
    """The reports that wait at a shuffler, and the directory where full batches go.

    shuffles: what a store, which takes reports in the same way, says no to.
    """

    shuffles = True

    def __init__(
        self,
        path: Path,
        folder: Path,
        tell: Callable[[str], None] = lambda _: None,
        key: SigningKey | None = None,
    ) -> None:
        """Open the file, or make it.

        folder: made if need be.  tell: called with what keeps a full batch from being written,
        which is tried again with the next reports.  key: with which pledges and batches are signed;
        without, reports come in clear.  StoreError for a file that
        cannot be used, or that another process uses, for a folder that cannot be had, and for a
        file to which reports are sealed where there is no key any more.
        """
        self.path, self.folder, self._tell, self._key = path, folder, tell, key
        self._working = Lock()
        self._arrival, self._saw = date.min, date.min
        self._intakes: dict[str, tuple[int, Intake]] = {}
        self._doors: dict[str, SealedDoor] = {}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StoreError(f"cannot use {error.filename}: {error.strerror}") from None
        with self._explaining():
            self._database = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                self._open()
            except BaseException:
                self._database.close()
                raise

    def _open(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA synchronous = EXTRA")
        run("PRAGMA secure_delete = ON")
        with self._change():
            marks = [
                run(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            ]
            if marks == [(0,), (0,)] and not run("SELECT 1 FROM sqlite_schema").fetchone():
                for statement in _SCHEMA.split(";"):
                    run(statement)
            elif marks != [(_APPLICATION,), (_FORMAT,)]:
                raise StoreError(
                    f"{self.path} is not the file of a shuffler of this version; name another"
                )
        query = "SELECT number, fingerprint, text, opener FROM surveys"
        for number, fingerprint, text, opener in run(query).fetchall():
            self._intakes[fingerprint] = (number, Intake.read(text))
            if opener is not None and self._key is None:
                raise StoreError(
                    f"devices seal reports to a key in {self.path}, whose pledges were signed: "
                    "start it with the signing key (--key)"
                )
            if not self._intakes[fingerprint][1].schedule.has_ended(utc_today()):
                self._open_door(number, self._intakes[fingerprint][1], opener)

    # -- surveys -------------------------------------------------------------------------------

    def register(self, survey: Survey | Intake) -> None:
        """Take reports of a survey from now on; SurveyError for one that trusts no shuffler."""
        intake = Intake.of(survey)
        require_trust(intake)
        if intake.fingerprint in self._intakes:
            return
        with self._working, self._change():
            cursor = self._database.execute(
                "INSERT INTO surveys (fingerprint, text, batch, filled) VALUES (?, ?, 0, 0)",
                [intake.fingerprint, intake.device_text],
            )
            assert cursor.lastrowid is not None
            self._open_door(cursor.lastrowid, intake, None)
        self._intakes[intake.fingerprint] = (cursor.lastrowid, intake)

    def _open_door(self, number: int, intake: Intake, secret: bytes | None) -> None:
        """Take sealed reports of a survey, if pledges are signed; their key is kept before any
        pledge names it.

        secret: the key in the file, if it is there.
        """
        if self._key is None:
            return
        from ldpsql.shuffler.opener import Opener  # noqa: PLC0415  (they need `cryptography`)
        from ldpsql.shuffler.sealing import SealedDoor  # noqa: PLC0415

        opener = Opener.create() if secret is None else Opener.from_bytes(secret)
        self._doors[intake.fingerprint] = SealedDoor(intake, self._key, opener)
        if secret is None:
            change = "UPDATE surveys SET opener = ? WHERE number = ?"
            with self._explaining():
                self._database.execute(change, [opener.to_bytes(), number])

    def find_pledge(self, intake: Intake) -> str | None:
        """What is pledged of a survey today; None where nothing is."""
        door = self._doors.get(intake.fingerprint)
        return None if door is None else door.sign_pledge(utc_today())

    def read_sealed(self, intake: Intake, lines: Sequence[bytes]) -> Read | None:
        """The reports in lines as devices send them, and which lines hold none; None where reports
        of the survey are not sealed."""
        door = self._doors.get(intake.fingerprint)
        return None if door is None else door.read(lines)

    def intake(self, table: str) -> Intake:
        """The survey of a name that was registered last; QueryError if there is none."""
        named = [own for own in self._intakes.values() if own[1].key == table.lower()]
        if not named:
            raise QueryError(f"there is no survey {table!r:.60}")
        return max(named, key=lambda own: own[0])[1]

    def intake_of(self, fingerprint: str) -> Intake | None:
        """The survey of a fingerprint; None if there is none."""
        known = self._intakes.get(fingerprint)
        return None if known is None else known[1]

    def find_statement(self, intake: Intake) -> str | None:
        """The latest statement of a survey's author; None if none was kept."""
        with self._working, self._explaining():
            return self._find_statement(intake)

    def keep_statement(self, statement: Statement) -> None:
        """Keep what an author says of a table, to be handed out; see `check_statement`."""
        intake = self.intake(statement.table)
        with self._working, self._change():
            check_statement(intake, statement, self._find_statement(intake))
            row = [intake.fingerprint, statement.text]
            self._database.execute("INSERT OR REPLACE INTO statements VALUES (?, ?)", row)

    def _find_statement(self, intake: Intake) -> str | None:
        query = "SELECT text FROM statements WHERE fingerprint = ?"
        found = self._database.execute(query, [intake.fingerprint]).fetchone()
        return None if found is None else str(found[0])

    # -- reports -------------------------------------------------------------------------------

    def take(self, intake: Intake, reports: Sequence[pa.RecordBatch], source: str) -> int:
        """Keep reports, all or none, and release what is full; how many are no repeats.

        reports: checked, with their ids.  source: for messages. Raises ReportError for a survey
        that has ended, StoreError. A batch that cannot be written waits.
        """
        today, (number, _) = utc_today(), self._intakes[intake.fingerprint]
        if intake.schedule.has_ended(today):
            raise ReportError(f"{source}: survey {intake.table} ended on {intake.schedule.end}")
        with self._working:
            self._look_at(today)
            with self._change():
                taken = self._add(intake, number, reports)
            self._release()
        return taken

    def tidy(self) -> None:
        """Release what could not be released before, and forget ids that are old."""
        with self._working:
            self._look_at(utc_today())
            self._release()

    def _look_at(self, today: date) -> None:
        """Once a day: forget the ids of reports that no device sends any more."""
        if self._saw == today:
            return
        with self._change():
            [(text,)] = self._database.execute("SELECT latest FROM seen").fetchall()
            latest = None if text is None else date.fromisoformat(text)
            self._arrival = day_of_arrival(today, latest)
            old = day_of_forgetting(today, latest)
            self._database.execute("DELETE FROM ids WHERE last < ?", [old.isoformat()])
            for number, intake in self._intakes.values():
                if intake.schedule.has_ended(old):  # what was sealed to its key stays so
                    forget = "UPDATE surveys SET opener = NULL WHERE number = ?"
                    self._database.execute(forget, [number])
                    self._doors.pop(intake.fingerprint, None)
            self._database.execute("UPDATE seen SET latest = ?", [self._arrival.isoformat()])
        self._saw = today

    def _add(self, intake: Intake, number: int, reports: Sequence[pa.RecordBatch]) -> int:
        run = self._database.execute
        last = intake.schedule.last_sending_day(self._arrival).isoformat()
        users = require_trust(intake).users
        [(batch, filled)] = run(
            "SELECT batch, filled FROM surveys WHERE number = ?", [number]
        ).fetchall()
        taken = 0
        for own, report in _rows(intake, reports):
            row = [number, own, last]
            if run("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", row).rowcount == 0:
                continue
            place = [number, batch, os.urandom(ID_BYTES), report]
            run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
            taken, filled = taken + 1, filled + 1
            if filled == users:
                full = [number, batch, os.urandom(ID_BYTES).hex(), self._arrival.isoformat()]
                run("INSERT INTO full_batches VALUES (?, ?, ?, ?)", full)
                batch, filled = batch + 1, 0
        run("UPDATE surveys SET batch = ?, filled = ? WHERE number = ?", [batch, filled, number])
        return taken

    # -- batches -------------------------------------------------------------------------------

    def _release(self) -> None:
        """Write full batches to files, and delete what waited for them."""
        query = "SELECT fingerprint, number, full_batches.* FROM full_batches JOIN surveys "
        try:
            with self._explaining():
                full = self._database.execute(f"{query} ON survey = number").fetchall()
                for fingerprint, number, _, batch, own, day in full:
                    _, intake = self._intakes[fingerprint]
                    said = ShuffledBatch(fingerprint, require_trust(intake).users, own)
                    self._write(intake, number, batch, said, date.fromisoformat(day))
                    with self._change():
                        for table in ("waiting", "full_batches"):
                            where = f"DELETE FROM {table} WHERE survey = ? AND batch = ?"
                            self._database.execute(where, [number, batch])
        except StoreError as error:
            self._tell(str(error))
        except OSError as error:
            self._tell(f"cannot write a batch to {self.folder}: {error.strerror}; it waits")

    def _write(
        self, intake: Intake, number: int, batch: int, said: ShuffledBatch, day: date
    ) -> None:
        """Write a batch in the order of its random keys, which is a uniformly random one."""
        path = self.folder / f"{said.id}.parquet"
        with (
            closing(self._database.cursor()) as cursor,
            write_batch(intake, path, said, self._key, day) as write,
        ):
            cursor.execute(
                "SELECT report FROM waiting WHERE survey = ? AND batch = ? ORDER BY place",
                [number, batch],
            )
            for rows in iter(partial(cursor.fetchmany, ROW_GROUP), []):
                packed = np.frombuffer(b"".join(report for (report,) in rows), intake.packing)
                numbers = [packed[name].astype(int) for name in intake.report_columns]
                write(pa.Table.from_arrays(list(map(pa.array, numbers)), intake.report_columns))

    # -- the file ------------------------------------------------------------------------------

    @contextmanager
    def _change(self) -> Iterator[None]:
        """All changes inside, or none of them; StoreError where they cannot be kept."""
        with self._explaining():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = {
                sqlite3.SQLITE_BUSY: "another process uses it",
                sqlite3.SQLITE_FULL: "the disk is full",
                sqlite3.SQLITE_NOTADB: "it is not the file of a shuffler; name another",
            }.get(code, "it cannot be read or written")
            raise StoreError(f"{self.path}: {reason}") from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rows(intake: Intake, reports: Sequence[pa.RecordBatch]) -> Iterator[tuple[bytes, bytes]]:
    """The ids of reports, and their numbers."""
    for batch in reports:
        packed, size = pack_reports(intake, batch), intake.packing.itemsize
        own = (packed[at : at + size] for at in range(0, len(packed), size))
        yield from zip(batch.column(ID_COLUMN).to_pylist(), own, strict=True)
