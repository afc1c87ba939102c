"""Days and moments of every encoding of Parquet and CSV: far ones are outside, and none wraps into
the domain."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpsql.randomize.files import read_people
from ldpsql.randomize.table import encode_table
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import plain, time_range

KINDS = ("date", "timestamp")
LAST = 11
"""The code of December."""
Code = tuple[int, bool]


def schema_of(kind: str) -> Schema:
    """One dimension, the months of a year."""
    domain = time_range(kind, date(2024, 1, 1), date(2024, 12, 31), "month")
    return Schema((Dimension("seen", domain, missing="code"),))


def codes(kind: str, path: Path) -> list[Code | None]:
    """Of every row its code, and whether it is outside; None where it is missing."""
    schema = schema_of(kind)
    found = encode_table(
        schema,
        read_people(schema, path),
        lambda _, rows: np.zeros(int(rows.sum()), dtype=np.uint64),
    )
    outside, missing = (found.misfits[why, "seen"].tolist() for why in ("outside", "missing"))
    rows = zip(found.codes[:, 0].tolist(), outside, missing, strict=True)
    return [None if is_missing else (code, is_outside) for code, is_outside, is_missing in rows]


DAYS: dict[str, Code] = {
    "2024-02-29": (1, False),
    "2024-12-31": (LAST, False),
    "2025-01-01": (LAST, True),
    "2023-12-31": (0, True),
    "1969-12-31": (0, True),
    "1700-01-01": (0, True),
    "2200-01-01": (LAST, True),
}
"""Days within the years of nanoseconds."""
FAR: dict[str, Code] = {
    "9999-12-31": (LAST, True),
    "0001-01-01": (0, True),
    "2608-12-01": (LAST, True),  # as nanoseconds, this wraps into 2024
    "1439-12-01": (0, True),  # so does this
    "12024-06-15": (LAST, True),
    "-5000-01-01": (0, True),
}
TYPES: dict[str, pa.DataType] = {
    "date32": pa.date32(),
    "date64": pa.date64(),
    **{f"timestamp_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    **{f"utc_{unit}": pa.timestamp(unit, tz="UTC") for unit in ("s", "ms", "us", "ns")},
    "offset": pa.timestamp("us", tz="+05:30"),
    "zone": pa.timestamp("us", tz="America/New_York"),
}


def column_of(days: list[str], kind: pa.DataType) -> pa.Array:
    """The noons of some days, as the clocks of a type's zone show them, and a missing value."""
    numpy_unit = kind.unit if pa.types.is_timestamp(kind) else "ms"
    noons = np.array(days, dtype="M8[D]").astype("M8[h]") + np.timedelta64(12, "h")
    if pa.types.is_date(kind):
        noons = np.array(days, dtype="M8[D]")
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        numbers = noons.astype("M8[D]" if width == pa.int32() else "M8[ms]").astype(np.int64)
        return pa.array([*numbers.tolist(), None], width).view(kind)
    numbers = noons.astype(f"M8[{numpy_unit}]").astype(np.int64)
    return pa.array([*numbers.tolist(), None], pa.int64()).view(kind)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_days_and_moments_is_read(kind: str, name: str, tmp_path: Path) -> None:
    arrow = TYPES[name]
    if kind == "timestamp" and pa.types.is_date(arrow):
        pytest.skip("a survey of moments takes no days, which the next test says")
    is_fine = pa.types.is_timestamp(arrow) and arrow.unit == "ns"
    wanted = DAYS | ({} if is_fine or arrow.bit_width == 0 else FAR)
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"seen": column_of([*wanted], arrow)}), path)
    assert codes(kind, path) == [*wanted.values(), None]


@pytest.mark.parametrize("kind", KINDS)
def test_int96_is_read_and_does_not_wrap(kind: str, tmp_path: Path) -> None:
    wanted = {day: code for day, code in (DAYS | FAR).items() if not day.startswith(("12", "-5"))}
    path, moments = tmp_path / "people.parquet", column_of([*wanted], pa.timestamp("us"))
    pq.write_table(pa.table({"seen": moments}), path, use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(path).schema.column(0).physical_type == "INT96"
    assert codes(kind, path) == [*wanted.values(), None]


FRACTIONS = ("", ".1", ".12", ".123", ".1234", ".12345", ".123456", ".1234567", ".123456789")
ZONES = ("", "Z", " Z", "+01:00", "-0330", "+02")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_csv_has_fractions_of_up_to_nine_digits(
    kind: str, zone: str, ends: str, tmp_path: Path
) -> None:
    path, moments = tmp_path / "people.csv", ["2024-03-01 10:00:00", "2024-03-01T23:59:59"]
    lines = [f"{moment}{part}{zone}" for moment in moments for part in FRACTIONS]
    path.write_bytes(
        "\ufeff".encode() + "".join(f"{line}{ends}" for line in ["seen", *lines]).encode()
    )
    assert codes(kind, path) == [(2, False)] * len(lines)


def test_a_fraction_that_is_none_is_missing(tmp_path: Path) -> None:
    """So that the test above could fail."""
    path = tmp_path / "people.csv"
    path.write_text("seen\n2024-03-01 10:00:00.12345678x\n2024-03-01 10:00:00.\n")
    assert codes("timestamp", path) == [None, None]


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_a_moment_of_numpy_is_the_one_of_python(unit: str) -> None:
    """Of every unit, far ones among them; NaT is no value."""
    is_day = unit in ("Y", "M", "W", "D")
    dimension = schema_of("date" if is_day else "timestamp").dimensions[0]
    days: dict[str, Any] = dict(DAYS if unit == "ns" else DAYS | FAR)
    for day, code in days.items():
        value = np.datetime64(day).astype(f"M8[{unit}]")
        known = code if unit not in ("Y", "W") or code[1] else None
        if known is not None and not (unit == "W" and day == "2025-01-01"):
            found, where = dimension.code(value, 0)
            assert (found, bool(where)) == known, day
    assert plain(np.datetime64("NaT", unit)) is None
