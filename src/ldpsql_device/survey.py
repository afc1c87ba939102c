"""A survey as a device holds it: what is asked, what is promised, and the plan of the reports.

A published survey is JSON without floating point. Its fingerprint is the SHA-256 of its canonical
form (RFC 8785), which every language writes alike. Whatever reads a survey treats it as hostile:
unknown and repeated keys are refused, sizes are bounded before anything is built, and a plan whose
odds exceed the promise is not answered, whoever wrote it. The format is specified in
docs/format.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.draw import draw
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import NotAllowed, NotSupportedError, SurveyError, expect
from ldpsql_device.guarantee import KINDS, Guarantee
from ldpsql_device.odds import Definition, excess, odds
from ldpsql_device.plan import Integers, Plan, plan_from_json
from ldpsql_device.schema import LARGEST_WHOLE, PublicColumn, Schema, check_label, check_name

if TYPE_CHECKING:
    from ldpsql_device.shuffled import Shuffled

VERSION = 1
LARGEST_TEXT = 1 << 24
DEEPEST, MOST_KEYS = 32, 1 << 19
PERIODS: Mapping[str, int] = {"day": 365, "week": 52, "month": 12}
"""What a survey can be answered once in, and how many of them are a year."""
LARGEST_WINDOW = LARGEST_SAMPLE = 366
PERIOD_COLUMN = PublicColumn("period", "date")
"""The public column that a device fills with the first day of the period in which it answers."""

_NEEDED = ("ldpsql_survey", "table", "schema", "promise", "plan", "collector", "replay_window")
_OPTIONAL = ("previous", "first", "validity", "period", "sample", "author", "signature", "label")
_PLAIN = ("table", "collector", "previous", "first", "author", "signature", "label")
"""Keys whose values are those of `Survey`, as they stand."""
# Also one that nobody closes, up to the end: no character is looked at from two quotes.
_STRING = re.compile(r'"[^"\\]*+(?:\\.?+[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_KIND = re.compile(r'"(ldpsql_collector|ldpsql_survey)"\s*:\s*([0-9]{1,9})\s*[,}]')
_DECIMAL = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?", re.ASCII)
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Schedule:
    """When a survey is answered. Days are those of UTC.

    start, end: the first and the last day, None where there is no limit.  replay_window: so many
    days after it was drawn, a report may still be sent again.  period: "day", "week" (from Monday
    on) or "month" for a survey that is answered once in each, None for one that is answered once.
    sample: of how many periods in a row a device answers one, None where it answers in each.
    """

    start: date | None = None
    end: date | None = None
    replay_window: int = 30
    period: str | None = None
    sample: int | None = None

    def __post_init__(self) -> None:
        for day in (self.start, self.end):
            if day is not None and type(day) is not date:
                raise SurveyError("the first and the last day of a survey are dates")
        if self.start and self.end and self.end < self.start:
            raise SurveyError(f"the survey ends on {self.end}, before it starts on {self.start}")
        window = self.replay_window
        if type(window) is not int or not 1 <= window <= LARGEST_WINDOW:
            raise SurveyError(f"replay_window is a number of days from 1 to {LARGEST_WINDOW}")
        if self.period is not None and self.period not in tuple(PERIODS):
            raise SurveyError(
                f"period must be one of {', '.join(PERIODS)}, not {self.period!r:.40}"
            )
        every = self.sample
        if every is not None and (type(every) is not int or not 2 <= every <= LARGEST_SAMPLE):
            raise SurveyError(f"sample is one of 2 to {LARGEST_SAMPLE} periods")
        expect(every is None or self.period is not None, "sample is for a survey with a period")

    def period_of(self, day: date) -> date | None:
        """The first day of the period that a day belongs to; None for a survey without periods."""
        if self.period == "week":
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.period == "month" else day if self.period else None

    def turn_of(self, day: date) -> int:
        """The number, below `sample`, of the devices that answer in the period of a day."""
        days = day.toordinal() - _EPOCH
        month = 12 * day.year + day.month - 1
        numbers = {"day": days, "week": (days + 3) // 7, "month": month, None: 0}
        return numbers[self.period] % (self.sample or 1)

    def answers_in(self, periods: int) -> int:
        """The most answers of one device in so many periods in a row."""
        return -(-periods // (self.sample or 1))

    def has_ended(self, day: date) -> bool:
        """Whether a day comes after the last one."""
        return self.end is not None and day > self.end

    def last_sending_day(self, drawn: date) -> date:
        """The last day on which a report that was drawn on a day may be sent again."""
        last = date.fromordinal(min(drawn.toordinal() + self.replay_window, date.max.toordinal()))
        return min(last, self.end or last)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Schedule:
        """The schedule among the keys of a published survey."""
        days: dict[str, date] = {}
        if "validity" in data:
            require_keys(data["validity"], "validity", (), ("from", "until"))
            days = {key: read_day(text, "validity") for key, text in data["validity"].items()}
            expect(days, "not a survey: validity has neither from nor until")
        often = (data["replay_window"], data.get("period"), data.get("sample"))
        return cls(days.get("from"), days.get("until"), *often)


ANY_DAY = Schedule()


class Published:
    """A survey as a device holds it (`Survey`), or as the collector does: it can be answered.

    table: the name under which SQL asks it.  guarantee: what a person is promised.  device_text:
    its canonical JSON.  fingerprint: SHA-256 (64 hexadecimal digits) of that.  first: fingerprint
    of the first of the rounds that it is one of, None for that one and for a survey that does not
    ask in rounds.  shuffled: what is promised besides once reports are shuffled, or None where
    nobody is trusted to do so.  author, signature: an Ed25519 public key and its signature of
    everything else (64 and 128 hexadecimal digits), or None.  label: of the table, see
    `check_label`, or None.
    """

    table: str
    schema: Schema
    guarantee: Guarantee
    plan: Plan
    device_text: str
    fingerprint: str
    first: str | None
    shuffled: Shuffled | None
    schedule: Schedule
    author: str | None
    signature: str | None
    label: str | None

    def __repr__(self) -> str:
        """Its name, how many columns it has, what it promises, and the fingerprint's beginning."""
        columns = len(self.schema.private_columns) + len(self.schema.public)
        about = f"{self.table:.60}: {columns} columns, {self.guarantee!s:.60}"
        return f"<Survey {about}, {self.fingerprint[:12]}>"

    def period_values(self, day: date) -> dict[str, date]:
        """The value that a device writes to the public column of the period, by the column's
        name."""
        first = self.schedule.period_of(day)
        return {} if first is None else {PERIOD_COLUMN.name: first}

    def require_open(self, day: date) -> None:
        """NotAllowed for a day on which the survey may not be answered."""
        schedule = self.schedule
        if schedule.start is not None and day < schedule.start:
            raise NotAllowed(f"survey {self.table} is not answered before {schedule.start}")
        if schedule.has_ended(day):
            ended = f"survey {self.table} ended on {schedule.end}"
            raise NotAllowed(f"{ended}: nothing is sent any more")

    def refuse_without_ledger(self) -> None:
        """NotAllowed for a survey that asks a device in some of its periods, which a ledger
        keeps."""
        if self.schedule.sample is not None:
            raise NotAllowed(
                f"survey {self.table} asks each device in one of {self.schedule.sample} "
                f"{self.schedule.period}s, and it takes a ledger to keep which; nothing was sent"
            )

    @cached_property
    def record_schema(self) -> Schema:
        """The columns read from a record: the schema without the period, which a device knows."""
        if not self.schedule.period:
            return self.schema
        return replace(self.schema, public=self.schema.public[1:])

    def verify(self) -> None:
        """SurveyError unless it bears a valid signature of its author.

        NotSupportedError where the library `cryptography` is missing.
        """
        if self.author is None or self.signature is None:
            raise SurveyError(f"survey {self.table} is not signed")
        from ldpsql_device.signature import verify  # noqa: PLC0415  (for signed surveys alone)

        verify(self.author, self.signature, signed_text(json.loads(self.device_text)))

    @cached_property
    def report_widths(self) -> tuple[int, ...]:
        """Bits of every whole number of a report, by the plan's columns: 8, 16, 32 or 64."""
        return tuple(8 * kind.itemsize for kind in self.plan.types)

    def draw(self, codes: Integers, entropy: Entropy) -> Sequence[NDArray[Any]]:
        """One report per row of `codes`, shape (n, d + k), as a column per number of a report."""
        return draw(self.plan, codes, entropy)


@dataclass(frozen=True, repr=False)
class Survey(Published):
    """A published survey, checked; see `Published`.

    collector: SHA-256 of the part that only the collector needs.
    previous: fingerprint of the round before, for a survey of a later round.
    """

    device_text: str
    table: str
    schema: Schema
    guarantee: Guarantee
    plan: Plan
    collector: str
    previous: str | None = None
    first: str | None = None
    shuffled: Shuffled | None = None
    schedule: Schedule = ANY_DAY
    author: str | None = None
    signature: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        check_name(self.table, "table")
        check_label(self.label)
        if (self.author, self.signature) != (None, None):
            from ldpsql_device.signature import check_author  # noqa: PLC0415  (as in `verify`)

            check_author(self.author, self.signature)
        check_period(self.schema, self.schedule)
        require_hashes(self.collector, self.previous, self.first)
        if (self.previous is None) != (self.first is None):
            raise SurveyError("not a survey: a later round names the one before and the first one")
        if self.plan.sizes != self.schema.sizes:
            raise SurveyError(
                "not a survey: plan.sizes are not those of the schema (the codes of every "
                "dimension, then of every measure)"
            )
        check_promise(self.plan, self.schema, self.guarantee)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """SHA-256 of its canonical JSON."""
        return sha256(self.device_text)

    def to_json(self) -> str:
        """The survey as published: its SHA-256 is the fingerprint."""
        return self.device_text

    @classmethod
    def from_json(cls, source: str | Path) -> Survey:
        """Read a published survey: JSON text (str), or the file that holds it (Path).

        A str is never taken for a path: a survey may come from somebody else, and must not name
        files here. SurveyError says in one line what is wrong, and where.
        """
        text = read_text(source)
        try:
            try:
                return cls.from_data(parse_json(text))
            except SurveyError:
                # What it is, before what is wrong in it.
                _require_kind({key: int(number) for key, number in _KIND.findall(text)})
                raise
        except SurveyError as error:
            where = f"{source}: " if isinstance(source, Path) else ""
            raise SurveyError(f"{where}{error}") from None

    @classmethod
    def from_data(cls, data: Any, text: str | None = None) -> Survey:
        """A survey from parsed JSON.  text: its canonical JSON, where that is at hand."""
        _require_kind(data if isinstance(data, dict) else {})
        if not isinstance(data, dict) or "ldpsql_survey" not in data:
            raise SurveyError("not a survey: no key ldpsql_survey (make one with `ldpsql design`)")
        if data["ldpsql_survey"] != VERSION or type(data["ldpsql_survey"]) is not int:
            raise SurveyError(f"not a survey of version {VERSION}, which is the one known here")
        require_keys(data, "the survey", _NEEDED, _OPTIONAL)
        for key, value in data.items():
            expect(value is not None, f"not a survey: {key} is null; leave the key out")
        heading, plan = read_heading(data), plan_from_json(data["plan"])
        survey = cls(text or canonical(data), plan=plan, **heading)
        if survey.author is not None:
            # Who trusts nobody in particular learns from it only that the file is whole.
            with suppress(NotSupportedError):
                survey.verify()
        return survey


def read_heading(data: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a survey besides its plan, by the names of the fields of `Survey`."""
    guarantee, shuffled = read_promise(data["promise"])
    own = {"guarantee": guarantee, "shuffled": shuffled, "schedule": Schedule.from_json(data)}
    plain = {key: data.get(key) for key in _PLAIN}
    return {"schema": Schema.from_json(data["schema"]), **own, **plain}


def _require_kind(keys: Mapping[str, Any]) -> None:
    """SurveyError for the collector's part, for both parts, and for a later version."""
    if "ldpsql_collector" in keys:
        both = "it holds both parts" if "ldpsql_survey" in keys else "it is the collector's part"
        raise SurveyError(
            f"not a survey: no key ldpsql_survey for devices, {both}; they take the part that "
            "`ldpsql design` writes to .survey.json"
        )
    if type(version := keys.get("ldpsql_survey")) is int and VERSION < version < LARGEST_WHOLE:
        raise SurveyError(f"not a survey of version {VERSION}, the one known here; update ldpsql")


def check_period(schema: Schema, schedule: Schedule) -> None:
    """SurveyError unless the column of the period is there for a survey with one, and no other
    column has its name."""
    if schedule.period and PERIOD_COLUMN not in schema.public[:1]:
        raise SurveyError(
            f"a survey with a period has {PERIOD_COLUMN.name}, a date, as its first public column"
        )
    public = (column.name for column in schema.public[1 if schedule.period else 0 :])
    if PERIOD_COLUMN.name in {name.lower() for name in (*schema.private_columns, *public)}:
        raise SurveyError(
            f"no column is called {PERIOD_COLUMN.name}: the name is that of the column to which a "
            "device writes the period"
        )


def signed_text(data: Mapping[str, Any]) -> str:
    """The text that a signature covers: the canonical JSON of a survey without the signature."""
    return canonical({key: value for key, value in data.items() if key != "signature"})


def utc_today() -> date:
    """The day it is now, in UTC."""
    return datetime.now(UTC).date()


def read_day(text: Any, where: str) -> date:
    """A day of the format; SurveyError for what is none."""
    try:
        if isinstance(text, str) and _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise SurveyError(f"{where}: a day is written as 2026-01-31, not as {text!r:.40}")


def check_promise(plan: Plan, schema: Schema, guarantee: Guarantee) -> None:
    """SurveyError unless the odds of the plan are within the promise."""
    if guarantee.epsilon is None:
        return
    allowed = guarantee.epsilon.odds
    if guarantee.delta:
        if excess(plan, allowed) > guarantee.delta:
            raise SurveyError(f"the plan does not keep its promise of {guarantee}")
        return
    sensitive = tuple(dimension.sensitive for dimension in schema.dimensions)
    worst = odds(plan, Definition(guarantee.kind, sensitive))
    if worst is None or worst > allowed:
        shown = "unbounded" if worst is None else f"{float(worst):.6g}"
        raise SurveyError(
            f"the plan does not keep its promise of {guarantee}: its odds are {shown}, and at most "
            f"{float(allowed):.6g} are allowed"
        )


def read_promise(data: Any) -> tuple[Guarantee, Shuffled | None]:
    """The promise, of the report alone and once it is shuffled; SurveyError for nonsense."""
    require_keys(data, "promise", ("kind",), ("epsilon", "delta", "shuffle"))
    kind, shuffled, epsilon = data["kind"], None, None
    texts = (data.get("epsilon", "0"), data.get("delta", "0"))
    if not isinstance(kind, str) or kind not in KINDS:
        raise SurveyError(f"promise.kind must be one of {', '.join(KINDS)}")
    if not all(isinstance(text, str) and _DECIMAL.fullmatch(text) for text in texts):
        raise SurveyError("promise: epsilon and delta are decimal strings")
    delta = Fraction(texts[1])
    expect(0 <= delta < 1, "promise.delta must be at least 0 and below 1")
    if "epsilon" in data:
        epsilon = Epsilon.parse(texts[0])
    guarantee = Guarantee(kind, epsilon, delta)
    if "shuffle" in data:
        from ldpsql_device.shuffled import Shuffled  # noqa: PLC0415  (for such promises alone)

        shuffled = Shuffled.from_json(data["shuffle"], "promise.shuffle")
        guarantee = replace(guarantee, central=shuffled.central)
    return guarantee, shuffled


def require_keys(
    data: Any, where: str, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    """SurveyError unless the data are an object with these keys and no others."""
    expect(isinstance(data, Mapping), f"not a survey: {where} must be an object")
    for key in data:
        if key not in needed and key not in optional:
            raise SurveyError(f"not a survey: {where} has the unknown key {key!r:.50}")
    for key in needed:
        expect(key in data, f"not a survey: {where} has no {key}")


def require_hashes(*names: Any) -> None:
    """SurveyError unless every name is a SHA-256 in hexadecimal, or None."""
    for name in names:
        if name is not None and not (isinstance(name, str) and re.fullmatch("[0-9a-f]{64}", name)):
            raise SurveyError("not a survey: a part or an earlier round is named by its SHA-256")


# -- JSON -------------------------------------------------------------------------------------


def read_text(source: str | Path) -> str:
    """The text itself, or the content of a file; SurveyError where it cannot be read."""
    if isinstance(source, str):
        text = source
    else:
        try:
            with source.open(encoding="utf-8") as file:
                text = file.read(LARGEST_TEXT + 1)
        except OSError as error:
            reason = error.strerror or "no reason given"
            raise SurveyError(f"cannot read the survey {source}: {reason}") from None
        except UnicodeDecodeError:
            raise SurveyError(f"cannot read the survey {source}: it is not UTF-8 text") from None
    expect(len(text) <= LARGEST_TEXT, f"a survey has at most {LARGEST_TEXT} characters")
    return text.removeprefix("\ufeff")  # a byte order mark, which some editors write


def parse_json(text: str, *, floats: bool = False) -> Any:
    """JSON of objects with distinct keys, arrays, strings, whole numbers up to 2^53, booleans
    and null; with `floats` also numbers with a fraction. SurveyError for anything else.

    Depth and number of containers are bounded before the parser, which recurses, sees the text.
    """
    skeleton = _STRING.sub("0", text).encode("utf-8", "replace")
    marks = np.frombuffer(skeleton, dtype=np.uint8)
    opens, closes = ((marks == ord(a)) | (marks == ord(b)) for a, b in ("[{", "]}"))
    if max(2 * opens.sum(), (marks == ord(":")).sum()) > MOST_KEYS << (4 if floats else 0):
        raise SurveyError("not a survey: it has too many arrays, objects or keys")
    depths = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
    expect(depths.max(initial=0) <= DEEPEST, f"not a survey: nested more than {DEEPEST} deep")
    if not floats:
        if re.search(rb"[0-9][.eE]|-0(?![0-9])", skeleton):
            raise SurveyError("not a survey: numbers are whole; others are decimal strings")
        numbers = re.findall(rb"[0-9]{16,}", skeleton)
        if any(len(number) > 16 or int(number) > LARGEST_WHOLE for number in numbers):
            raise SurveyError("not a survey: a whole number above 2^53 is a decimal string")
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
        text.encode()  # a lone surrogate has no canonical form
        return data
    except SurveyError:
        raise
    except (ValueError, RecursionError):
        raise SurveyError("not a survey: it is not JSON (make one with `ldpsql design`)") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    expect(len(data) == len(pairs), "not a survey: an object has a key twice")
    return data


def _refuse_constant(name: str) -> Any:
    raise SurveyError(f"not a survey: {name} is not a number of JSON")


def canonical(data: Any) -> str:
    """The JSON text that RFC 8785 makes canonical, of data without floats and with ASCII keys.

    Python's shortest form is the same then: no key of a survey has characters beyond 16 bits, which
    alone sort differently, and control characters are escaped alike.
    """
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SurveyError("not a survey: a string holds half a character") from None
    return text


def sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
