"""Surveys: files that people write (TOML) and published ones (JSON), with changed texts and values.

Changed JSON gets hashes that fit: nobody is kept from that, and the odds have to hold all the same.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any

from fuzz.harness import Case, Door, Finding
from fuzz.mutate import TEXTS, change_bytes, change_tree
from support import reference_client
from support.golden_surveys import FOLDER, read
from support.mutations import change_parts
from support.surveys import boolean, category, dimension, integer, measure, public, survey_toml
from support.vectors import FOLDER as VECTORS
from support.vectors import answer, read_record

from ldpsql.designer import design
from ldpsql.designer.file import read_file
from ldpsql.survey import Survey
from ldpsql_device.errors import Error
from ldpsql_device.law import count_reports, law
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_device.survey import canonical, sha256

_LARGEST_TEXT = 60_000
"""Letters of a survey that is changed: larger ones take long to read."""
_MOST_CHANCES = 4_000
"""Probabilities of all reports of all records that are enumerated."""
_MOST_CODES, _MOST_CELLS = 12, 60
"""Of surveys that are designed, in a dimension and in all of them."""
_FILES = (
    survey_toml(
        *(integer("age", 0, 5, missing="code"), category("state", "CA", "NY", outside="other")),
        *(measure("pay", 0, 10.5), public("day", "date")),
        mechanism="grr",
        label="Our app",
        users=1000,
        workload={"max_predicates": 2},
    ),
    survey_toml(
        *(dimension("weight", "float", domain=[0.0, 8.0], bins=4, outside="random"), boolean("m")),
        table="clicks",
        epsilon="0.5",
        mechanism="hio",
        replay_window=10,
        start="2026-01-01",
        end="2027-01-01",
        period="month",
        workload={"queries": ["SELECT COUNT(*) FROM clicks WHERE weight < 2 AND m"]},
    ),
    survey_toml(
        category("illness", "none", "a", "b", sensitive=["a", "b"]), epsilon="1.5", mechanism="urr"
    ),
    survey_toml(
        dimension("at", "timestamp", range=["2026-01-01", "2026-03-31"], unit="month"),
        dimension("on", "date", edges=["2026-01-01", "2026-02-01", "2027-01-01"]),
        public("version", "text", label="Version"),
        epsilon="2",
        mechanism="oue",
    ),
)
_PIECES = re.compile(r'"[^"\n]*"|[\w.+-]+|\S|\n')
_WORDS = (
    *("[", "]", "=", ",", "\n", "true", "false", "nan", "inf", "1e400", "0", "-1", "2"),
    *("1_000_000", "9" * 20, "[]", "[[1]]", "{}", '""', "[1, 2]", "[2, 1]", "2026-01-01", "auto"),
    *("epsilon", "mechanism", "trust", "users", "options", "levels", "edges", "bins", "bin_width"),
    *('"auto"', '"shuffler"', '"olh"', '"ahead"', '"truthful"', "[survey.options]", "[measure.x]"),
    *(json.dumps(text) for text in TEXTS if text.isprintable()),
)


class Surveys(Door):
    """Survey files and published surveys.

    Of a changed published survey that is believed, devices answer as a client that was written from
    the format alone does, and no report is more probable by more than e^epsilon for one record than
    for another (of small ones, by enumeration of its exact law).
    """

    name = "surveys"
    is_private = False

    def __init__(self) -> None:
        self._both, self._devices = list[Any](), list[tuple[Any, list[Any]]]()
        for path in sorted(FOLDER.glob("*.json.gz")):
            text = read(path)["survey"]
            if len(text) <= _LARGEST_TEXT:
                self._both.append(json.loads(text))
        for path in sorted(VECTORS.glob("recipe_*.json")):
            for vector in json.loads(path.read_text(encoding="utf-8"))["surveys"]:
                if len(json.dumps(vector["survey"])) <= _LARGEST_TEXT:
                    records = [case["record"] for case in vector["cases"]]
                    self._devices.append((vector["survey"], records))

    def draw(self, chosen: random.Random) -> Case:
        kinds = {
            "file": self._draw_file,
            "device": self._draw_device,
            "whole": self._draw_whole,
            "bytes": self._draw_bytes,
        }
        kind = chosen.choice(("file", "file", "device", "whole", "bytes"))
        return {"kind": kind, "seed": chosen.getrandbits(32), **kinds[kind](chosen)}

    def put(self, case: Case) -> str:
        chosen, text = random.Random(case["seed"]), case["text"]
        if case["kind"] == "file":
            return self._design(text, chosen)
        if case["kind"] == "whole":
            survey = Survey.from_json(text)
            if survey.fingerprint != DeviceSurvey.from_json(text).fingerprint:
                raise Finding(f"two fingerprints: {text}")
            self.require(text, [{}], chosen)
            return "believed, both parts"
        device = DeviceSurvey.from_json(text)
        if case["kind"] == "bytes":
            if sha256(device.device_text) != device.fingerprint:
                raise Finding(f"another fingerprint: {text}")
            return "believed, any text"
        self.require(text, case["records"], chosen)
        return "believed"

    def _draw_file(self, chosen: random.Random) -> Case:
        """A survey file."""
        pieces = _PIECES.findall(chosen.choice(_FILES))
        for _ in range(chosen.choice((1, 1, 2, 4))):
            change_parts(chosen, pieces, _WORDS)
        return {"text": " ".join(pieces)}

    def _design(self, text: str, chosen: random.Random) -> str:
        file = read_file(text)
        sizes = [dimension.size for dimension in file.schema.dimensions]
        is_large = max(sizes, default=0) > _MOST_CODES or prod(sizes) > _MOST_CELLS
        if is_large or chosen.random() < 0.5:
            return "read"
        made = design(text)
        if Survey.from_json(made.to_json()).fingerprint != made.fingerprint:
            raise Finding(f"another survey once it is read: {text}")
        self.require(made.to_json(), [{}], chosen)
        return "designed"

    def _draw_device(self, chosen: random.Random) -> Case:
        """The part that devices read."""
        given, records = chosen.choice(self._devices)
        return {"text": json.dumps(_change(chosen, given)), "records": records}

    def _draw_whole(self, chosen: random.Random) -> Case:
        """Both parts, with a hash that fits."""
        data = deepcopy(chosen.choice(self._both))
        for part in chosen.choice((["survey"], ["collector"], ["survey", "collector"])):
            data[part] = _change(chosen, data[part])
        if isinstance(data["survey"], dict):
            with suppress(Error, ValueError):  # it has no canonical form
                data["survey"]["collector"] = sha256(canonical(data["collector"]))
        return {"text": json.dumps(data)}

    def _draw_bytes(self, chosen: random.Random) -> Case:
        """Any text."""
        given = json.dumps(chosen.choice(self._devices)[0])
        text = change_bytes(chosen, given.encode()).decode("utf-8", "surrogateescape")
        return {"text": text}

    def require(self, text: str, records: Sequence[Any], chosen: random.Random) -> None:
        """Finding unless a survey that was believed is to be believed."""
        survey = DeviceSurvey.from_json(text)
        data = json.loads(survey.device_text)
        for _ in range(2):
            given = chosen.choice(records)
            words = [chosen.getrandbits(64) for _ in range(survey.schema.words + survey.plan.words)]
            own = answer(survey, read_record(survey.schema, given), words)
            other = reference_client.answer(data, given, words)
            if own != other:
                raise Finding(
                    f"{own} is answered and {other} by the format: {text}, {given}, {words}"
                )
        promise = data["promise"]
        people = [*product(*(range(size) for size in survey.plan.sizes))][: _MOST_CHANCES + 1]
        chances = len(people) * count_reports(survey.plan)
        if promise["kind"] != "local" or "delta" in promise or chances > _MOST_CHANCES:
            return
        laws = [law(survey.plan, person) for person in people]
        allowed = survey.guarantee.epsilon.odds
        for report in {report for own in laws for report in own}:
            own = [found.get(report, 0) for found in laws]
            if max(own) > allowed * min(own):
                raise Finding(f"{report} tells more than {promise}: {text}")


def _change(chosen: random.Random, data: Any) -> Any:
    changed = deepcopy(data)
    for _ in range(chosen.choice((1, 1, 1, 2))):
        changed = change_tree(chosen, changed)
    return changed
