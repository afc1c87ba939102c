"""Makes test vectors of the format: `python -m support.vectors` writes what is computed anew.

A vector says what every implementation must do: which report a record and words give, and which
code a value has. They are drawn from fixed seeds; `tests/device/test_vectors.py` runs them, and
those that are written by hand: texts and their hashes, statements, and what must be refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.sql.domains import labels
from ldpsql.survey import Survey
from ldpsql_device import reports
from ldpsql_device.encode import encode, public_values
from ldpsql_device.entropy import Words
from ldpsql_device.errors import Error, NotAllowed
from ldpsql_device.ledger import chain_of
from ldpsql_device.reports import Report
from ldpsql_device.schema import Dimension, Measure, Schema
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import PERIOD_COLUMN, Schedule, sha256, signed_text
from ldpsql_device.survey import Survey as DeviceSurvey

FOLDER = Path(__file__).parents[2] / "vectors"
CASES = 8
LARGEST = 24_000

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
NULLABLE = {
    "nullable": {
        "dimension": {"age": {"type": "int", "domain": [0, 4]}},
        "measure": {
            "spent": {"bounds": [-0.5, 99.9], "missing": "code"},
            "score": {"bounds": [0, 1], "levels": 3, "rounding": "quadratic", "missing": "code"},
            "visits": {"bounds": [1, 9], "missing_as": 1},
        },
    }
}
"""Measures of which a missing value has a code, or counts as a number."""


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
    name: str,
    options: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] = MappingProxyType(SCHEMAS),
) -> Iterator[tuple[str, str, Survey]]:
    """Two or more small surveys of a recipe, with the name of the schema and the epsilon."""
    made = 0
    for epsilon in ("1", "3.5"):
        for kind, keys in schemas.items():
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


def recipe_vectors(
    name: str,
    options: Mapping[str, Any] | None = None,
    schemas: Mapping[str, Any] = MappingProxyType(SCHEMAS),
) -> dict[str, Any]:
    """All vectors of a recipe."""
    surveys = []
    for kind, epsilon, survey in designs(name, options, schemas):
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
    """Words on either side of where the level of a value changes, and the codes they give."""
    threshold, standing = measure.threshold(value)
    words = {0, 2**64 - 1, *range(2**62, 2**64, 2**62)}
    for cut in changes_of(measure, threshold):
        words |= {cut - 1, cut}
    return [(str(word), measure.code(threshold, standing, word)) for word in sorted(words)]


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
    """A survey with columns of every role."""
    return Survey.of("app", Schema.from_keys(SCHEMAS["measured"]), "1", "fourier")


def published_key() -> SigningKey:
    """The key of RFC 8032, section 7.1, test 1, which everybody knows."""
    seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    return SigningKey.of(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)))


@cache
def scheduled_survey(period: str | None, sample: int | None = None) -> Survey:
    """The small survey from one day to another, in periods or without."""
    survey = small_survey()
    days = (date(2026, 1, 30), date(2026, 3, 1))
    schema = survey.schema
    if period is not None:
        schema = replace(schema, public=(PERIOD_COLUMN, *schema.public))
    return replace(survey, schema=schema, schedule=Schedule(*days, 2, period, sample))


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
    whether they are open, which period it is, which offset has its turn, and until when a report
    drawn then may be sent."""
    key = published_key()
    surveys = [small_survey().sign(key), scheduled_survey(None)]
    surveys += [scheduled_survey(period).sign(key) for period in ("day", "month")]
    surveys += [labelled_survey().sign(key)]
    surveys += [scheduled_survey("week"), scheduled_survey("week", 13).sign(key)]
    surveys += [scheduled_survey("day", 7), scheduled_survey("month", 4)]
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
                if device.schedule.sample is not None:
                    case["turn"] = device.schedule.turn_of(day)
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
    except NotAllowed:
        return False
    return True


def main() -> None:
    """Write the files that are computed."""
    files: dict[str, Any] = {
        "encoding": encoding_vectors(),
        "surveys": scheduled_surveys(),
    }
    for name in MECHANISMS:
        made = recipe_vectors(name)
        if made["surveys"]:
            files[f"recipe_{name}"] = made
    files["recipe_fourier_product"] = recipe_vectors("fourier", {"form": "product"})
    for name in ("fourier", "hgrr"):
        files[f"recipe_{name}_nullable"] = recipe_vectors(name, schemas=NULLABLE)
    for name, data in files.items():
        text = json.dumps(data, indent=1, ensure_ascii=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
