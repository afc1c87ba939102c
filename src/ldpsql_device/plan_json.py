"""Plans as JSON: every object of a plan is one of its fields by name. See docs/format.md#plan.

Where one of several kinds may stand, the key `kind` names it; fields with a default are left out
when they have it. Whole numbers above 2^53 are decimal strings. Reading follows the types that
the fields declare; it refuses unknown and missing keys and whatever is of another type, with the
place of it, and repairs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ldpsql_device import plan as language
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import LARGEST, WORDS, Plan


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as objects, arrays, whole numbers, strings and `true`."""
    written = _write(plan)
    assert isinstance(written, dict)
    return written


def plan_from_json(data: Any) -> Plan:
    """The inverse of `plan_to_json`; SurveyError names the place of what does not fit."""
    plan = _read(Plan, data, "plan")
    assert isinstance(plan, Plan)
    return plan


def _write(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value <= LARGEST else str(value)
    if isinstance(value, tuple):
        # Long columns of plain numbers are written at once.
        if value and set(map(type, value)) == {int} and max(value) <= LARGEST:
            return list(value)
        return [_write(entry) for entry in value]
    kind = {"kind": value.kind} if hasattr(value, "kind") else {}
    written = {field.name: getattr(value, field.name) for field in fields(value)}
    defaults = {field.name: field.default for field in fields(value)}
    return kind | {k: _write(v) for k, v in written.items() if v is not None and v != defaults[k]}


def _fail(where: str, problem: str) -> SurveyError:
    return SurveyError(f"not a survey: {where} {problem}")


def _read(declared: Any, data: Any, where: str) -> Any:
    """What the data say, as a value of a declared type."""
    if declared is int:
        return _whole(data, where)
    if declared is bool:
        if data is not True:
            raise _fail(where, "must be true where it is said")
        return True
    if get_origin(declared) is tuple:
        return _read_list(get_args(declared)[0], data, where)
    if get_origin(declared) in (Union, UnionType):
        return _read_kind(get_args(declared), data, where)
    return _read_object(declared, data, where)


def _whole(data: Any, where: str) -> int:
    """A whole number from 0: as such up to 2^53, and above it, up to 2^94, as decimal digits."""
    if type(data) is int and 0 <= data <= LARGEST:
        return data
    is_text = isinstance(data, str) and len(data) < 30 and data.isascii() and data.isdigit()
    if is_text and data[0] != "0" and LARGEST < int(data) <= WORDS << 30:
        return int(data)
    raise _fail(where, "must be a whole number")


def _read_list(declared: Any, data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _fail(where, "must be an array")
    # Long columns of plain numbers are checked at once.
    if declared is int and data and set(map(type, data)) == {int}:
        if not 0 <= min(data) <= max(data) <= LARGEST:
            raise _fail(where, "must hold whole numbers")
        return tuple(data)
    return tuple(_read(declared, entry, f"{where}[{i}]") for i, entry in enumerate(data))


def _read_kind(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    """One of several classes: the one that the key `kind` names; or an integer or its column."""
    if int in kinds:
        return _read(int if not isinstance(data, dict) else language.Varying, data, where)
    known = {kind.kind: kind for kind in kinds if kind is not NoneType}
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise _fail(where, "must be an object with a kind")
    if data["kind"] not in known:
        raise _fail(where, f"must be of one of the kinds {', '.join(known)}")
    rest = {key: value for key, value in data.items() if key != "kind"}
    return _read_object(known[data["kind"]], rest, where)


def _read_object(declared: Any, data: Any, where: str) -> Any:
    known = _declared_fields(declared)
    needed = {name: field.default is MISSING for name, (field, _) in known.items()}
    given = _object(data, where, needed)
    return declared(**{k: _read(known[k][1], v, f"{where}.{k}") for k, v in given.items()})


@lru_cache(maxsize=64)
def _declared_fields(declared: Callable[..., Any]) -> Mapping[str, tuple[Field[Any], Any]]:
    """The fields of a class of the language, with their types."""
    assert is_dataclass(declared)
    hints = get_type_hints(declared, vars(language))
    return {field.name: (field, hints[field.name]) for field in fields(declared)}


def _object(data: Any, where: str, needed: Mapping[str, bool]) -> dict[str, Any]:
    """An object with the keys that are needed, and no others than those named."""
    if not isinstance(data, dict):
        raise _fail(where, "must be an object")
    for key in data:
        if key not in needed:
            raise _fail(where, f"has the unknown key {str(key)[:40]!r}")
    for key, is_needed in needed.items():
        if is_needed and key not in data:
            raise _fail(where, f"lacks {key}")
    return data
