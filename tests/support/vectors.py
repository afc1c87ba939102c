"""Makes the test vectors of the format: `python -m support.vectors` writes vectors/*.json anew.

A vector says what every implementation must do: which report a record and words give, which code a
value has, which bytes have which hash, and which surveys and reports must be refused. They are
drawn from fixed seeds; `tests/device/test_vectors.py` runs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.sql.domains import labels
from ldpsql.survey import Survey
from ldpsql_device import reports
from ldpsql_device.encode import encode, public_values
from ldpsql_device.entropy import Words
from ldpsql_device.errors import Error, PolicyError
from ldpsql_device.ledger import chain_of
from ldpsql_device.reports import Report
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import PERIOD_COLUMN, Schedule, canonical, sha256, signed_text
from ldpsql_device.survey import Survey as DeviceSurvey

FOLDER = Path(__file__).parents[2] / "vectors"
CASES = 8
LARGEST = 24_000
MAY_1, MAY_2 = "2026-05-01", "2026-05-02"

SCHEMAS = {
    "one": {"dimension": {"age": {"type": "int", "domain": [18, 24]}}},
    "few": {
        "dimension": {
            "state": {"type": "category", "values": ["CA", "NY", "\u00e4"], "missing": "code"},
            "member": {"type": "bool"},
        }
    },
    "sensitive": {
        "dimension": {
            "illness": {"type": "category", "values": ["a", "b", "c"], "sensitive": ["b"]},
            "smokes": {"type": "bool", "sensitive": [True]},
        },
    },
    "one sensitive": {
        "dimension": {"x": {"type": "int", "domain": [1, 5], "sensitive": [1, 4]}},
    },
    "measured": {
        "dimension": {"age": {"type": "int", "domain": [0, 4]}, "member": {"type": "bool"}},
        "measure": {"spent": {"bounds": [-0.5, 99.9]}},
        "public": {"version": {"type": "text"}},
    },
    "types": {
        "dimension": {
            "price": {"type": "float", "edges": [0, 0.1, 2.5]},
            "day": {"type": "date", "range": ["2026-01-30", "2026-02-03"], "unit": "day"},
            "at": {
                "type": "timestamp",
                "range": ["2026-01-01", "2026-01-01T03:00"],
                "unit": "hour",
            },
        },
        "public": {
            "seen": {"type": "date"},
            "spent": {"type": "float", "bounds": [-0.5, 99.9]},
            "visits": {"type": "int", "bounds": [0, 9]},
        },
    },
    "others": {
        "dimension": {
            "state": {
                "type": "category",
                "values": ["CA", "NY"],
                "outside": "other",
                "missing": "code",
            },
            "age": {"type": "int", "domain": [0, 3], "outside": "random"},
        },
    },
    "binary": {"dimension": {"member": {"type": "bool"}, "smokes": {"type": "bool"}}},
}


MISFITS: dict[str, list[Any]] = {
    "int": [None, "5", -7, 99, 2.5],
    "float": [None, -1, 99.5, "1"],
    "category": [None, "XX", 5],
    "bool": [None, 1],
    "date": [None, "2020-01-01", "2030-01-01", 0],
    "timestamp": [None, "2020-01-01T00:00:00", "soon"],
}
"""Values that are outside of every domain, missing, or of another type."""
PUBLIC_VALUES: dict[str, list[Any]] = {
    "text": ["1.2"],
    "float": [12.25, 1e99, None, -7, "1", 99.9],
    "int": [3, 99, None, -5, 2.5, 9],
}
"""Values of public columns, some of them beyond their bounds."""


class Given:
    """Words that were written down."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = list(words)

    def words(self, count: int) -> Words:
        """The next ones; IndexError where there are not so many."""
        if count > len(self._words):
            raise IndexError("more words were drawn than the vector has")
        first, self._words = self._words[:count], self._words[count:]
        return np.array(first, dtype=np.uint64)

    @property
    def left(self) -> int:
        """How many were not drawn."""
        return len(self._words)


def answer(survey: DeviceSurvey, record: dict[str, Any], words: Sequence[int]) -> str:
    """The hexadecimal digits of the report that a record and words give; all words are used."""
    entropy = Given(words)
    codes = encode(survey.schema, record, entropy)
    numbers = [int(column[0]) for column in survey.draw(codes, entropy)]
    assert entropy.left == 0
    return Report.of(survey, numbers, {}).report


def read_record(schema: Schema, record: dict[str, Any]) -> dict[str, Any]:
    """A record from its JSON: dates and timestamps are ISO 8601 texts there."""
    kinds = {d.name: d.domain.type for d in schema.dimensions}
    kinds |= {c.name: c.type for c in schema.public}
    return {name: read_value(kinds.get(name, "float"), value) for name, value in record.items()}


def read_value(kind: str, value: Any) -> Any:
    """A value of a dimension or public column from its JSON."""
    is_moment = kind in ("date", "timestamp") and isinstance(value, str)
    try:
        return reports.read_value(kind, value) if is_moment else value
    except ValueError:
        return value


def designs(
    name: str, options: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, str, Survey]]:
    """Two or more small surveys of a recipe, with the name of the schema and the epsilon."""
    made = 0
    for epsilon in ("1", "3.5"):
        for kind, keys in SCHEMAS.items():
            schema = Schema.from_keys(json.loads(json.dumps(keys)))
            for accepted in (False, True):
                try:
                    survey = Survey.of(
                        "app", schema, epsilon, name, options, accept_no_guarantee=accepted
                    )
                except Error:
                    continue
                if len(survey.device_text) < LARGEST:
                    made += 1
                    yield kind, epsilon, survey
                break
            if made == 3:
                return


def records(schema: Schema, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Records of people, some values of which are at the edges of their domains."""
    random = np.random.default_rng(seed)
    for number in range(count):
        record: dict[str, Any] = {}
        for dimension in schema.dimensions:
            values = [*labels(dimension), *MISFITS.get(dimension.domain.type, ())]
            value = values[int(random.integers(len(values)))]
            record[dimension.name] = value.isoformat() if isinstance(value, date) else value
        for measure in schema.measures:
            low, high = measure.bounds
            choices = [low, high, low - 1, round(float(random.uniform(low, high)), 3), None, "1"]
            record[measure.name] = choices[int(random.integers(6))]
        for column in schema.public:
            given = PUBLIC_VALUES.get(column.type, [None])
            record[column.name] = given[number % len(given)]
        yield record


def recipe_vectors(name: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All vectors of a recipe."""
    surveys = []
    for kind, epsilon, survey in designs(name, options):
        device = DeviceSurvey.from_json(survey.device_text)
        count = device.schema.words + device.plan.words
        random = np.random.default_rng(len(surveys))
        draws = [[0] * count, [2**64 - 1] * count]
        draws += [random.integers(0, 2**64, count, np.uint64).tolist() for _ in range(CASES - 2)]
        cases = []
        people = [*records(device.schema, CASES - 1, 1), {}]
        for record, words in zip(people, draws, strict=True):
            person = read_record(device.schema, record)
            given = json.loads(Report("", "", public_values(device.schema, person)).to_json())
            cases.append(
                {
                    "record": record,
                    "words": list(map(str, words)),
                    "report": answer(device, person, words),
                    "public": given["public"],
                }
            )
        surveys.append(
            {
                "schema": kind,
                "epsilon": epsilon,
                "survey": json.loads(survey.device_text),
                "fingerprint": device.fingerprint,
                "report_columns": list(device.plan.columns),
                "report_widths": list(device.report_widths),
                "cases": cases,
            }
        )
    return {"recipe": name, "surveys": surveys}


DRAWN = 1
"""The declared code that the vectors of dimensions give for one that is drawn."""


def encoding_vectors() -> dict[str, Any]:
    """Codes of values, thresholds of measures, and the drawn codes that words give.

    The values are those of the file: a new case is a column or a value written into it.
    """
    listed = json.loads((FOLDER / "encoding.json").read_text(encoding="utf-8"))
    empty: dict[str, Any] = {"dimension": [], "measure": [], "public": []}
    for vector in listed["dimensions"]:
        [dimension] = Schema.from_json({**empty, "dimension": [vector["dimension"]]}).dimensions
        for case in vector["cases"]:
            case["code"] = code_of(dimension, case["value"])
    for vector in listed["measures"]:
        [measure] = Schema.from_json({**empty, "measure": [vector["measure"]]}).measures
        for case in vector["cases"]:
            case["threshold"] = threshold_of(measure, case["value"])
            case["levels"] = levels_of(measure, case["value"])
    draws = []
    random = np.random.default_rng(0)
    for sizes in ([2, 3, 5], [65_536, 65_536, 2], [1 << 20, 1 << 13, 7, 1 << 20], [10] * 12):
        schema = schema_of_sizes(sizes)
        for words in (
            [0] * schema.words,
            [2**64 - 1] * schema.words,
            random.integers(0, 2**64, schema.words, np.uint64).tolist(),
        ):
            [codes] = encode(schema, {}, Given(words)).tolist()
            draws.append({"sizes": sizes, "words": list(map(str, words)), "codes": codes})
    return {**listed, "draws": draws}


def schema_of_sizes(sizes: Sequence[int]) -> Schema:
    """Whole numbers with so many codes."""
    keys = {f"a{i}": {"type": "int", "domain": [1, size]} for i, size in enumerate(sizes)}
    return Schema.from_keys({"dimension": keys})


def code_of(dimension: Dimension, value: Any) -> int:
    """The code of a value as JSON holds it, where a drawn one is `DRAWN`."""
    return dimension.code(read_value(dimension.domain.type, value), DRAWN)[0]


def threshold_of(measure: Measure, value: Any) -> str:
    """The threshold of a value, in decimal digits."""
    return str(measure.threshold(value)[0])


def levels_of(measure: Measure, value: Any) -> list[tuple[str, int]]:
    """Words on either side of where the level of a value changes, and the levels they give."""
    threshold, _ = measure.threshold(value)
    words = {0, 2**64 - 1, *range(2**62, 2**64, 2**62)}
    for cut in changes_of(measure, threshold):
        words |= {cut - 1, cut}
    return [(str(word), measure.level(threshold, word)) for word in sorted(words)]


def changes_of(measure: Measure, threshold: int) -> list[int]:
    """The words at which the level of a value differs from that of the word before, by halving."""
    cuts, ranges = [], [(0, 2**64 - 1)]
    while ranges:
        low, high = ranges.pop()
        if measure.level(threshold, low) == measure.level(threshold, high):
            continue
        if high - low == 1:
            cuts.append(high)
        else:
            middle = (low + high) // 2
            ranges += [(low, middle), (middle, high)]
    return sorted(cuts)


@cache
def small_survey() -> Survey:
    """A survey that the bad ones are made from."""
    return Survey.of("app", Schema.from_keys(SCHEMAS["measured"]), "1", "fourier")


def published_key() -> SigningKey:
    """The key of RFC 8032, section 7.1, test 1, which everybody knows."""
    seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    return SigningKey.of(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)))


@cache
def scheduled_survey(period: str | None) -> Survey:
    """The small survey from one day to another, in periods or without."""
    survey = small_survey()
    days = (date(2026, 1, 30), date(2026, 3, 1))
    schema = survey.schema
    if period is not None:
        schema = replace(schema, public=(PERIOD_COLUMN, *schema.public))
    return replace(survey, schema=schema, schedule=Schedule(*days, 2, period))


@cache
def labelled_survey() -> Survey:
    """The small survey with labels of the table and of columns of every role."""
    survey = small_survey()
    schema = replace(
        survey.schema,
        dimensions=tuple(
            replace(d, label=f"\u00bfQu\u00e9 {d.name}? \u5e74\u9f62 \U0001f600")
            for d in survey.schema.dimensions
        ),
        public=tuple(replace(p, label='"App" \\ \u0627\u0644') for p in survey.schema.public),
    )
    [spent] = schema.measures  # in which other labels occur
    measures = (replace(spent, label=f"label {schema.dimensions[0].label}"),)
    return replace(survey, schema=replace(schema, measures=measures), label="L" * 200)


def scheduled_surveys() -> list[dict[str, Any]]:
    """Surveys with a schedule, some of them signed: what their signatures cover, and per day
    whether they are open, which period it is, and until when a report drawn then may be sent."""
    key = published_key()
    surveys = [small_survey().sign(key), scheduled_survey(None)]
    surveys += [scheduled_survey(period).sign(key) for period in ("day", "month")]
    surveys += [labelled_survey().sign(key)]
    found = []
    for survey in surveys:
        device = DeviceSurvey.from_json(survey.device_text)
        days = [date(2026, 1, 29), date(2026, 1, 30), date(2026, 2, 28), date(2026, 3, 1)]
        cases = []
        for day in (*days, date(2026, 3, 2)):
            case: dict[str, Any] = {"day": day.isoformat(), "open": is_open(device, day)}
            if case["open"]:
                period = device.schedule.period_of(day)
                case["period"] = None if period is None else period.isoformat()
                case["last_sending_day"] = device.schedule.last_sending_day(day).isoformat()
            cases.append(case)
        data = json.loads(device.device_text)
        covered = None if device.author is None else sha256(signed_text(data))
        found.append(
            {
                "survey": data,
                "fingerprint": device.fingerprint,
                "signed_sha256": covered,
                "chain": chain_of(device),
                "days": cases,
            }
        )
    return found


def is_open(survey: DeviceSurvey, day: date) -> bool:
    """Whether a survey may be answered on a day."""
    try:
        survey.require_open(day)
    except PolicyError:
        return False
    return True


BAD_LABELS: dict[str, Any] = {
    "is null": None,
    "is a number": 1,
    "is empty": "",
    "is a space": " ",
    "starts with a space": " x",
    "ends with a space of another kind": "x\u3000",
    "is too long": "x" * 201,
    "has two lines": "a\nb",
    "has two paragraphs": "a\u2029b",
    "has a control character": "a\x85b",
    "turns the direction of writing": "a\u202eb",
    "has a letter of no width": "a\u200bb",
    "has a filler that is not seen": "a\u3164b",
    "has a tag that is not seen": "a\U000e0041b",
    "has a variation selector": "a\ufe0fb",
    "has a character of private use": "a\ue000b",
    "has a character that there is not": "a\uffffb",
}


def bad_surveys() -> list[dict[str, str]]:
    """Texts that are not surveys, each with the reason."""
    text = small_survey().device_text
    data = json.loads(text)
    plan, promise, schema = data["plan"], data["promise"], data["schema"]
    [age, *others] = schema["dimension"]

    def but(**changes: Any) -> str:
        return canonical({**data, **changes})

    def dimension(**changes: Any) -> str:
        return but(schema={**schema, "dimension": [{**age, **changes}, *others]})

    def measure(**changes: Any) -> str:
        return but(schema={**schema, "measure": [{**schema["measure"][0], **changes}]})

    def public(kind: str, bounds: Any) -> str:
        own = {"name": "version", "type": kind, "bounds": bounds}
        # Not canonical, which no number beyond 2^53 is.
        return json.dumps({**data, "schema": {**schema, "public": [own]}})

    signed = json.loads(scheduled_survey("month").sign(published_key()).device_text)
    periodic = json.loads(scheduled_survey("day").device_text)
    column = {"name": "period", "type": "date"}
    later = {**schema, "public": [*schema["public"], column]}
    as_text = {**schema, "public": [{**column, "type": "text"}, *schema["public"]]}
    labelled = {**schema, "dimension": [{**age, "label": "Years"}, *others]}
    version = {**schema["public"][0], "label": "Years"}
    shouted = {**schema, "dimension": [{**age, "label": "\u00c4RA"}, *others]}
    small = {**schema["public"][0], "label": "\u00c4ra"}
    renamed = {**schema["measure"][0], "name": "age", "label": "Age"}
    letters = {
        "name": "age",
        "type": "category",
        "values": ["a", "b", "c", "d", "e"],
        "outside": "nearest",
    }
    merged = {**letters, "outside": "random"}
    odds = [str(int(number) * 2) for number in plan["odds"]]
    face = plan["faces"][0]
    [stairs] = (s for _, _, s in designs("staircase") if len(s.schema.sizes) == 1)
    steep = json.loads(stairs.device_text)
    steep["plan"]["faces"][0]["parts"][0]["response"]["favoured"][0][0] += 1 << 32
    found = [
        ("not JSON", text[:-1]),
        ("nested too deeply", "[" * 40 + "]" * 40),
        ("another version", but(ldpsql_survey=2)),
        ("no version", canonical({k: v for k, v in data.items() if k != "ldpsql_survey"})),
        ("an unknown key", but(extra=1)),
        ("an unknown key of a dimension", dimension(extra=1)),
        *(
            (f"levels of a measure that are {why}", measure(levels=levels))
            for why, levels in (("one", 1), ("too many", 1025), ("a text", "3"), ("null", None))
        ),
        ("levels of a dimension", dimension(levels=3)),
        ("more levels than the plan knows", measure(levels=3)),
        ("an unknown rounding", measure(rounding="cubic")),
        *(
            (f"bounds of a public number that are {why}", public(kind, bounds))
            for why, kind, bounds in (
                ("the wrong way round", "float", ["1", "0"]),
                ("equal", "int", [1, 1]),
                ("numbers", "float", [0, 1]),
                ("too large", "float", ["0", "1e101"]),
                ("infinite", "float", ["0", "1e400"]),
                ("texts", "int", ["0", "1"]),
                ("beyond 2^53", "int", [0, 2**53 + 2]),
                ("one", "int", [0]),
                ("null", "float", None),
            )
        ),
        ("bounds of a public text", public("text", ["0", "1"])),
        ("bounds of a public day", public("date", ["2026-01-01", "2026-01-02"])),
        ("quadratic rounding to two levels", measure(rounding="quadratic")),
        ("an unknown key of the plan", but(plan={**plan, "extra": 1})),
        ("a missing key", canonical({k: v for k, v in data.items() if k != "promise"})),
        ("a repeated key", text.replace('"table":', '"table":"x","table":')),
        *((f"a label that {why}", but(label=bad)) for why, bad in BAD_LABELS.items()),
        ("a label of a column that has none", dimension(label=None)),
        ("a label of a column that is empty", dimension(label="")),
        ("a label of a column that hides", dimension(label="a\u200bge")),
        ("two labels of one column", but(schema={**labelled, "measure": [renamed]})),
        ("a label that another column has, too", but(schema={**labelled, "public": [version]})),
        ("a label that is another's in small letters", but(schema={**shouted, "public": [small]})),
        ("a label that is another column's name", dimension(label="VERSION")),
        ("a signature without its author", but(signature="0" * 128)),
        ("an author without a signature", but(author="0" * 64)),
        ("a signature of another text", canonical({**signed, "replay_window": 29})),
        ("another author's signature", canonical({**signed, "author": "58" + "66" * 31})),
        (
            "a key under which anybody can sign",
            but(author=f"01{'00' * 31}", signature=f"01{'00' * 63}"),
        ),
        ("a signature in capitals", canonical({**signed, "signature": "A" * 128})),
        ("a signature that is too short", canonical({**signed, "signature": "0" * 126})),
        ("a survey that ends before it starts", but(validity={"from": MAY_2, "until": MAY_1})),
        ("a day that there is not", but(validity={"until": "2026-02-30"})),
        ("a day in another form", but(validity={"until": "20260501"})),
        ("a day with a time", but(validity={"until": "2026-05-01T00:00:00"})),
        ("a validity of nothing", but(validity={})),
        ("an unknown key of the validity", but(validity={"to": MAY_1})),
        ("a null", but(validity=None)),
        ("a null where a hash is needed", but(collector=None)),
        ("a replay window of nothing", but(replay_window=0)),
        ("an endless replay window", but(replay_window=10**9)),
        ("a replay window in words", but(replay_window="30")),
        ("no replay window", canonical({k: v for k, v in data.items() if k != "replay_window"})),
        ("an unknown period", canonical({**periodic, "period": "week"})),
        ("a dimension called period", dimension(name="period")),
        ("a period without its column", but(period="day")),
        ("a period whose column is not the first", but(period="day", schema=later)),
        ("a period whose column is a text", but(period="day", schema=as_text)),
        ("a number of merged values", dimension(merged=[])),
        (
            "nothing merged",
            but(schema={**schema, "dimension": [{**merged, "merged": []}, *others]}),
        ),
        (
            "merged codes that skip one",
            but(schema={**schema, "dimension": [{**merged, "merged": [0, 2, 2, 2, 2]}, *others]}),
        ),
        ("an unknown way to encode what is outside", dimension(outside="reject")),
        ("a nearest category", but(schema={**schema, "dimension": [letters, *others]})),
        ("another code for numbers", dimension(outside="other")),
        ("an unknown way to encode what is missing", dimension(missing="reject")),
        ("a dimension of one code", dimension(domain=[3, 3])),
        ("a number that is not whole", text.replace('"ldpsql_survey":1', '"ldpsql_survey":1.0')),
        ("a number above 2^53", text.replace('"ldpsql_survey":1', f'"ldpsql_survey":{2**53 + 1}')),
        ("bounds that are not strings", text.replace('["-0.5","99.9"]', "[0,99]")),
        ("odds above the promise", but(promise={**promise, "epsilon": "0.9"})),
        ("larger odds in the plan", but(plan={**plan, "odds": odds})),
        ("an unknown promise", but(promise={**promise, "kind": "central"})),
        ("an epsilon that is not a string", but(promise={**promise, "epsilon": 1})),
        ("sizes of another schema", dimension(domain=[0, 5])),
        ("a face of no weight", but(plan={**plan, "faces": [{**face, "weight": 0}]})),
        ("no faces", but(plan={**plan, "faces": []})),
        ("a look-up table that is missing", but(plan={**plan, "tables": [[]]})),
        ("a hash of the wrong length", but(collector="00")),
        ("more than 32 symbols to a number", canonical(steep)),
        ("a name that is not one", but(table="two words")),
        ("half a character", text.replace('"app"', '"\\ud800"')),
        ("a default of the plan that is written out", but(plan={**plan, "tables": []})),
        ("a control character in a name", dimension(name="a\x85b")),
        ("a Cyrillic letter in a name", dimension(name="\u0430ge")),
        ("a letter of no width in a name", dimension(name="a\u200bge")),
        ("a capital in a name", dimension(name="Age")),
        ("a space in a name", dimension(name="age ")),
        ("a digit first in a name", dimension(name="1st")),
        ("a name of 64 characters", dimension(name="a" * 64)),
        ("a reserved name", dimension(name="ldpsql_age")),
        ("a Cyrillic letter in the name of the table", but(table="\u0430pp")),
        ("a capital in the name of the table", but(table="App")),
        ("a type that is an array", dimension(type=[])),
    ]
    return [{"reason": reason, "text": bad} for reason, bad in found]


def statements() -> dict[str, Any]:
    """Answers of a collector about two surveys of one table and author, one after the other: what
    they say on which day to a device that remembers those before, and what must be refused."""
    key, days = published_key(), Schedule(replay_window=2)
    first = small_survey().sign(key)
    second = replace(small_survey(), schedule=days).sign(key)

    def say(survey: Survey, issued: str, until: str) -> str:
        days = {"issued": date.fromisoformat(issued), "until": date.fromisoformat(until)}
        return Statement.sign(survey, key, **days).text

    def but(**changes: Any) -> str:
        """Another text with a signature that is valid, where it says so."""
        said = {**json.loads(good), **changes}
        return canonical({**said, "signature": key.sign(signed_text(said))})

    good = say(first, MAY_1, "2026-05-03")
    said = json.loads(good)
    other = SigningKey.of(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
    foreign = {**said, "author": other.author}
    bad = [
        ("not JSON", good[:-1]),
        ("no statement", canonical({"fingerprint": first.fingerprint})),
        ("no signature", canonical({k: v for k, v in said.items() if k != "signature"})),
        ("a signature of another text", canonical({**said, "until": "2026-05-04"})),
        ("a signature in capitals", canonical({**said, "signature": "A" * 128})),
        (
            "another author",
            canonical({**foreign, "signature": other.sign(signed_text(foreign))}),
        ),
        ("another author's signature", canonical({**said, "author": other.author})),
        ("another version", but(ldpsql_statement=2)),
        ("an unknown key", but(extra=1)),
        ("no table", canonical({k: v for k, v in said.items() if k != "table"})),
        ("another table", but(table="other")),
        ("another survey", say(second, MAY_1, MAY_2)),
        ("a fingerprint that is none", but(fingerprint="00")),
        ("a day in another form", but(until="20260503")),
        ("a day that there is not", but(until="2026-06-31")),
        ("a key twice", good.replace('"table":', '"table":"app","table":')),
        ("a day that is over", say(first, "2026-04-01", "2026-04-30")),
        ("a day to come", say(first, MAY_2, "2026-05-03")),
    ]
    answers = [
        ("the first statement", first, MAY_2, say(first, MAY_1, MAY_2), True),
        ("the same again", first, MAY_2, say(first, MAY_1, MAY_2), True),
        ("the same survey, longer", first, MAY_2, say(first, MAY_1, "2026-05-03"), True),
        ("another survey, of the same day", second, MAY_2, say(second, MAY_1, MAY_2), False),
        (
            "another survey, of an earlier day",
            second,
            MAY_2,
            say(second, "2026-04-01", MAY_2),
            False,
        ),
        ("another survey, of a later day", second, MAY_2, say(second, MAY_2, "2026-05-09"), True),
        ("the first survey once more", first, MAY_2, say(first, MAY_1, "2026-05-03"), False),
        ("a day that is over", second, "2026-05-10", say(second, MAY_2, "2026-05-09"), False),
        (
            "a day seen, by a clock set back",
            first,
            MAY_2,
            say(first, "2026-05-09", "2026-05-14"),
            True,
        ),
        (
            "a later one that is over",
            second,
            "2026-05-13",
            say(second, "2026-05-11", "2026-05-12"),
            False,
        ),
        ("the one before it", first, "2026-05-13", say(first, "2026-05-09", "2026-05-14"), True),
    ]
    return {
        "survey": json.loads(first.device_text),
        "day": MAY_1,
        "good": good,
        "signed_sha256": sha256(signed_text(said)),
        "bad": [{"reason": reason, "text": text} for reason, text in bad],
        "surveys": [json.loads(each.device_text) for each in (first, second)],
        "answers": [
            {
                "what": what,
                "survey": (first, second).index(survey),
                "day": day,
                "text": text,
                "believed": believed,
            }
            for what, survey, day, text, believed in answers
        ],
    }


def bad_reports() -> dict[str, Any]:
    """Lines that are not reports of a survey, each with the reason."""
    survey, paid = small_survey(), PublicColumn("paid", "float", bounds=(0.0, 80.0))
    survey = replace(survey, schema=replace(survey.schema, public=(*survey.schema.public, paid)))
    device = DeviceSurvey.from_json(survey.device_text)
    numbers = [0] * len(device.plan.columns)
    good = {
        "id": "0123456789abcdef" * 2,
        "report": Report.of(device, numbers, {}).report,
        "public": {"version": "1.2", "paid": 80},
    }
    beyond = {"version": "1.2", "paid": 1e99}
    lines = [
        ("not JSON", json.dumps(good)[:-1]),
        ("a report that is too short", json.dumps({**good, "report": good["report"][2:]})),
        ("a report that is too long", json.dumps({**good, "report": good["report"] + "00"})),
        ("capitals", json.dumps({**good, "report": "A" * len(str(good["report"]))})),
        ("a number", json.dumps({**good, "report": 0})),
        ("an id that is too short", json.dumps({**good, "id": "00"})),
        ("no id", json.dumps({k: v for k, v in good.items() if k != "id"})),
        ("an unknown key", json.dumps({**good, "name": "Ann"})),
        ("a public column that was not asked for", json.dumps({**good, "public": {"x": 1}})),
        (
            "a public value of another type",
            json.dumps({**good, "public": {"version": 1, "paid": 1}}),
        ),
        ("a public number beyond its bounds", json.dumps({**good, "public": beyond})),
        ("no public value", json.dumps({**good, "public": {}})),
        ("a question that there is not", json.dumps({**good, "report": "f" * len(good["report"])})),
    ]
    return {
        "survey": json.loads(survey.device_text),
        "good": json.dumps(good),
        "bad": [{"reason": reason, "line": line} for reason, line in lines],
    }


def canonical_vectors() -> list[dict[str, str]]:
    """JSON texts with their canonical form (RFC 8785) and its SHA-256."""
    texts = [
        '{"b": [1, 2, {}], "a": null, "B": true, "_": -5}',
        '{"x": "\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\\\/\\u007f\\u00e4\\u2028\\ud83d\\ude00"}',
        '[ 9007199254740992 , -9007199254740992 , 0 , [ ] , "" ]',
        small_survey().device_text,
    ]
    found = [(text, canonical(json.loads(text))) for text in texts]
    return [{"json": text, "canonical": c, "sha256": sha256(c)} for text, c in found]


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    files: dict[str, Any] = {
        "encoding": encoding_vectors(),
        "canonical": canonical_vectors(),
        "surveys": scheduled_surveys(),
        "bad_surveys": bad_surveys(),
        "bad_reports": bad_reports(),
        "statements": statements(),
    }
    for name in MECHANISMS:
        made = recipe_vectors(name)
        if made["surveys"]:
            files[f"recipe_{name}"] = made
    files["recipe_fourier_product"] = recipe_vectors("fourier", {"form": "product"})
    for name, data in files.items():
        text = json.dumps(data, indent=1, ensure_ascii=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
