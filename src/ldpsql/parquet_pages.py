"""How large a Parquet file is in memory, by the headers of its pages, without pyarrow.

What the metadata of a file say of the sizes of its columns, nobody holds against the pages; of a
page, readers refuse what is not as large as its header says. And pyarrow ends the whole process
where the metadata of a column are damaged in some ways. So they are read here, as Thrift's compact
protocol writes them; see parquet.thrift of Parquet's format.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from ldpsql_device.errors import ReportError

LARGEST = 1 << 29
"""Bytes that a column of a row group may take."""
_FREE_ROWS, _ROWS_PER_BYTE = 1 << 20, 32
"""Rows that a file may have in any case, and more for every byte of it: a report has at least some
hundredths of a bit, and one with an id 16 bytes."""
_MOST_PAGES = 1 << 16
_HEADER, _LONGEST_HEADER = 1 << 12, 1 << 20
"""Bytes that are read of a page, at first and where its header is longer."""
_DEEPEST = 16
_MARK = b"PAR1"

Fields = dict[int, Any]
"""The fields of a Thrift structure by their numbers."""


def require_moderate(path: Path, name: str) -> None:
    """ReportError for a Parquet file that would be much larger in memory than it is, has more rows
    than there is room for reports that differ, or is damaged.

    name: for messages.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            told = _read_footer(file, size)
            rows, groups = int(told[3]), [[c[3] for c in group[1]] for group in told[4]]
            if rows > _FREE_ROWS + _ROWS_PER_BYTE * size:
                raise ReportError(f"{name} has {rows:,} rows, more than a file of its size can")
            for group, columns in enumerate(groups, 1):
                for column in columns:
                    _require_moderate_pages(file, column, f"{name}: a column of row group {group}")
        return
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError, OSError):
        pass  # outside the handler: what went wrong may quote the file
    raise ReportError(f"{name} is damaged: no Parquet file has such metadata")


def _read_footer(file: BinaryIO, size: int) -> Fields:
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    if file.read(4) != _MARK or length > size - 8:
        raise ValueError("no footer")
    file.seek(size - 8 - length)
    return _Thrift(file.read(length)).read_fields()


def _require_moderate_pages(file: BinaryIO, column: Fields, name: str) -> None:
    """The same of the pages of a column; ValueError and others where they are damaged."""
    values, data, dictionary = column[5], column[9], column.get(11, 0)
    # Pages that are not there lie at 0: a dictionary, and data where a column has no values.
    if data <= 0 and values:
        raise ValueError("no page of data")
    place, total = min((start for start in (data, dictionary) if start > 0), default=0), 0
    end = place + column[7] if place else 0
    for _ in range(_MOST_PAGES):
        if place >= end:
            return
        header, length = _read_header(file, place)
        if header[2] < 0 or header[3] < 0:
            raise ValueError("a negative size")
        total += header[2]
        if total > LARGEST:
            raise ReportError(f"{name} takes more than {LARGEST:,} bytes; write smaller row groups")
        place += length + header[3]
    raise ReportError(f"{name} has more than {_MOST_PAGES:,} pages; write larger ones")


def _read_header(file: BinaryIO, place: int) -> tuple[Fields, int]:
    """The header of a page, and how many bytes it has."""
    for most in (_HEADER, _LONGEST_HEADER):
        file.seek(place)
        thrift = _Thrift(file.read(most))
        try:
            return thrift.read_fields(), thrift.place
        except IndexError:
            continue
    raise ValueError("no header")


class _Thrift:
    """Reads Thrift's compact protocol; IndexError at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def read_fields(self, depth: int = 0) -> Fields:
        """A structure, without the fields that have no number of their own."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields, number = Fields(), 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):  # of a list, where a truth value has a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(size)]
        if kind == 12:
            return self.read_fields(depth + 1)
        raise ValueError("no type that Parquet has")

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.data):
            raise IndexError
        return self.data[self.place - size : self.place]

    def _varint(self) -> int:
        value, shift = 0, 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
