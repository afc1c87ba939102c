"""The starter survey file for a data file: reads its column names and types, never a value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ldpsql_device.columns import is_text
from ldpsql_device.errors import RecordError

_HEAD = """\
# A survey file to be completed by a person; then: ldpsql design FILE -o {table}.survey.json
#
# Every bound is left empty on purpose. Fill in limits that are known without looking at
# anybody's data (an age lies in [0, 120]): bounds, edges or categories that are taken from
# private data would tell something about the people in it, outside of any epsilon.
#
# Delete the columns that nobody will ask about: every one that stays costs accuracy.
# A number that is to be summed or averaged is also a measure:
#   [measure.NAME]
#   bounds = [low, high]
# A column that everybody may know is public instead, and travels in clear:
#   [public.NAME]
#   type = "int"        # int, float, text, bool, date or timestamp
# Where only some values are nobody's business, say which; mechanisms for that may disclose others:
#   sensitive = ["HIV", "cancer"]
# What matters most is answered best if it is said:
#   [workload]
#   queries = ["SELECT COUNT(*) FROM {table} WHERE ..."]

[survey]
table = {quoted}
epsilon = "1.0"        # total for one person's report: smaller protects more, answers worse
mechanism = "auto"     # the one with the least expected error
# Where somebody else than the collector shuffles the reports, epsilon may be promised for the
# shuffled batch, at a delta; a single report then keeps a larger, derived epsilon only:
# trust = "shuffle"
# delta = "1e-6"
# users = 100000       # reports in a batch, at least
"""
_BODIES = {
    "int": "domain = []            # [lowest, highest], both included; add bin_width for bins",
    "float": "domain = []            # [lowest, highest]\nbins = 16              # of equal width",
    "category": "values = []            # every value that may occur",
    "bool": "",
    "date": 'range = []             # [first, last]\nunit = "day"           # day, week or month',
    "timestamp": (
        'range = []             # [first, last]\nunit = "hour"          # hour, day, week or month'
    ),
}


def column_types(data: Path) -> dict[str, pa.DataType]:
    """Names and Arrow types of a file's columns; RecordError for a file that has none.

    The types of a CSV file are those its beginning reads as.
    """
    suffix = data.suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise RecordError(f"{data} is neither .parquet nor .csv")
    try:
        columns = _csv_schema(data) if suffix == ".csv" else _parquet_schema(data)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise RecordError(f"cannot read {data}: it is damaged or cut short") from None
    if suffix == ".csv":
        _require_header(data, columns)
    return {field.name: field.type for field in columns}


def starter_text(table: str, types: Mapping[str, pa.DataType]) -> str:
    """The text of a survey file whose bounds are empty."""
    name = re.sub(r"\W+", "_", table) or "app"
    name = name if name.isidentifier() else f"t_{name}"
    parts = [_HEAD.format(table=name, quoted=_quoted(name))]
    for column, arrow in types.items():
        kind = _kind(arrow)
        if kind is None:
            what = f"{_key(column)} is of type {_one_line(str(arrow))}"
            parts.append(f"# {what}, which a survey cannot hold\n")
            continue
        body = f"{_BODIES[kind]}\n" if _BODIES[kind] else ""
        parts.append(f'[dimension.{_key(column)}]\ntype = "{kind}"\n{body}')
    return "\n".join(parts)


def _kind(arrow: pa.DataType) -> str | None:
    """The word of a survey file for an Arrow type, or None if it has none."""
    tests = (
        ("int", pa.types.is_integer),
        ("float", pa.types.is_floating),
        ("float", pa.types.is_decimal),
        ("category", is_text),
        ("category", pa.types.is_null),
        ("bool", pa.types.is_boolean),
        ("date", pa.types.is_date),
        ("timestamp", pa.types.is_timestamp),
    )
    return next((word for word, test in tests if test(arrow)), None)


def _key(column: str) -> str:
    """A column name as a TOML key."""
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else _quoted(column)


def _quoted(text: str) -> str:
    """A text as a TOML string, which is one of JSON except for surrogates and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _parquet_schema(data: Path) -> pa.Schema:
    import pyarrow.parquet as pq  # noqa: PLC0415

    return pq.read_schema(data)


def _csv_schema(data: Path) -> pa.Schema:
    import pyarrow.csv as pacsv  # noqa: PLC0415

    options = pacsv.ParseOptions(invalid_row_handler=lambda _: "skip")
    with pacsv.open_csv(data, parse_options=options) as reader:
        return reader.schema


def _require_header(data: Path, columns: pa.Schema) -> None:
    """A first row that looks like a record is not written down as column names."""
    for name in columns.names:
        if not name.strip() or re.fullmatch(r"[-+.,:/\d\s]+", name):
            raise RecordError(
                f"{data} seems to have no header: its first row holds what does not look like "
                "column names"
            )
