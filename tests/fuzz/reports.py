"""Report files: real ones, of every format, with changed cells, columns, types and bytes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.harness import RAW, Case, Door, Finding
from fuzz.mutate import change_bytes, change_value
from fuzz.people import ID, Base, Row, bases, is_value, parse, payload

from ldpsql.store import open_store
from ldpsql.store.incoming import AcceptedRows, read_file
from ldpsql.store.intake import Intake
from ldpsql.store.store import Store
from ldpsql_device.errors import Error, FingerprintError
from ldpsql_device.reports import is_answer

_FILES = 100
"""That a store takes before it is checked, and another one begins."""
_ARROW = (
    *(pa.uint8(), pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.int64(), pa.float32()),
    *(pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.binary(16), pa.bool_()),
    *(pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.null()),
    *(pa.decimal128(20, 2), pa.list_(pa.int64()), pa.dictionary(pa.int8(), pa.string())),
    *(pa.string_view(), pa.time64("us"), pa.duration("s"), pa.struct([("a", pa.int64())])),
)


class ReportFiles(Door):
    """Files of reports that are read, and every tenth taken into a store.

    What is taken are reports, and those of the file: of JSON lines exactly as many as there are by
    `Base.is_report`, of other formats rows that the file holds.
    """

    name = "reports"

    def __init__(self) -> None:
        self._bases = bases()
        # Files are small and many: kept in memory where the system has such a folder.
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self._folder = tempfile.TemporaryDirectory(dir=place)
        self._stores: dict[str, tuple[Store, int]] = {}

    def draw(self, chosen: random.Random) -> Case:
        number = chosen.randrange(len(self._bases))
        base = self._bases[number]
        if chosen.random() < 0.01:
            path = self._bloat(chosen, base)
            case = {"exact": None, "skip": chosen.random() < 0.5, "stores": False}
            return {"base": number, "name": path.name, "data": path.read_bytes(), **case}
        rows = [base.draw(chosen) for _ in range(chosen.randint(0, 6))]
        kind = chosen.choice(("flat", "sent", "csv", "parquet"))
        if kind == "sent":
            lines = [payload(base, row).encode() for row in rows]
            changed = [change_line(chosen, line) for line in lines]
            path = self._write(".jsonl", b"\n".join(changed))
        else:
            for _ in range(chosen.choice((0, 1, 1, 2, 3))):
                rows = change_rows(chosen, rows)
            path = {"flat": self._flat, "csv": self._csv, "parquet": self._parquet}[kind](
                chosen, base, rows
            )
        is_cut = chosen.random() < 0.35
        if is_cut:
            path.write_bytes(change_bytes(chosen, path.read_bytes()))
        exact = None if is_cut and kind in ("csv", "parquet") else kind
        case = {"exact": exact, "skip": chosen.random() < 0.6, "stores": chosen.random() < 0.1}
        return {"base": number, "name": path.name, "data": path.read_bytes(), **case}

    def put(self, case: Case) -> str:
        path = Path(self._folder.name, case["name"])
        path.write_bytes(case["data"])
        given = {name: case[name] for name in ("exact", "skip", "stores")}
        return self._take(self._bases[case["base"]], path, **given)

    def _take(self, base: Base, path: Path, *, exact: str | None, skip: bool, stores: bool) -> str:
        """exact: the format, where what the file holds is known."""
        found: list[Row] = []
        problem: Error | None = None
        try:
            for batch in AcceptedRows(base.intake, read_file(path), skip_invalid=skip):
                found += batch.to_pylist()
        except Error as error:
            problem, found = error, []
        self.require(base, path, exact, found, skip=skip, refused=problem is not None)
        if stores:
            self._store_too(base, path, found, skip=skip, refused=problem is not None)
        if problem is not None:
            raise problem
        return "taken" if found else "nothing taken"

    def require(
        self,
        base: Base,
        path: Path,
        exact: str | None,
        found: Sequence[Row],
        *,
        skip: bool,
        refused: bool,
    ) -> None:
        """Finding unless what was taken of a file is what is in it."""
        for row in found:
            if not is_stored(base, row):
                raise Finding(f"taken, and no report: {row} of {path.read_bytes()[:300]!r}")
        if path.suffix == ".jsonl":
            expected = count_reports(base, path.read_bytes(), skip=skip)
            if (expected is None) != refused or len(found) != (expected or 0):
                raise Finding(
                    f"{expected} reports in it, {len(found)} taken (refused: {refused}, skip "
                    f"{skip}): {path.read_bytes()[:300]!r}"
                )
        elif exact is not None:
            try:
                held = _held(base.intake, path)
            except OverflowError:  # Python has no such days; that none of them is taken was seen
                return
            taken = Counter(key_of(base.intake, row) for row in found)
            if taken - held:
                raise Finding(f"not in the file: {taken - held}; it holds {held}")

    def _store_too(
        self, base: Base, path: Path, found: Sequence[Row], *, skip: bool, refused: bool
    ) -> None:
        """The same through a store, which drops repeats."""
        key = base.intake.fingerprint
        store, files = self._stores.pop(key, None) or (open_store(None, read_only=False), 0)
        try:
            [batch] = store.ingest([path], survey=base.intake, skip_invalid=skip)
            took = None if batch.known else batch.reports + batch.repeats
        except FingerprintError:  # of another survey, which is asked after before rows are read
            found, took, refused = [], None, True
        except Error:
            took = None
        self._stores[key] = store, files + 1
        if ((took is None) != refused and found) or (took or 0) != len(found):
            raise Finding(f"a store takes {took} of {len(found)}: {path.read_bytes()[:300]!r}")
        if files + 1 == _FILES:
            self._stores.pop(key)
            faults = store.check()
            store.close()
            if faults:
                raise Finding(f"the store is not as it should be: {faults}")

    def close(self) -> None:
        for store, _ in self._stores.values():
            store.close()
        self._folder.cleanup()

    # -- files -------------------------------------------------------------------------------

    def _write(self, suffix: str, data: bytes) -> Path:
        path = Path(self._folder.name, f"file{suffix}")
        path.write_bytes(data)
        return path

    def _flat(self, chosen: random.Random, base: Base, rows: Sequence[Row]) -> Path:
        lines = [json.dumps(row, ensure_ascii=chosen.random() < 0.8) for row in rows]
        return self._write(".jsonl", "\n".join(lines).encode("utf-8", "surrogatepass"))

    def _csv(self, chosen: random.Random, base: Base, rows: Sequence[Row]) -> Path:
        names = list(dict.fromkeys([*base.intake.file_columns, *(n for row in rows for n in row)]))
        if chosen.random() < 0.1:
            chosen.shuffle(names)
        text = io.StringIO(newline="")
        writer = csv.writer(text, quoting=chosen.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
        writer.writerow(names)
        for row in rows:
            values = ["" if row.get(name) is None else row[name] for name in names]
            writer.writerow(values[: -1 if chosen.random() < 0.05 else None])
        return self._write(".csv", text.getvalue().encode("utf-8", "surrogatepass"))

    def _parquet(self, chosen: random.Random, base: Base, rows: Sequence[Row]) -> Path:
        names = list(dict.fromkeys([*base.intake.file_columns, *(n for row in rows for n in row)]))
        columns = [column_of(chosen, [row.get(name) for row in rows]) for name in names]
        metadata = None
        if chosen.random() < 0.3:
            claim = chosen.choice((base.intake.fingerprint, "0" * 64, RAW, ""))
            metadata = {"ldpsql.fingerprint": claim}
        table = pa.table(columns, schema=pa.schema(
            [pa.field(n, c.type) for n, c in zip(names, columns, strict=True)], metadata=metadata
        ))  # fmt: skip
        path = self._write(".parquet", b"")
        options = {"compression": chosen.choice(("none", "snappy", "gzip", "zstd"))}
        try:
            pq.write_table(table, path, use_dictionary=chosen.random() < 0.5, **options)
        except pa.ArrowException:  # what Parquet has no type for
            pq.write_table(table.select([]), path)
        return path

    def _bloat(self, chosen: random.Random, base: Base) -> Path:
        """A small file that is much larger once it is read, or deep, or wide, or one long line."""
        row, what = base.draw(chosen), chosen.randrange(6)
        texts = [column.name for column in base.intake.public if column.type == "text"]
        if what == 0 and texts:  # one long text that all rows share
            rows = 20_000 * chosen.choice((1, 10))
            columns = {name: pa.array([row[name]]).take(pa.array([0] * rows)) for name in row}
            shared = pa.DictionaryArray.from_arrays([0] * rows, ["x" * 200_000])
            columns[texts[0]] = shared
            path = self._write(".parquet", b"")
            pq.write_table(pa.table(columns), path, compression="zstd")
            return path
        if what == 1:  # many rows that take no room
            rows = 3_000_000
            columns = {name: pa.nulls(rows, pa.string()) for name in row}
            path = self._write(".parquet", b"")
            pq.write_table(pa.table(columns), path, compression="zstd")
            return path
        if what == 2:
            names = [*base.intake.file_columns, *(f"c{i}" for i in range(5_000))]
            return self._write(".csv", ",".join(names).encode() + b"\n" + b"," * (len(names) - 1))
        if what == 3:
            deep = chosen.choice((100, 100_000))
            return self._write(".jsonl", b'{"a":' * deep + b"1" + b"}" * deep)
        if what == 4:
            return self._write(".jsonl", b'{"a":"' + b"x" * (1 << 25) + b'"}')
        return self._write(
            chosen.choice((".jsonl", ".csv", ".parquet")), gzip.compress(b"0" * 10**7, mtime=0)
        )


def column_of(chosen: random.Random, values: Sequence[Any]) -> pa.Array:
    """A column of values in a type that holds them, or in any."""
    kinds = [None, *([chosen.choice(_ARROW)] if chosen.random() < 0.4 else [])]
    if all(isinstance(value, str) for value in values) and chosen.random() < 0.3:
        values = [bytes.fromhex(v) if len(v) == 32 and v.isalnum() and _is_hex(v) else v.encode(
            "utf-8", "surrogatepass") for v in values]  # fmt: skip
    for kind in reversed(kinds):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.array([ascii(value) for value in values], pa.string())


def _is_hex(text: str) -> bool:
    return not set(text) - set("0123456789abcdef")


def change_rows(chosen: random.Random, rows: list[Row]) -> list[Row]:
    if not rows:
        return rows
    row, what = chosen.choice(rows), chosen.randrange(10)
    name = chosen.choice([*row])
    if what <= 5:
        row[name] = change_value(chosen, row[name])
    elif what == 6:
        del row[name]
    elif what == 7:
        row[chosen.choice(("more", RAW, name.upper(), "ldpsql_more", ""))] = row[name]
    elif what == 8:
        rows.append(dict(row))
    else:
        row[name] = chosen.choice(rows).get(name)
    return rows


def change_line(chosen: random.Random, line: bytes) -> bytes:
    if chosen.random() < 0.5:
        return line
    row = json.loads(line)
    name = chosen.choice([*row])
    if name == "public" and row["public"] and chosen.random() < 0.8:
        row = {**row, "public": change_rows(chosen, [row["public"]])[0]}
    else:
        [row] = change_rows(chosen, [row])[:1]
    return json.dumps(row).encode()


# -- what is in a file, said plainly -----------------------------------------------------------


def count_reports(base: Base, data: bytes, *, skip: bool) -> int | None:
    """How many reports JSON lines hold; None where they are to be refused."""
    if any(len(line) >= 1 << 24 for line in data.split(b"\n")):
        return None
    lines = [line for line in data.split(b"\n") if line.strip()]
    rows = [parse(line, sent=False, base=base) for line in lines]
    objects = [row for row in rows if row is not None]
    if not objects:
        return 0 if skip or not rows else None
    intake, keys = base.intake, {key for row in objects for key in row}
    sent = not any(key.startswith("ldpsql_") for key in objects[0])
    if sent:
        public_keys = {c.name for c in intake.public}
        given = [row["public"] for row in objects if isinstance(row.get("public"), dict)]
        if not keys <= {"id", "report", "public"} or any(set(own) - public_keys for own in given):
            return None
        pairs = zip(lines, rows, strict=True)
        objects = [
            parse(line, sent=True, base=base) or {} for line, row in pairs if row is not None
        ]
    elif not keys <= {*intake.columns, ID} or ID not in keys:
        return None
    good = sum(base.is_report(row) for row in objects)
    return good if skip or good == len(rows) else None


def is_stored(base: Base, row: Row) -> bool:
    """Whether a row as it is stored is a report."""
    numbers = [row[name] for name in base.intake.report_columns]
    values = ((row[column.name], column.type) for column in base.intake.public)
    return (
        all(type(number) is int for number in numbers)
        and is_answer(base.device, numbers)
        and isinstance(row[ID], bytes)
        and len(row[ID]) == 16
        and all(_fits(value, kind) for value, kind in values)
    )


def _fits(value: Any, kind: str) -> bool:
    types = {"date": date, "timestamp": datetime}
    return value is None or type(value) is types[kind] if kind in types else is_value(value, kind)


def _held(intake: Intake, path: Path) -> Counter[tuple[Any, ...]]:
    """The rows of a file in the form of `key_of`."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = [dict(row) for row in csv.DictReader(file)]
        written = [{name: text or None for name, text in row.items()} for row in rows]
        return Counter(key_of(intake, row, is_text=True) for row in written)
    table = pq.read_table(path)
    if not set(intake.columns) <= set(table.column_names):
        return Counter()
    return Counter(key_of(intake, row) for row in table.to_pylist())


def key_of(intake: Intake, row: Row, *, is_text: bool = False) -> tuple[Any, ...]:
    """The values of a row so that equal ones are equal whatever type they have."""
    kinds = dict.fromkeys(intake.report_columns, "int")
    kinds |= {column.name: column.type for column in intake.public}
    own = row.get(ID)
    return (
        own.hex() if isinstance(own, bytes) else _plain(own, ID, is_text=is_text),
        *(_plain(row.get(name), kind, is_text=is_text) for name, kind in kinds.items()),
    )


def _plain(value: Any, kind: str, *, is_text: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, list | dict):
        return repr(value)
    try:
        if kind in ("int", "float") and not isinstance(value, bool | bytes):
            if isinstance(value, str) and not is_text:
                return value
            if kind == "float":
                return Fraction(float(value))
            return Fraction(Decimal(value) if is_text else value)
        if kind == "bool" and is_text:
            return {"true": True, "false": False}.get(value.lower(), value)
        if kind == "timestamp":
            if isinstance(value, str) and is_text:
                value = datetime.fromisoformat(value)
            if isinstance(value, date) and not isinstance(value, datetime):
                value = datetime(value.year, value.month, value.day)
            return value.replace(tzinfo=None) if isinstance(value, datetime) else value
        if kind == "date" and is_text:
            return date.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        pass
    return value
