"""Files that hold reports: other users of a machine can read none of them, whatever the umask."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from contextlib import nullcontext
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.shuffled_survey import USERS, raw_reports, shuffled_survey
from support.store_files import files_in
from support.surveys import ANYTHING, RECORD, app, people

from ldpsql.randomize import files
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize
from ldpsql.reports.atomic import replace_file
from ldpsql.shuffler import batch_file, shuffle_reports
from ldpsql.store import database, open_store, opening
from ldpsql_device.answer import respond
from ldpsql_device.ledger import Ledger
from ldpsql_device.signature import SigningKey

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture(autouse=True)
def no_umask():
    before = os.umask(0)
    yield
    assert os.umask(before) == 0


@pytest.fixture
def home(tmp_path):
    """A folder for everybody, as /tmp is."""
    made = tmp_path / "home"
    made.mkdir(mode=0o777)
    return made


def readable(folder: Path) -> set[str]:
    """What others can read there, by name."""
    found = {path.name: path.stat().st_mode for path in folder.iterdir()}
    return {name for name, mode in found.items() if mode & (stat.S_IRWXG | stat.S_IRWXO)}


def write_reports(home: Path) -> set[str]:
    """Have a file of reports replace another; what others could read of it, meanwhile too."""
    source, target = home.parent / "people.parquet", home / "reports.parquet"
    pq.write_table(people(300), source)
    target.touch(0o644)
    seen: set[str] = set()

    def look(*_):
        seen.update(readable(home) - {target.name})

    randomize_file(app(), source, target, policy=ANYTHING, progress=look)
    return seen | readable(home)


def write_batch(home: Path) -> set[str]:
    survey = shuffled_survey()
    pq.write_table(raw_reports(survey, USERS), home.parent / "reports.parquet")
    shuffle_reports(survey, [home.parent / "reports.parquet"], home / "batch.parquet")
    return readable(home)


def test_a_file_of_reports_is_its_owners(home):
    assert not write_reports(home)
    assert not write_batch(home)


def test_a_file_that_follows_the_umask_is_everybodys(home, monkeypatch):
    """Negative control."""
    for module in (files, batch_file):
        monkeypatch.setattr(module, "replace_file", lambda target, mode: replace_file(target))
    assert len(write_reports(home)) == 2  # while it is written, and then
    assert "batch.parquet" in write_batch(home)


def fill_store(home: Path) -> set[str]:
    """Have a store written to, opened again, counted; what others could read meanwhile."""
    seen: set[str] = set()
    reports = randomize(app(), people(500), policy=ANYTHING)
    for _ in range(2):
        with open_store(home / "s.duckdb", read_only=False) as opened:
            seen |= readable(home)
            for _ in range(2):
                opened.ingest_table(reports, app())
                seen |= readable(home)
                opened._connection.execute("CHECKPOINT")
            opened.refresh("app")
            seen |= readable(home)
    return seen | readable(home)


def test_a_store_and_its_log_are_their_owners(home):
    assert not fill_store(home)
    assert files_in(home) == ["s.duckdb"]


def test_a_link_to_a_store_changes_nothing(home):
    (home / "elsewhere").mkdir(mode=0o700)
    (home / "s.duckdb").symlink_to(home / "elsewhere" / "other.duckdb")
    assert not fill_store(home)
    assert not readable(home / "elsewhere")


def test_a_store_that_follows_the_umask_is_everybodys(home, monkeypatch):
    """Negative control."""
    monkeypatch.setattr(opening, "strict_umask", nullcontext)
    monkeypatch.setattr(database, "make_log", lambda path: None)
    expected = {"s.duckdb", "s.duckdb.wal", "s.duckdb.snapshot"}
    assert fill_store(home) == expected


def test_a_log_that_follows_the_umask_is_everybodys(home, monkeypatch):
    """Negative control."""
    monkeypatch.setattr(database, "make_log", lambda path: None)
    assert fill_store(home) == {"s.duckdb.wal"}


def test_a_log_is_for_those_who_may_read_the_store(home):
    """Where its owner lets others read a store, they can read it after a crash too."""
    with open_store(home / "s.duckdb", read_only=False):
        pass
    (home / "s.duckdb").chmod(0o640)
    with open_store(home / "s.duckdb", read_only=False) as opened:
        with opened._change():
            opened._latest_day()
            opened._see_day(date(2026, 1, 1))
        assert stat.S_IMODE((home / "s.duckdb.wal").stat().st_mode) == 0o640


KILLED = """
import os, signal, sys
from support.store_files import files_in
from support.surveys import ANYTHING, app, people
from ldpsql.store import open_store
from ldpsql.store import companion
from ldpsql.randomize.table import randomize
os.umask(0)
companion.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
opened = open_store(sys.argv[1], read_only=False)
opened.ingest_table(randomize(app(), people(500), policy=ANYTHING), app())
"""


def test_what_a_killed_process_leaves_is_its_owners(home):
    command = [sys.executable, "-c", KILLED, str(home / "s.duckdb")]
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == -signal.SIGKILL
    left = {"s.duckdb", "s.duckdb.wal"}
    assert {path.name for path in home.iterdir()} == left
    assert not readable(home)
    with open_store(home / "s.duckdb", read_only=True) as opened:
        assert opened.sizes("app").sum() == 500


def test_what_does_not_fit_into_memory_is_its_owners(home):
    """DuckDB lets everybody read these files, so they lie in a folder that is closed to others."""
    for place in (home / "s.duckdb", None):
        with open_store(place, read_only=False) as opened:
            asked = "SELECT current_setting('temp_directory')"
            [(folder,)] = opened._connection.execute(asked).fetchall()
            assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
            opened._connection.execute("SET memory_limit = '60MB'; SET threads = 1")
            big = "CREATE TEMP TABLE big AS SELECT range, hash(range) FROM range(8000000)"
            opened._connection.execute(big)
            assert any(path.stat().st_size for path in Path(folder).iterdir())
            assert not readable(home)


def give_and_sign(home: Path) -> set[str]:
    """Have a device answer with a ledger, and a key made; what others could read meanwhile."""
    seen: set[str] = set()

    def draw(day):
        seen.update(readable(home))
        return respond(app(), RECORD, policy=ANYTHING, today=day)

    ledger = Ledger(home / "ledger.db", total=10, per_attribute=10)
    ledger.answer(app(), draw, today=date(2026, 1, 31))
    SigningKey.create(home / "key.pem")
    return seen | readable(home)


def test_a_ledger_and_a_key_are_their_owners(home):
    assert not give_and_sign(home)


def test_a_ledger_and_a_key_that_follow_the_umask_are_everybodys(home, monkeypatch):
    """Negative control."""
    given = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, mode=0o666: given(path, flags, 0o666))
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    assert {"ledger.db", "key.pem"} <= give_and_sign(home)


def test_a_folder_that_somebody_else_made_is_not_used(home, monkeypatch):
    monkeypatch.setattr(opening.tempfile, "gettempdir", lambda: str(home))
    ours = Path(opening._spill_folder())
    assert (ours.parent, stat.S_IMODE(ours.stat().st_mode)) == (home, 0o700)
    assert opening._spill_folder() == str(ours)
    ours.chmod(0o777)
    assert opening._spill_folder() != str(ours)
    ours.rmdir()
    (home / "theirs").mkdir(mode=0o700)
    ours.symlink_to(home / "theirs")
    found = Path(opening._spill_folder())
    assert found.resolve() != home / "theirs"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
