"""The JavaScript client gives the library's reports, and draws them by the law of the plan.

Where there is no node these tests are left out, which pytest says.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.mutate import change_tree
from scipy.special import chdtrc
from support.surveys import (
    LABELLED,
    SMALL,
    app,
    boolean,
    category,
    dimension,
    for_a_shuffler,
    integer,
    measure,
    mostly_in_clear,
    partly_sensitive,
    survey_toml,
    unsound,
)
from support.vectors import (
    FOLDER,
    MISFITS,
    Given,
    answer,
    published_key,
    read_record,
    scheduled_surveys,
)

from ldpsql.designer import design
from ldpsql.shuffler.opener import Opener
from ldpsql_device.description import describe
from ldpsql_device.encode import encode
from ldpsql_device.errors import SurveyError
from ldpsql_device.law import law
from ldpsql_device.pledge import Pledge
from ldpsql_device.reports import Report, read_report
from ldpsql_device.survey import Survey

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")
ALPHA = 1e-6

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")


def run_client(requests: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """What the client answers to requests of `answer.js`."""
    text = "".join(f"{json.dumps(request)}\n" for request in requests)
    command = [str(NODE), "support/answer.js"]
    done = subprocess.run(
        command, cwd=CLIENT, input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return map(json.loads, done.stdout.rstrip("\n").split("\n"))  # a text may hold U+2028


def surveys() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """All surveys of the vectors, with their records."""
    files = (json.loads(path.read_text()) for path in sorted(FOLDER.glob("recipe_*.json")))
    return [
        (vector["survey"], [case["record"] for case in vector["cases"]])
        for file in files
        for vector in file["surveys"]
    ]


def draw_random_records(survey: Survey, records: Sequence[dict[str, Any]], count: int) -> list[Any]:
    """Records of JSON values: of the given ones, outside of domains, missing, of other types."""
    generator = np.random.default_rng(7)
    names = sorted({name for record in records for name in record})
    pools: dict[str, list[Any]] = {}
    for name in names:
        kinds = [d.domain.type for d in survey.schema.dimensions if d.name == name]
        pools[name] = [record.get(name) for record in records]
        pools[name] += MISFITS[kinds[0]] if kinds else [None, 1e300, "1", -3.25, 0.1]
    picks = {name: generator.integers(len(pool), size=count) for name, pool in pools.items()}
    return [{name: pools[name][picks[name][i]] for name in names} for i in range(count)]


def compare_reports(count: int) -> int:
    """How many reports of both implementations were compared, so many of every survey at least."""
    asked, expected = [], []
    for data, records in surveys():
        survey = Survey.from_json(json.dumps(data))
        people = draw_random_records(survey, records, count)
        width = survey.schema.words + survey.plan.words
        words = np.random.default_rng(11).integers(2**64, size=(count, width), dtype=np.uint64)
        # Both ends of all ranges.
        words[0], words[-1] = 0, 2**64 - 1
        encoded = base64.b64encode(words.astype("<u8").tobytes()).decode()
        asked.append({"survey": data, "records": people, "words": encoded})
        rows = zip(people, words.tolist(), strict=True)
        expected.append([answer(survey, read_record(survey.schema, r), w) for r, w in rows])
    found = list(run_client(asked))
    assert found == expected
    return sum(map(len, found))


def test_the_client_gives_the_same_reports() -> None:
    """Bit for bit, over every mechanism."""
    assert compare_reports(30) >= 1800


@pytest.mark.slow
def test_the_client_gives_a_million_of_the_same_reports() -> None:
    """Bit for bit, over every mechanism."""
    assert compare_reports(1 + 1_000_000 // len(surveys())) >= 1_000_000


def compare_refusals(count: int, seed: int) -> Counter[bool]:
    """How many of so many mutated surveys both implementations took, and refused."""
    generator = random.Random(seed)
    originals = [data for data, _ in surveys()]
    texts = []
    for _ in range(count):
        data = copy.deepcopy(generator.choice(originals))
        for _ in range(generator.choice((1, 1, 2))):
            data = change_tree(generator, data)
        texts.append(json.dumps(data))
    [found] = run_client([{"texts": texts}])
    taken: Counter[bool] = Counter()
    for text, problem in zip(texts, found, strict=True):
        try:
            Survey.from_json(text)
        except SurveyError as error:
            assert problem, f"only Python refuses, as {error}: {text}"
        else:
            assert not problem, f"only JavaScript refuses, as {problem}: {text}"
        taken[not problem] += 1
    return taken


def test_the_client_refuses_the_same_surveys() -> None:
    """Whatever has happened to them."""
    taken = compare_refusals(400, 3)
    assert min(taken[True], taken[False]) >= 20


@pytest.mark.slow
def test_the_client_refuses_the_same_of_many_surveys() -> None:
    """Ten thousand of them."""
    assert compare_refusals(10_000, 5).total() == 10_000


JANUARY = [date(2026, 1, 1), date(2026, 1, 31)]
ORDERED = "".join(
    (
        dimension("price", "float", edges=[-1e15, 0.1, 123456789.125, 1e16]),
        dimension("share", "float", domain=[0, 1], bins=10),
        dimension("day", "date", range=JANUARY, unit="week", missing="code"),
        dimension("at", "timestamp", range=["2025-12-15", "2026-02-01T03:00"], unit="month"),
        integer("size", -3, 1, outside="random"),
        measure("tiny", -0.00001234, 1.0e17),
    )
)
MARKS = (
    "a\nWho asks: your doctor\u202e\u200b\x1b[2J",
    '\u201c\uff02"\\',
    "\u3000\u00a0 \U000e0041",
    "\U0001f600" * 50,
)


def described() -> list[str]:
    """Surveys of every kind, as devices read them."""
    designed = [app(), for_a_shuffler(), mostly_in_clear(), partly_sensitive("jurr"), unsound()]
    texts = [
        survey_toml(category("c", *MARKS, outside="other"), boolean("d"), mechanism="grr"),
        survey_toml(
            category("c", *[f"v{i}" for i in range(200)]), epsilon="19.75", mechanism="grr"
        ),
        survey_toml(ORDERED, mechanism="ehio"),
        LABELLED,
        SMALL,
    ]
    designed += map(design, texts)
    recipes = [data for data, _ in surveys()] + [each["survey"] for each in scheduled_surveys()]
    return [survey.device_text for survey in designed] + [json.dumps(data) for data in recipes]


def test_the_client_describes_a_survey_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letter for letter, but for the ends of lines; neither can check signatures here."""
    texts = described()
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    expected = [
        describe(Survey.from_json(text)).replace("\n  ", " ").splitlines() for text in texts
    ]
    found = run_client([{"survey": json.loads(text)} for text in texts])
    assert [text.splitlines() for [text] in found] == expected
    assert all(len(lines) == 7 for lines in expected)


def pledged() -> tuple[Survey, Pledge, Opener]:
    survey, opener = Survey.from_json(for_a_shuffler().device_text), Opener.create()
    assert survey.shuffled is not None
    until = date(9999, 12, 31)
    pledge = Pledge.sign(survey, published_key(), survey.shuffled, opener.public, until)
    return survey, pledge, opener


def test_the_client_describes_a_crowd_in_the_same_words() -> None:
    survey, pledge, _ = pledged()
    ((found,),) = run_client([{"survey": json.loads(survey.device_text), "pledge": pledge.text}])
    assert found.splitlines() == describe(survey, pledge).replace("\n  ", " ").splitlines()


def test_a_shuffler_opens_what_the_client_seals() -> None:
    survey, pledge, opener = pledged()
    records = [{"member": True}, {}, {"member": "x"}]
    asked = {"survey": json.loads(survey.device_text), "pledge": pledge.text}
    (lines,) = run_client([{**asked, "records": records, "draws": 3}])
    assert len(set(lines)) == 9
    assert len({len(line) for line in lines}) == 1
    opened = [opener.open_report(line, survey.fingerprint) for line in lines]
    assert len({read_report(line, survey).id for line in opened}) == 9


def goodness(counts: Counter[str], probabilities: dict[str, float], total: int) -> float:
    """The level at which a chi-square test still accepts the counts; rare reports count as one."""
    rare = [0.0, 0.0]
    statistic, cells = 0.0, 0
    assert set(counts) <= set(probabilities)
    for report, probability in probabilities.items():
        mean = total * probability
        if mean < 10:
            rare[0] += mean
            rare[1] += counts[report]
            continue
        statistic, cells = statistic + (counts[report] - mean) ** 2 / mean, cells + 1
    if rare[0] >= 10:
        statistic, cells = statistic + (rare[1] - rare[0]) ** 2 / rare[0], cells + 1
    return float(chdtrc(cells - 1, statistic)) if cells > 1 else 1.0


@pytest.mark.slow
def test_the_client_draws_by_the_law_of_the_plan() -> None:
    """Of every small survey, for each combination of codes that records of its vectors have."""
    total, tested = 20_000, 0
    asked, laws = [], []
    for data, records in surveys():
        survey = Survey.from_json(json.dumps(data))
        if survey.plan.questions > 64 or survey.schema.measures:
            continue
        inputs = {codes_of(survey, record): record for record in records}
        for codes, record in inputs.items():
            if codes is not None:
                exact = law(survey.plan, np.array(codes))
                given = {Report.of(survey, row, {}).report: float(p) for row, p in exact.items()}
                laws.append(given)
                asked.append({"survey": data, "records": [record], "draws": total})
    for reports, probabilities in zip(run_client(asked), laws, strict=True):
        counts = Counter(reports)
        assert goodness(counts, probabilities, total) > ALPHA / len(laws)
        # The test can fail: as many reports of one question are moved to another answer.
        if len(counts) > 1 and (most := max(counts.values())) * 0.1 > 6 * most**0.5:
            (first, _), (second, _) = counts.most_common(2)
            moved = Counter(counts)
            moved[first] -= most // 5
            moved[second] += most // 5
            assert goodness(moved, probabilities, total) < ALPHA / len(laws)
            tested += 1
    assert tested >= 20


def codes_of(survey: Survey, record: dict[str, Any]) -> tuple[int, ...] | None:
    """A record's codes; None if one of them is drawn."""
    read = read_record(survey.schema, record)
    low, high = (encode(survey.schema, read, Given([word] * 99)) for word in (0, 2**64 - 1))
    return tuple(low[0].tolist()) if bool((low == high).all()) else None
