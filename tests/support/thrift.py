"""Thrift's compact protocol, as the metadata of Parquet files are written in it, for changing them.

A structure is a list of fields [number, kind, value], in their order; a list is (kind of its
elements, values); kinds are those of the protocol. Whatever fits this can be written, also what no
Parquet file has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Struct = list[list[Any]]
_TRUE, _FALSE, _DOUBLE, _TEXT, _LISTS, _STRUCT = 1, 2, 7, 8, (9, 10), 12


def split(path: Path) -> tuple[bytes, Struct]:
    """What a Parquet file has before its metadata, and these."""
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data[:start], read(data[start:-8])[0]


def join(path: Path, body: bytes, metadata: Struct | bytes) -> None:
    """The opposite; metadata may be bytes."""
    written = metadata if isinstance(metadata, bytes) else write(metadata)
    path.write_bytes(body + written + len(written).to_bytes(4, "little") + b"PAR1")


def field(struct: Struct, *numbers: int) -> Any:
    """The value of a field, or of one within it and so on; IndexError where there is none."""
    for number in numbers:
        [struct, *_] = [value for own, _, value in struct if own == number]
    return struct


def put(struct: Struct, number: int, value: Any, kind: int | None = None) -> None:
    """Give a field a value; a new one needs its kind."""
    for own in struct:
        if own[0] == number:
            own[1:] = [kind or own[1], value]
            return
    struct.append([number, kind, value])
    struct.sort(key=lambda own: own[0])


def columns(metadata: Struct, group: int = 0) -> list[Struct]:
    """The metadata of the columns of a row group."""
    return [field(chunk, 3) for chunk in field(field(metadata, 4)[1][group], 1)[1]]


def read(data: bytes, place: int = 0) -> tuple[Struct, int]:
    """A structure and where it ends."""
    fields, number = Struct(), 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            number, place = _read_integer(data, place)
        kind = head & 15
        value: Any = kind == _TRUE
        if kind not in (_TRUE, _FALSE):
            value, place = _read_value(data, place, kind)
        fields.append([number, kind, value])
    return fields, place + 1


def write(struct: Struct) -> bytes:
    """A structure as it is written."""
    out, last = bytearray(), 0
    for number, kind, value in struct:
        own = (_TRUE if value else _FALSE) if kind in (_TRUE, _FALSE) else kind
        if 0 < number - last < 16:
            out.append(number - last << 4 | own)
        else:
            out += bytes([own]) + _write_integer(number)
        last = number
        if kind not in (_TRUE, _FALSE):
            out += _write_value(kind, value)
    return bytes([*out, 0])


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 128:
            return value, place


def _read_integer(data: bytes, place: int) -> tuple[int, int]:
    value, place = _read_varint(data, place)
    return value >> 1 ^ -(value & 1), place


def _read_value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind <= 3:
        return data[place], place + 1
    if kind < _DOUBLE:
        return _read_integer(data, place)
    if kind == _DOUBLE:
        return data[place : place + 8], place + 8
    if kind == _TEXT:
        size, place = _read_varint(data, place)
        return data[place : place + size], place + size
    if kind in _LISTS:
        head, place = data[place], place + 1
        size = head >> 4
        if size == 15:
            size, place = _read_varint(data, place)
        values = []
        for _ in range(size):
            value, place = _read_value(data, place, head & 15)
            values.append(value)
        return (head & 15, values), place
    assert kind == _STRUCT, kind
    return read(data, place)


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _write_integer(value: int) -> bytes:
    return _write_varint(2 * value if value >= 0 else -2 * value - 1)


def _write_value(kind: int, value: Any) -> bytes:
    if kind <= 3:
        return bytes([int(value) & 255])
    if kind < _DOUBLE:
        return _write_integer(value)
    if kind == _DOUBLE:
        return b"".join([value])
    if kind == _TEXT:
        return _write_varint(len(value)) + value
    if kind in _LISTS:
        own, values = value
        size = len(values)
        head = bytes([size << 4 | own]) if size < 15 else bytes([240 | own]) + _write_varint(size)
        return head + b"".join(_write_value(own, each) for each in values)
    return write(value)
