"""Readers of a file that others write to: what they see, and that neither waits for the other."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.decoded_survey import fourier, reports
from support.fake_survey import PUBLIC, UNARY, fake_survey, reports_of
from support.histograms import counts_of

from ldpsql.engine.session import Session
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import Selection, companion, open_store, read_store, vacuum_store
from ldpsql_device.errors import InterfaceError, NotSupportedError, StoreError

HEADERS, BLOCK = 3 * 4096, 1 << 18
"""Bytes at the start of a file of DuckDB, and of a block after it."""
HOLD = """
import sys
from ldpsql.store import open_store
with open_store(sys.argv[1], read_only=False) as store:
    print("open", flush=True)
    for line in sys.stdin:
        with store._change():
            store._rows("UPDATE batches SET name = 'other'")
        print("changed", flush=True)
"""


def add(path, size, seed, patience=0.0):
    """Another writer's ingestion."""
    survey = fake_survey()
    with open_store(path, read_only=False, patience=patience) as store:
        store.ingest_table(reports_of(survey, size, seed), survey)


def people(store, table="app"):
    return int(store.sizes(table).sum())


@contextmanager
def holder(path):
    """Another process that writes to the store, and a function that has it change something."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "open\n"

        def change():
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "changed\n"

        yield process.pid, change
        process.stdin.close()
        assert process.wait() == 0


def test_a_reader_holds_nothing_and_sees_what_others_commit(path):
    with read_store(path) as reader:
        assert people(reader) == 10
        for seed in range(1, 4):
            add(path, 5, seed)
            assert people(reader) == 10 + 5 * seed
            assert reader.lag() is None
        with open_store(path, read_only=False, patience=0) as writer:
            writer.add_lookup(PublicTable.of("regions", pa.table({"state": ["CA"]})))
            assert [table.name for table in reader.lookups()] == ["regions"]
            writer.remove_survey("app")
            assert reader.surveys() == []


def test_a_damaged_snapshot_is_not_taken_for_the_store(path):
    """Whether that is found out when it is loaded, or only when its counts are read."""
    snapshot, told = companion.companion_of(path), 0
    with read_store(path) as reader:
        expected = read(reader, Selection())
    content = snapshot.read_bytes()
    for start in range(HEADERS, len(content), BLOCK):
        damaged = bytearray(content)
        damaged[start + 100] ^= 1
        snapshot.write_bytes(damaged)
        with read_store(path) as reader:
            try:
                found = read(reader, Selection())
            except StoreError as error:
                assert f"the snapshot {snapshot} is damaged" in str(error)
                told += 1
                found = read(reader, Selection())  # of the store itself
            assert found == expected
    assert told


@pytest.mark.fast(1)
@pytest.mark.parametrize("options", [{"limits": [[5, 3], [4, 2]]}, UNARY])
@pytest.mark.parametrize("sizes", [(40, 30), (9_000, 5_000)])
def test_a_snapshot_gives_the_histograms_of_its_store(tmp_path, options, sizes):
    survey, path = fake_survey(options=options, public=PUBLIC), tmp_path / "s.duckdb"
    with open_store(path, read_only=False) as store:
        for seed, size in enumerate(sizes):
            store.ingest_table(reports_of(survey, size, seed), survey)
    selections = [
        Selection(),
        Selection('"group" > 3'),
        Selection(keys=("group",)),
    ]
    with open_store(path, read_only=True) as store:
        truth = [read(store, each) for each in selections]
        people_of_all = store.public_people("app")
        arrivals = store.arrivals("app"), store.smallest_batch("app")
    with read_store(path) as reader, not_opened():
        assert [read(reader, each) for each in selections] == truth
        assert reader.public_people("app") == people_of_all
        assert (reader.arrivals("app"), reader.smallest_batch("app")) == arrivals


def read(store, selection):
    """A selection's histograms in an order of their own."""
    return [
        (key, found.sizes.tolist(), counts_of(found, len(found.sizes)))
        for key, found in store.histograms("app", selection)
    ]


class not_opened:
    """Within it, whoever opens the file of a store in this process fails."""

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()

        def fail(*_, **__):
            raise AssertionError("the file was opened")

        self.patch.setattr("ldpsql.store.reader.connect", fail)

    def __exit__(self, *_):
        self.patch.undo()


def test_decoded_sums_are_answered_from_the_snapshot(tmp_path):
    survey, path = fourier(), tmp_path / "s.duckdb"
    with open_store(path, read_only=False) as store:
        for seed in range(3):
            store.ingest_table(reports(survey, 200, seed), survey)
        store.catch_up()
        store._publish(at_once=True)
        question = "SELECT kind, COUNT(*) FROM app WHERE age < 4 GROUP BY kind"
        truth = Session(store).execute(question).table
        assert store._rows("SELECT count(*) FROM decoded") == [(1,)]
    with read_store(path) as reader, not_opened():
        assert Session(reader).execute(question).table == truth
        assert reader._rows("SELECT count(*) FROM decoded") == [(1,)]


def test_sums_of_parts_are_read_from_the_snapshot_that_the_statement_found(tmp_path):
    """They stay in its file, which another one may have replaced meanwhile."""
    survey, path = fourier(), tmp_path / "s.duckdb"
    selection = Selection(keys=("kind",))

    def sums(reader):
        return [
            (key, {name: own.tolist() for name, own in found.arrays.items()})
            for key, found in reader.decode("app", selection)
        ]

    with open_store(path, read_only=False) as store:
        store.ingest_table(reports(survey, 200, 0), survey)
        store.catch_up()
    with read_store(path) as reader, not_opened():
        before = sums(reader)
        assert len(before) == 3
        with reader.snapshot():
            version = reader.version("app")
            with open_store(path, read_only=False) as store:
                store.ingest_table(reports(survey, 300, 1), survey)
                store.catch_up()
            assert (sums(reader), reader.version("app")) == (before, version)
        after = sums(reader)
        with open_store(path, read_only=True) as store:
            assert after == sums(store) != before


def test_a_snapshot_holds_no_report_and_no_id(path):
    with duckdb.connect(str(companion.companion_of(path)), read_only=True) as snapshot:
        found = dict(
            snapshot.execute("SELECT table_name, estimated_size FROM duckdb_tables()").fetchall()
        )
        assert found["reports_app"] == 0
        assert "ids_app" not in found
        assert snapshot.execute("SELECT count(id) FROM batches").fetchall() == [(0,)]
    modes = {file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {0o600}


def test_counts_that_a_snapshot_leaves_out_are_read_from_the_store(path, monkeypatch):
    monkeypatch.setattr(companion, "MOST_COUNTS", 3)
    add(path, 5, 1)
    with read_store(path) as reader:
        for _ in range(2):
            with reader.snapshot():
                assert not reader._has_table("histogram_app")
                assert people(reader) == 15
            open_store(path, read_only=False, patience=0).close()  # nobody has the file
        with reader.snapshot():
            add(path, 5, 2)
            with pytest.raises(StoreError, match="arrived while the question was answered; ask it"):
                people(reader)
        assert people(reader) == 20


def test_counts_are_read_from_the_file_of_the_snapshot_that_was_found(path, monkeypatch):
    """Also when another one has taken its place; and the store itself is not opened."""
    with read_store(path) as reader:
        monkeypatch.setattr(reader, "_open_file", lambda *_, **__: pytest.fail("it was opened"))
        with reader.snapshot():
            add(path, 5, 1)
            assert people(reader) == 10
        assert people(reader) == 15


def test_who_writes_is_named_where_the_snapshot_may_be_older(path):
    with read_store(path) as reader:
        assert people(reader) == 10
        with holder(path) as (writer, change):
            assert people(reader) == 10
            with reader.snapshot():
                assert reader.lag() is None  # for nothing was committed
            change()
            with read_store(path) as other:
                for asked in (reader, other):
                    assert people(asked) == 10
                    with asked.snapshot():
                        said = asked.lag()
                    assert said.startswith("as of 20")
                    assert f"process {writer}" in said
        with reader.snapshot():
            assert reader.lag() is None
            assert reader._rows("SELECT DISTINCT name FROM batches") == [("other",)]


def test_answers_say_of_when_they_are(tmp_path):
    survey, path = fourier(), tmp_path / "s.duckdb"
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports(survey, 50, 0), survey)
    with read_store(path) as reader:
        with holder(path) as (_, change):
            change()
            result = Session(reader).execute("SELECT COUNT(*) FROM app")
            assert any(note.startswith("as of 20") for note in result.notes)
        result = Session(reader).execute("SELECT COUNT(*) FROM app")
        assert not any(note.startswith("as of 20") for note in result.notes)


def test_who_is_killed_before_the_snapshot_leaves_no_stale_answer(path):
    """The store itself is read until somebody publishes it."""
    script = f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from support.fake_survey import FakeMechanism, fake_survey, reports_of
        from ldpsql.mechanisms import registry
        registry.MECHANISMS["fake"] = FakeMechanism()
        from ldpsql.store import open_store
        from ldpsql.store import companion
        companion.publish = lambda *_: os.kill(os.getpid(), {int(signal.SIGKILL)})
        survey = fake_survey()
        with open_store(sys.argv[1], read_only=False) as store:
            store.ingest_table(reports_of(survey, 7, 1), survey)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    with read_store(path) as reader:
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        before = companion.companion_of(path).read_bytes()
        assert people(reader) == 17
        assert companion.companion_of(path).read_bytes() == before
        open_store(path, read_only=False, patience=0).close()
        assert companion.companion_of(path).read_bytes() != before
        with not_opened():
            assert people(reader) == 17


def execute(place, sql):
    with duckdb.connect(str(place)) as opened:
        opened.execute(sql)


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: place.unlink(),
        lambda place: place.write_bytes(b""),
        lambda place: place.write_bytes(b"nonsense" * 1000),
        lambda place: place.write_bytes(place.read_bytes()[:20_000]),
        lambda place: execute(place, "UPDATE ldpsql_store SET format = 99"),
        lambda place: execute(place, "DROP TABLE ldpsql_snapshot"),
    ],
)
def test_without_a_good_snapshot_the_store_is_read(path, spoil):
    spoil(companion.companion_of(path))
    with read_store(path) as reader:
        assert people(reader) == 10
        open_store(path, read_only=False, patience=0).close()
        with not_opened():
            assert people(reader) == 10


def test_a_snapshot_of_another_file_or_another_past_is_not_read(path, tmp_path):
    """Not even of a backup that was put in the place of the store."""
    backup = path.read_bytes()
    add(path, 5, 1)
    later = companion.companion_of(path).read_bytes()
    path.write_bytes(backup)
    with read_store(path) as reader:
        assert people(reader) == 10
        add(path, 6, 2)  # as large, and as many commits
        assert companion.companion_of(path).read_bytes() != later
        companion.companion_of(path).write_bytes(later)
        assert people(reader) == 16


def test_where_there_is_no_good_snapshot_readers_wait_for_writers(path):
    companion.companion_of(path).write_bytes(b"nonsense")
    with holder(path) as (writer, _), pytest.raises(StoreError, match=f"process {writer}"):
        read_store(path, patience=0.3)


def test_vacuum_publishes_its_copy(path):
    with read_store(path) as reader:
        assert people(reader) == 10
        vacuum_store(path)
        with not_opened():
            assert people(reader) == 10


def test_a_store_that_is_not_there_is_not_read_from_its_snapshot(path):
    with read_store(path) as reader:
        path.unlink()
        with pytest.raises(StoreError, match="there is no store"):
            people(reader)
    with pytest.raises(StoreError, match="there is no store"):
        read_store(path)


def test_before_something_is_deleted_its_snapshot_is(path, monkeypatch):
    """So that who is killed meanwhile leaves none that still has it."""
    place, seen = companion.companion_of(path), []
    add(path, 20, 1)
    with open_store(path, read_only=False) as store:
        monkeypatch.setattr(companion, "publish", lambda *_: seen.append(place.exists()))
        store.withdraw("app", [1])
        store.remove_survey("app")
    assert seen == [False] * 2


def test_a_removed_survey_that_comes_again_as_another_is_read_anew(path):
    with read_store(path) as reader:
        assert people(reader) == 10
        with open_store(path, read_only=False) as store:
            store.remove_survey("app")
            other = fake_survey(options=UNARY)
            store.ingest_table(reports_of(other, 4), other)
        assert reader.survey("app") == other
        assert people(reader) == 4


def test_threads_share_a_reader_while_others_write(path):
    seen, failed = set(), []

    def ask(reader):
        try:
            for _ in range(10):
                seen.add(people(reader))
        except Exception as error:
            failed.append(error)

    with read_store(path) as reader:
        threads = [threading.Thread(target=ask, args=(reader,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        script = (
            "import sys; sys.path.insert(0, sys.argv[2])\n"
            "from support.fake_survey import *; from ldpsql.mechanisms import registry\n"
            "registry.MECHANISMS['fake'] = FakeMechanism(); survey = fake_survey()\n"
            "from ldpsql.store import open_store\n"
            "for seed in range(1, 4):\n"
            "    with open_store(sys.argv[1], read_only=False) as store:\n"
            "        store.ingest_table(reports_of(survey, 10, seed), survey)\n"
        )
        tests = str(Path(__file__).parents[1])
        subprocess.run([sys.executable, "-c", script, str(path), tests], check=True)
        for thread in threads:
            thread.join()
        assert not failed
        assert people(reader) == 40
        assert seen <= {10, 20, 30, 40}


def test_a_closed_reader_and_what_it_cannot_do(path, tmp_path):
    reader = read_store(path)
    with pytest.raises(NotSupportedError, match="cannot check itself"):
        reader.check()
    with pytest.raises(NotSupportedError, match="cannot export"):
        reader.export(tmp_path / "x.duckdb")
    with pytest.raises(StoreError, match="read-only"):
        reader.register(fake_survey("shop"))
    reader.close()
    reader.close()
    with pytest.raises(InterfaceError, match="closed"):
        people(reader)


def test_many_ingestions_one_upon_the_other_publish_now_and_then(tmp_path, monkeypatch):
    """And when the store is closed."""
    survey, path, published = fake_survey(), tmp_path / "s.duckdb", []
    publish = companion.publish
    monkeypatch.setattr(companion, "publish", lambda *own: (published.append(1), publish(*own)))
    with open_store(path, read_only=False) as store:
        for seed in range(30):
            store.ingest_table(reports_of(survey, 5, seed), survey)
        assert 1 <= len(published) < 30
    with read_store(path) as reader, not_opened():
        assert people(reader) == 150


def test_a_snapshot_that_cannot_be_written_is_no_fault_of_the_ingestion(path, monkeypatch):
    def fail(*_):
        raise StoreError("no room")

    with read_store(path) as reader:
        with monkeypatch.context() as patch:
            patch.setattr(companion, "publish", fail)
            add(path, 5, 1)
        assert people(reader) == 15


LOOP = """
import sys
sys.path.insert(0, sys.argv[3])
from support.fake_survey import FakeMechanism
from ldpsql.mechanisms import registry
registry.MECHANISMS["fake"] = FakeMechanism()
import ldpsql
with ldpsql.connect(sys.argv[1], read_only=True) as idle:
    print("open", flush=True)
    for _ in range(int(sys.argv[2])):
        idle.session.store.sizes("app")
    print("done", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("readers", "times", "ingestions"), [(1, 1, 3), pytest.param(8, 40, 15, marks=pytest.mark.slow)]
)
def test_no_ingestion_waits_for_readers(path, readers, times, ingestions):
    command = [sys.executable, "-c", LOOP, str(path), str(times), str(Path(__file__).parents[1])]
    with ExitStack() as started:
        running = [
            started.enter_context(subprocess.Popen(command, stdin=-1, stdout=-1, text=True))
            for _ in range(readers)
        ]
        for process in running:
            assert process.stdout.readline() == "open\n"
        for seed in range(ingestions):
            # A reader that finds no snapshot of the last commit may look into the store for once.
            add(path, 10, seed + 1, patience=5.0)
        for process in running:
            assert process.stdout.readline() == "done\n"
    with read_store(path) as reader:
        assert people(reader) == 10 * (ingestions + 1)


def test_a_reader_answers_while_its_own_process_writes(path):
    with read_store(path) as reader, open_store(path, read_only=False) as writer:
        with writer._change():
            writer._rows("UPDATE batches SET name = 'other'")
        assert people(reader) == 10
        with reader.snapshot():
            assert "is open in this process in another mode" in reader.lag()
        writer._publish(at_once=True)
        with reader.snapshot():
            assert reader.lag() is None
