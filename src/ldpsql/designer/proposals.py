"""What the rows of a data file suggest for the columns of a survey, for an author to confirm.

Everything here comes from the rows, so it tells something about the people in them: it is for
files that everybody may see, such as samples and made-up ones. Limits and edges are rounded
quantiles, and a value that few rows hold is not listed.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ldpsql.reports.arrow_types import find_far
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import LARGEST_WHOLE, OTHER

MOST_CODES = 20
"""Of whole numbers that are taken for names of something, and not for amounts."""
MOST_TEXTS = 256
FEW_ROWS = 5
"""A value that fewer rows hold is left to `outside = "other"`, and a column of values that on
average fewer hold is no category."""
_MOST_WHOLE = 128
_BINS = 16
_CUT = 0.01
"""The share of rows at either end that lie outside of proposed limits."""
_UNITS = (("hour", 14), ("day", 92), ("week", 730))
_DIGITS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Proposal:
    """The keys of a column as a dimension, and as a measure; None where it should not be one.

    reason: why it should be none of them, for a comment.
    """

    dimension: Mapping[str, Any] | None = None
    measure: Mapping[str, Any] | None = None
    reason: str = ""


def read_proposals(data: Path, kinds: Mapping[str, str]) -> Iterator[tuple[str, Proposal]]:
    """A proposal for every column of a Parquet or CSV file; kinds: types of dimensions, by column.

    RecordError for a file that cannot be read to its end.
    """
    try:
        whole = None if data.suffix.lower() != ".csv" else pacsv.read_csv(data)
        for name, kind in kinds.items():
            table = pq.read_table(data, columns=[name]) if whole is None else whole
            yield name, propose(kind, table.column(name).combine_chunks())
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise RecordError(f"cannot read {data}: it is damaged or cut short") from None


def propose(kind: str, column: pa.Array) -> Proposal:
    """What the values of a column suggest; kind: the type of dimension that holds them."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    known = column.drop_null()
    if kind in ("float", "int"):
        numbers = known.cast(pa.float64() if kind == "float" else pa.int64(), safe=False)
        known = numbers.filter(pc.is_finite(numbers))
    missing = {"missing": "code"} if len(known) < len(column) else {}
    count = pc.count_distinct(known).as_py() if len(known) else 0
    listed = _listed_keys(kind, known) if kind in ("category", "int") and count > 1 else None
    proposal = Proposal(reason="no value twice, as in a column of ids")
    if kind == "bool":
        proposal = Proposal({"type": "bool", **missing})
    elif count < 2:
        proposal = Proposal(reason="fewer than two different values")
    elif kind in ("date", "timestamp"):
        proposal = Proposal({"type": kind, **_time_keys(kind, known), **missing})
    elif listed is not None:
        proposal = Proposal({"type": "category", **listed, **missing})
    elif kind == "category":
        proposal = Proposal(reason="too many different values, or too rare ones, for a category")
    elif kind == "float" or count < len(known):
        proposal = _propose_number(kind, np.asarray(known), missing)
    return proposal


def _listed_keys(kind: str, known: pa.Array) -> dict[str, Any] | None:
    """The keys of a category; None for one of too many, or too few, values."""
    counted = pc.value_counts(known)
    values, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    most = MOST_TEXTS if kind == "category" else MOST_CODES
    if len(values) > most or len(values) * FEW_ROWS > len(known):
        return None
    pairs = zip(values, counts, strict=True)
    common = sorted(v for v, n in pairs if n >= FEW_ROWS and v != OTHER)
    if len(common) < 2 or any(isinstance(v, int) and abs(v) > LARGEST_WHOLE for v in common):
        return None
    return {"values": common, **({"outside": "other"} if len(common) < len(values) else {})}


def _propose_number(kind: str, numbers: Any, missing: dict[str, Any]) -> Proposal:
    """A number as a dimension and a measure."""
    shares = np.linspace(0.0, 1.0, _BINS + 1)
    shares[[0, -1]] = _CUT, 1.0 - _CUT
    quantiles = np.quantile(numbers, shares)
    if not 0.0 < quantiles[-1] - quantiles[0] < 1e100 or abs(quantiles).max() > 1e100:
        return Proposal(reason="nearly all values are the same, or the largest are out of reach")
    low, high = round_limits(quantiles[0], quantiles[-1], is_whole=kind == "int")
    is_required = not missing and low <= 0 <= high
    measure = {"bounds": [low, high], **({"required": True} if is_required else {})}
    if kind == "int" and high - low < _MOST_WHOLE:
        return Proposal({"type": "int", "domain": [low, high], **missing}, measure)
    edges = round_edges(quantiles, low, high, is_whole=kind == "int")
    if len(edges) <= _BINS // 2:  # nearly all have one value, such as 0
        spread = np.quantile(np.unique(np.clip(numbers, low, high)), np.linspace(0, 1, _BINS + 1))
        edges = round_edges(spread, low, high, is_whole=kind == "int")
    return Proposal({"type": kind, "edges": edges, **missing}, measure)


def round_limits(low: float, high: float, *, is_whole: bool) -> tuple[Any, Any]:
    """Two numbers moved apart to multiples of 1, 2 or 5 times a power of ten that is about a tenth
    of their distance.

    >>> round_limits(17, 83, is_whole=True), round_limits(0.013, 0.97, is_whole=False)
    ((10, 90), (0.0, 1.0))
    """
    step = _nice((high - low) / 10.0, is_whole)
    return _multiple(math.floor(low / step), step), _multiple(math.ceil(high / step), step)


def round_edges(quantiles: Any, low: Any, high: Any, *, is_whole: bool) -> list[Any]:
    """Quantiles between two limits, each rounded to about a quarter of the distance between those
    beside it, and those limits."""
    inner = set()
    for before, own, after in zip(quantiles, quantiles[1:], quantiles[2:], strict=False):
        step = _nice(max(after - before, (high - low) / 1000.0) / 4.0, is_whole)
        inner.add(_multiple(round(own / step), step))
    return sorted({low, high, *(edge for edge in inner if low < edge < high)})


def _nice(size: float, is_whole: bool) -> Any:
    """The least of 1, 2 and 5 times a power of ten that is at least a size; a whole number if it
    must be one."""
    power = math.floor(math.log10(size))
    digit = next((d for d in _DIGITS if d * 10.0**power >= size * (1 - 1e-9)), 10.0)
    step = digit * 10.0**power if power >= 0 else digit / 10.0**-power
    return max(round(step), 1) if is_whole else step


def _multiple(count: int, step: Any) -> Any:
    """So many steps; of real numbers in the fewest digits."""
    return count * step if isinstance(step, int) else float(f"{count * step:.12g}")


def _time_keys(kind: str, known: pa.Array) -> dict[str, Any]:
    """The whole months that hold all dates or moments, and a unit that leaves few bins."""
    if pa.types.is_timestamp(known.type):
        known = pc.local_timestamp(known) if known.type.tz is not None else known
    known = known.filter(pa.array(~find_far(known))).cast(pa.date32(), safe=False)
    ends = pc.min_max(known)
    first, last = ends["min"].as_py(), ends["max"].as_py()
    days = (last - first).days
    units = [name for name, most in _UNITS if days <= most and (kind, name) != ("date", "hour")]
    last = last.replace(day=calendar.monthrange(last.year, last.month)[1])
    unit = (units or ["month"])[0]
    return {"range": [str(first.replace(day=1)), str(last)], "unit": unit}
