"""Small texts that would cost much: a survey of any author costs 2 s and 512 MB, or is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.planned_survey import device_text
from support.tiers import runs

if sys.platform != "linux":
    pytest.skip("memory is measured as Linux has it", allow_module_level=True)

TESTS = Path(__file__).parents[1]
SECONDS, MEGABYTES = 2.0, 512
DIGITS = {"decimal": "9" * 100_000, "hexadecimal": "0x" + "f" * 100_000, "some": "9" * 4_000}


READER = []
"""The process that reads, and forks for every text."""


@pytest.fixture(scope="module", autouse=True)
def reader():
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "support.measured_reading"],
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        READER[:] = [process]
        yield


def measure(*cases):
    """Seconds, megabytes and outcome of every case, an operation and its text."""
    results = []
    for case in cases:
        READER[0].stdin.write(f"{json.dumps(case)}\n")
        READER[0].stdin.flush()
        results.append(json.loads(READER[0].stdout.readline()))
    return results


def require_cheap(*cases, refused=True):
    for (operation, text), (seconds, megabytes, said) in zip(cases, measure(*cases), strict=True):
        where = f"{operation} {text[:200]!r}: {said[:300]}"
        assert said.startswith("SurveyError: ") or (said == "read" and not refused), where
        assert "\n" not in said, where
        assert seconds <= SECONDS, where
        assert megabytes <= MEGABYTES, where


def toml(*columns, more="", **head):
    keys = {"table": '"t"', "epsilon": '"1"', **head}
    return "\n".join(
        ["[survey]", *(f"{key} = {value}" for key, value in keys.items()), *columns, more]
    )


def columns(count, keys='type = "bool"'):
    return [f"[dimension.a{number}]\n{keys}" for number in range(count)]


AGE = '[dimension.age]\ntype = "int"\ndomain = [0, 7]'


@pytest.mark.parametrize("digits", DIGITS)
def test_numbers_of_many_digits_are_refused(digits):
    own, given = DIGITS[digits], []
    for key in ("epsilon", "users", "replay_window", "label", "mechanism", "estimator", "from"):
        given.append(toml(AGE, **{key: own}))
    for key in ("delta", "honest"):
        given.append(toml(AGE, trust='"shuffle"', users="1000", **{"delta": '"1e-6"', key: own}))
    for key in ("domain", "bins", "bin_width", "edges", "values", "sensitive"):
        given += [toml(f"{AGE[:29]}{key} = {value}") for value in (own, f"[0, {own}]")]
    for key in ("ways", "cover", "values"):
        given.append(toml(AGE, mechanism='"solh"', options=f"{{{key} = {own}}}"))
    given += [toml(AGE, more=f"[workload]\nmax_predicates = {own}")]
    given += [toml(AGE, more=f"[measure.m]\nbounds = [0, {own}]")]
    require_cheap(*(("read", text) for text in given))


def repeated(size, write):
    """Text of about so many characters."""
    return "".join(write(number) for number in range(size // len(write(size)) + 1))


TOMLS = {
    "a dotted key": lambda: "a." * 20_000 + "a = 1",
    "a dotted key with spaces": lambda: "'a' . " * 20_000 + "a = 1",
    "a dotted table": lambda: f"[{'a.' * 20_000}a]",
    "dotted tables": lambda: repeated(1 << 20, lambda n: f"[k{n}.a.a.a.a.a.a.a]\n"),
    "dotted keys in a table": lambda: "a = {" + "a." * 20_000 + "a = 1}",
    "tables": lambda: repeated(1 << 22, lambda n: f"[k{n}]\n"),
    "arrays of tables": lambda: repeated(1 << 22, lambda n: "[[a]]\n[[a.b]]\n"),
    "keys": lambda: repeated(1 << 22, lambda n: f"k{n}=1\n"),
    "values": lambda: "a = [" + "1," * (1 << 20) + "]",
    "arrays": lambda: "a = [" + "[]," * (1 << 19) + "]",
    "tables in an array": lambda: "a = [" + "{}," * (1 << 19) + "]",
    "an array in an array": lambda: "a = " + "[" * 50_000,
    "a table in a table": lambda: "a = " + "{a = " * 50_000,
    "a long text": lambda: f'a = "{"x" * (1 << 23)}"',
    "escapes": lambda: 'a = "' + "\\n" * (1 << 20) + '"',
    "comments": lambda: "#\n" * (1 << 20),
    "nothing": lambda: "\n" * (1 << 22),
    "many in all": lambda: "a = [" + '"aaaaaaaaaa",' * (1 << 17) + "]\n" + "[a1]\n" * (1 << 15),
}


@pytest.mark.fast(3)
@pytest.mark.parametrize("shape", TOMLS)
def test_toml_of_any_shape_costs_little(shape):
    own = TOMLS[shape]()
    require_cheap(("read", own), ("read", f"{toml(AGE)}\n{own}"), refused=False)


def test_keys_of_a_survey_file_may_be_written_as_toml_has_them():
    """As deep as they are, beside values with dots."""
    text = 'survey . "table" = "t"\nsurvey.epsilon = "1"\nworkload.kinds.page="equality"\n' + (
        '[dimension]\n"page".type = "category"\npage.values = ["a.b.c.d.e.f=1", "1.2.3.4.5.6"]\n'
    )
    [(_, _, said)] = measure(("design", text))
    assert said == "read"


@pytest.mark.parametrize("mechanism", ["srr-ss", "arr-ss", "ft"])
def test_marginals_of_many_attributes_are_few_or_refused(mechanism):
    ways = [(10, 40), (20, 40), (39, 40), (40, 40), (3, 1000), (7, 16), (2, 181)]
    covers = [(2, 45), (3, 19), (4, 14), (2, 1000), (4, 1000)]
    options = [(f"{{ways = {number}}}", count) for number, count in ways]
    if mechanism == "srr-ss":
        options += [(f"{{ways = 0, cover = {number}}}", count) for number, count in covers]
    texts = [
        toml(*columns(count), mechanism=f'"{mechanism}"', options=own) for own, count in options
    ]
    require_cheap(*(("design", text) for text in texts), refused=False)


LARGE = {
    "columns": columns(1_000),
    "codes": columns(4, f'type = "int"\ndomain = [0, {(1 << 20) - 1}]'),
    "too many codes": columns(5, f'type = "int"\ndomain = [0, {(1 << 20) - 1}]'),
    "edges": columns(2, f'type = "int"\nedges = {list(range(1 << 17))}'),
    "too many edges": columns(1, f'type = "int"\nedges = {list(range(1 << 20))}'),
    "bins": columns(6, 'type = "float"\ndomain = [0, 1]\nbins = 1000000'),
    "days": columns(1_000, 'type = "date"\nrange = [0001-01-01, 9999-12-31]\nunit = "day"'),
    "hours": columns(9, 'type = "timestamp"\nrange = [0001-01-01, 9999-12-31]\nunit = "hour"'),
    "a width": columns(9, 'type = "float"\ndomain = [0, 1e300]\nbin_width = 1e-300'),
    "values": columns(
        3, f'type = "category"\nvalues = {json.dumps([f"v{n}" for n in range(1 << 16)])}'
    ),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("large", LARGE)
def test_large_domains_cost_little_or_are_refused(large):
    text = toml(*LARGE[large])
    require_cheap(("read", text), refused=large.startswith("too many"))
    # Of these, that nothing fits is known before anything is built.
    for mechanism in ("grr", "hgrr", "olh", "oue"):
        text = toml(*LARGE[large], mechanism=f'"{mechanism}"')
        require_cheap(("design", text), refused=len(LARGE[large]) > 1)


BOMBS = {
    "numbers": lambda: "[" + "1," * 7_000_000 + "1]",
    "texts": lambda: "[" + '"9",' * 3_500_000 + '"9"]',
    "a text": lambda: f'"{"9" * 15_000_000}"',
    "arrays": lambda: "[" + "[1]," * 260_000 + "[1]]",
    "objects": lambda: "[" + '{"a":1},' * 260_000 + "{}]",
    "keys": lambda: "{" + ",".join(f'"k{number}":1' for number in range(1_000_000)) + "}",
    "a number": lambda: "9" * 15_000_000,
    "depth": lambda: "[" * 1_000_000,
}


def places(data, at=()):
    """The ways to all values in JSON data, of entries of an array the first."""
    if at:
        yield at
    entries = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data[:1])
        if isinstance(data, list)
        else ()
    )
    for key, entry in entries:
        yield from places(entry, (*at, key))


def replaced(data, at, content):
    """JSON text with another content at a place."""
    key, *rest = at
    copy = data.copy()
    copy[key] = replaced(data[key], rest, content) if rest else MARK
    return copy


MARK = "the place"


@pytest.mark.fast(1)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_published_survey_with_a_bomb_anywhere_costs_little(bomb):
    data, content = json.loads(device_text()), BOMBS[bomb]()
    ways = list(places(data))
    chosen = ways[:: 1 + len(ways) // runs(12)]
    texts = [json.dumps(replaced(data, at, None)).replace(f'"{MARK}"', content) for at in chosen]
    require_cheap(*(("device", text) for text in texts))
