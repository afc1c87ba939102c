"""Operations on a store that fail or are killed at their system calls; run with `shim.c` loaded.

    LD_PRELOAD=shim.so python harness.py SHIM FOLDER < cases > results

One process imports everything and then forks for every case, so that a case takes some tenths of a
second. A case is a line of JSON: an operation, the number of the call that fails (0: none), an
error number (0: the process is killed there), whether later ones fail as on a full disk, after
which share of the processor time that the operation takes the process is killed (null: never), and
whether stores are made carelessly, as a negative control. What is left is then looked at,
by another fork without faults: it is opened, checked, read as readers do, and the operation is done
again. A result is a line of JSON: how many calls there were until it ended, how the first process
ended, what it said, and everything that is not as it should be.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.fake_survey import reports_of
from support.store_files import files_in
from support.surveys import integer, public, survey_toml

from ldpsql.cli.main import NoPandas
from ldpsql.designer import design
from ldpsql.store import layout, merge_stores, open_store, opening, read_store, vacuum_store
from ldpsql.store.intake import Intake
from ldpsql.survey import Survey
from ldpsql_device.errors import Error

SIZES = (30, 40, 50, 20)
"""Reports of the files 0 and 1, which are in the store before an operation, and of 2 and 3."""
BEFORE = {"0.parquet", "1.parquet"}
_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
COLUMNS = (integer("age", 0, 8), public("kind", "text"))


class Sandbox:
    """A folder with files of reports, and a store of some of them to begin with."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.given, self.work = folder, folder / "given", folder / "work"
        self.store = self.work / "s.duckdb"
        self._times = dict[str, float]()

    def prepare(self, survey: Survey) -> None:
        """Make what operations begin with; in a process of its own, for DuckDB starts threads."""
        self.given.mkdir()
        survey.write(self.given / "app.survey.json")
        for number, size in enumerate(SIZES):
            pq.write_table(reports_of(survey, size, number), self.given / f"{number}.parquet")
        with open_store(self.given / "s.duckdb", read_only=False) as store:
            store.ingest([self.given / name for name in sorted(BEFORE)], survey=survey)
        with open_store(self.given / "other.duckdb", read_only=False) as store:
            store.ingest([self.given / f"{n}.parquet" for n in (1, 2, 3)], survey=survey)
        if faults := [*inspect(self.given / "s.duckdb", BEFORE, BEFORE, BEFORE)]:
            raise AssertionError(faults)
        shutil.copytree(self.given, self.folder / "old")
        with opening.duckdb.connect(str(self.folder / "old" / "s.duckdb")) as old:
            # As the earliest format had it; its steps to this one are what is tried.
            old.execute("ALTER TABLE batches DROP COLUMN withdrawn_on")
            old.execute("ALTER TABLE batches DROP COLUMN withdrawn")
            old.execute("ALTER TABLE batches DROP COLUMN taken")
            old.execute("UPDATE ldpsql_store SET format = 3")
            old.execute("DROP TABLE IF EXISTS statements")

    def begin(self, operation: str) -> None:
        """The folder as it is before an operation."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.folder / "old" if operation == "migrate" else self.given, self.work)
        if operation == "create":
            for path in self.work.glob("s.duckdb*"):
                path.unlink()

    def find_state(self) -> list[tuple[str, str, int]]:
        """What the store's files hold and when they changed."""
        found = sorted(self.work.glob("s.duckdb*"))
        return [
            (path.name, sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in found
        ]

    def measure(self, operation: str) -> float:
        """Seconds of the processor that an operation takes: the clock tells little where others
        work as well."""
        if operation not in self._times:
            self.begin(operation)

            def take() -> None:
                OPERATIONS[operation][0](self)
                say(str(time.process_time()))

            self._times[operation] = float(fork(take)[1].split()[-1])
        return self._times[operation]


def say(what: str) -> None:
    """Acknowledge something: from now on it is kept whatever happens."""
    os.write(1, f"{what}\n".encode())


def ingest(box: Sandbox, names: tuple[str, ...]) -> None:
    with open_store(box.store, read_only=False) as store:
        store.ingest(
            [box.work / name for name in names],
            survey=Intake.read(box.work / "app.survey.json"),
            tell=lambda batch: say(Path(batch.name).name),
        )


def refresh(box: Sandbox) -> None:
    with open_store(box.store, read_only=False) as store:
        store.refresh("app")


def forget(box: Sandbox) -> None:
    with open_store(box.store, read_only=False) as store:
        numbers = [b.number for b in store.batches("app") if b.withdrawn is None]
        names = {b.number: Path(b.name).name for b in store.batches("app")}
        gone = [number for number in numbers if names[number] == "0.parquet"]
        if gone:
            store.withdraw("app", gone)
        say("-0.parquet")


def import_surveys(box: Sandbox) -> None:
    with open_store(box.store, read_only=False) as store:
        store.import_surveys(box.work / "other.duckdb")
        say("2.parquet")
        say("3.parquet")


def merge(box: Sandbox) -> None:
    merged = box.work / "merged.duckdb"
    if not merged.exists():
        merge_stores([box.store, box.work / "other.duckdb"], merged)
    say("merged")


def export(box: Sandbox) -> None:
    copy = box.work / "copy.duckdb"
    if not copy.exists():
        with open_store(box.store, read_only=True) as store:
            store.export(copy)
    say("copied")


def migrate(box: Sandbox) -> None:
    open_store(box.store, read_only=False).close()


OPERATIONS: dict[str, tuple[Callable[[Sandbox], None], set[str]]] = {
    "create": (lambda box: ingest(box, ("0.parquet", "1.parquet")), BEFORE),
    "ingest": (
        lambda box: ingest(box, ("2.parquet", "3.parquet")),
        {*BEFORE, "2.parquet", "3.parquet"},
    ),
    "refresh": (refresh, BEFORE),
    "forget": (forget, {"1.parquet"}),
    "import": (import_surveys, {*BEFORE, "2.parquet", "3.parquet"}),
    "merge": (merge, BEFORE),
    "export": (export, BEFORE),
    "vacuum": (lambda box: vacuum_store(box.store), BEFORE),
    "migrate": (migrate, BEFORE),
}
"""What is done, and of which files reports are in the store when it is done."""


def look(
    box: Sandbox, operation: str, said: set[str], before: list[tuple[str, str, int]]
) -> list[str]:
    """What is wrong with what a failed operation left.

    before: the state of the store before it. One that is still in it was inspected in it once.
    """
    work, whole = OPERATIONS[operation]
    start = set() if operation == "create" else BEFORE
    faults, exists = list[str](), box.store.exists() and box.store.stat().st_size > 0
    must = {name for name in said if name[0].isdigit()} - (
        {"0.parquet"} if "-0.parquet" in said else set()
    )
    if operation == "create" and must and not exists:
        faults.append("what was acknowledged is gone")
    is_as_before = box.find_state() == before and must <= start
    if exists and operation != "migrate" and not is_as_before:
        faults += inspect(box.store, start, whole, must)
    with reported(faults, "done again"):
        work(box)
    if operation not in ("merge", "export") or box.find_state() != before:
        faults += inspect(box.store, whole, whole, whole)
    for name, own in (("merged", {*BEFORE, "2.parquet", "3.parquet"}), ("copy", BEFORE)):
        if operation == {"merged": "merge", "copy": "export"}[name]:
            faults += inspect(box.work / f"{name}.duckdb", own, own, own)
    left = [name for name in files_in(box.work) if name.startswith(".") or ".tmp" in name]
    faults += [f"left over: {name}" for name in left]
    return faults


def inspect(path: Path, start: set[str], whole: set[str], must: set[str]) -> Iterator[str]:
    """What is wrong with a store whose files are between two sets.

    must: the files that have to be there, of those that are in neither.
    """
    faults = list[str]()
    with reported(faults, str(path.name)), open_store(path, read_only=True) as store:
        faults += store.check()
        if not store.intakes():
            return [*faults, "no survey"] if start else faults
        there = {Path(b.name).name: b.reports for b in store.batches("app") if b.withdrawn is None}
        sizes = {f"{number}.parquet": size for number, size in enumerate(SIZES)}
        if there != {name: sizes[name] for name in there}:
            faults.append(f"batches are {there}")
        if not (start & whole | must) <= set(there) <= start | whole:
            faults.append(
                f"there are {sorted(there)}, and should be {sorted(start & whole | must)}"
            )
        total = int(store.sizes("app").sum())
        if total != sum(there.values()):
            faults.append(f"{total} reports count, and the batches have {sum(there.values())}")
        with read_store(path) as reader:
            if int(reader.sizes("app").sum()) != total:
                faults.append("a reader counts otherwise")
    return faults


@contextmanager
def reported(faults: list[str], where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        faults.append(f"{where}: {type(error).__name__}: {error}")


def fork(work: Callable[[], None], seconds: float | None = None) -> tuple[int, str]:
    """How a child ended that did something, and what it said.

    seconds: of the processor, after which it is killed.
    """
    end, start = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        os.dup2(start, 1)
        try:
            work()
        except Error as error:
            os.write(2, b"")
            say(f"error {type(error).__name__}: {error}")
            os._exit(3)
        except BaseException as error:
            say(f"foreign {type(error).__name__}: {error}")
            os._exit(4)
        os._exit(0)
    os.close(start)
    if seconds is not None:
        clock = (~child << 3) | 2  # of the time that a process takes, as Linux numbers clocks
        while time.clock_gettime(clock) < seconds and os.waitid(os.P_PID, child, _ENDED) is None:
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(end, encoding="utf-8") as pipe:
        text = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def make_carelessly(path: Path) -> None:
    """A store that is made in its place, step by step."""
    with opening.duckdb.connect(str(path)) as connection:
        opening._make_tables(connection)


def run(box: Sandbox, shim: ctypes.CDLL, case: dict[str, Any]) -> dict[str, Any]:
    """One case and what it left."""
    operation, work = case["operation"], OPERATIONS[case["operation"]][0]
    seconds = None if case.get("share") is None else case["share"] * box.measure(operation)
    box.begin(operation)
    before = box.find_state()

    def fail() -> None:
        if case.get("careless"):
            opening._make = make_carelessly
        shim.fault_arm(
            os.fsencode(box.work), case["at"], case["error"], int(case.get("lasting", False))
        )
        work(box)

    code, text = fork(fail, seconds)
    calls, lines = shim.fault_count(), text.splitlines()
    said = {line for line in lines if not line.startswith(("error ", "foreign "))}
    errors = [line for line in lines if line.startswith(("error ", "foreign "))]
    _, found = fork(lambda: say(json.dumps(look(box, operation, said, before))))
    lines = found.splitlines()
    faults = json.loads(lines[-1]) if lines and lines[-1].startswith("[") else [f"died: {found}"]
    if any(line.startswith("foreign ") for line in errors):
        faults.append(f"not an error of ldpsql: {errors}")
    return {"calls": calls, "code": code, "errors": errors, "faults": faults, **case}


def main() -> None:
    box, shim = Sandbox(Path(sys.argv[2]).resolve()), ctypes.CDLL(sys.argv[1])
    # What every case would load and make is loaded and made before it is forked, or never: pyarrow
    # would look for pandas, which takes as long to load as a case takes.
    sys.meta_path.insert(0, NoPandas())
    import_module("ldpsql.store.reader")
    survey = design(survey_toml(*COLUMNS, table="app", epsilon="2", mechanism="fourier"))
    survey.design.decoding.derive()
    Survey.from_json(survey.to_json())
    made, text = fork(lambda: box.prepare(survey))
    if made:
        raise SystemExit(text)
    for line in sys.stdin:
        say(json.dumps(run(box, shim, json.loads(line))))


if __name__ == "__main__":
    assert set(layout.MIGRATIONS) == {3, 4}, "the case `migrate` makes a store of format 3"
    main()
