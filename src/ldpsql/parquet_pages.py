"""How large a Parquet file is in memory, by its footer and the headers of its pages.

What the metadata of a file say of the sizes of its columns, nobody holds against the pages; of a
page, readers refuse what is not as large as its header says. And pyarrow ends the whole process
where the metadata of a column are damaged in some ways. So they are read here, without it, as
Thrift's compact protocol writes them (see parquet.thrift of Parquet's format), and what pyarrow
might read otherwise is refused: a field that is there twice, is of another type, or has a number
that does not fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ldpsql.intake import describe_damage
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.errors import ReportError
from ldpsql_device.frozen import frozen
from ldpsql_device.respond import ID_BYTES

LARGEST = 1 << 29
"""Bytes that a row group may take."""
_FREE_ROWS, _ROWS_PER_BYTE = 1 << 20, 32
"""Rows that a file may have in any case, and more for every byte of it where rows have no ids: a
report has at least some hundredths of a bit."""
_BYTES_PER_BYTE = 256
"""Bytes that every byte of a file may become, beyond `LARGEST`."""
_FREE_PAGES, _BYTES_PER_PAGE = 1 << 16, 256
"""Pages that a file may have in any case, and one more for so many bytes of it."""
_MOST_COLUMNS = 1 << 11
_LONGEST_FOOTER = 1 << 22
_HEADER, _LONGEST_HEADER = 1 << 12, 1 << 20
"""Bytes that are read of a page, at first and where its header is longer."""
_DEEPEST = 16
_MARK = b"PAR1"

T = TypeVar("T")
_INT32, _INT64, _TEXT, _LIST, _STRUCT = 5, 6, 8, 9, 12
"""Thrift's numbers of types."""
Type = int | list[Any] | dict[int, Any]
"""A type of Thrift's: of lists that of what is in them, of structures those of their fields."""
Fields = dict[int, Any]
"""The fields of a structure by their numbers; those without a type here are None."""
_COLUMN: dict[int, Any] = {
    1: _INT32,
    2: [_INT32],
    3: [_TEXT],
    5: _INT64,
    7: _INT64,
    8: [{}],
    9: _INT64,
    11: _INT64,
    13: [{}],
    16: {2: [_INT64], 3: [_INT64]},
    17: {2: [_INT32]},
}
_GROUP: dict[int, Any] = {1: [{3: _COLUMN, 8: {2: {1: [_TEXT]}}}], 3: _INT64, 4: [{}]}
_FILE: dict[int, Any] = {2: [{4: _TEXT, 5: _INT32}], 3: _INT64, 4: [_GROUP], 5: [{}], 7: [{}]}
_PAGE: dict[int, Any] = {
    1: _INT32,
    2: _INT32,
    3: _INT32,
    5: {1: _INT32, 2: _INT32},
    8: {1: _INT32, 4: _INT32},
}
"""What is asked of Parquet's structures, and every list in them: pyarrow does not look at the type
that a list says its elements have."""
_BYTES, _DICTIONARY, _PREFIXES = 6, 2, 7
"""Parquet's numbers of a type of values, a type of pages, and an encoding: DELTA_BYTE_ARRAY."""
_DATA = {0: (5, 2), 3: (8, 4)}
"""By the types of pages of data, which part of their headers is theirs, and which of its fields is
the encoding."""


@frozen
class Footer:
    """What the metadata of a file say.

    size: bytes of the file.  groups: for every group of rows, how many they are, and its columns.
    """

    size: int
    groups: list[tuple[int, list[Fields]]]


def read_footer(path: Path, name: str) -> Footer:
    """The metadata of a Parquet file; ReportError where they are damaged, long, or tell of more
    rows than there is room for reports that differ.

    name: for messages.
    """
    return _guard(name, partial(_read_footer, path, name))


def _read_footer(path: Path, name: str) -> Footer:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
        if file.read(4) != _MARK or length > size - 8:
            raise ValueError("no footer")
        if length > _LONGEST_FOOTER:
            raise ReportError(
                f"{name} has more than {_LONGEST_FOOTER:,} bytes of metadata; write larger row "
                "groups"
            )
        file.seek(size - 8 - length)
        told = _Thrift(file.read(length)).read_fields(_FILE)
        columns = [field[4] for field in told[2][1:] if not field.get(5)]
        if len(columns) > _MOST_COLUMNS:
            raise ReportError(f"{name} has more than {_MOST_COLUMNS:,} columns")
        groups = [(group[3], [chunk[3] for chunk in group[1]]) for group in told[4]]
        if any(rows < 0 or len(chunks) != len(columns) for rows, chunks in groups):
            raise ValueError("a group of other columns")
        if told[3] != sum(rows for rows, _ in groups):
            raise ValueError("groups of other rows")
        per_byte = 1 / ID_BYTES if ID_COLUMN.encode() in columns else _ROWS_PER_BYTE
        if told[3] > _FREE_ROWS + per_byte * size:
            raise ReportError(
                f"{name} has {told[3]:,} rows, more than a file of its size can hold; write it "
                "again"
            )
        return Footer(size, groups)


def require_moderate(path: Path, name: str, footer: Footer) -> list[frozenset[str]]:
    """Which columns of each row group have dictionaries, so that rows share values.

    ReportError for a Parquet file of flat columns that would be much larger in memory than it is,
    or whose pages are damaged.
    """
    return _guard(name, partial(_find_shared, path, name, footer))


def _find_shared(path: Path, name: str, footer: Footer) -> list[frozenset[str]]:
    most_pages = _FREE_PAGES + footer.size // _BYTES_PER_PAGE
    most_bytes = LARGEST + _BYTES_PER_BYTE * footer.size
    pages = every = room = 0
    shared = list[frozenset[str]]()
    with path.open("rb") as file:
        for group, (rows, columns) in enumerate(footer.groups, 1):
            own, names = 0, set[str]()
            for column in columns:
                room += column[7]
                if column[5] != rows or column[7] < 0 or room > footer.size:
                    raise ValueError("a column of other rows, or within another one")
                for page in _walk_pages(file, column):
                    pages, own = pages + 1, own + page[2]
                    if page[1] == _DICTIONARY:
                        names.add(column[3][0].decode())
                    part, encoding = _DATA.get(page[1], (0, 0))
                    if part and page[part][encoding] == _PREFIXES and column[1] == _BYTES:
                        raise ReportError(
                            f"{name} has texts in the encoding DELTA_BYTE_ARRAY, which is not "
                            "read; write them in another one"
                        )
                    if own > LARGEST:
                        raise ReportError(
                            f"{name}: row group {group} takes more than {LARGEST:,} bytes; write "
                            "smaller ones"
                        )
                    if pages > most_pages:
                        raise ReportError(
                            f"{name} has more than {most_pages:,} pages; write larger ones"
                        )
            shared.append(frozenset(names))
            every += own
            if every > most_bytes:
                raise ReportError(
                    f"{name} takes more than {most_bytes:,} bytes; write less at once"
                )
    return shared


def _guard(name: str, read: Callable[[], T]) -> T:
    """What is read; ReportError where it is damaged, without what went wrong."""
    try:
        return read()
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError, OSError):
        pass  # outside the handler: what went wrong may quote the file
    raise describe_damage(name)


def _walk_pages(file: BinaryIO, column: Fields) -> Iterator[Fields]:
    """The headers of the pages of a column; ValueError and others where it is damaged."""
    values, data, dictionary = column[5], column[9], column.get(11, 0)
    # Pages that are not there lie at 0: a dictionary, and data where a column has no values.
    if data <= 0 and values:
        raise ValueError("no page of data")
    place = min((start for start in (data, dictionary) if start > 0), default=0)
    end = place + column[7] if place else 0
    while place < end:
        header, length = _read_header(file, place)
        if header[2] < 0 or header[3] < 0:
            raise ValueError("a negative size")
        if header[1] in _DATA:
            values -= header[_DATA[header[1]][0]][1]
        yield header
        place += length + header[3]
    if values:
        raise ValueError("pages of other values")


def _read_header(file: BinaryIO, place: int) -> tuple[Fields, int]:
    """The header of a page, and how many bytes it has."""
    for most in (_HEADER, _LONGEST_HEADER):
        file.seek(place)
        thrift = _Thrift(file.read(most))
        try:
            return thrift.read_fields(_PAGE), thrift.place
        except IndexError:
            continue
    raise ValueError("no header")


class _Thrift:
    """Reads Thrift's compact protocol; IndexError at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def read_fields(self, types: dict[int, Any], depth: int = 0) -> Fields:
        """A structure; ValueError for fields that readers may take for others."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields, number, data = Fields(), 0, self.data
        while head := data[self.place]:
            self.place += 1
            number = number + (head >> 4) if head >> 4 else self._integer()
            # Readers keep the last 16 bits of a number, and the later one of two fields or both.
            if not 0 < number < 1 << 15 or number in fields:
                raise ValueError("a field twice, or of a number that no field has")
            kind = head & 15
            if number in types:
                fields[number] = self._read(kind, types[number], depth + 1)
            else:
                fields[number] = None
                if kind not in (1, 2):  # which have no value beside their kind
                    self._skip(kind, depth + 1)
        self.place += 1
        return fields

    def _read(self, kind: int, own: Type, depth: int) -> Any:
        """A value that has to be of a type."""
        if isinstance(own, dict):
            if kind != _STRUCT:
                raise ValueError("another type")
            return self.read_fields(own, depth)
        if isinstance(own, list):
            if kind != _LIST:
                raise ValueError("another type")
            within, size = self._list()
            return [self._read(within, own[0], depth + 1) for _ in range(size)]
        if kind != own:
            raise ValueError("another type")
        if own == _TEXT:
            return self._bytes(self._varint())
        number = self._integer()
        if own == _INT32 and not -(1 << 31) <= number < 1 << 31:
            raise ValueError("a number of more than 32 bits")
        return number

    def _skip(self, kind: int, depth: int) -> None:
        """Pass over a value."""
        if kind in (1, 2, 3):  # of a list, where a truth value has a byte
            self._byte()
        elif kind in (4, 5, 6):
            data, place = self.data, self.place
            while data[place] > 127:
                place += 1
            self.place = place + 1
        elif kind == 7:
            self._bytes(8)
        elif kind == _TEXT:
            self._bytes(self._varint())
        elif kind in (_LIST, 10):
            within, size = self._list()
            if depth > _DEEPEST:
                raise ValueError("too deep")
            for _ in range(size):
                self._skip(within, depth + 1)
        elif kind == _STRUCT:
            self.read_fields({}, depth)
        else:
            raise ValueError("no type that Parquet has")

    def _list(self) -> tuple[int, int]:
        """The type of the elements of a list, and how many there are."""
        head = self._byte()
        return head & 15, head >> 4 if head >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        place = self.place
        self.place = place + 1
        return self.data[place]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.data):
            raise IndexError
        return self.data[self.place - size : self.place]

    def _varint(self) -> int:
        byte = self.data[self.place]
        self.place += 1
        if byte < 128:
            return byte
        value, shift = byte & 127, 7
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128 and value < 1 << 64:
                return value
            shift += 7
        raise ValueError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self.data[self.place]
        if value < 128:
            self.place += 1
        else:
            value = self._varint()
        return value >> 1 ^ -(value & 1)
