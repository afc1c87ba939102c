"""The ledger of what a person has given so far: one SQLite file on the device.

A ledger gives the same report again when the same survey asks again, charges every answer to the
attributes that it is about and to a total, and has a device answer one of a survey's rounds, and
each of its periods once. SQLite does the locking, the atomicity and the recovery: a report is drawn
inside a transaction and leaves after it is on the disk, so a device that is killed has either drawn
nothing or gives the same report when it is asked again. A ledger that cannot be read is never taken
for an empty one; deleting the file is the person's own decision to start anew.

Nothing in the file is believed before all of it was read and its digests were compared, and what
was read then decides. Digests find accidents: a copy of the whole file as it once was is sound.

Names of attributes are kept as salted hashes; beside them the file holds which surveys were
answered, when, at what price, and the reports as they left.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ldpsql_device.epsilon import Number, decimal_text, exact
from ldpsql_device.errors import (
    BudgetSpent,
    Error,
    InterfaceError,
    NotAllowed,
    NotAsked,
    StoreError,
)

if TYPE_CHECKING:
    from ldpsql_device.history import Given
    from ldpsql_device.pledge import Pledge
    from ldpsql_device.reports import Report
    from ldpsql_device.statement import Statement
    from ldpsql_device.survey import Published

FORMAT = 4
PATIENCE = 30.0
"""Seconds for which a ledger that another process uses is tried again."""
LONGEST_ABSENCE = 366
"""Days by which a clock may be ahead of the latest day that a ledger has seen."""
MOST_LOCAL_TOTAL = 8
"""What shufflers may learn in all, unless an app says otherwise."""
MOST_SHUFFLED_DELTA = "1e-3"
_NEVER = 1
"""The ordinal of the latest day of a ledger that has seen none."""

_LEDGER = (
    "CREATE TABLE ledger (format INTEGER NOT NULL, salt TEXT NOT NULL, latest INTEGER NOT NULL, "
    "statements TEXT NOT NULL, digest TEXT NOT NULL)"
)
_ANSWERS = (
    "CREATE TABLE answers (number INTEGER PRIMARY KEY, survey TEXT NOT NULL, chain TEXT NOT NULL, "
    "period TEXT NOT NULL, day INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, "
    "attributes TEXT NOT NULL, report TEXT NOT NULL, {}digest TEXT NOT NULL)"
)
_SCHEMAS = {
    3: (_LEDGER, _ANSWERS.format("")),
    FORMAT: (_LEDGER, _ANSWERS.format("recipient TEXT NOT NULL, local TEXT NOT NULL, ")),
}
_CELLS = {3: 9, FORMAT: 11}
_OFFSETS = "CREATE TABLE offsets (survey TEXT NOT NULL, number INTEGER NOT NULL)"
"""A table that a ledger has once a survey asks its device in some of its periods only."""


class _Answer(NamedTuple):
    """A row of the table `answers` without its digest.

    epsilon, delta: what was charged: of the report by itself, or once shuffled where it was given
    to a shuffler alone.  attributes: their hashes, with spaces.  recipient: that shuffler, see
    `Pledge.recipient`, or "".  local: the epsilon that it learns; "0" where there is none.
    """

    number: int
    survey: str
    chain: str
    period: str
    day: int
    epsilon: str
    delta: str
    attributes: str
    report: str
    recipient: str = ""
    local: str = "0"


class _Price(NamedTuple):
    """What an answer costs, in the cells of `_Answer`."""

    epsilon: str
    delta: str
    recipient: str
    local: str


class _Content:
    """The content of a ledger.

    latest: ordinal of the latest day ever seen.  statements: see `Statement.remember`.  offsets:
    see `_require_turn`.
    """

    def __init__(
        self, salt: str, latest: int, statements: dict[str, list[str]], version: int = FORMAT
    ) -> None:
        self.salt, self.latest, self.statements = salt, latest, statements
        self.answers: list[_Answer] = []
        self.offsets: dict[str, int] = {}
        self._digest = hashlib.sha256(ascii((version, salt)).encode())
        self._cells = _CELLS[version]

    def add(self, answer: _Answer) -> str:
        """The digest of the row, which is one of the salt and of all rows before it, too: a row of
        another ledger, or in another place, has another one."""
        self.answers.append(answer)
        # `ascii` tells types and ends of cells apart, and writes the same whatever the version.
        self._digest.update(ascii(tuple(answer)[: self._cells]).encode())
        return self._digest.hexdigest()

    def heading(self) -> tuple[int, str, str]:
        """The latest day, the statements, and the digest of everything."""
        statements, whole = json.dumps(self.statements), self._digest.copy()
        whole.update(ascii((len(self.answers), self.latest, statements)).encode())
        whole.update(ascii(self.offsets).encode() if self.offsets else b"")
        return self.latest, statements, whole.hexdigest()


@dataclass(frozen=True)
class Ledger:
    """The answers of one person, in a file that only its owner can read (mode 0600).

    path: of the file, which is made when it is first needed.  total: the largest sum of epsilons
    over all surveys.  per_attribute: the largest sum over the surveys that ask about one attribute,
    whoever asks; an attribute is known by its name, so only `total` resists a survey that renames
    it.  delta: the largest sum of deltas.  A survey that promises nothing exceeds every budget.
    What is given to a trusted shuffler alone is charged to these as it is once shuffled, its delta
    to shuffled_delta, and what the shuffler learns, the epsilon of the report by itself, to
    total_local.
    longest_absence: days by which the clock may be ahead of the latest day ever seen; more is
    larger only where a device may have been off for so long.
    """

    path: Path
    total: Fraction
    per_attribute: Fraction
    delta: Fraction
    total_local: Fraction
    shuffled_delta: Fraction
    longest_absence: int

    def __init__(
        self,
        path: str | Path,
        *,
        total: Number,
        per_attribute: Number,
        delta: Number = 0,
        total_local: Number = MOST_LOCAL_TOTAL,
        shuffled_delta: Number = MOST_SHUFFLED_DELTA,
        longest_absence: int = LONGEST_ABSENCE,
    ) -> None:
        """Budgets are exact: a float is taken by its shortest decimal form.

        InterfaceError for a budget that is no such number, and for an absence other than days.
        """
        if type(longest_absence) is not int or longest_absence < 1:
            raise InterfaceError("longest_absence is a number of days, at least 1")
        object.__setattr__(self, "longest_absence", longest_absence)
        # Two names of one file must be one ledger, with one journal beside it.
        object.__setattr__(self, "path", Path(os.path.realpath(path)))
        object.__setattr__(self, "total", exact(total, "total"))
        object.__setattr__(self, "per_attribute", exact(per_attribute, "per_attribute"))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        object.__setattr__(self, "total_local", exact(total_local, "total_local"))
        object.__setattr__(self, "shuffled_delta", exact(shuffled_delta, "shuffled_delta"))

    def answer(
        self,
        survey: Published,
        draw: Callable[[date], Report],
        *,
        today: date,
        period: date | None = None,
        renewal: str | None = None,
        statement: Statement | None = None,
        pledge: Pledge | None = None,
    ) -> Report:
        """The report given to this survey before, or a new one, on the disk before it is returned.

        draw: makes a report of the period of a day.  today: by the device's clock; the latest day
        ever seen counts where that is later, so a clock that is set back renews nothing and opens
        nothing.  period: the first day of a period that has ended, None for the running one.
        renewal: see `Policy`.  statement: see `respond`; none that is older is believed afterwards.
        pledge: of the shuffler to whom the report is sealed when it leaves.

        Raises BudgetSpent where a budget does not cover it; NotAsked where it asks this device in
        other periods; NotAllowed where another round of the survey was answered, its report may not
        be sent any more or was given to somebody else, the clock is too far ahead, or the statement
        is an old one; InterfaceError for a period that has not ended; StoreError where the ledger
        cannot be read or written. In each case nothing is drawn or nothing leaves.
        """
        with self._open("BEGIN IMMEDIATE") as (database, content):
            try:
                day = self._see(content, today)
                if statement is not None:
                    statement.require(survey, day)
                    statement.remember(content.statements)
                if pledge is not None:
                    pledge.require_day(survey, day)
                survey.require_open(day)
                of = _period(survey, day, period)
                recipient = "" if pledge is None else pledge.recipient
                report = self._recall(content, survey, day, of, recipient)
                if report is None:
                    _require_turn(database, content, survey, of or day)
                    _check_round(content, survey, str(of))
                    names = {name: _hash(content, name) for name in survey.schema.private_columns}
                    price = _price(survey, pledge)
                    self._check_budgets(content, survey, price, names, _renewed_on(day, renewal))
                    _check_public(content, survey)
                    report = draw(of or day)
                    _write(database, content, survey, price, names.values(), day, of, report)
            except Error as refusal:
                # The day and the statement count after a refusal, too.
                if not isinstance(refusal, StoreError):
                    _commit(database, content)
                raise
            _commit(database, content)
        return report

    def spent(self) -> Fraction:
        """Sum of the epsilons of all answers, as they were charged, exactly."""
        with self._open("BEGIN") as (_, content):
            return _sum(answer.epsilon for answer in content.answers)

    def history(self) -> tuple[Given, ...]:
        """Every report that was drawn, in order: what has left this device, or may leave it."""
        from ldpsql_device.history import read_answer  # noqa: PLC0415  (whoever looks at it)

        with self._open("BEGIN") as (_, content):
            return tuple(map(read_answer, content.answers))

    def _see(self, content: _Content, today: date) -> date:
        """The latest day, which may be today; NotAllowed for a day that no device can have
        slept until."""
        absence = today.toordinal() - content.latest
        if content.latest == _NEVER or 0 <= absence <= self.longest_absence:
            content.latest = today.toordinal()
        latest = date.fromordinal(content.latest)
        if latest < today:
            raise NotAllowed(
                f"the clock says {today}, more than {self.longest_absence} days after {latest}, "
                "the latest day that the ledger has seen: set the clock, or allow a longer "
                "absence (longest_absence=...); nothing was sent"
            )
        return latest

    def _recall(
        self,
        content: _Content,
        survey: Published,
        day: date,
        of: date | None,
        recipient: str,
    ) -> Report | None:
        """The report of this survey and period, if there is one and it may still be sent."""
        from ldpsql_device.reports import read_report  # noqa: PLC0415  (loads numpy)

        schedule = survey.schedule
        asked = (survey.fingerprint, str(of))
        for answer in content.answers:
            if (answer.survey, answer.period) == asked:
                break
        else:
            return None
        if answer.recipient != recipient:
            raise NotAllowed(
                f"the report about survey {survey.table} was given to another shuffler, or key, or "
                "to none, and it is sent to nobody else; nothing was sent"
            )
        if day > schedule.last_sending_day(date.fromordinal(answer.day)):
            raise NotAllowed(
                f"survey {survey.table} was answered more than {schedule.replay_window} days ago, "
                "and its report is not sent again after that; nothing was sent"
            )
        try:
            return read_report(answer.report, survey)
        except Error:
            raise self._describe_damage() from None

    def _check_budgets(
        self,
        content: _Content,
        survey: Published,
        price: _Price,
        names: dict[str, str],
        since: int,
    ) -> None:
        """BudgetSpent unless what was spent since a day leaves enough for one more answer."""
        counted = [answer for answer in content.answers if answer.day >= since]
        alike = [answer for answer in counted if bool(answer.recipient) == bool(price.recipient)]
        prices: dict[str, list[str]] = {name: [] for name in names.values()}
        for answer in counted:
            for name in prices.keys() & answer.attributes.split():
                prices[name].append(answer.epsilon)
        delta = self.shuffled_delta if price.recipient else self.delta
        for what, asked, budget, where, given in (
            ("epsilon", price.epsilon, self.total, "in all", [a.epsilon for a in counted]),
            *(
                ("epsilon", price.epsilon, self.per_attribute, f"for {column}", prices[name])
                for column, name in names.items()
            ),
            ("epsilon", price.local, self.total_local, "for shufflers", [a.local for a in alike]),
            ("delta", price.delta, delta, "of such surveys", [a.delta for a in alike]),
        ):
            if (charged := _sum(given)) + (own := exact(asked, what)) > budget:
                asks, spent, most = map(decimal_text, (own, charged, budget))
                raise BudgetSpent(
                    f"survey {survey.table} asks for {what} {asks}, but {spent} of the budget of "
                    f"{most} {where} is spent; nothing was sent"
                )

    @contextmanager
    def _open(self, begin: str) -> Iterator[tuple[sqlite3.Connection, _Content]]:
        """A sound ledger, in a transaction that `begin` starts, and what it holds; what is not
        committed when it is closed is undone."""
        try:
            if not self.path.exists():
                self._create()
            if not self.path.is_file():
                raise StoreError(f"the ledger {self.path} is not a file; nothing was sent")
            self._require_one_name()
            if os.name == "posix" and self.path.stat().st_mode & 0o177:
                self._close_to_others()
            # By its address, with which SQLite never makes a file: `_create` alone does, whole.
            with closing(_connect(f"{self.path.as_uri()}?mode=rw")) as database:
                database.execute(begin)
                yield database, self._read(database)
        # The second where a message of SQLite's quotes a name that is no text any more.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from None
        except OSError as error:
            raise StoreError(
                f"cannot write the ledger {self.path} ({error.strerror}); nothing was sent"
            ) from None

    def _read(self, database: sqlite3.Connection) -> _Content:
        """All that the ledger holds; StoreError unless it is what was written there last."""
        formats = database.execute("SELECT format FROM ledger").fetchall()
        if formats == [(2,)]:
            raise StoreError(
                f"the ledger {self.path} is of an earlier version, which kept no digests, so "
                "nobody can tell whether it is whole: delete it to start anew, which forgets what "
                "was given, or answer with that version; nothing was sent"
            )
        schema = tuple(sql for (sql,) in database.execute("SELECT sql FROM sqlite_schema"))
        sound = database.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        version = next((each for each in _SCHEMAS if formats == [(each,)]), None)
        has_offsets = version == FORMAT and schema[-1:] == (_OFFSETS,)
        own = schema[:-1] if has_offsets else schema
        if version is None or own != _SCHEMAS[version] or not sound:
            raise self._describe_damage()
        [(_, salt, *heading)] = database.execute("SELECT * FROM ledger")
        rows = database.execute("SELECT * FROM answers ORDER BY number")
        try:
            content = _Content(salt, heading[0], json.loads(heading[1]), version)
            whole = all(content.add(_Answer(*cells)) == digest for *cells, digest in rows)
            if has_offsets:
                content.offsets.update(database.execute("SELECT * FROM offsets ORDER BY rowid"))
        except (TypeError, ValueError):
            whole = False
        if not whole or content.heading() != tuple(heading):
            raise self._describe_damage()
        return content if version == FORMAT else _upgrade(database, content)

    def _create(self) -> None:
        """Put a whole, empty ledger at the path, unless another process was first."""
        temporary = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}.tmp")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(_connect(f"{temporary.as_uri()}?mode=rw")) as database:
                database.execute("BEGIN")
                _found(database, _Content(os.urandom(16).hex(), _NEVER, {}))
                database.execute("COMMIT")
            # Neither replaces a ledger that another process made meanwhile.
            place = os.rename if os.name == "nt" else os.link
            try:
                place(temporary, self.path)
            except FileExistsError:
                pass
            except OSError:
                if os.name == "nt":
                    raise
                self._rename_alone(temporary)
        finally:
            temporary.unlink(missing_ok=True)

    def _rename_alone(self, temporary: Path) -> None:
        """Put a new ledger at the path where files cannot have two names (FAT, Android).

        A rename would replace another one; so it is made under a lock, which the system takes from
        a process that is killed.
        """
        lock = self.path.with_name(f".{self.path.name}.lock")
        os.close(os.open(lock, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(_connect(f"{lock.as_uri()}?mode=rwc")) as database:
            database.execute("BEGIN EXCLUSIVE")
            if not self.path.exists():
                temporary.rename(self.path)
        # Whoever waits for it, or makes it again, finds the ledger.
        lock.unlink(missing_ok=True)

    def _close_to_others(self) -> None:
        try:
            self.path.chmod(0o600)
        except PermissionError:
            # Of a file of one's own that means a file system without modes, such as FAT.
            if self.path.stat().st_uid != os.geteuid():
                raise

    def _require_one_name(self) -> None:
        """StoreError for a ledger with hard links: the journal that a killed process left beside
        one name is not found by the other, and without it the file is not whole."""
        if self.path.stat().st_nlink == 1:
            return
        for other in self.path.parent.iterdir():
            # Of a process that makes this ledger, or was killed while it did.
            if other.name.startswith(f".{self.path.name}.") and other.suffix == ".tmp":
                with suppress(FileNotFoundError):
                    if other.samefile(self.path):
                        other.unlink()
        if self.path.stat().st_nlink > 1:
            raise StoreError(
                f"the ledger {self.path} has another name, a hard link, and by two names it can be "
                "damaged: remove one of them; nothing was sent"
            )

    def _explain(self, error: Exception) -> StoreError:
        """The meaning of an error of SQLite, by its primary code; of text that is none, damage."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return StoreError(
                f"the ledger {self.path} is in use by another process; try again. Nothing was sent"
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return self._describe_damage()
        return StoreError(f"cannot use the ledger {self.path} ({error}); nothing was sent")

    def _describe_damage(self) -> StoreError:
        return StoreError(
            f"the ledger {self.path} is damaged or of another version, so nothing is answered; "
            "restore its latest copy (that forgets what was given since it was made, and deleting "
            "the file all that was given)"
        )


def _connect(address: str) -> sqlite3.Connection:
    database = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
    # EXTRA: a commit outlives a loss of power, too. With FULL it may be undone by the journal,
    # whose removal was not on the disk.
    try:
        database.execute("PRAGMA synchronous = EXTRA")
    except BaseException:
        database.close()
        raise
    return database


def _require_turn(
    database: sqlite3.Connection, content: _Content, survey: Published, day: date
) -> None:
    """NotAsked in a period in which the survey does not ask this device.

    Of so many periods in a row it asks in one. Which, is drawn evenly among all of them, and kept
    for later versions of the survey: by its author, its table, and how many they are.
    """
    every = survey.schedule.sample
    if every is None:
        return
    name = f"{survey.author or ''}:{survey.table}:{every}"
    if name not in content.offsets:
        if not content.offsets:
            database.execute(_OFFSETS)
        content.offsets[name] = int.from_bytes(os.urandom(16), "big") % every
        database.execute("INSERT INTO offsets VALUES (?, ?)", (name, content.offsets[name]))
    if content.offsets[name] != survey.schedule.turn_of(day):
        raise NotAsked(
            f"survey {survey.table} asks this device in one of {every} {survey.schedule.period}s, "
            "and not in this one; nothing was sent"
        )


def _period(survey: Published, day: date, period: date | None) -> date | None:
    """The first day of the period that is answered; InterfaceError for one that is to come."""
    running = survey.schedule.period_of(day)
    if period is None or period == running:
        return running
    if running is None or period > running or survey.schedule.period_of(period) != period:
        raise InterfaceError(
            f"period is the first day of one of the survey {survey.table} that has ended, not "
            f"{period}"
        )
    return period


def _check_round(content: _Content, survey: Published, period: str) -> None:
    """NotAllowed where another survey of its chain was answered in this period, or nobody
    signed this round.

    A chain is its author's, so nobody can name somebody else's survey as the first one of their own
    rounds, and so have a device refuse it; and their rounds are refused where that was answered.
    """
    if survey.first is not None:
        if survey.author is None:
            raise NotAllowed(
                f"survey {survey.table} is a later round that its author has not signed; nothing "
                "was sent"
            )
        survey.verify()
    chain = chain_of(survey)
    for answer in content.answers:
        is_own = answer.survey == survey.fingerprint or answer.period != period
        if is_own or (answer.chain != chain and answer.survey != survey.first):
            continue
        raise NotAllowed(
            f"this device has answered another round or version of survey {survey.table}, and each "
            "person answers one; nothing was sent"
        )


def _check_public(content: _Content, survey: Published) -> None:
    """NotAllowed for a column in clear that was promised to be private before."""
    private = {name for answer in content.answers for name in answer.attributes.split()}
    for column in survey.record_schema.public:
        if _hash(content, column.name) in private:
            raise NotAllowed(
                f"survey {survey.table} asks for {column.name} in clear, which this device has "
                "answered as private; nothing was sent"
            )


def chain_of(survey: Published) -> str:
    """Its author and the first of its rounds; of a survey that asks in some of its periods, its
    author and its table, and so all of its versions. A person answers one survey of a chain, in
    each period.

    Who names another author's survey as the first one has started a chain of their own.
    """
    own = survey.fingerprint if survey.schedule.sample is None else survey.table
    return f"{survey.author or ''}:{survey.first or own}"


def _price(survey: Published, pledge: Pledge | None) -> _Price:
    """What an answer costs; BudgetSpent for a survey that promises nothing."""
    alone, central = survey.guarantee, survey.guarantee.central
    if alone.epsilon is None:
        raise BudgetSpent(
            f"survey {survey.table} promises no privacy, which no budget covers; nothing was sent"
        )
    if pledge is None or central is None:
        return _Price(str(alone.epsilon), str(alone.delta), "", "0")
    delta = str(central.delta)
    return _Price(str(central.epsilon), delta, pledge.recipient, str(alone.epsilon))


def _write(
    database: sqlite3.Connection,
    content: _Content,
    survey: Published,
    price: _Price,
    names: Iterable[str],
    day: date,
    of: date | None,
    report: Report,
) -> None:
    answer = _Answer(
        number=len(content.answers) + 1,
        survey=survey.fingerprint,
        chain=chain_of(survey),
        period=str(of),
        day=day.toordinal(),
        attributes=" ".join(names),
        report=report.to_json(),
        **price._asdict(),
    )
    _insert(database, content, answer)


def _insert(database: sqlite3.Connection, content: _Content, answer: _Answer) -> None:
    row = (*answer, content.add(answer))
    database.execute(f"INSERT INTO answers VALUES ({', '.join('?' * len(row))})", row)


def _found(database: sqlite3.Connection, content: _Content) -> None:
    """Write the tables of a ledger, with all that its content holds."""
    for statement in _SCHEMAS[FORMAT]:
        database.execute(statement)
    answers, content.answers = content.answers, []
    for answer in answers:
        _insert(database, content, answer)
    row = (FORMAT, content.salt, *content.heading())
    database.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", row)


def _upgrade(database: sqlite3.Connection, old: _Content) -> _Content:
    """Write a ledger of format 3, which was read, in this format; the next commit keeps it so."""
    content = _Content(old.salt, old.latest, old.statements)
    content.answers = old.answers
    for table in ("answers", "ledger"):
        database.execute(f"DROP TABLE {table}")
    _found(database, content)
    return content


def _commit(database: sqlite3.Connection, content: _Content) -> None:
    database.execute("UPDATE ledger SET latest = ?, statements = ?, digest = ?", content.heading())
    database.execute("COMMIT")


def _hash(content: _Content, name: str) -> str:
    return hashlib.sha256(f"{content.salt}{name}".encode()).hexdigest()


def _renewed_on(day: date, renewal: str | None) -> int:
    """The first day that counts for a budget which is renewed every day or month, or never."""
    first = {None: date.min, "day": day, "month": day.replace(day=1)}[renewal]
    return first.toordinal()


def _sum(prices: Iterable[str]) -> Fraction:
    """Sum of numbers, exactly; ledgers hold many answers of few prices."""
    counts = Counter(prices).items()
    return sum((count * exact(price, "a price") for price, count in counts), Fraction(0))
