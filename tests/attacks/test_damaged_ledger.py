"""A ledger of which a part was lost, changed or exchanged: an error, or as if nothing had happened.

Never a draw that the budgets do not cover, and never another report than the one that was given.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from support.giving import PLENTY, sealed_anew, yes_or_no
from support.surveys import ANYTHING
from support.vectors import published_key

from ldpsql_device import ledger as module
from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, OperationalError, StoreError
from ldpsql_device.ledger import Ledger
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey, canonical, signed_text

TODAY = date(2026, 5, 20)
BUDGETS = {"total": 100, "per_attribute": 1}
PAGE = 4096
KEY = published_key()
GIVEN, OVER, COVERED = yes_or_no(), yes_or_no("0.5"), yes_or_no(column="other")
DAMAGED = "is damaged or of another version, so nothing is answered"


def give(asked, path, budgets=BUDGETS):
    return respond(asked, {}, policy=ANYTHING, ledger=Ledger(path, **budgets), today=TODAY)


@pytest.fixture
def path(memory_folder):
    return memory_folder / "ledger"


@pytest.fixture
def report(path):
    """The report of the survey that a ledger at `path` has answered; it has seen a statement."""
    asked = {**json.loads(yes_or_no(column="signed").device_text), "author": KEY.author}
    survey = Survey.from_json(canonical({**asked, "signature": KEY.sign(signed_text(asked))}))
    said = Statement.sign(survey, KEY, issued=TODAY, until=TODAY)
    none = Ledger(path, total=0, per_attribute=0)
    with pytest.raises(BudgetSpent, match="of the budget of 0 in all is spent"):
        respond(survey, {}, policy=ANYTHING, ledger=none, today=TODAY, statement=said)
    return give(GIVEN, path)


def is_refused(path, report):
    """Whether a ledger is said to be damaged; AssertionError where it is believed wrongly."""
    asks = ((OVER, None), (GIVEN, report), (COVERED, None), (GIVEN, report), (OVER, None))
    for asked, expected in asks:
        try:
            given = give(asked, path)
        except StoreError as error:
            assert "\n" not in str(error)
            return True
        except OperationalError as error:
            assert asked is OVER, error
            assert "1 of the budget of 1 for positive is spent" in str(error)
        else:
            assert asked is not OVER
            assert expected in (None, given)
    assert give(COVERED, path) == give(COVERED, path)
    return False


def damage(path, whole, content):
    """Put another content in the place of a ledger, without what was beside that."""
    for beside in path.parent.iterdir():
        beside.unlink()
    path.write_bytes(content)
    path.chmod(0o600)
    assert content != whole


def packed(path):
    """The ledger in pages of 512 bytes, which leave little space that no row takes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")
    return path.read_bytes()


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_an_error_or_harmless(path, report, step):
    """Every bit of the file, or every 61st."""
    whole, refused = packed(path), 0
    bits = range(0, 8 * len(whole), step)
    for bit in bits:
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damage(path, whole, flipped)
        refused += is_refused(path, report)
    assert refused > len(bits) // 2


def test_flipped_bits_of_large_pages_are_errors_or_harmless(path, report):
    """As a ledger has them; in the headers of its pages and of the file, and in its rows."""
    whole = path.read_bytes()
    places = [place for place, byte in enumerate(whole) if byte or place % PAGE < 108]
    for place in random.Random(5).sample(places, 150):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        damage(path, whole, flipped)
        is_refused(path, report)


def test_control_without_digests_a_flipped_bit_is_believed(path, report, monkeypatch):
    """Of the salt, of an attribute, of a price and of the report."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        row = "SELECT salt, attributes, report, statements FROM ledger, answers"
        *cells, statements = database.execute(row).fetchone()
        database.execute("UPDATE ledger SET digest = ''")
        database.execute("UPDATE answers SET digest = ''")
        # A price that one bit makes another one, of a length that tells where it is.
        database.execute("UPDATE answers SET epsilon = '1.000000'")
    add = module._Content.add
    monkeypatch.setattr(module._Content, "add", lambda *given: add(*given) and "")
    heading = lambda own: (own.latest, statements, "")  # noqa: E731
    monkeypatch.setattr(module._Content, "heading", heading)
    whole = path.read_bytes()
    for cell in (*(cell.encode() for cell in cells), b"1.000000"):
        assert whole.count(cell) == 1
        changed = bytearray(whole)
        # A digit of a report's id, and the first character of anything else.
        digits = (place for place in range(7, 39) if cell[place : place + 1].isdigit())
        changed[whole.index(cell) + (next(digits) if b"id" in cell else 0)] ^= 1
        damage(path, whole, changed)
        with pytest.raises(AssertionError):
            assert is_refused(path, report)
    path.write_bytes(whole)
    assert give(GIVEN, path) == report


@pytest.mark.parametrize("step", [331, pytest.param(1, marks=pytest.mark.slow)])
def test_a_ledger_that_was_cut_short_is_an_error(path, report, step):
    whole = path.read_bytes()
    for length in range(0, len(whole), step):
        damage(path, whole, whole[:length])
        assert is_refused(path, report), length


def test_pages_that_were_exchanged_lost_or_doubled_are_an_error(path, report):
    whole = path.read_bytes()
    pages = [whole[start : start + PAGE] for start in range(0, len(whole), PAGE)]
    numbers = range(len(pages))
    for order in itertools.product(numbers, repeat=len(pages)):
        content = b"".join(pages[number] for number in order)
        if content != whole:
            damage(path, whole, content)
            assert is_refused(path, report), order
    for number in numbers:
        damage(path, whole, b"".join([*pages[:number], bytes(PAGE), *pages[number + 1 :]]))
        assert is_refused(path, report), number


ROWS = {
    "deleted": "DELETE FROM answers WHERE number = {}",
    "last deleted": "DELETE FROM answers WHERE number = 3",
    "all deleted": "DELETE FROM answers",
    "doubled": "INSERT INTO answers SELECT 4, survey, chain, period, day, epsilon, delta, "
    "attributes, report, recipient, local, digest FROM answers WHERE number = {}",
    "moved": "UPDATE answers SET number = number + 5 WHERE number = {}",
    "exchanged": "UPDATE answers SET number = CASE number WHEN 3 THEN 0 ELSE -number END",
    "of another ledger": "REPLACE INTO answers SELECT * FROM other.answers WHERE number = {}",
    "of another ledger, added": "INSERT INTO answers SELECT 4, survey, chain, period, day, epsilon,"
    " delta, attributes, report, recipient, local, digest FROM other.answers WHERE number = {}",
    "of another ledger, all": "REPLACE INTO answers SELECT * FROM other.answers",
    "an earlier price": "UPDATE answers SET epsilon = '0' WHERE number = {}",
    "another recipient": "UPDATE answers SET recipient = 'a:b' WHERE number = {}",
    "less for shufflers": "UPDATE answers SET local = '0.5' WHERE number = {}",
    "number for text": "UPDATE answers SET period = x'4e6f6e65' WHERE number = {}",
    "heading of another": "UPDATE ledger SET (salt, digest) = (SELECT salt, digest FROM "
    "other.ledger)",
    "heading doubled": "INSERT INTO ledger SELECT * FROM ledger",
    "heading deleted": "DELETE FROM ledger",
    "a day ago": "UPDATE ledger SET latest = latest - 1",
    "no statements": "UPDATE ledger SET statements = '{{}}'",
    "statements that are none": "UPDATE ledger SET statements = '['",
    "a table more": "CREATE TABLE more (a)",
    "an index": "CREATE INDEX of_day ON answers (day)",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
}


@pytest.mark.parametrize("change", ROWS)
def test_rows_that_were_changed_are_an_error(memory_folder, report, path, change):
    for asked in sealed_anew(yes_or_no(column="third"), 2):
        give(asked, path, PLENTY)
    other = memory_folder / "other"
    for asked in [GIVEN, *sealed_anew(yes_or_no(column="third"), 2)]:
        give(asked, other, PLENTY)
    for number in (1, 2, 3) if "{}" in ROWS[change] else (1,):
        changed = memory_folder / f"changed{number}"
        changed.write_bytes(path.read_bytes())
        assert give(GIVEN, changed) == report
        with closing(sqlite3.connect(changed, isolation_level=None)) as database:
            database.execute("ATTACH ? AS other", [str(other)])
            database.execute(ROWS[change].format(number))
        before = changed.read_bytes()
        with pytest.raises(StoreError, match=DAMAGED):
            give(GIVEN, changed, PLENTY)
        assert changed.read_bytes() == before


def states_with_logs(path):
    """The files on the disk after each of some answers, in SQLite's mode WAL."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("SELECT * FROM ledger").fetchall()  # so that the log outlives others
        for number, asked in enumerate(sealed_anew(yes_or_no(column="third"), 60)):
            give(asked, path, PLENTY)
            if number % 20 == 19:
                database.execute("PRAGMA wal_checkpoint")
            names = (path.name, f"{path.name}-wal")
            yield {name: path.with_name(name).read_bytes() for name in names}


def put(folder, files):
    for place in folder.iterdir():
        place.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)


def test_an_older_copy_beside_a_later_log_is_an_error_or_as_it_once_was(path, report):
    """A ledger is not in the mode that has such logs, but may be put into it."""
    seen, refused = list(states_with_logs(path))[5::10], 0
    assert len({files["ledger"] for files in seen}) > 2
    for older, later in itertools.product(seen, repeat=2):
        put(path.parent, {"ledger": older["ledger"], "ledger-wal": later["ledger-wal"]})
        refused += is_refused(path, report)
    assert 0 < refused < len(seen) ** 2 - len(seen)
    whole = seen[-1]["ledger-wal"]
    for cut in range(0, len(whole), len(whole) // 30):
        log = bytearray(whole)
        log[cut] ^= 4
        put(path.parent, {"ledger": seen[-1]["ledger"], "ledger-wal": bytes(log)})
        is_refused(path, report)


def test_an_older_copy_beside_a_later_journal_is_an_error_or_as_it_once_was(path, report):
    first, *others = sealed_anew(yes_or_no(column="third"), 40)
    give(first, path, PLENTY)
    older = path.read_bytes()
    for asked in others:
        give(asked, path, PLENTY)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        # So few pages in memory that some are on the disk before the end, which does not come.
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE answers SET epsilon = '0', report = report || '0000'")
        halfway = {place.name: place.read_bytes() for place in path.parent.iterdir()}
    assert "ledger-journal" in halfway
    put(path.parent, halfway)
    assert not is_refused(path, report)
    # The control: without its journal it is half of the one and half of the other.
    put(path.parent, {"ledger": halfway["ledger"]})
    assert is_refused(path, report)
    put(path.parent, {**halfway, "ledger": older})
    is_refused(path, report)


def test_a_whole_older_copy_is_not_found_out(path, report):
    """As docs/privacy.md says: what was given since is forgotten."""
    older = path.read_bytes()
    later = give(COVERED, path)
    path.write_bytes(older)
    assert give(COVERED, path) != later
    assert give(GIVEN, path) == report


EARLIER = """
CREATE TABLE ledger (format INTEGER NOT NULL, salt BLOB NOT NULL, latest INTEGER NOT NULL);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY, survey TEXT NOT NULL, chain TEXT NOT NULL, period TEXT NOT NULL,
    day INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, report TEXT NOT NULL,
    UNIQUE (survey, period));
CREATE INDEX chains ON answers (chain);
CREATE TABLE attributes (
    attribute BLOB NOT NULL, answer INTEGER NOT NULL REFERENCES answers,
    PRIMARY KEY (attribute, answer)) WITHOUT ROWID;
INSERT INTO ledger VALUES (2, x'00112233445566778899aabbccddeeff', 739756);
"""


def test_a_ledger_of_the_earlier_format_is_refused_and_says_why(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(EARLIER)
    before = path.read_bytes()
    advice = "earlier version, which kept no digests.*delete it to start anew.*nothing was sent$"
    with pytest.raises(StoreError, match=advice):
        give(GIVEN, path)
    assert path.read_bytes() == before


def test_a_ledger_that_cannot_be_written_is_not_answered_from(path, report, monkeypatch):
    connect = module._connect

    def read_only(address):
        database = connect(address)
        database.execute("PRAGMA query_only = 1")
        return database

    monkeypatch.setattr(module, "_connect", read_only)
    for asked in (GIVEN, COVERED, OVER):
        with pytest.raises(StoreError, match=r"cannot use the ledger .*nothing was sent$"):
            give(asked, path)
    assert Ledger(path, **BUDGETS).spent() == 1


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="users are POSIX's")
def test_a_ledger_of_somebody_else_is_not_answered_from(path, report):
    nobody = 65_534
    if os.geteuid() == 0:
        os.chown(path.parent, nobody, -1)
        os.seteuid(nobody)
    try:
        if os.geteuid() != nobody:
            path.chmod(0)
        for asked in (GIVEN, COVERED):
            with pytest.raises(StoreError, match=r"nothing was sent$"):
                give(asked, path)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        path.chmod(0o600)
    assert give(GIVEN, path) == report


def test_what_is_no_ledger_is_left_alone(memory_folder):
    for name, make in {
        "folder": Path.mkdir,
        "text": lambda place: place.write_text("a ledger\n" * 1000),
        "empty": lambda place: place.write_bytes(b""),
        "zeros": lambda place: place.write_bytes(bytes(3 * PAGE)),
        "loop": lambda place: place.symlink_to(place),
    }.items():
        place = memory_folder / name
        make(place)
        with pytest.raises(StoreError):
            give(GIVEN, place)
        assert [each.name for each in memory_folder.iterdir() if each.name.startswith(".")] == []
