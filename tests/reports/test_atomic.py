"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ldpsql.reports.atomic import replace_file


def test_a_target_appears_whole_or_stays_as_it_was(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(KeyError), replace_file(target) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert target.read_text() == "old"
    with replace_file(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old.txt", "new.txt"):
        link, place = tmp_path / name, tmp_path / "there" / name
        link.symlink_to(place)
        if name == "old.txt":
            place.write_text("old")
        with replace_file(link) as temporary:
            temporary.write_text("new")
        assert link.is_symlink()
        assert place.read_text() == "new"


def test_what_is_no_ordinary_file_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target, why in ((pipe, "an ordinary file"), (tmp_path, "Is a"), (type(pipe)(""), "Is a")):
        with pytest.raises(OSError, match=why) as caught, replace_file(target):
            pass
        assert caught.value.filename == str(target)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_stands_where_the_new_file_would_be_is_never_written(tmp_path, monkeypatch):
    """Not even where somebody guessed its name and put a link there."""
    monkeypatch.setattr(os, "urandom", bytes)
    precious = tmp_path / "precious.txt"
    precious.write_text("old")
    guessed = tmp_path / f".a.txt.{os.getpid()}.{bytes(4).hex()}.tmp"
    guessed.symlink_to(precious)
    with pytest.raises(FileExistsError), replace_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
    assert precious.read_text() == "old"
    assert guessed.is_symlink()
    assert not (tmp_path / "a.txt").exists()


HALF = """
import sys
from pathlib import Path
from ldpsql.reports.atomic import replace_file
with replace_file(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print(temporary, flush=True)
    sys.stdin.read()
"""


def half_written(target):
    """A process that is writing a file, and the file that it writes."""
    command = [sys.executable, "-c", HALF, str(target)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, type(target)(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    """And what a living one is writing, or looks like it, is not."""
    target = tmp_path / "a.txt"
    kept = [tmp_path / name for name in (".a.txt.tmp", ".b.txt.1.0a1b2c3d.tmp", ".a.txt.1.x.tmp")]
    for path in kept:
        path.write_text("somebody's")
    killed, left = half_written(target)
    living, written = half_written(target)
    with killed, living:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.exists()
        with replace_file(target) as temporary:
            temporary.write_text("new")
        assert sorted(tmp_path.iterdir()) == sorted([target, written, *kept])
        living.communicate("")
        assert living.returncode == 0
    assert target.read_text() == "half"
    assert sorted(tmp_path.iterdir()) == sorted([target, *kept])


def test_without_locks_nothing_is_taken_for_a_leftover(tmp_path, monkeypatch):
    monkeypatch.setattr("ldpsql.reports.atomic.fcntl", None)
    target, other = tmp_path / "a.txt", tmp_path / ".a.txt.1.0a1b2c3d.tmp"
    other.write_text("whose?")
    with replace_file(target) as temporary:
        temporary.write_text("new")
    assert sorted(tmp_path.iterdir()) == sorted([target, other])
