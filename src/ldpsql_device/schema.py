"""The schema of a survey: what its columns are, by role, read from and written to a survey file.

A *dimension* is private and appears in predicates and GROUP BY; a *measure* is private, numeric
and bounded, and is aggregated; a *public* column travels in clear. One attribute may be a
dimension and a measure at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ldpsql_device.errors import SurveyError, expect
from ldpsql_device.values import (
    BOOL,
    MISSING,
    TYPES,
    Domain,
    Listed,
    float_bins,
    float_edges,
    int_domain,
    int_edges,
    is_number,
    is_real,
    nearest_double,
    plain,
    time_edges,
    time_range,
)

RESERVED_PREFIX = "ldpsql_"
LARGEST_SCHEMA = 1 << 22
MOST_COLUMNS = 1_000
LARGEST_WHOLE = 1 << 53
LARGEST_PUBLIC = 1e100
"""Of public numbers: far above any measurement, and far enough below the largest double that sums
of products of two such values over any number of people stay finite: one report must not void a
sum for all."""
ROLES = ("dimension", "measure", "public")
MOST_LEVELS = 1024
LONGEST_LABEL = 200
OTHER = "(other)"
"""What SQL sees in place of every value that a category does not declare, where outside = "other":
a value like the declared ones, with a code of its own."""
ROUNDINGS: Mapping[str, int] = {"linear": 2, "quadratic": 3}
"""How a measure is rounded, and the fewest levels that takes."""
WORDS = 1 << 64
_SPANS = 1 << 20
LARGEST_PLACE = 1 << 32
_NAME = re.compile("[a-z_][a-z0-9_]{0,62}")
# Control characters, line breaks, private use and halves of characters; what Unicode calls default
# ignorable, which is not seen, changes the direction of writing, or only how others look.
_UNSEEN = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
EVENT = re.compile("(count|days|seen|last|largest|p[1-9][0-9]?)( of [a-z_][a-z0-9_]{0,62})?")
"""What becomes of a program's events in a period, and of which, if not of those of the column's
name: how many there were, on how many days, whether there was any, the value that was set last, the
largest one, or a quantile of timings in milliseconds. See docs/format.md#events."""
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?", re.ASCII)

Keys = Mapping[str, Any]


@dataclass(frozen=True)
class Dimension:
    """A private attribute for predicates and GROUP BY; every value has a code, whatever it is.

    domain: its values, the text `(other)` last where undeclared ones have that code; beside it
    whole numbers are texts, too.  outside: the
    code of a value that is not in the domain: "nearest" (the nearest one; the default where values
    have an order), "random" (any declared one; the default elsewhere) or "other" (one more code; of
    whole numbers that have an order it is the one of missing values).
    missing: the code of a value that is missing or of another type: "random", or "code" (one more
    code, the last, which SQL sees as NULL).  sensitive: the codes that a utility-optimised
    mechanism protects, ascending; empty where it protects all.  label: see `check_label`, or None.
    event: see `EVENT`; None for a value that records hold.
    """

    name: str
    domain: Domain
    outside: str | None = None
    missing: str = "random"
    sensitive: tuple[int, ...] = ()
    label: str | None = None
    event: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_label(self.label)
        if self.outside is None:
            object.__setattr__(self, "outside", default_outside(self.domain))
        kind, listed = self.domain.type, isinstance(self.domain, Listed) and self.domain.values
        if self.outside not in ("nearest", "random", "other"):
            raise SurveyError('outside must be "nearest", "random" or "other"')
        if self.outside == "nearest" and listed:
            raise SurveyError(f'outside = "nearest" is for ordered values, not {kind}')
        is_counted = self.has_null if kind == "int" else listed and listed[-1] == OTHER
        if self.outside == "other" and not is_counted:
            raise SurveyError(
                'outside = "other" is for categories, and beside missing = "code" for whole '
                f"numbers, not {kind}"
            )
        expect(self.missing in ("random", "code"), 'missing must be "random" or "code"')
        expect(self.declared >= 2, "a private dimension has at least two declared codes")

    @property
    def declared(self) -> int:
        """Number of codes that the survey declares: without those of other and missing values."""
        return self.domain.size - (self.outside == "other" and isinstance(self.domain, Listed))

    def with_sensitive(self, values: Sequence[Any], *, with_missing: bool = True) -> Dimension:
        """The same dimension, of which only some values are sensitive.

        with_missing: whether a missing value is one of them, where it has a code; other values
        always are. SurveyError for an empty list, a value twice, and one that is not declared or
        shares its code with others.
        """
        expect(values, "sensitive lists at least one value; leave it out for all of them")
        codes = sorted(map(self._sensitive_code, values))
        expect(len(set(codes)) == len(codes), "sensitive lists a value twice")
        is_shared = self.outside == "other" and not isinstance(self.domain, Listed)
        expect(
            with_missing or not is_shared,
            'with outside = "other" a missing number is sensitive, for its code is also that of '
            "numbers outside",
        )
        codes += range(self.declared, self.domain.size + (self.has_null and with_missing))
        return replace(self, sensitive=() if len(codes) == self.size else tuple(codes))

    def _sensitive_code(self, value: Any) -> int:
        if self.domain.type not in ("category", "bool", "int"):
            raise SurveyError(f"sensitive is for category, bool and int, not {self.domain.type}")
        is_value = isinstance(value, str | int) and self.domain.has_own_code(value)
        code, _ = self.domain.find(value) if is_value else (self.declared, None)
        if code >= self.declared:
            shown = f"{value!r:.60}"
            raise SurveyError(f"sensitive: {shown} is not a declared value with a code of its own")
        return code

    @property
    def has_null(self) -> bool:
        """Whether a missing value has a code, the last one, which SQL sees as NULL."""
        return self.missing == "code"

    @property
    def size(self) -> int:
        """Number of codes, the one for NULL included."""
        return self.domain.size + self.has_null

    @cached_property
    def choices(self) -> tuple[int, int, int]:
        """Which of (nearest, drawn, other, NULL) is the code of a value that is inside the domain,
        outside of it, and missing."""
        outside = ("nearest", "random", "other").index(self.outside)
        # Numbers that are not known are NULL.
        outside += self.outside == "other" and not isinstance(self.domain, Listed)
        return 0, outside, 3 if self.has_null else 1

    def code(self, value: Any, drawn: int) -> tuple[int, int]:
        """The code of any value, and where that stands: INSIDE, OUTSIDE or MISSING.

        drawn: a declared code, drawn evenly. All that may be needed is computed and one is chosen,
        so that neither time nor randomness tells where a value stands. Never raises.
        """
        nearest, standing = self.domain.find(plain(value, self.domain.longest))
        codes = (nearest, drawn, self.declared, self.domain.size)
        return codes[self.choices[standing]], standing


@dataclass(frozen=True)
class Measure:
    """A private, bounded number that is summed or averaged.

    bounds: (low, high), public. A value outside is moved to the nearer bound on the device.
    has_null: whether a value that is missing or no number has a code of its own, which SQL sees as
    NULL.  missing_as: the number that it counts as where it has none; the middle of the bounds if
    that is None, too.
    levels: to how many equidistant numbers a device rounds it, at random and without bias.
    rounding: "linear", to one of the two levels beside the number, of which the first is low and
    the last is high; or "quadratic", to one of the three nearest, of which the first lies half a
    step below low and the last half a step above high: the square of the level is then the square
    of the number plus a quarter of a step's square, in expectation and whatever the number is.
    event: see `Dimension`.
    """

    name: str
    bounds: tuple[float, float]
    label: str | None = None
    levels: int = 2
    rounding: str = "linear"
    has_null: bool = False
    missing_as: float | None = None
    event: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_label(self.label)
        low, high = self.bounds
        if not 0 < high - low < math.inf:
            raise SurveyError(f"measure {self.name}: bounds must be [low, high] with low < high")
        if self.missing_as is not None:
            fits = is_number(self.missing_as) and low <= self.missing_as <= high
            if not fits or self.has_null:
                raise SurveyError(
                    f"measure {self.name}: missing_as is a number within the bounds, for a measure "
                    "whose missing values have no code"
                )
            object.__setattr__(self, "missing_as", float(self.missing_as))
        if self.rounding not in ROUNDINGS:
            names = ", ".join(ROUNDINGS)
            raise SurveyError(f"measure {self.name}: rounding must be one of {names}")
        least = ROUNDINGS[self.rounding]
        if type(self.levels) is not int or not least <= self.levels <= MOST_LEVELS:
            raise SurveyError(
                f"measure {self.name}: levels must be a whole number from {least} to {MOST_LEVELS}"
            )
        # A survey's JSON tells 0 from 0.0, and so would its fingerprint.
        object.__setattr__(self, "bounds", (float(low), float(high)))

    @property
    def size(self) -> int:
        """Number of codes: the levels, and the one for NULL."""
        return self.levels + self.has_null

    @property
    def stand_in(self) -> float:
        """The number that a missing value counts as, where it has no code."""
        low, high = self.bounds
        return low / 2.0 + high / 2.0 if self.missing_as is None else self.missing_as

    @property
    def steps(self) -> int:
        """Distances of neighbouring levels between the bounds."""
        return self.levels - 1 if self.rounding == "linear" else self.levels - 2

    def threshold(self, value: Any) -> tuple[int, int]:
        """floor((number - low) / (high - low) x steps x 2^64), exactly, and where the value stands.

        number: the IEEE double nearest to the value (ties to even), moved between the bounds. It
        and the bounds are exact rationals. For a value that is missing or no number it is that of
        `missing_as`, or of the middle of the bounds. `code` makes a code of it. Never raises.
        """
        value, (low, high), stand_in = plain(value, 0), self.bounds, self.stand_in
        fits = is_real(value)
        given = nearest_double(value if fits else stand_in)
        number = min(max(given, low), high)
        threshold = self._threshold(number)
        is_outside = int(number != given)
        standing = is_outside if fits else MISSING
        return (threshold, threshold, self._missing_threshold)[standing], standing

    def _threshold(self, number: float) -> int:
        added, span = self._exact
        scale = self.steps * WORDS
        # Spans that are added and taken away again: no number makes a step of this a trivial one.
        return (_exact(number, added) * scale) // span - scale * _SPANS

    @cached_property
    def _missing_threshold(self) -> int:
        if self.missing_as is None:
            return self.steps * WORDS // 2
        return self._threshold(self.missing_as)

    def code(self, threshold: int, standing: int, word: int) -> int:
        """The level of a number with this threshold, or the code of NULL, the last one, for a value
        that is missing and has it. The work is the same for both."""
        level = self.level(threshold, word)
        return (level, level, self.levels if self.has_null else level)[standing]

    def level(self, threshold: int, word: int) -> int:
        """The level of a number with this threshold, by a uniform 64-bit word.

        Its expectation is the number, to within 2^-63 of a step.
        """
        # One more, and taken away again, so that all numbers here are of one length.
        raised = threshold + WORDS
        step, rest = (raised >> 64) - 1, raised & (WORDS - 1)
        if self.rounding == "linear":
            return step + (word < rest)
        # With f the part of a step beyond the level before it, (1 - f)^2 / 2 of the words lead one
        # level down from the nearest, f^2 / 2 one up: mean f - 1/2, variance a quarter, always.
        down, up = (WORDS - rest) ** 2 >> 65, rest**2 >> 65
        return step + 1 - (word < down) + (word >= WORDS - up)

    @cached_property
    def _exact(self) -> tuple[int, int]:
        """Several distances of the bounds less the lower bound, and one distance, as whole
        multiples of 2^-1127."""
        low, high = (_exact(bound, 0) for bound in self.bounds)
        return (high - low) * _SPANS - low, high - low


def _exact(number: float, added: int) -> int:
    """A finite double as a whole multiple of 2^-1127, plus another, in the same steps for all.

    No number here is 0, for 0 would be quicker.
    """
    mantissa, exponent = math.frexp(number)
    shift = exponent + 1074
    return (int(mantissa * 2**53) + (1 << 54) << shift) + added - (1 << 54 << shift)


@dataclass(frozen=True)
class PublicColumn:
    """A column that travels in clear: no privacy is promised for it.

    bounds: of numbers, the nearer of which takes the place of what lies beyond; None where there
    are none. One value far from all others outweighs them in a sum.  event: see `Dimension`.
    """

    name: str
    type: str
    label: str | None = None
    bounds: tuple[float, float] | None = None
    event: str | None = None

    def __post_init__(self) -> None:
        check_label(self.label)
        if not isinstance(self.type, str) or self.type not in TYPES:
            raise SurveyError(f"public {self.name}: type must be one of {', '.join(TYPES)}")
        check_name(self.name)
        if self.bounds is not None:
            self._check_bounds(*self.bounds)

    def _check_bounds(self, low: Any, high: Any) -> None:
        """SurveyError unless these are bounds of its type."""
        expect(self.is_numeric, f"public {self.name}: bounds are for numbers, not for {self.type}")
        most, what = LARGEST_PUBLIC, "two numbers of at most 1e100"
        fits = is_number(low) and is_number(high)
        if self.type == "int":
            most, what = LARGEST_WHOLE, "two whole numbers of at most 2^53"
            fits = fits and isinstance(low, int) and isinstance(high, int)
        if not (fits and abs(low) <= most and abs(high) <= most and low < high):
            raise SurveyError(f"public {self.name}: bounds must be {what}, the lower one first")

    @property
    def is_numeric(self) -> bool:
        """Whether the column can be summed."""
        return self.type in ("int", "float")

    def read(self, value: Any) -> Any:
        """One value as the column's type, between its bounds; None for a missing value and one of
        another type."""
        value = plain(value, None if self.type == "text" else 0)
        if not TYPES[self.type](value):
            return None
        own = float(value) if self.type == "float" else value
        low, high = (own, own) if self.bounds is None else self.bounds
        return low if own < low else high if own > high else own


Attribute = Dimension | Measure | PublicColumn


def check_name(name: Any, what: str = "column") -> None:
    """SurveyError unless it can be the name of a column or a table: no two such look alike."""
    if isinstance(name, str) and name == identifier(name):
        return
    instead = f", such as {identifier(name[:63])}" if isinstance(name, str) else ""
    raise SurveyError(
        f"{name!a:.60} is not a {what} name: write at most 63 of a-z, 0-9 and _, no digit first "
        f"and not the reserved {RESERVED_PREFIX}{instead}"
    )


def check_label(label: Any) -> None:
    """SurveyError unless it can stand beside the name of a column or a table, or is None.

    A label is text for people, in any script. Nothing is allowed or counted by it, and two may look
    alike; that is what names are for.
    """
    if label is None or (isinstance(label, str) and is_label(label)):
        return
    raise SurveyError(
        f"label {label!a:.60}: write 1 to {LONGEST_LABEL} characters that can be seen, in one line "
        "that neither starts nor ends with a space"
    )


def _check_event(event: Any) -> None:
    if not (isinstance(event, str) and EVENT.fullmatch(event)):
        raise SurveyError(
            f"event {event!a:.60}: write count, days, seen, last, largest, or a quantile of "
            'timings from p1 to p99, and of which events, as "p95 of request"'
        )


def is_label(text: str) -> bool:
    """Whether a text can be a label."""
    return 0 < len(text) <= LONGEST_LABEL and text == text.strip() and not _UNSEEN.search(text)


def identifier(name: str) -> str:
    """The name itself if it can be that of a column or a table, else one like it that can."""
    if not _NAME.fullmatch(name):
        name = re.sub("[^a-z0-9_]", "_", _with_small_letters(name))
        name = name if _NAME.match(name) else f"_{name}"
    return (f"_{name}" if name.startswith(RESERVED_PREFIX) else name)[:63]


def _with_small_letters(text: str) -> str:
    """The text with a-z in place of A-Z, and no other letter changed."""
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), text)


def default_outside(domain: Domain) -> str:
    """The rule for values outside where a survey states none."""
    return "random" if isinstance(domain, Listed) else "nearest"


@dataclass(frozen=True)
class Schema:
    """The attributes of one survey, by role, in the order of the file.

    labels: those of columns that have one, by name.
    """

    dimensions: tuple[Dimension, ...]
    measures: tuple[Measure, ...] = ()
    public: tuple[PublicColumn, ...] = ()
    labels: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        expect(self.dimensions or self.measures, "a survey needs at least one dimension or measure")
        roles: tuple[tuple[Attribute, ...], ...] = (self.dimensions, self.measures, self.public)
        if sum(map(len, roles)) > MOST_COLUMNS:
            raise SurveyError(f"a survey has at most {MOST_COLUMNS} columns in all")
        for role in roles:
            if len({attribute.name for attribute in role}) != len(role):
                raise SurveyError("two columns of one role have the same name")
        for column in self.public:
            if column.name in self.private_columns:
                raise SurveyError(f"{column.name} cannot be both private and public")
        object.__setattr__(self, "labels", self._find_labels())
        dimensions = {dimension.name: dimension for dimension in self.dimensions}
        for measure in self.measures:
            dimension = dimensions.get(measure.name)
            if dimension and dimension.domain.type not in ("int", "float"):
                raise SurveyError(f"{measure.name} is a measure, so its dimension must be a number")

    def _find_labels(self) -> dict[str, str]:
        """The labels by name; SurveyError for one that stands for two columns."""
        labels: dict[str, str] = {}
        owner = {attribute.name: attribute.name for attribute in self.attributes}
        for name, label in ((a.name, a.label) for a in self.attributes if a.label is not None):
            is_one = labels.setdefault(name, label) == label
            expect(is_one, f"{name} has two labels: write one of them, or one twice")
            # As a header of a table it would be read as that name.
            holder = owner.setdefault(_with_small_letters(label), name)
            if holder != name:
                raise SurveyError(
                    f"the label {label!a:.60} of {name} also stands for {holder}; two columns need "
                    "two labels"
                )
        return labels

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All of them, in the order of the file."""
        return (*self.dimensions, *self.measures, *self.public)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes of every attribute of an encoded record: dimensions, then measures."""
        return (*(d.size for d in self.dimensions), *(m.size for m in self.measures))

    @cached_property
    def draws(self) -> tuple[tuple[int, int], ...]:
        """Per dimension, the random word that its drawn code comes from, and the place in it.

        Successive dimensions share a word as digits of mixed radix while the product of their
        declared sizes is at most 2^32; the place is the product of the sizes before, so that
        the code is floor((word * place mod 2^64) * size / 2^64).
        """
        found: list[tuple[int, int]] = []
        word, place = 0, 1
        for dimension in self.dimensions:
            if place * dimension.declared > LARGEST_PLACE:
                word, place = word + 1, 1
            found.append((word, place))
            place *= dimension.declared
        return tuple(found)

    @property
    def words(self) -> int:
        """Random words that encoding a record takes: for drawn codes, then one per measure."""
        return self.code_words + len(self.measures)

    @property
    def code_words(self) -> int:
        """Random words that drawn codes take."""
        return self.draws[-1][0] + 1 if self.draws else 0

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
    expect(isinstance(entries, list), f"schema.{role} must be an array")
    tables: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise SurveyError(f"schema.{role} holds objects with a name")
        check_name(name := entry["name"])
        expect(name not in tables, f"{role} {name} appears twice")
        table = tables[name] = {key: value for key, value in entry.items() if key != "name"}
        kind = table.get("type", "float")
        numbers = ("domain", "edges", "bounds") if kind in ("int", "float") else ()
        if role == "public" and kind == "int":
            numbers = ()  # no longer than a number of JSON
        for key in (*numbers, *(("sensitive",) if kind == "int" else ())):
            if isinstance(table.get(key), list):
                where, is_real = f"{role} {name}: {key}", kind == "float"
                table[key] = [_read_number(number, is_real, where) for number in table[key]]
        if role == "measure" and "missing_as" in table:
            where = f"{role} {name}: missing_as"
            table["missing_as"] = _read_number(table["missing_as"], True, where)
    return tables


def _read_number(written: Any, is_real: bool, where: str) -> int | float:
    """A number of a schema; a decimal string stands for the IEEE double nearest to it."""
    if type(written) is int and not is_real:
        return written
    if isinstance(written, str) and len(written) <= 40 and _DECIMAL.fullmatch(written):
        if not is_real and written.lstrip("-").isdigit():
            return int(written)
        if is_real:
            return float(written)
    kind = "decimal string" if is_real else "whole number"
    raise SurveyError(f"{where}: write a {kind}, not {written!r:.40}")


def _read(role: str, tables: Any) -> Iterator[Any]:
    """The attributes of one role."""
    expect(isinstance(tables, Mapping), f"[{role}.NAME] must be a table")
    codes = 0
    for name, table in tables.items():
        check_name(name)
        expect(isinstance(table, Mapping), f"[{role}.{name}] must be a table")
        keys, prefix = dict(table), f"{role} {name}: "
        label, event = keys.pop("label", None), keys.pop("event", None)
        try:
            if "label" in table:
                check_label(label or "")
            if "event" in table:
                _check_event(event)
            attribute = replace(READERS[role](name, keys), label=label, event=event)
        except SurveyError as error:
            raise SurveyError(prefix + str(error).removeprefix(prefix)) from None
        expect(not keys, f"{prefix}unknown key {min(keys, default='')!r:.60}")
        codes += attribute.size if isinstance(attribute, Dimension) else 0
        if codes > LARGEST_SCHEMA:
            raise SurveyError(f"the dimensions have more than {LARGEST_SCHEMA} codes together")
        yield attribute


def _read_dimension(name: str, keys: dict[str, Any]) -> Dimension:
    kind = _require(keys, "type")
    if not isinstance(kind, str) or kind not in _DOMAINS:
        raise SurveyError(f"type must be one of {', '.join(_DOMAINS)}, not {kind!r:.60}")
    domain = _DOMAINS[kind](keys)
    outside = keys.pop("outside", default_outside(domain)) or "" if kind != "bool" else None
    if outside == "other" and isinstance(domain, Listed):
        expect(OTHER not in domain.values, f'values lists {OTHER!r}, which outside = "other" adds')
        merged = (*domain.merged, domain.size) if domain.merged else ()
        is_whole = isinstance(domain.values[0], int)
        domain = Listed(kind, (*map(str, domain.values), OTHER), merged, is_whole)
    dimension = Dimension(name, domain, outside, keys.pop("missing", "random"))
    if "sensitive" not in keys:
        return dimension
    listed, with_missing = _list(keys, "sensitive"), keys.pop("sensitive_missing", True)
    expect(isinstance(with_missing, bool), "sensitive_missing must be true or false")
    expect(with_missing or dimension.has_null, 'sensitive_missing is for missing = "code"')
    return dimension.with_sensitive(listed, with_missing=with_missing)


def _read_measure(name: str, keys: dict[str, Any]) -> Measure:
    bounds = _pair(keys, "bounds")
    if not all(is_number(bound) and abs(bound) < 1e300 for bound in bounds):
        raise SurveyError("bounds must be two finite numbers below 1e300")
    missing = keys.pop("missing", None)
    expect(missing in (None, "code"), 'missing must be "code"')
    return Measure(
        name,
        bounds,
        levels=keys.pop("levels", 2),
        rounding=keys.pop("rounding", "linear"),
        has_null=missing == "code",
        missing_as=keys.pop("missing_as", None),
    )


def _read_public(name: str, keys: dict[str, Any]) -> PublicColumn:
    kind = _require(keys, "type")
    if "bounds" not in keys:
        return PublicColumn(name, kind)
    low, high = _pair(keys, "bounds")
    if kind == "float" and is_number(low) and is_number(high):
        low, high = float(low), float(high)
    return PublicColumn(name, kind, bounds=(low, high))


READERS: Mapping[str, Callable[[str, dict[str, Any]], Attribute]] = {
    "dimension": _read_dimension,
    "measure": _read_measure,
    "public": _read_public,
}


def _int_domain(keys: dict[str, Any]) -> Domain:
    if "edges" in keys:
        return int_edges(_list(keys, "edges"), keys.pop("scale", None))
    return int_domain(*_pair(keys, "domain"), bin_width=keys.pop("bin_width", 1))


def _float_domain(keys: dict[str, Any]) -> Domain:
    if "edges" in keys:
        return float_edges(_list(keys, "edges"), keys.pop("scale", None))
    expect("bins" in keys, "a float dimension needs edges = [...], or domain and bins")
    return float_bins(*_pair(keys, "domain"), keys.pop("bins"))


def _category(keys: dict[str, Any]) -> Domain:
    values = _list(keys, "values")
    if any(type(value) is int and abs(value) > LARGEST_WHOLE for value in values):
        raise SurveyError("a value of a category above 2^53 must be written as a string")
    if not all(isinstance(value, str) or type(value) is int for value in values):
        raise SurveyError("the values of a category must be all strings or all ints")
    merged = _list(keys, "merged") if "merged" in keys else None
    if merged is not None and (not merged or not all(type(code) is int for code in merged)):
        raise SurveyError("merged lists the code of every value, from 0 on")
    return Listed("category", tuple(values), tuple(merged or ()))


def _time_domain(kind: str, keys: dict[str, Any]) -> Domain:
    if "edges" in keys:
        return time_edges(kind, _list(keys, "edges"))
    return time_range(kind, *_pair(keys, "range"), keys.pop("unit", "day"))


_DOMAINS: Mapping[str, Callable[[dict[str, Any]], Domain]] = {
    "int": _int_domain,
    "float": _float_domain,
    "category": _category,
    "bool": lambda _: BOOL,
    "date": partial(_time_domain, "date"),
    "timestamp": partial(_time_domain, "timestamp"),
}


def _require(keys: dict[str, Any], key: str) -> Any:
    expect(key in keys, f"{key} is missing")
    return keys.pop(key)


def _list(keys: dict[str, Any], key: str) -> list[Any]:
    value = _require(keys, key)
    if not isinstance(value, list):
        raise SurveyError(f"{key} must be a list")
    return value


def _pair(keys: dict[str, Any], key: str) -> tuple[Any, Any]:
    pair = keys.pop(key, None)
    if not isinstance(pair, list) or len(pair) != 2:
        more = '; where values are listed, type = "category" takes them' * ("values" in keys)
        raise SurveyError(
            f"{key} must be [low, high]: public limits, chosen by a person, "
            f"never read from private data{more}"
        )
    return pair[0], pair[1]
