"""The schema of a survey: what its columns are, by role, read from and written to a survey file.

A *dimension* is private and appears in predicates and GROUP BY; a *measure* is private, numeric
and bounded, and is aggregated; a *public* column travels in clear. One attribute may be a
dimension and a measure at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from ldpsql_device.errors import RecordError, SurveyError
from ldpsql_device.values import (
    BOOL,
    TYPES,
    ColumnType,
    Domain,
    Listed,
    Value,
    float_bins,
    float_edges,
    int_domain,
    int_edges,
    is_number,
    plain,
    time_range,
)

RESERVED_PREFIX = "ldpsql_"
LARGEST_SCHEMA = 1 << 22
LARGEST_WHOLE = 1 << 53
ROLES = ("dimension", "measure", "public")
RESERVED_KEYS = frozenset({"label", "outside", "missing", "merged", "levels"})
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?", re.ASCII)

Keys = Mapping[str, Any]


@dataclass(frozen=True)
class Dimension:
    """A private attribute for predicates and GROUP BY.

    nulls: "reject" (a missing value is refused on the device) or "value" (NULL is one more
    code, the last, and IS NULL works).  sensitive: the codes that a utility-optimised mechanism
    protects, ascending; empty where it protects all.
    """

    name: str
    domain: Domain
    nulls: str = "reject"
    sensitive: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_column("dimension", self.name, self.nulls)

    def with_sensitive(self, values: Sequence[Any], *, with_null: bool = True) -> Dimension:
        """The same dimension, of which only some values are sensitive.

        with_null: whether NULL is one of them, where it is a value. SurveyError for an empty list,
        a value twice, and one that is not declared or shares its code with others.
        """
        if not values:
            raise SurveyError("sensitive lists at least one value; leave it out for all of them")
        codes = sorted(map(self._sensitive_code, values))
        if len(set(codes)) != len(codes):
            raise SurveyError("sensitive lists a value twice")
        if self.nulls == "value" and with_null:
            codes.append(self.domain.size)
        return replace(self, sensitive=() if len(codes) == self.size else tuple(codes))

    def _sensitive_code(self, value: Any) -> int:
        if self.domain.type not in ("category", "bool", "int"):
            raise SurveyError(f"sensitive is for category, bool and int, not {self.domain.type}")
        if not isinstance(value, str | int) or not self.domain.has_own_code(value):
            shown = f"{value!r:.60}"
            raise SurveyError(f"sensitive: {shown} is not a declared value with a code of its own")
        return self.domain.code(value)

    @property
    def size(self) -> int:
        """Number of codes, the one for NULL included."""
        return self.domain.size + (self.nulls == "value")

    def code(self, value: Value | None) -> int:
        """Code of one value or None. RecordError names the column, not the value."""
        if value is None:
            _require_nulls(self)
            return self.domain.size
        try:
            return self.domain.code(value)
        except RecordError as error:
            raise RecordError(f"{self.name} {error}") from None


@dataclass(frozen=True)
class Measure:
    """A private, bounded number that is summed or averaged.

    bounds: (low, high), public. A value outside is clamped or refused on the device.
    """

    name: str
    bounds: tuple[float, float]
    on_out_of_range: str = "clamp"

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = self.bounds
        if not 0 < high - low < math.inf:
            raise SurveyError(f"measure {self.name}: bounds must be [low, high] with low < high")
        if self.on_out_of_range not in ("clamp", "reject"):
            raise SurveyError(f'measure {self.name}: on_out_of_range must be "clamp" or "reject"')
        # A survey's JSON tells 0 from 0.0, and so would its fingerprint.
        object.__setattr__(self, "bounds", (float(low), float(high)))

    def number(self, value: Value | None) -> float:
        """The IEEE double between the bounds that stands for a value.

        A whole number stands for the double nearest to it (ties to even). RecordError, which names
        the column and not the value, for a missing or non-numeric value, and for one outside the
        bounds where the survey says "reject".
        """
        number = plain(value)
        if number is None:
            raise RecordError(f"{self.name} is missing")
        if not is_number(number) or number - number:
            raise RecordError(f"{self.name} is not a finite number")
        low, high = self.bounds
        if self.on_out_of_range == "reject" and not low <= number <= high:
            raise RecordError(f"{self.name} {self.complaint}")
        return float(min(max(number, low), high))

    def threshold(self, number: float) -> int:
        """floor((number - low) / (high - low) 2^64), exactly, for a number between the bounds.

        Numbers and bounds are the exact rationals of their IEEE doubles. A uniform 64-bit word
        below the threshold rounds the number up to `high`, any other down to `low`: the expectation
        is the number, to within (high - low) / 2^64.
        """
        low, high = map(Fraction, self.bounds)
        return int((Fraction(number) - low) * 2**64 // (high - low))

    @property
    def complaint(self) -> str:
        """What is said of a value outside the bounds."""
        low, high = self.bounds
        return f"lies outside its bounds [{low:g}, {high:g}]"


@dataclass(frozen=True)
class PublicColumn:
    """A column that travels in clear: no privacy is promised for it."""

    name: str
    type: str
    nulls: str = "reject"

    def __post_init__(self) -> None:
        if not isinstance(self.type, str) or self.type not in TYPES:
            raise SurveyError(f"public {self.name}: type must be one of {', '.join(TYPES)}")
        _check_column("public", self.name, self.nulls)

    @property
    def kind(self) -> ColumnType:
        """All that is to be known of its type."""
        return TYPES[self.type]

    @property
    def is_numeric(self) -> bool:
        """Whether the column can be summed."""
        return self.kind.is_number

    def checked(self, value: Any) -> Value | None:
        """One value as the column's type; RecordError if it is of another."""
        value = plain(value)
        if value is None:
            _require_nulls(self)
            return None
        if not self.kind.fits(value):
            raise RecordError(f"{self.name} is not of type {self.type}")
        return float(value) if self.type == "float" else value


Attribute = Dimension | Measure | PublicColumn


def check_name(name: str) -> None:
    """SurveyError unless the name can be that of a column, and stand in a message as it is."""
    if not 1 <= len(name) <= 128 or _UNSHOWN.search(name):
        raise SurveyError(f"{name!r:.60} is not a column name")
    if name.lower().startswith(RESERVED_PREFIX):
        raise SurveyError(f"{name}: names that start with {RESERVED_PREFIX} are reserved")


def _check_column(role: str, name: str, nulls: str) -> None:
    check_name(name)
    if nulls not in ("reject", "value"):
        raise SurveyError(f'{role} {name}: nulls must be "reject" or "value"')


def _require_nulls(column: Dimension | PublicColumn) -> None:
    """RecordError unless a value may be missing."""
    if column.nulls == "reject":
        raise RecordError(f'{column.name} is missing (the survey says nulls = "reject")')


@dataclass(frozen=True)
class Schema:
    """The attributes of one survey, by role, in the order of the file."""

    dimensions: tuple[Dimension, ...]
    measures: tuple[Measure, ...] = ()
    public: tuple[PublicColumn, ...] = ()

    def __post_init__(self) -> None:
        if not self.dimensions and not self.measures:
            raise SurveyError("a survey needs at least one dimension or measure")
        roles: tuple[tuple[Attribute, ...], ...] = (self.dimensions, self.measures, self.public)
        for role in roles:
            if len({attribute.name.lower() for attribute in role}) != len(role):
                raise SurveyError("two columns of one role differ at most in upper and lower case")
        private = {name.lower() for name in self.private_columns}
        for column in self.public:
            if column.name.lower() in private:
                raise SurveyError(f"{column.name} cannot be both private and public")
        dimensions = {dimension.name.lower(): dimension for dimension in self.dimensions}
        for measure in self.measures:
            if (dimension := dimensions.get(measure.name.lower())) is None:
                continue
            if dimension.name != measure.name:
                raise SurveyError(
                    f"{measure.name} and {dimension.name} are spelt differently; "
                    "write a dimension and its measure alike"
                )
            if dimension.domain.type not in ("int", "float"):
                raise SurveyError(f"{measure.name} is a measure, so its dimension must be a number")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes of every attribute of an encoded record: dimensions, then 2 levels per measure."""
        return (*(dimension.size for dimension in self.dimensions), *(2 for _ in self.measures))

    @property
    def private_columns(self) -> tuple[str, ...]:
        """Names of the private attributes, each once."""
        # A measure of a dimension's attribute is spelt like it.
        names = [*(d.name for d in self.dimensions), *(m.name for m in self.measures)]
        return tuple(dict.fromkeys(names))

    @classmethod
    def from_keys(cls, data: Keys) -> Schema:
        """Read the tables [dimension], [measure] and [public]; SurveyError names what is wrong."""
        return cls(*(tuple(_read(role, data.get(role, {}))) for role in ROLES))

    @classmethod
    def from_json(cls, data: Any) -> Schema:
        """Read the columns of a published survey: arrays in order; SurveyError names what is wrong.

        Numbers of float dimensions and bounds of measures are decimal strings there.
        """
        if not isinstance(data, Mapping) or set(data) != set(ROLES):
            raise SurveyError(f"schema must have the keys {', '.join(ROLES)}, and no others")
        return cls.from_keys({role: _read_tables(role, data[role]) for role in ROLES})


def _read_tables(role: str, entries: Any) -> dict[str, dict[str, Any]]:
    """An array of columns as tables by name, with numbers instead of decimal strings."""
    if not isinstance(entries, list):
        raise SurveyError(f"schema.{role} must be an array")
    tables: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise SurveyError(f"schema.{role} holds objects with a name")
        check_name(name := entry["name"])
        if name in tables:
            raise SurveyError(f"{role} {name} is there twice")
        table = tables[name] = {key: value for key, value in entry.items() if key != "name"}
        for key in RESERVED_KEYS.intersection(table):
            raise SurveyError(f"{role} {name}: {key!r} is reserved for a later version")
        kind = table.get("type", "float")
        for key in ("domain", "edges", "bounds", *(("sensitive",) if kind == "int" else ())):
            if isinstance(table.get(key), list):
                table[key] = [_read_number(number, kind == "float") for number in table[key]]
    return tables


def _read_number(written: Any, is_real: bool) -> int | float:
    """A number of a schema; a decimal string stands for the IEEE double nearest to it."""
    if type(written) is int and not is_real:
        return written
    if isinstance(written, str) and len(written) <= 40 and _DECIMAL.fullmatch(written):
        if not is_real and written.lstrip("-").isdigit():
            return int(written)
        if is_real:
            return float(written)
    what = "decimal strings" if is_real else "whole numbers"
    raise SurveyError(f"a domain, edges and bounds of this type are {what}, not {written!r:.40}")


def _read(role: str, tables: Any) -> Iterator[Any]:
    """The attributes of one role."""
    if not isinstance(tables, Mapping):
        raise SurveyError(f"[{role}.NAME] must be a table")
    codes = 0
    for name, table in tables.items():
        check_name(name)
        if not isinstance(table, Mapping):
            raise SurveyError(f"[{role}.{name}] must be a table")
        keys, prefix = dict(table), f"{role} {name}: "
        try:
            attribute = _READERS[role](name, keys)
        except SurveyError as error:
            raise SurveyError(prefix + str(error).removeprefix(prefix)) from None
        if keys:
            raise SurveyError(f"{prefix}unknown key {min(keys)!r:.60}")
        codes += getattr(attribute, "size", 0)
        if codes > LARGEST_SCHEMA:
            raise SurveyError(f"the dimensions have more than {LARGEST_SCHEMA} codes together")
        yield attribute


def _read_dimension(name: str, keys: dict[str, Any]) -> Dimension:
    kind = _need(keys, "type")
    if not isinstance(kind, str) or kind not in _DOMAINS:
        raise SurveyError(f"type must be one of {', '.join(_DOMAINS)}, not {kind!r:.60}")
    dimension = Dimension(name, _DOMAINS[kind](keys), keys.pop("nulls", "reject"))
    if "sensitive" not in keys:
        return dimension
    listed, with_null = _list(keys, "sensitive"), keys.pop("sensitive_nulls", True)
    if not isinstance(with_null, bool):
        raise SurveyError("sensitive_nulls must be true or false")
    if not with_null and dimension.nulls != "value":
        raise SurveyError('sensitive_nulls is for nulls = "value"')
    return dimension.with_sensitive(listed, with_null=with_null)


def _read_measure(name: str, keys: dict[str, Any]) -> Measure:
    bounds = _pair(keys, "bounds")
    if not all(is_number(bound) and abs(bound) < 1e300 for bound in bounds):
        raise SurveyError("bounds must be two finite numbers below 1e300")
    return Measure(name, bounds, keys.pop("on_out_of_range", "clamp"))


def _read_public(name: str, keys: dict[str, Any]) -> PublicColumn:
    return PublicColumn(name, _need(keys, "type"), keys.pop("nulls", "reject"))


_READERS: Mapping[str, Callable[[str, dict[str, Any]], Attribute]] = {
    "dimension": _read_dimension,
    "measure": _read_measure,
    "public": _read_public,
}


def _int_domain(keys: dict[str, Any]) -> Domain:
    if "edges" in keys:
        return int_edges(_list(keys, "edges"))
    return int_domain(*_pair(keys, "domain"), bin_width=keys.pop("bin_width", 1))


def _float_domain(keys: dict[str, Any]) -> Domain:
    if "edges" in keys:
        return float_edges(_list(keys, "edges"))
    if "bins" not in keys:
        raise SurveyError("a float dimension needs edges = [...], or domain and bins")
    return float_bins(*_pair(keys, "domain"), keys.pop("bins"))


def _category(keys: dict[str, Any]) -> Domain:
    values = _list(keys, "values")
    if any(type(value) is int and abs(value) > LARGEST_WHOLE for value in values):
        raise SurveyError("a value of a category above 2^53 must be written as a string")
    if not all(isinstance(value, str) or type(value) is int for value in values):
        raise SurveyError("the values of a category must be all strings or all ints")
    return Listed("category", tuple(values))


def _time_domain(kind: str, keys: dict[str, Any]) -> Domain:
    return time_range(kind, *_pair(keys, "range"), keys.pop("unit", "day"))


_DOMAINS: Mapping[str, Callable[[dict[str, Any]], Domain]] = {
    "int": _int_domain,
    "float": _float_domain,
    "category": _category,
    "bool": lambda _: BOOL,
    "date": partial(_time_domain, "date"),
    "timestamp": partial(_time_domain, "timestamp"),
}


def _need(keys: dict[str, Any], key: str) -> Any:
    if key not in keys:
        raise SurveyError(f"{key} is missing")
    return keys.pop(key)


def _list(keys: dict[str, Any], key: str) -> list[Any]:
    value = _need(keys, key)
    if not isinstance(value, list):
        raise SurveyError(f"{key} must be a list")
    return value


def _pair(keys: dict[str, Any], key: str) -> tuple[Any, Any]:
    pair = keys.pop(key, None)
    if not isinstance(pair, list) or len(pair) != 2:
        raise SurveyError(
            f"{key} must be [low, high]: public limits, chosen by a person, "
            "never read from private data"
        )
    return pair[0], pair[1]
