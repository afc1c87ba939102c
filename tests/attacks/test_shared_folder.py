"""A store in a folder where others may make files: what they put there first does no harm."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from contextlib import contextmanager

import pytest
from support.surveys import ANYTHING, app, people

from ldpsql.randomize.table import randomize
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store, read_store, vacuum_store
from ldpsql.store.opening import make_log
from ldpsql_device.errors import StoreError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
IS_ROOT = os.name == "posix" and os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root gives files to others")
SURVEY, PRECIOUS = app(), b"precious " * 100


def reports(count):
    return randomize(SURVEY, people(count), policy=ANYTHING)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a store of ten reports."""
    folder = tmp_path_factory.mktemp("made")
    with open_store(folder / "s.duckdb", read_only=False) as store:
        store.ingest_table(reports(10), SURVEY)
    return folder


@pytest.fixture
def path(made, tmp_path):
    """The same store in a folder of the test."""
    for each in made.iterdir():
        shutil.copy2(each, tmp_path)
    return tmp_path / "s.duckdb"


def beside(path, ending):
    """The place of a file that belongs to the store, now free."""
    place = path.with_name(path.name + ending)
    place.unlink(missing_ok=True)
    return place


def add(path):
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports(5), SURVEY)


def count(path):
    with read_store(path) as reader:
        return int(reader.sizes("app").sum())


@contextmanager
def soon():
    """Fail where something waits for a pipe that nobody writes to."""
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_file_that_a_link_leads_to_is_written(path, tmp_path, link):
    victim = tmp_path / "victim"
    victim.write_bytes(PRECIOUS)
    link(victim, beside(path, ".snapshot"))
    assert count(path) == 10
    add(path)
    assert victim.read_bytes() == PRECIOUS
    assert count(path) == 15


def test_nobody_waits_for_a_pipe(path):
    os.mkfifo(beside(path, ".snapshot"))
    with soon():
        assert count(path) == 10
        add(path)
        assert count(path) == 15


@needs_root
def test_a_snapshot_of_another_user_is_not_believed(path):
    """Not even where the store is being written to, and nothing else can be read."""
    snapshot = path.with_name("s.duckdb.snapshot")
    made = snapshot.read_bytes()
    add(path)
    with open_store(path, read_only=False):  # another process, as far as locks tell
        snapshot.write_bytes(made)
        assert count_behind_lock(path) == 10
        os.chown(snapshot, 4321, 4321)
        with pytest.raises(StoreError, match="open in this process"):
            count_behind_lock(path)


def count_behind_lock(path):
    with read_store(path, patience=0) as reader, reader.snapshot():
        assert reader.lag() is not None
        return int(reader.sizes("app").sum())


@needs_root
def test_what_is_made_beside_a_store_is_for_its_group(path):
    path.chmod(0o640)
    os.chown(path, 4321, 8765)
    add(path)
    vacuum_store(path)
    make_log(path)
    for ending in ("", ".snapshot", ".wal"):
        found = path.with_name(path.name + ending).stat()
        assert (found.st_uid, found.st_gid) == (4321, 8765)
        assert stat.S_IMODE(found.st_mode) == 0o640


@needs_root
def test_where_a_file_cannot_be_given_to_the_stores_group_no_group_has_it(path, monkeypatch):
    path.chmod(0o664)
    os.chown(path, 4321, 8765)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    add(path)
    assert stat.S_IMODE(path.with_name("s.duckdb.snapshot").stat().st_mode) == 0o600


def test_a_store_that_is_closed_to_others_takes_its_snapshot_along(path):
    path.chmod(0o644)
    add(path)
    snapshot = path.with_name("s.duckdb.snapshot")
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o644
    path.chmod(0o600)
    with open_store(path, read_only=False):
        pass
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o600
    assert count(path) == 15


# -- tokens ----------------------------------------------------------------------------------


def test_tokens_follow_no_link_of_a_lock(tmp_path):
    (tmp_path / "t.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match=r"cannot write .*t\.lock"):
        Tokens(tmp_path / "t").add("ann", "admin")
    assert not (tmp_path / "victim").exists()


def test_tokens_are_no_pipe(tmp_path):
    os.mkfifo(tmp_path / "t")
    with soon(), pytest.raises(StoreError, match="not an ordinary file"):
        Tokens(tmp_path / "t").find("x")


@needs_root
def test_tokens_of_another_user_let_nobody_in(tmp_path):
    tokens = Tokens(tmp_path / "t")
    text = tokens.add("eve", "admin")
    assert tokens.find(text).name == "eve"
    os.chown(tokens.path, 4321, 4321)
    for known in (tokens, Tokens(tokens.path)):
        with pytest.raises(StoreError, match="belongs to another user"):
            known.find(text)
        with pytest.raises(StoreError, match="belongs to another user"):
            known.add("ann", "admin")
    os.chown(tmp_path, 4321, 4321)  # whose folder it is may do so anyway
    assert tokens.find(text).name == "eve"


def test_a_log_is_made_anew_or_not_at_all(path):
    """Nothing is made where a link leads that somebody put there, and no file's mode is changed."""
    log, elsewhere = path.with_name("s.duckdb.wal"), path.with_name("elsewhere")
    log.symlink_to(elsewhere)
    make_log(path)
    assert log.is_symlink()
    assert not elsewhere.exists()
    elsewhere.write_text("of somebody")
    elsewhere.chmod(0o640)
    make_log(path)
    assert elsewhere.read_text() == "of somebody"
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o640
