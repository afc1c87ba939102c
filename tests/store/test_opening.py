from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import duckdb
import pytest
from support.fake_survey import fake_survey, reports_of
from support.store_files import files_in

from ldpsql.store import open_store
from ldpsql.store.opening import guard
from ldpsql_device.errors import StoreError

HOLD = (
    "import duckdb, sys, time; held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == 'r'); "
    "print('held', flush=True); time.sleep(float(sys.argv[3]))"
)


@contextmanager
def held(path, mode, seconds=60.0):
    """Another process that has the file open."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), mode, str(seconds)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process.pid
        process.kill()


def test_a_missing_store_is_refused_and_not_made(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        open_store(tmp_path / "s.duckdb", read_only=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError):
        open_store(tmp_path / "nowhere" / "s.duckdb", read_only=False)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_locked_store_is_reported_with_the_process_that_holds_it(path, read_only):
    with held(path, "w") as pid:
        started = time.monotonic()
        with pytest.raises(StoreError, match=f"locked by process {pid} .*wait") as caught:
            open_store(path, read_only=read_only, patience=0.2)
        assert time.monotonic() - started >= 0.2
        assert "\n" not in str(caught.value)


def test_a_store_that_is_let_go_in_time_is_opened(path):
    with held(path, "w", 0.5), open_store(path, read_only=False, patience=20) as store:
        assert store.sizes("app").sum() == 10


def test_readers_share_a_store(path):
    with held(path, "r"), open_store(path, read_only=True, patience=0) as store:
        assert store.sizes("app").sum() == 10


def test_a_store_open_for_reading_in_this_process_cannot_be_opened_for_writing(path):
    with (
        open_store(path, read_only=True),
        pytest.raises(StoreError, match="in another mode"),
    ):
        open_store(path, read_only=False)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("name", ["s.duckdb", "s.json", "s.csv", "s.parquet"])
@pytest.mark.parametrize("content", [b"no database at all" * 1000, b"a,b\n1,2\n"])
def test_a_file_that_is_no_database_is_refused(tmp_path, content, name, read_only):
    """Also where DuckDB would read it as data, and keep what is written to it in memory."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError, match=rf"{name} is not a DuckDB database"):
        open_store(tmp_path / name, read_only=read_only)
    assert (tmp_path / name).read_bytes() == content


def test_a_store_may_have_any_name(tmp_path):
    for name in ("s.json", "s"):
        open_store(tmp_path / name, read_only=False).close()
        with open_store(tmp_path / name, read_only=True) as store:
            assert store.surveys() == []


def test_an_empty_file_is_no_store_yet(tmp_path):
    path, survey = tmp_path / "s.duckdb", fake_survey()
    path.touch()
    with pytest.raises(StoreError, match="there is no store"):
        open_store(path, read_only=True)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(survey, 10), survey)
    with open_store(path, read_only=True) as store:
        assert store.sizes("app").sum() == 10
    assert files_in(tmp_path) == [path.name]


@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path, read_only):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(StoreError, match="is not an ordinary file; name another"):
            open_store(path, read_only=read_only)


LIMITED = """
import resource, signal, sys
from ldpsql.store import open_store
how, size, path = sys.argv[1:]
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), hard))
if how == "killed":
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
if how == "by DuckDB":
    import duckdb
    duckdb.connect(path).close()
else:
    open_store(path, read_only=False).close()
"""


def limited(how, size, path):
    """Make a store in a process that cannot write files beyond a size, or is killed there."""
    command = [sys.executable, "-c", LIMITED, how, str(size), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are Linux's")
@pytest.mark.parametrize("how", ["killed", "full"])
def test_a_store_that_could_not_be_made_is_made_by_the_next(tmp_path, how):
    """Wherever the kill or the full disk stopped it; DuckDB alone would leave half a file."""
    survey, failed = fake_survey(), 0
    for size in (1, 4096, 8192, 12288, 100_000):
        path = tmp_path / f"{size}.duckdb"
        done = limited(how, size, path)
        if done.returncode:
            failed += 1
            assert (done.returncode == -signal.SIGXFSZ) == (how == "killed"), done.stderr
            assert not path.exists() or path.stat().st_size == 0
            if how == "full":
                assert f"StoreError: the store {path} cannot be used: " in done.stderr
                assert list(tmp_path.glob(f"*{path.name}*")) == []
        with open_store(path, read_only=False) as store:
            store.ingest_table(reports_of(survey, 10), survey)
            assert store.sizes("app").sum() == 10
        assert files_in(tmp_path, f"*{path.name}*") == [path.name]
    assert failed >= 3
    broken = tmp_path / "broken.duckdb"
    assert limited("by DuckDB", 8192, broken).returncode
    with pytest.raises(StoreError):
        open_store(broken, read_only=False)


@pytest.mark.slow
def test_processes_that_make_the_same_store_make_one(tmp_path):
    """And none loses what another has put into it."""
    path = tmp_path / "s.duckdb"
    script = (
        "import duckdb, sys; from ldpsql.store import open_store\n"
        "with open_store(sys.argv[1], read_only=False, patience=60) as store:\n"
        "    with store._change(): store._rows('INSERT INTO batches (number) VALUES (1)')"
    )
    command = [sys.executable, "-c", script, str(path)]
    writers = [subprocess.Popen(command) for _ in range(6)]
    assert [writer.wait() for writer in writers] == [0] * len(writers)
    with open_store(path, read_only=True) as store:
        assert store._rows("SELECT count(*) FROM batches") == [(len(writers),)]
    assert files_in(tmp_path) == [path.name]


def test_a_store_that_is_opened_twice_stays_locked_until_it_is_closed_twice(path):
    """The system takes a lock from a process that opens the file once more, and closes it."""
    command = [sys.executable, "-c", "import duckdb, sys; duckdb.connect(sys.argv[1])", str(path)]

    def is_refused():
        done = subprocess.run([*command], capture_output=True, text=True, check=False)
        return "lock" in done.stderr

    with open_store(path, read_only=False):
        open_store(path, read_only=False).close()
        assert is_refused()
        with open_store(path, read_only=False):
            assert is_refused()
    assert not is_refused()


FORKED = """
import os, sys
from ldpsql.store import open_store
from ldpsql_device.errors import InterfaceError
store = open_store(sys.argv[1], read_only=sys.argv[2] == "r")
child = os.fork()
if not child:
    try:
        store.sizes("app")
    except InterfaceError as error:
        print(error, flush=True)
    store.close()
    os._exit(0)
os.waitpid(child, 0)
print(store._rows("SELECT 5"), flush=True)
store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_forked_process_is_told_to_open_the_store_itself(tmp_path, mode):
    path = tmp_path / "s.duckdb"
    open_store(path, read_only=False).close()
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(path), mode]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    told, answered = done.stdout.splitlines()
    assert f"the store {path} was opened by process " in told
    assert told.endswith("open it here, after it is closed there")
    assert answered == "[(5,)]"


@pytest.mark.parametrize("read_only", [True, False])
def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path, read_only):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as other:
        other.execute("CREATE TABLE surveys (name VARCHAR)")
    with pytest.raises(StoreError, match="not an ldpsql store"):
        open_store(path, read_only=read_only)
    with duckdb.connect(str(path)) as other:
        assert other.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("surveys",)]


@pytest.mark.parametrize(("number", "written"), [(99, "later"), (2, "an unpublished")])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_of_another_version_is_refused(path, number, written, read_only):
    with duckdb.connect(str(path)) as store:
        store.execute(f"UPDATE ldpsql_store SET format = {number}")
    with pytest.raises(StoreError, match=f"{written} version"):
        open_store(path, read_only=read_only)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    "statements",
    [
        [
            "ALTER TABLE batches RENAME TO hidden",
            "CREATE VIEW batches AS SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) "
            "AS name) FROM hidden",
        ],
        ["CREATE MACRO coalesce(a, b) AS (SELECT content FROM read_text('{secret}'))"],
        [
            "CREATE VIEW more AS SELECT 1",
            "CREATE MACRO duckdb_views() AS TABLE SELECT 1 AS view_name, true AS internal",
            "CREATE MACRO duckdb_functions() AS TABLE SELECT 1 AS function_name, true AS internal",
        ],
    ],
    ids=["a view", "a macro", "macros that hide a view"],
)
def test_a_store_that_would_run_what_its_author_wrote_is_refused(
    path, tmp_path, statements, read_only
):
    """Such as reading a file, whose content would be in a name of a batch."""
    secret, own = tmp_path / "secret", tmp_path / "own.duckdb"
    secret.write_text("secret")
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement.format(secret=secret))
    with pytest.raises(StoreError, match="a view or a macro, which no ldpsql store has"):
        open_store(path, read_only=read_only)
    with (
        open_store(own, read_only=False) as store,
        pytest.raises(StoreError, match="a view or a macro"),
    ):
        store.import_surveys(path)


def test_a_damaged_log_says_what_to_do(path):
    script = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); "
        "c.execute('CREATE TABLE t AS SELECT range AS a FROM range(1000)'); "
        f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    log = path.with_name(path.name + ".wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 255
    log.write_bytes(content)
    with pytest.raises(StoreError, match=r"the log .*s\.duckdb\.wal is damaged; restore"):
        open_store(path, read_only=True)
    log.unlink()
    with open_store(path, read_only=True) as store:
        assert store.sizes("app").sum() == 10


def test_damage_found_while_reading_says_what_to_do(tmp_path):
    path, survey = tmp_path / "s.duckdb", fake_survey()
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(survey, 200_000), survey)
        store.refresh("app")
    content = bytearray(path.read_bytes())
    for place in range(3 * 4096 + 5000, len(content), 4096):
        content[place] ^= 255
    path.write_bytes(content)
    with (
        pytest.raises(StoreError, match=r"damaged|cannot be used") as caught,
        open_store(path, read_only=True) as store,
    ):
        store.sizes("app").sum()
    assert "\n" not in str(caught.value)
    assert os.fspath(path) in str(caught.value)


def test_ctrl_c_as_duckdb_tells_it_is_a_keyboard_interrupt(path):
    with pytest.raises(KeyboardInterrupt), guard(path):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), guard(path):
        raise RuntimeError("something else")
