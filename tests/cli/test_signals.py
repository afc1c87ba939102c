"""Commands that are told to end, or are killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.surveys import TOML, people

from ldpsql.designer import design

SLOWLY = """
import sys, time
import pyarrow.parquet as pq
from ldpsql.cli.main import main
write = pq.ParquetWriter.write_table
def write_slowly(*args):
    write(*args)
    print("writing", flush=True)
    time.sleep(600)
pq.ParquetWriter.write_table = write_slowly
main()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    design(TOML).write(folder / "app.json")
    pq.write_table(people(200), folder / "people.parquet")
    return folder


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_ends_a_command_leaves_nothing_for_ever(home, tmp_path, monkeypatch, number):
    """SIGTERM cleans up as Ctrl-C does; after a SIGKILL the next run does."""
    folder = tmp_path / "home"
    shutil.copytree(home, folder)
    before = sorted(folder.iterdir())
    command = ["randomize", "people.parquet", "--survey", "app.json", "--public", "day,version"]
    command += ["-o", "r.parquet"]
    with subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *command], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "writing\n"
        assert len(list(folder.iterdir())) == len(before) + 1
        process.send_signal(number)
        code = process.wait(60)
    if number == signal.SIGKILL:
        assert len(list(folder.iterdir())) == len(before) + 1  # or this test could not fail
        monkeypatch.chdir(folder)
        assert run(*command).exit_code == 0
        assert sorted(folder.iterdir()) == sorted([*before, folder / "r.parquet"])
    else:
        assert code == 130
        assert sorted(folder.iterdir()) == before


LOADING = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Interrupt(MetaPathFinder):
    def find_spec(self, fullname, *_):
        if fullname == MODULE:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from ldpsql.__main__ import main
main()
"""


@pytest.mark.fast(4)
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["serve", "demo"])
@pytest.mark.parametrize("module", ["click", "numpy", "ldpsql.cli.ask", "duckdb"])
def test_ctrl_c_while_a_command_is_loaded_says_nothing(tmp_path, command, module):
    source = LOADING.replace("MODULE", repr(module))
    done = subprocess.run(
        [sys.executable, "-c", source, command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")
    assert list(tmp_path.iterdir()) == []
