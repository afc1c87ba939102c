"""Answers on their way from a collector to an analyst: as Arrow, and as JSON for everybody else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.notes import guarantee_of_batches
from ldpsql.engine.result import Result
from ldpsql.estimate import Estimates
from ldpsql.survey import Survey
from ldpsql_device.errors import InterfaceError, NotSupportedError

_KEY = b"ldpsql.answer"
_BARS = ("stderr", "low", "high")


def pack(result: Result, smallest: Mapping[str, int | None]) -> bytes:
    """An Arrow stream of everything but the covariance.

    smallest: reports in the smallest batch, by table, of the surveys that were asked.
    """
    arrays = {str(place): column for place, column in enumerate(result.table.columns)}
    for place, bars in result.intervals.items():
        for name in _BARS:
            arrays[f"{place}_{name}"] = pa.array(getattr(bars, name))
    for place, typical in result.typical.items():
        arrays[f"{place}_typical"] = pa.array(typical)
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
    }
    table = pa.table(arrays).replace_schema_metadata({_KEY: json.dumps(said).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpack(data: bytes, survey_of: Callable[[str], Survey]) -> Result:
    """The answer in what `pack` wrote.

    survey_of: of a fingerprint; LookupError if there is none. InterfaceError for anything else.
    """
    try:
        table = pa.ipc.open_stream(data).read_all()
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
        asked = tuple(map(survey_of, said["surveys"]))
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        raise InterfaceError("what came is no answer of a collector; check its address") from None
    guarantees = [
        survey.guarantee if survey.shuffled is None else guarantee_of_batches(survey, smallest)
        for survey, smallest in zip(asked, said["smallest"], strict=True)
    ]
    return Result(
        shown,
        intervals,
        _refuse_estimates,
        tuple(said["notes"]),
        asked,
        said["reports"],
        said["explain"],
        typical,
        tuple(said["estimators"]),
        tuple(guarantees),
        said["level"],
    )


def _refuse_estimates() -> Estimates:
    raise NotSupportedError("a covariance is not sent over HTTP; ask where the database is")


def to_json(result: Result, *, texts: bool = False) -> dict[str, Any]:
    """The answer for programs that do not read Arrow: rows, and error bars by column.

    texts: with the cells as people read them, and what is weak in them; see `Result.texts`.
    """
    table = result.table
    rows = zip(*(map(_plain, column.to_pylist()) for column in table.columns), strict=True)
    bars: dict[str, dict[str, Sequence[Any]]] = {}
    for place, interval in result.intervals.items():
        ends = {name: getattr(interval, name) for name in _BARS}
        if place in result.typical:
            ends["typical"] = result.typical[place]
        bars[str(place)] = {name: [_plain(float(v)) for v in end] for name, end in ends.items()}
    surveys = zip(result.surveys, result.promised, result.estimators, strict=True)
    shown: dict[str, Any] = {}
    if texts:
        places = range(len(result.columns))
        cells = [[text.strip() for text in result.texts(place)] for place in places]
        shown = {"texts": list(map(list, zip(*cells, strict=True))), "weak": result.weak_notes()}
    return {
        "columns": [{"name": column.name, "type": str(column.type)} for column in result.columns],
        "rows": list(map(list, rows)),
        "intervals": bars,
        "level": result.level,
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


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if isinstance(value, date) else float(value)
