"""Tables as files of a folder, Parquet or CSV, each with what it is in `datapackage.json`.

That file follows the Tabular Data Package (https://specs.frictionlessdata.io), and README.md says
the same to people. Every file is replaced whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ldpsql.publish.tables import AnswerTable
from ldpsql.table_files import write_parquet, write_separated
from ldpsql.text import markdown_lines
from ldpsql_device.atomic import replace_file
from ldpsql_device.errors import StoreError

DESCRIPTION, README = "datapackage.json", "README.md"
_BY = "ldpsql publish"
_HEAD = """\
# Answers

Written by `ldpsql publish`, which replaces these files. Behind every estimate stand `_stderr`, its
standard error, and `_low` and `_high`, the ends of its interval.
"""

FileFormat = Literal["parquet", "csv"]


def publish_to_folder(
    tables: Sequence[AnswerTable], folder: Path, form: FileFormat = "parquet"
) -> bool:
    """Whether any file changed; those of tables that are no more are removed.

    StoreError for a file in the way that publishing did not write; OSError as the file system does.
    """
    files = dict(_files(tables, form))
    before = _written_before(folder)
    for name in files:
        if (folder / name).exists() and name not in before:
            raise StoreError(
                f"{folder / name} is there, and `ldpsql publish` did not write it; publish to a "
                "folder of its own"
            )
    changed = {name: content for name, content in files.items() if _differs(folder / name, content)}
    stale = [name for name in before if name not in files and (folder / name).is_file()]
    if not changed and not stale:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    # A file is in the description before it is there, and until after it is gone, so that whoever
    # is interrupted can go on; each is whole at any time.
    described = files[DESCRIPTION]
    if stale or before != {*files}:
        _write(folder / DESCRIPTION, _with_files(described, before))
    for name, content in changed.items():
        if name != DESCRIPTION:
            _write(folder / name, content)
    for name in stale:
        (folder / name).unlink()
    _write(folder / DESCRIPTION, described)
    return True


def _files(tables: Sequence[AnswerTable], form: FileFormat) -> Iterator[tuple[str, bytes]]:
    """Every file of the folder, by name."""
    for table in tables:
        yield f"{table.name}.{form}", _content(table, form)
    yield README, _readme(tables, form).encode()
    names = [*(f"{table.name}.{form}" for table in tables), README, DESCRIPTION]
    package = {
        "name": "answers",
        "profile": "tabular-data-package",
        "created_by": _BY,
        "files": names,
        "resources": [_resource(table, form) for table in tables],
    }
    yield DESCRIPTION, (json.dumps(package, indent=1, ensure_ascii=False) + "\n").encode()


def _content(table: AnswerTable, form: FileFormat) -> bytes:
    stream = io.BytesIO()
    if form == "csv":
        write_separated(table.rows.schema, [table.rows], stream)
        return stream.getvalue()
    fields = [
        field.with_metadata({"comment": comment}) if comment else field
        for field, comment in zip(table.rows.schema, table.comments, strict=True)
    ]
    schema = pa.schema(fields, {"comment": table.comment, "sql": table.sql})
    write_parquet(schema, [table.rows], stream)
    return stream.getvalue()


def _resource(table: AnswerTable, form: FileFormat) -> dict[str, Any]:
    fields = [
        {
            "name": field.name,
            "type": _type_of(field.type),
            **({"description": comment} if comment else {}),
        }
        for field, comment in zip(table.rows.schema, table.comments, strict=True)
    ]
    return {
        "name": table.name,
        "path": f"{table.name}.{form}",
        "format": form,
        "description": table.comment,
        "sql": table.sql,
        "reports": table.reports,
        "surveys": dict(table.surveys),
        "schema": {"fields": fields, "missingValues": [""]},
    }


def _type_of(kind: pa.DataType) -> str:
    """The type as the Table Schema calls it."""
    tests = {
        "integer": (pa.types.is_integer,),
        "number": (pa.types.is_floating, pa.types.is_decimal),
        "boolean": (pa.types.is_boolean,),
        "date": (pa.types.is_date,),
        "datetime": (pa.types.is_timestamp,),
        "string": (pa.types.is_string, pa.types.is_large_string),
    }
    return next((name for name, known in tests.items() if any(t(kind) for t in known)), "any")


def _readme(tables: Sequence[AnswerTable], form: FileFormat) -> str:
    parts = [_HEAD]
    for table in tables:
        rows = [
            [name, comment]
            for name, comment in zip(table.rows.column_names, table.comments, strict=True)
        ]
        lines = markdown_lines(["column", "what it is"], rows, [False, False])
        sql = f"```sql\n{table.sql}\n```"
        parts.append(
            "\n".join([f"## {table.name}.{form}\n", f"{table.comment}\n", *lines, f"\n{sql}\n"])
        )
    return "\n".join(parts)


def _written_before(folder: Path) -> set[str]:
    """The files that publishing wrote; StoreError for a description of somebody else's."""
    description = folder / DESCRIPTION
    if not description.exists():
        return set()
    try:
        package = json.loads(description.read_text(encoding="utf-8"))
        names = package["files"] if package["created_by"] == _BY else None
        # A name with a folder in it would reach files elsewhere.
        if names is not None and all(Path(name).name == name != "" for name in names):
            return set(names)
    except (ValueError, LookupError, TypeError):
        pass
    raise StoreError(
        f"{description} is not one that `ldpsql publish` wrote; publish to a folder of its own"
    )


def _with_files(description: bytes, more: set[str]) -> bytes:
    package: Mapping[str, Any] = json.loads(description)
    names = sorted({*package["files"], *more})
    return (json.dumps({**package, "files": names}, ensure_ascii=False) + "\n").encode()


def _differs(path: Path, content: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != content


def _write(path: Path, content: bytes) -> None:
    with replace_file(path) as temporary:
        temporary.write_bytes(content)
