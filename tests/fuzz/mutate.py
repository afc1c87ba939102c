"""Changes of bytes, of texts and of values that JSON can hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fuzz.harness import RAW

TEXTS = (
    *("", " ", "\n", "\0", "0", "1", "-1", "+5", "1e5", "1e400", "nan", "inf", "-0", "0x10"),
    *("1_000", "null", "None", "true", "TRUE", "é", "\ud800", "\u2028", "'", '"', "\\", ";--"),
    *("(other)", "2026-01-01", "2026-02-30", "0000-00-00", "9999-12-31", "10000-01-01"),
    *("2026-01-01T00:00:00Z", "2026-W01-1", "20260101", "2026-01-01 25:00"),
    *("a" * 5_000, RAW, "0" * 32, "f" * 32, "F" * 32),
)
VALUES: Sequence[Any] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 256, 1 << 16, 1 << 31, 1 << 32, (1 << 53) + 1),
    *((1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63) - 1, 10**40, 0.0, -0.0, 0.5, 1.0, 1e-320, 1e99),
    *(1e101, 1e308, [], {}, [0], [[]], {"a": 1}, {"": None}, [None] * 3),
    *TEXTS,
)


def change_bytes(chosen: random.Random, data: bytes, most: int = 8) -> bytes:
    """The data with some bytes changed, parts removed, doubled, moved or cut off."""
    changed = bytearray(data)
    for _ in range(chosen.randint(1, most)):
        if not changed:
            return bytes(changed)
        place = chosen.randrange(len(changed))
        size = chosen.choice((1, 1, 1, 2, 4, 16, 100))
        what = chosen.randrange(7)
        if what == 0:
            changed[place] ^= 1 << chosen.randrange(8)
        elif what == 1:
            changed[place] = chosen.choice((0, 1, 127, 128, 255, *b'"{}[],:\n'))
        elif what == 2:
            del changed[place : place + size]
        elif what == 3:
            changed[place:place] = changed[place : place + size]
        elif what == 4:
            changed[place : place + 4] = chosen.randbytes(4)
        elif what == 5:
            other = chosen.randrange(len(changed))
            changed[place:place] = changed[other : other + size]
        elif chosen.random() < 0.3:
            del changed[place:]
    return bytes(changed)


def change_value(chosen: random.Random, value: Any) -> Any:
    """Another value: a near one, or any."""
    if type(value) is int and chosen.random() < 0.6:
        return chosen.choice((value + 1, value - 1, -value, value * 2, value // 2, value << 8))
    if type(value) is float and chosen.random() < 0.5:
        return chosen.choice((value * 2, -value, value / 3, value + 1e-9))
    if isinstance(value, str) and value and chosen.random() < 0.6:
        place = chosen.randrange(len(value))
        return chosen.choice(
            (
                value[:place] + value[place + 1 :],
                value[:place] + chosen.choice("0159afz.-\"'\\é ") + value[place + 1 :],
                value + value[-1],
                value.upper(),
                f" {value}",
            )
        )
    return chosen.choice(VALUES)


def change_tree(chosen: random.Random, data: Any) -> Any:
    """A tree of objects and arrays with one place changed; the data may be changed as well.

    A place is a value, a key, or an entry that is removed, doubled or swapped with another.
    """
    places = [*_places(data)]
    if not places:
        return change_value(chosen, data)
    # Small trees have few places and large arrays many: half of the time by depth, not by number.
    if chosen.random() < 0.5:
        deepest = chosen.choice(sorted({depth for depth, _, _ in places}))
        places = [place for place in places if place[0] == deepest]
    _, parent, key = chosen.choice(places)
    what = chosen.randrange(6)
    if what <= 2:
        parent[key] = change_value(chosen, parent[key])
    elif what == 3:
        del parent[key]
    elif isinstance(parent, list):
        parent.insert(key, parent[chosen.randrange(len(parent))])
    elif what == 4:
        parent[str(change_value(chosen, key)) if chosen.random() < 0.5 else "more"] = parent[key]
    else:
        other = chosen.choice([*parent])
        parent[key], parent[other] = parent[other], parent[key]
    return data


def _places(data: Any, depth: int = 0) -> list[tuple[int, Any, Any]]:
    found: list[tuple[int, Any, Any]] = []
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        found.append((depth, data, key))
        found += _places(data[key], depth + 1)
    return found
