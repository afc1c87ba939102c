"""Questions on their way to a collector, and answers on theirs from it: as Arrow, and as JSON for
everybody else."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql.algebra.estimate import Estimates
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.notes import guarantee_of_batches
from ldpsql.engine.result import Result, refuse_estimates
from ldpsql.limits import in_time
from ldpsql.parser import Parameters, require_parameters
from ldpsql.parser.values import plain_parameter
from ldpsql.store.incoming import is_compressed
from ldpsql.survey import Survey
from ldpsql.terminal.formats import json_value
from ldpsql_device.errors import InterfaceError, NotSupportedError

_KEY = b"ldpsql.dbapi.answer"
NO_ANSWER = (
    *(pa.ArrowException, OSError, struct.error, RecursionError),
    *(ValueError, LookupError, TypeError),
)
"""What reading something else than an answer raises."""
_BARS = ("stderr", "low", "high")
_PIECE = 1 << 10
MOST_ESTIMATES = 2000
"""Of so many estimates a covariance travels over HTTP."""


def pack(result: Result, smallest: Mapping[str, int | None], handle: str | None = None) -> bytes:
    """An Arrow stream of everything but the covariance.

    smallest: reports in the smallest batch, by table, of the surveys that were asked.  handle: with
    which the covariance can be asked for, if it can.
    """
    arrays = {str(place): column for place, column in enumerate(result.table.columns)}
    for place in result.intervals:
        for name, errors in result.errors(place).items():
            arrays[f"{place}_{name}"] = pa.array(errors)
    arrays |= {f"{place}_scale": pa.array(each) for place, each in result.scales.items()}
    said = {
        "columns": [column.name for column in result.columns],
        "notes": result.notes,
        "surveys": [survey.fingerprint for survey in result.surveys],
        "smallest": [smallest[survey.table] for survey in result.surveys],
        "reports": result.reports,
        "explain": result.explain,
        "estimators": result.estimators,
        "level": result.level,
        "rows": result.table.num_rows,
        "handle": handle,
        "forged": [[place, list(ends)] for place, ends in result.forged().items()],
    }
    table = pa.table(arrays).replace_schema_metadata({_KEY: json.dumps(said).encode()})
    return write_stream(table)


def write_stream(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read_stream(data: bytes) -> pa.Table:
    """The table of an Arrow stream; ValueError for one that is compressed within, which may hold
    more than any machine can, and pyarrow's errors and struct.error for what is none, or has
    offsets that lead out of it."""
    if is_compressed(data):
        raise ValueError("compressed within")
    table = pa.ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def unpack(
    data: bytes, survey_of: Callable[[str], Survey], estimates_of: Callable[[str], Estimates]
) -> Result:
    """The answer in what `pack` wrote.

    survey_of: of a fingerprint; LookupError if there is none.  estimates_of: of the answer's
    handle, where it has one. InterfaceError for anything else.
    """
    try:
        table = read_stream(data)
        said = json.loads(table.schema.metadata[_KEY])
        names = said["columns"]
        places = [str(place) for place in range(len(names))]
        shown = pa.Table.from_arrays([table.column(place) for place in places], names=names)
        intervals, typical = dict[int, Interval](), dict[int, Any]()
        for place in range(len(names)):
            if f"{place}_low" in table.column_names:
                ends = [table.column(f"{place}_{name}").to_numpy() for name in _BARS]
                intervals[place] = Interval(*ends)
            if f"{place}_typical" in table.column_names:
                typical[place] = table.column(f"{place}_typical").to_numpy()
        scales = {
            place: table.column(f"{place}_scale").to_numpy()
            for place in range(len(names))
            if f"{place}_scale" in table.column_names
        }
        asked = tuple(map(survey_of, said["surveys"]))
        handle = said["handle"]
        forged = {
            int(place): (float(least), float(most)) for place, (least, most) in said["forged"]
        }
    except NO_ANSWER:
        raise _no_answer() from None
    guarantees = [
        survey.guarantee if survey.shuffled is None else guarantee_of_batches(survey, smallest)
        for survey, smallest in zip(asked, said["smallest"], strict=True)
    ]
    return Result(
        shown,
        intervals,
        refuse_estimates if handle is None else lambda: estimates_of(handle),
        tuple(said["notes"]),
        asked,
        said["reports"],
        said["explain"],
        typical,
        tuple(said["estimators"]),
        tuple(guarantees),
        said["level"],
        lambda: forged,
        scales,
    )


def pack_estimates(estimates: Estimates) -> bytes:
    """An Arrow stream of estimates: a column for each, with its value, its covariances with all of
    them, and its replicates. NotSupportedError for more than `MOST_ESTIMATES`."""
    if len(estimates) > MOST_ESTIMATES:
        raise NotSupportedError(
            f"the covariance of {len(estimates):,} estimates is too large for HTTP, where "
            f"{MOST_ESTIMATES:,} are the most; ask for fewer rows, or where the database is"
        )
    parts = [estimates.values[None], estimates.covariance]
    parts += [] if estimates.replicates is None else [estimates.replicates]
    columns = {str(place): column for place, column in enumerate(np.concatenate(parts).T)}
    return write_stream(pa.table({name: pa.array(column) for name, column in columns.items()}))


def unpack_estimates(data: bytes) -> Estimates:
    """The estimates in what `pack_estimates` wrote; InterfaceError for anything else."""
    try:
        table = read_stream(data)
        numbers = np.column_stack([column.to_numpy() for column in table.columns])
        count = table.num_columns
        replicates = numbers[1 + count :] if len(numbers) > 1 + count else None
        return Estimates(numbers[0], numbers[1 : 1 + count], replicates)
    except NO_ANSWER:
        raise _no_answer() from None


def _no_answer() -> InterfaceError:
    return InterfaceError("what came is not the answer of a collector; check its address")


# -- questions ----------------------------------------------------------------------------------


def parameters_to_json(sql: str, parameters: Parameters) -> Any:
    """Parameters of a question as JSON has them; an exact number, a day or a moment is an object
    with its text. QueryError, as of `parse`, for those that do not fit the text."""
    if parameters is None:
        return None
    kept = list(parameters) if isinstance(parameters, Iterator) else parameters
    require_parameters(sql, kept)
    if isinstance(kept, Mapping):
        return {str(name): _value_to_json(value) for name, value in kept.items()}
    return [_value_to_json(value) for value in kept]


def _value_to_json(value: object) -> Any:
    own = plain_parameter(value)
    for name, kind in _WRITTEN.items():  # a moment is a date, too
        if isinstance(own, kind):
            return {name: str(own)}
    return own


def parameters_from_json(given: Any) -> Any:
    """The inverse of `parameters_to_json`; ValueError for anything else."""
    if isinstance(given, dict):
        return {name: _value_from_json(value) for name, value in given.items()}
    return [_value_from_json(value) for value in given] if isinstance(given, list) else given


def _value_from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    [(name, text)] = value.items()
    try:
        return _READ[name](text)
    except (LookupError, TypeError, ArithmeticError):
        raise ValueError(name) from None


_WRITTEN: Mapping[str, type] = {"timestamp": datetime, "date": date, "decimal": Decimal}
_READ: Mapping[str, Callable[[str], Any]] = {
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
}


# -- JSON for programs that do not read Arrow -----------------------------------------------------


def to_json(result: Result, *, texts: bool = False) -> dict[str, Any]:
    """The answer for programs that do not read Arrow: rows, and error bars by column.

    texts: with the cells as people read them, and what is weak in them; see `Result.texts`.
    """
    table = result.table
    columns = (map(json_value, in_time(column.to_pylist())) for column in table.columns)
    rows = zip(*columns, strict=True)
    bars = {
        str(place): {
            name: [json_value(float(error)) for error in in_time(errors)]
            for name, errors in result.errors(place).items()
        }
        for place in result.intervals
    }
    surveys = zip(result.surveys, result.promised, result.estimators, strict=True)
    shown: dict[str, Any] = {}
    if texts:
        places = range(len(result.columns))
        cells = zip(*map(result.texts, places), strict=True)
        shown = {"texts": list(map(list, cells)), "weak": result.weak_notes()}
    return {
        "columns": [
            {"name": column.name, "type": str(column.type), "coded": place in result.coded}
            for place, column in enumerate(result.columns)
        ],
        "rows": list(map(list, rows)),
        "intervals": bars,
        "level": result.level,
        "forged": {
            str(place): {"least": json_value(least), "most": json_value(most)}
            for place, (least, most) in result.forged().items()
            if not math.isnan(least)
        },
        "notes": list(result.notes),
        "explain": result.explain,
        "reports": result.reports,
        "surveys": [
            {
                "table": survey.table,
                "fingerprint": survey.fingerprint,
                "mechanism": survey.design.name,
                "guarantee": str(guarantee),
                "estimator": estimator,
            }
            for survey, guarantee, estimator in surveys
        ],
        **shown,
    }


def write_json(said: Any) -> str:
    """As JSON, long lists piece by piece: nothing else works while one is written."""
    if isinstance(said, Mapping):
        return f"{{{','.join(f'{json.dumps(key)}:{write_json(said[key])}' for key in said)}}}"
    if not isinstance(said, list) or len(said) <= _PIECE:
        return json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    pieces = in_time(range(0, len(said), _PIECE))
    return f"[{','.join(write_json(said[at : at + _PIECE])[1:-1] for at in pieces)}]"
