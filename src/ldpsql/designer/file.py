"""Survey files: TOML with a table [survey], one table per column, and [workload].

`read_file` reads one; `starter_text` writes one to begin with, from the names and types of the
columns of a data file, of which no value is read unless somebody asks for `proposals`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import count
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

from ldpsql.algebra.record_domain import TWO_LEVELS, RecordDomain
from ldpsql.algebra.workload import KINDS, Kind, Workload
from ldpsql.designer.predicates import default_predicates, largest_predicates
from ldpsql.errors import did_you_mean
from ldpsql.mechanisms.base import Promise
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql.reports.persons import PersonRule
from ldpsql.survey import AUTO, check_users
from ldpsql.wording.numbers import read_people
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import RecordError, SurveyError, expect
from ldpsql_device.schema import (
    ROLES,
    Dimension,
    PublicColumn,
    Schema,
    check_label,
    identifier,
    is_label,
)
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import (
    ANY_DAY,
    PERIOD_COLUMN,
    Schedule,
    check_period,
    read_day,
    read_text,
)
from ldpsql_device.values import is_number

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpsql.designer.proposals import Proposal


TRUSTS = ("local", "shuffle")
WEIGHTS = ("fair", "absolute")
MOST_QUERIES = 1_000
_MOST_CHARACTERS, _MOST_KEYS, _MOST_VALUES = 1 << 22, 1 << 16, 1 << 18
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_PART}\.[ \t]*+){{4}}", re.MULTILINE)
_SHARE = re.compile("1/[1-9][0-9]{0,3}", re.ASCII)
_WIDE = "a whole number of more than 64 bits"
_LEAST_BOUND = 1e-50
_MOST_BINS = 10_000
"""Of a log scale, whose edges have four digits."""
_TABLES = ("dimension", "measure", "public", "workload", "person")
_READ_LATER = ("epsilon", "mechanism", "estimator", "users", "trust", "delta", "honest")
KEYS: Mapping[str, Mapping[str, tuple[type | UnionType, str]]] = {
    "survey": {
        "table": (str, "a string"),
        "label": (str, "a string"),
        "options": (dict, "a table"),
        "accept_no_guarantee": (bool, "true or false"),
        "population": (str, "a string"),
        "from": (date | str, "a day"),
        "until": (date | str, "a day"),
        "replay_window": (int, "a number of days"),
        "period": (str, "a string"),
        "sample": (str, 'a share: "1/13"'),
        "person": (str, "the name of a column"),
        **dict.fromkeys(_READ_LATER, (object, "anything")),
    },
    "workload": {
        "queries": (list, "a list of SQL texts"),
        "max_predicates": (int, "a whole number, at least 1"),
        "weights": (str, '"fair" or "absolute"'),
        "merge": (bool, "true or false"),
        "kinds": (dict, 'a table: [workload.kinds] age = "range"'),
    },
}
"""The keys of a table, each with its type and how an error names that."""

_COLUMN_KEYS = {
    "dimension": (
        *("type", "label", "domain", "bin_width", "bins", "edges", "scale", "range", "unit"),
        *("values", "outside", "missing", "sensitive", "sensitive_missing", "event"),
    ),
    "measure": ("bounds", "required", "missing_as", "label", "event"),
    "public": ("type", "label", "bounds", "event"),
}
"""The keys of a column by its role; which of them go together, `Schema` says."""
EVENT_TYPES: Mapping[str, Sequence[str]] = {
    "count": ("int", "float"),
    "days": ("int", "float"),
    "largest": ("int", "float"),
    "last": ("int", "float", "category", "bool", "text"),
    "seen": ("bool",),
}
"""The types of columns by what becomes of events; of quantiles it is float."""
_DESIGNED = ("merged", "levels", "rounding")
"""Those that a design adds."""
_SQUARED_LEVELS = (3, "quadratic")
"""The levels of a measure that may be missing and whose squares are asked."""

_EXACT = "nothing that reports must tell (COUNT(*) of everybody is exact, what cannot match is 0)"


@dataclass(frozen=True)
class SurveyFile:
    """The content of a survey file.

    epsilon: of one report; with `shuffled`, of the shuffled batch.  options: of the mechanism.
    users: how many people are expected, or None.  workload_options: the table [workload] as
    written, or None.  estimator: as written, or None; the survey checks it.  population: likewise.
    accept_no_guarantee: whether the mechanism may promise nothing.  shuffled: what is promised once
    reports are shuffled, or None for trust = "local".  schedule: when it is answered.  label: of
    the table, or None.  person: which rows of a table are one person's, or None.
    """

    table: str
    schema: Schema
    epsilon: Epsilon
    mechanism: str
    options: Mapping[str, Any]
    users: int | None
    workload_options: Mapping[str, Any] | None
    estimator: Any
    population: str | None
    accept_no_guarantee: bool
    shuffled: Shuffled | None = None
    schedule: Schedule = ANY_DAY
    label: str | None = None
    person: PersonRule | None = None

    @property
    def published_schema(self) -> Schema:
        """The columns of reports: those of a record, and that of the period if there is one."""
        if self.schedule.period is None:
            return self.schema
        return replace(self.schema, public=(PERIOD_COLUMN, *self.schema.public))

    @property
    def promise(self) -> Promise:
        """The promise that a mechanism has to keep."""
        return self.epsilon if self.shuffled is None else self.shuffled.central

    @cached_property
    def workload(self) -> Workload:
        """The queries that are to be answered best."""
        return read_workload(self.workload_options, self.table, self.published_schema)

    @property
    def is_fair(self) -> bool:
        """Whether classes count by what each could have alone, rather than by their errors."""
        weights: object = (self.workload_options or {}).get("weights", WEIGHTS[0])
        return weights == "fair"

    @property
    def merges_codes(self) -> bool:
        """Whether codes that no query tells apart are collected as one: where only queries are
        declared, unless the file says otherwise."""
        asked = dict(self.workload_options or {})
        is_merging = asked.pop("merge", True)
        asked.pop("weights", None)
        return bool(is_merging and asked.keys() == {"queries"} and asked["queries"])

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on everything that the file asks for and the survey does not collect, with the
        reason."""
        return (*self._on_exact_queries, *self._on_predicates)

    @property
    def _on_exact_queries(self) -> tuple[str, ...]:
        texts = read_texts(self.workload_options or {})
        collected = {query.text for query in self.workload.queries}
        numbers = [str(at) for at in range(1, len(texts) + 1) if at not in collected]
        if not numbers:
            return ()
        which = (
            f"query {numbers[0]} asks" if len(numbers) == 1 else f"queries {', '.join(numbers)} ask"
        )
        return (f"[workload] {which} for {_EXACT}; nothing is collected for it",)

    @property
    def _on_predicates(self) -> tuple[str, ...]:
        wanted = (self.workload_options or {}).get("max_predicates", 0)
        dimensions = sum(size > 1 for size in self.workload.domain.sizes)
        given = self.workload.max_predicates
        if not self.workload.classes or given >= min(wanted, dimensions):
            return ()
        return (
            f"max_predicates = {wanted} is reduced to {given}: so many sets of {dimensions} "
            "dimensions, or so many cells, are more than one survey can ask about; name the "
            "queries that matter instead",
        )


def read_file(
    source: str | Path, *, epsilon: str | None = None, mechanism: str | None = None
) -> SurveyFile:
    """Read a survey file; arguments and errors as for `ldpsql.design`."""
    if isinstance(source, str) and source.endswith(".toml") and "\n" not in source:
        source = Path(source)
    data = _parse_toml(read_text(source))
    if not isinstance(data.get("survey"), dict):
        raise SurveyError("the survey file has no [survey] table")
    head, workload = _check("survey", data.pop("survey")), data.pop("workload", None)
    reduced = data.pop("person", None)
    unknown = set(data) - set(_TABLES)
    if unknown:
        name = min(unknown)
        meant = did_you_mean(name, ("survey", *_TABLES), lambda known: f"[{known}]")
        raise SurveyError(f"unknown table [{name:.60}] in the survey file; {meant}".rstrip("; "))
    if epsilon is not None:
        head["epsilon"] = epsilon
    _require(head, "table", "epsilon")
    check_label(head.get("label", None))
    users = _read_users(head.get("users"))
    name = str(head.get("mechanism", AUTO) if mechanism is None else mechanism)
    options = head.get("options", {})
    if name == AUTO and options:
        raise SurveyError(
            "[survey.options] belong to a mechanism: name it, or leave them out for auto"
        )
    _check_estimator(head.get("estimator"), name)
    _check_columns(data)
    schema = _read_schema(data)
    for measure in schema.measures:
        if (measure.levels, measure.rounding) != TWO_LEVELS:
            raise SurveyError(
                f"measure {measure.name}: how a measure is rounded is part of the design; leave "
                "levels and rounding out"
            )
        if not _LEAST_BOUND <= max(map(abs, measure.bounds)) <= 1.0 / _LEAST_BOUND:
            raise SurveyError(
                f"measure {measure.name}: its larger bound must lie between {_LEAST_BOUND} and "
                f"{1.0 / _LEAST_BOUND}, so that squares of sums do not overflow; take another unit"
            )
    schedule = _read_schedule(head)
    _check_events(schema, schedule)
    check_period(schema, ANY_DAY)  # `published_schema` adds the column of a period
    texts = read_texts(_check("workload", workload)) if workload is not None else ()
    # Reading SQL loads sqlglot, which is of no use where no levels depend on it.
    if texts and any(measure.has_null for measure in schema.measures):
        schema = _round_for_squares(schema, head["table"], texts)
    return SurveyFile(
        table=head["table"],
        epsilon=Epsilon.parse(head["epsilon"]),
        schema=schema,
        mechanism=name,
        options=options,
        users=users,
        workload_options=None if workload is None else _check("workload", workload),
        estimator=head.get("estimator"),
        population=head.get("population"),
        accept_no_guarantee=head.get("accept_no_guarantee", False),
        shuffled=_read_trust(head, users),
        schedule=schedule,
        label=head.get("label"),
        person=_read_person(head.get("person"), reduced, schema),
    )


def _parse_toml(text: str) -> dict[str, Any]:
    """The keys of a TOML text; SurveyError for one that is none, or more than a survey needs.

    The parser is Python code, which takes microseconds for a value and, for a key, the square of
    the number of its parts; so both are bounded before it sees the text.
    """
    expect(
        len(text) <= _MOST_CHARACTERS,
        f"the survey file has more than {_MOST_CHARACTERS:,} characters",
    )
    keys, values = (sum(map(text.count, marks)) for marks in ("=[{", ","))
    expect(keys <= _MOST_KEYS, f"the survey file has more than {_MOST_KEYS:,} keys and tables")
    expect(values <= _MOST_VALUES, f"the survey file has more than {_MOST_VALUES:,} values")
    deep = _DEEP_KEY.search(text)
    if deep:
        line = text.count("\n", 0, deep.end()) + 1
        raise SurveyError(f"the survey file has a key of more than 4 parts (at line {line})")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"the survey file is not valid TOML: {error}") from None
    except RecursionError:
        raise SurveyError("the survey file is not valid TOML: nested too deeply") from None
    except ValueError:
        # Of the digits of one number, of which Python reads so many.
        raise SurveyError(f"the survey file has {_WIDE}") from None
    left: list[Any] = [data]
    while left:
        entry = left.pop()
        if isinstance(entry, dict):
            left.extend(entry.values())
        elif isinstance(entry, list):
            left.extend(entry)
        elif isinstance(entry, int):
            expect(-(1 << 63) <= entry < 1 << 63, f"the survey file has {_WIDE}")
    return data


def _read_schema(data: Mapping[str, Any]) -> Schema:
    """The columns of a survey file. Measures that may be missing come first: so a record domain
    has them (`RecordDomain`). Errors as for `Schema.from_keys`."""
    tables = {
        role: dict(data[role]) if isinstance(data.get(role), Mapping) else data.get(role, {})
        for role in ROLES
    }
    measures, dimensions = tables["measure"], tables["dimension"]
    for name, keys in dimensions.items() if isinstance(dimensions, dict) else ():
        if isinstance(keys, Mapping) and "scale" in keys and "edges" not in keys:
            dimensions[name] = _spread_edges(name, dict(keys))
    for name, keys in measures.items() if isinstance(measures, dict) else ():
        if isinstance(keys, Mapping):
            measures[name] = _read_missing(name, dict(keys))
            beside = dimensions.get(name) if isinstance(dimensions, dict) else None
            if measures[name].get("missing") == "code" and isinstance(beside, Mapping):
                if beside.get("missing", "code") != "code":
                    raise SurveyError(
                        f"{name} is a dimension and a measure that may be missing: leave missing "
                        f"out of [dimension.{name}], or write required = true in [measure.{name}]"
                    )
                dimensions[name] = {**beside, "missing": "code"}
    schema = Schema.from_keys(tables)
    return replace(schema, measures=tuple(sorted(schema.measures, key=lambda m: not m.has_null)))


def _spread_edges(name: str, keys: dict[str, Any]) -> dict[str, Any]:
    """The keys of a dimension on a log scale with explicit edges in place of `domain` and `bins`.

    The edges are a geometric series, worked out in decimal digits and rounded to four of them, so
    that all readers have the same ones. Whole numbers have fewer bins where several edges
    coincide; below 1 there is a bin for 0.
    """
    domain, bins = keys.pop("domain", None), keys.pop("bins", None)
    is_int, where = keys.get("type") == "int", f"dimension {name}"
    if type(bins) is not int or not 1 <= bins <= _MOST_BINS:
        raise SurveyError(f"{where}: a log scale needs edges = [...], or bins, a whole number")
    if not _is_pair(domain) or not (0 if is_int else _LEAST_BOUND) <= domain[0] < domain[1]:
        least = "of at least 0" if is_int else "above 0"
        raise SurveyError(f"{where}: on a log scale domain is [low, high], two numbers {least}")
    low, high = Decimal(str(domain[0])), Decimal(str(domain[1])) + is_int
    first = max(low, Decimal(is_int))
    with localcontext(prec=30):
        step = (high / first).ln() / bins
        inner = [Decimal(f"{first * (step * i).exp():.4g}") for i in range(1, bins)]
    edges = [low, *(each for each in (first, *inner) if low < each < high), high]
    if is_int:
        whole = sorted({int(each.to_integral_value()) for each in edges})
        return {**keys, "edges": whole}
    return {**keys, "edges": [float(each) for each in edges]}


def _read_missing(name: str, keys: dict[str, Any]) -> dict[str, Any]:
    """The keys of a measure as a schema has them: what a missing value counts as."""
    required, stated = keys.pop("required", False), "missing_as" in keys
    if not isinstance(required, bool):
        raise SurveyError(f"measure {name}: required must be true or false")
    if not required:
        if stated:
            raise SurveyError(
                f"measure {name}: missing_as is for required = true; without it a missing value is "
                "NULL"
            )
        return {**keys, "missing": "code"}
    low, high = keys["bounds"] if _is_pair(keys.get("bounds")) else (0, 0)
    if not stated and not low <= 0 <= high:
        raise SurveyError(
            f"measure {name}: with required = true a missing value counts as 0, which is outside "
            f"of bounds = [{low}, {high}]: write missing_as, the number that it counts as"
        )
    return {**keys, "missing_as": keys.get("missing_as", 0)}


def _is_pair(bounds: Any) -> bool:
    is_two = isinstance(bounds, list) and len(bounds) == 2
    return is_two and all(map(is_number, bounds))


def _round_for_squares(schema: Schema, table: str, texts: Sequence[str]) -> Schema:
    """The schema in which measures that may be missing have levels that tell squares, where some
    SQL text asks for these. Errors as for `declare_queries`."""
    from ldpsql.designer.questions import UndesignedSurvey, find_squared  # noqa: PLC0415

    count, rounding = _SQUARED_LEVELS
    finest = tuple(
        replace(m, levels=count, rounding=rounding) if m.has_null else m for m in schema.measures
    )
    survey = UndesignedSurvey(table, replace(schema, measures=finest))
    squared = {name for n, text in enumerate(texts, 1) for name in find_squared(text, n, survey)}
    measures = zip(schema.measures, finest, strict=True)
    chosen = (fine if own.name in squared else own for own, fine in measures)
    return replace(schema, measures=tuple(chosen))


def _read_users(users: Any) -> int | None:
    """A number of people as written: 45000 or "45k"; SurveyError for what is none."""
    if isinstance(users, str):
        try:
            users = read_people(users)
        except ValueError as error:
            raise SurveyError(f"[survey]: users: {error}") from None
    check_users(users)
    return None if users is None else int(users)


def _read_person(column: str | None, reduced: Any, schema: Schema) -> PersonRule | None:
    """Which rows are one person's; SurveyError for what does not fit the columns."""
    if reduced is not None and not isinstance(reduced, dict):
        raise SurveyError("[person] must be a table")
    if column is None:
        if reduced is not None:
            raise SurveyError(
                "[person] says how to combine a person's rows; name the column that tells persons "
                'apart, too: person = "COLUMN" under [survey]'
            )
        return None
    rule = PersonRule.from_keys({**(reduced or {}), "column": column})
    rule.require(schema)
    return rule


def _check(name: str, table: Any) -> dict[str, Any]:
    """A table as written; SurveyError for what it does not know, or of another type."""
    if not isinstance(table, Mapping):
        raise SurveyError(f"[{name}] must be a table")
    known = KEYS[name]
    for key, value in table.items():
        if key not in known:
            raise _unknown_key(f"[{name}]", key, known)
        kind, words = known[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise SurveyError(f"[{name}]: {key} must be {words}")
    return dict(table)


def _check_columns(data: Mapping[str, Any]) -> None:
    """SurveyError for a key that no column of its role has, before one is missed that was meant."""
    for role, known in _COLUMN_KEYS.items():
        columns = data.get(role, {})
        for name, keys in columns.items() if isinstance(columns, Mapping) else ():
            for key in keys if isinstance(keys, Mapping) else ():
                if key not in (*known, *_DESIGNED):
                    raise _unknown_key(f"{role} {name:.60}", key, known)


def _unknown_key(where: str, key: str, known: Iterable[str]) -> SurveyError:
    return SurveyError(
        f"{where}: unknown key {key!r:.60}; {did_you_mean(key, known)}it knows: {', '.join(known)}"
    )


def _require(head: Mapping[str, Any], *keys: str, why: str = "") -> None:
    for key in keys:
        if key not in head:
            raise SurveyError(f"[survey]: {key} is missing{why}")


def _check_estimator(name: Any, mechanism: str) -> None:
    """SurveyError for an estimator that the mechanism does not have; for `auto`, that none has.

    The survey checks it again: some mechanisms have an estimator for some domains only.
    """
    if name is None:
        return
    recipes = MECHANISMS.values() if mechanism == AUTO else [registered(mechanism)]
    known = list(dict.fromkeys(each for recipe in recipes for each in recipe.estimator_names))
    if name not in known:
        whose = "some mechanism" if mechanism == AUTO else mechanism
        raise SurveyError(
            f"[survey]: estimator must be one of {', '.join(known)}, which {whose} has, not "
            f"{name!r}"
        )


def _read_schedule(head: Mapping[str, Any]) -> Schedule:
    """When the survey is answered; SurveyError names what is wrong."""
    # TOML has dates of its own; a text is read as one.
    days = [
        read_day(day, f"[survey]: {key}") if isinstance(day := head.get(key), str) else day
        for key in ("from", "until")
    ]
    window, share = head.get("replay_window", ANY_DAY.replay_window), head.get("sample")
    if share is not None and not _SHARE.fullmatch(share):
        raise SurveyError(f'[survey]: sample is a share such as "1/13", not {share!r}')
    every = None if share is None else int(share.removeprefix("1/"))
    return Schedule(days[0], days[1], window, head.get("period"), every)


def _check_events(schema: Schema, schedule: Schedule) -> None:
    """SurveyError for a type that events cannot give, and for events without a period."""
    events: dict[str, str | None] = {}
    for column in schema.attributes:
        is_one = events.setdefault(column.name, column.event) == column.event
        expect(is_one, f"{column.name} is a dimension and a measure: write its event for both")
        if column.event is None:
            continue
        kind = column.domain.type if isinstance(column, Dimension) else getattr(column, "type", "")
        what = column.event.partition(" ")[0]
        types = EVENT_TYPES.get(what, ("float",))
        if kind and kind not in types:
            raise SurveyError(
                f'{column.name}: event = "{column.event}" is for type = '
                f'{" or ".join(map(json.dumps, types))}, not "{kind}"'
            )
        is_set = what == "last" or not isinstance(column, PublicColumn)
        expect(is_set, f'{column.name}: of events, only event = "last" can travel in clear')
        if schedule.period is None:
            raise SurveyError(
                f"{column.name} is counted from events in a period: give [survey] a period"
            )


def _read_trust(head: Mapping[str, Any], users: int | None) -> Shuffled | None:
    """The promise by `trust`, `delta` and `honest`; SurveyError for parts of a promise."""
    trust = head.get("trust", "local")
    if trust not in TRUSTS:
        raise SurveyError(f"[survey]: trust must be one of {', '.join(TRUSTS)}, not {trust!r}")
    if trust == "local":
        for key in ("delta", "honest"):
            if key in head:
                raise SurveyError(
                    f'[survey]: {key} is for trust = "shuffle"; leave it out, or set trust = '
                    '"shuffle" if others shuffle'
                )
        return None
    why = ': trust = "shuffle" promises (epsilon, delta) for batches of at least so many users'
    _require(head, "delta", "users", why=why)
    return Shuffled.parse(head["epsilon"], head["delta"], users, head.get("honest", 1))


# -- the table [workload] -------------------------------------------------------------------------


def read_workload(table: Mapping[str, Any] | None, name: str, schema: Schema) -> Workload:
    """The workload of a survey named `name`; None for a survey file without the table.

    Without `queries` every predicate is asked for: its kinds are those of [workload.kinds], else
    ranges on ordered dimensions and equality on the others, up to `max_predicates` in a query
    (`default_predicates`).
    `weights` says how classes are to be weighed (`SurveyFile.is_fair`), which takes an epsilon, and
    `merge` whether codes may be merged (`SurveyFile.merges_codes`).
    Queries alone have all the weight; beside one of the other keys they have half of it. A text
    that is answered exactly whatever is collected has none. SurveyError names the key, also where
    all texts are such; QueryError and UnsupportedSQL come from the SQL.
    """
    keys = _check("workload", table or {})
    keys.pop("merge", None)
    weights = keys.pop("weights", WEIGHTS[0])
    if weights not in WEIGHTS:
        raise SurveyError(
            f"[workload]: weights must be one of {', '.join(WEIGHTS)}, not {weights!r}"
        )
    texts = read_texts(keys)
    if not texts:
        return _read_classes(keys, schema)
    # Reading SQL loads sqlglot, which a survey without queries does not need.
    from ldpsql.designer.questions import UndesignedSurvey, declare_queries  # noqa: PLC0415

    share = 1.0 if len(keys) == 1 else 0.5
    survey = UndesignedSurvey(name, schema)
    found = [declare_queries(text, number, survey) for number, text in enumerate(texts, 1)]
    asked = [own for own in found if own]
    if not asked and len(keys) == 1:
        raise SurveyError(f"[workload]: its queries ask for {_EXACT}; name one that is not exact")
    if not asked:
        return _read_classes(keys, schema)
    queries = tuple(
        replace(query, weight=share * query.weight / len(asked)) for own in asked for query in own
    )
    most = max(1, *(len(query.constrained) for query in queries))
    if len(keys) == 1:
        return Workload(RecordDomain.of(schema), (), queries, most)
    everyday = _read_classes(keys, schema)
    classes = tuple(replace(entry, weight=entry.weight * share) for entry in everyday.classes)
    return Workload(everyday.domain, classes, queries, max(most, everyday.max_predicates))


def read_texts(keys: Mapping[str, Any]) -> Sequence[str]:
    """The SQL texts of a table [workload]; SurveyError for anything else."""
    texts: Sequence[str] = keys.get("queries", [])
    if not all(isinstance(text, str) for text in texts):
        raise SurveyError("[workload]: queries must be a list of SQL texts")
    if len(texts) > MOST_QUERIES:
        raise SurveyError(f"[workload]: at most {MOST_QUERIES} queries, not {len(texts)}")
    return texts


def _read_classes(keys: Mapping[str, Any], schema: Schema) -> Workload:
    """Every predicate of a kind, on every one and every several dimensions."""
    domain = RecordDomain.of(schema)
    most = keys.get("max_predicates", default_predicates(domain))
    if most < 1:
        raise SurveyError("[workload]: max_predicates must be a whole number, at least 1")
    # Codes without neighbours are asked for one by one.
    kinds: dict[int, Kind] = {
        i: "range" if domain.unordered_codes(i) < size else "equality"
        for i, size in enumerate(domain.sizes)
    }
    position = {name.lower(): i for i, name in enumerate(domain.names)}
    for name, kind in keys.get("kinds", {}).items():
        if name.lower() not in position:
            raise SurveyError(f"[workload]: {name} is not a dimension")
        if kind not in KINDS:
            raise SurveyError(f"[workload]: {name} must be one of {', '.join(KINDS)}, not {kind!r}")
        kinds[position[name.lower()]] = kind
    most = largest_predicates(domain, most)
    return Workload.everyday(domain, kinds, most)


# -- a file to begin with -------------------------------------------------------------------------

_LEFT_OPEN = """\
# Every bound is left empty on purpose. Fill in limits that are known without looking at
# anybody's data (an age lies in [0, 120]): bounds, edges or categories that are taken from
# private data would tell something about the people in it, outside of any epsilon.
"""
_PROPOSED = """\
# WARNING: every bound, edge, value and missing code below was read from the rows of a data file.
# If these are private, they tell something about the people in them, outside of any epsilon, to
# everybody who sees this file or its survey. Confirm each from what is publicly known (an age
# lies in [0, 120]), or keep them only if the file was public or made up; then delete this warning.
"""
_HEAD = """\
# A survey file to be completed by a person; then: ldpsql design FILE -o {table}.survey.json
#
{limits}#
# Delete the columns that nobody will ask about: every one that stays costs accuracy.
# A number is a dimension to filter and group by it, a measure to sum and average it, or both.
# A column that everybody may know is public instead, and travels in clear:
#   [public.NAME]
#   type = "int"        # int, float, text, bool, date or timestamp
# Where only some values are nobody's business, say which; mechanisms for that may disclose others:
#   sensitive = ["HIV", "cancer"]
# What matters most is answered best if it is said:
#   [workload]
#   queries = ["SELECT COUNT(*) FROM {table} WHERE ..."]

[survey]
table = "{table}"
{label}epsilon = "1.0"        # total for one person's report: smaller protects more, answers worse
mechanism = "auto"     # the one with the least expected error
# Where somebody else than the collector shuffles the reports, epsilon may be promised for the
# shuffled batch, at a delta; a single report then keeps a larger, derived epsilon only:
# trust = "shuffle"
# delta = "1e-6"
# users = 100000       # reports in a batch, at least
# When it is answered, in days of UTC; once, unless a period says how often:
# from = 2026-01-01
# until = 2026-12-31   # the last day: nothing is sent after it
# period = "month"     # or "week", "day": SQL sees the first day of each as the column "period"
# sample = "1/12"      # each device answers in one of 12 periods: a year costs it epsilon once
# replay_window = 30   # for so many days a report may be sent again
# Where a person has several rows in a table, the column (none of those below) that tells persons
# apart: one row of each answers, drawn evenly.
# person = "customer_id"
"""
_BODIES = {
    "int": "domain = []            # [lowest, highest], both included; add bin_width for bins\n",
    "float": "domain = []            # [lowest, highest]\n"
    "bins = 16              # of equal width\n",
    "category": "values = []            # every value that may occur\n",
    "bool": "",
    "date": 'range = []             # [first, last]\nunit = "day"           # day, week or month\n',
    "timestamp": "range = []             # [first, last]\n"
    'unit = "hour"          # hour, day, week or month\n',
}
"""The keys that a dimension of a type needs besides, all bounds left open."""
_MEASURE = """\
# [measure.{key}]          # to sum and average it; without [dimension.{key}] if that is all
# {label}bounds = []          # [low, high]: values beyond count as the nearer one
"""


def column_types(data: Path) -> dict[str, pa.DataType]:
    """Names and Arrow types of a file's columns; RecordError for a file that has none.

    The types of a CSV file are those its beginning reads as.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.csv as pacsv  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    suffix = data.suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise RecordError(f"{data} is neither .parquet nor .csv")
    try:
        if suffix == ".csv":
            options = pacsv.ParseOptions(invalid_row_handler=lambda _: "skip")
            with pacsv.open_csv(data, parse_options=options) as reader:
                columns = reader.schema
        else:
            columns = pq.read_schema(data)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise RecordError(f"cannot read {data}: it is damaged or cut short") from None
    # A first row that looks like a record is not written down as column names.
    is_data = (not name.strip() or re.fullmatch(r"[-+.,:/\d\s]+", name) for name in columns.names)
    if suffix == ".csv" and any(is_data):
        raise RecordError(
            f"{data} seems to have no header: its first row does not look like column names; add "
            "one"
        )
    return {field.name: field.type for field in columns}


def starter_text(
    table: str,
    types: Mapping[str, pa.DataType],
    proposals: Mapping[str, Proposal] | None = None,
) -> str:
    """The text of a survey file whose bounds are empty; or, by column, those that are proposed.

    Names that a survey cannot have are written as identifiers like them, each once, and become
    labels, by which the columns of the data are found; those that no label can be are noted.
    """
    is_name = table.isascii() and table.lower() == identifier(table)
    own = _label_line(table) if not is_name and is_label(table.strip()) else ""
    limits = _LEFT_OPEN if proposals is None else _PROPOSED
    parts = [_HEAD.format(table=identifier(table), label=own, limits=limits)]
    taken = _name_columns(types)
    labels: set[str] = set(taken)
    for key, column in taken.items():
        kind, label = _type_of(types[column]), ""
        if not column.isascii() or column.lower() != key:
            text = column.strip()
            known = text.lower() if text.isascii() else text
            if is_label(text) and labels.isdisjoint((known, text)):
                labels.add(text)
                label = _label_line(column)
            else:
                parts.append(f"# in the data this column is {column!a}: call it {key} there too\n")
        if kind is None:
            line = "".join(c if c.isprintable() else " " for c in str(types[column]))
            parts.append(f"# {key} is of type {line}, which a survey cannot hold\n")
        elif proposals is not None:
            parts.append(_proposed(key, label, proposals[column]))
        else:
            parts.append(f'[dimension.{key}]\n{label}type = "{kind}"\n{_BODIES[kind]}')
            if kind in ("int", "float"):
                parts[-1] += _MEASURE.format(key=key, label=label and f"{label}# ")
    return "\n".join(parts)


def _proposed(key: str, label: str, proposal: Proposal) -> str:
    """The tables of a column as proposed."""
    if proposal.dimension is None:
        return f"# {key} is left out: {proposal.reason}\n"
    text = f"[dimension.{key}]\n{label}{_lines(proposal.dimension)}"
    if proposal.measure is not None:
        text += f"[measure.{key}]\n{label}{_lines(proposal.measure)}"
    return text


def _lines(keys: Mapping[str, Any]) -> str:
    # TOML writes these values as JSON does, but for one control character.
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in keys.items()}
    return "".join(f"{key} = {text}\n" for key, text in texts.items()).replace("\x7f", "\\u007f")


def types_of(types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """The types of dimensions, by the columns of a data file that can be one."""
    kinds = {name: _type_of(kind) for name, kind in types.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _name_columns(columns: Iterable[str]) -> dict[str, str]:
    """The columns of a data file by the names that a survey gives them."""
    taken: dict[str, str] = {}
    for column in columns:
        key, endings = identifier(column), (f"_{number}" for number in count(2))
        while key in taken:
            ending = next(endings)
            key = identifier(column)[: 63 - len(ending)] + ending
        taken[key] = column
    return taken


def _label_line(text: str) -> str:
    return f"label = {json.dumps(text.strip(), ensure_ascii=False)}\n"


def _type_of(arrow: pa.DataType) -> str | None:
    """The type of a dimension of such a column, or None if it has none."""
    from pyarrow.types import is_null, is_timestamp  # noqa: PLC0415

    from ldpsql.reports.arrow_types import HOLDS, is_text  # noqa: PLC0415

    if is_text(arrow) or is_null(arrow):
        return "category"
    if is_timestamp(arrow):  # with a time zone, too
        return "timestamp"
    return next((kind for kind, holds in HOLDS.items() if holds(arrow)), None)
