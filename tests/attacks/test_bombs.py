"""Small texts that would cost much: a survey of any author costs 2 s and 512 MB, or is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("memory is measured as Linux has it", allow_module_level=True)

TESTS = Path(__file__).parents[1]
SECONDS, MEGABYTES = 2.0, 512
DIGITS = {"decimal": "9" * 100_000, "hexadecimal": "0x" + "f" * 100_000, "some": "9" * 4_000}


def measure(*cases):
    """Seconds, megabytes and outcome of every case, an operation and its text."""
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "support.measured_reading"],
        input="".join(f"{json.dumps(case)}\n" for case in cases),
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(cases)
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
    "a dotted key": "a." * 20_000 + "a = 1",
    "a dotted key with spaces": "'a' . " * 20_000 + "a = 1",
    "a dotted table": f"[{'a.' * 20_000}a]",
    "dotted tables": repeated(1 << 20, lambda n: f"[k{n}.a.a.a.a.a.a.a]\n"),
    "dotted keys in a table": "a = {" + "a." * 20_000 + "a = 1}",
    "tables": repeated(1 << 22, lambda n: f"[k{n}]\n"),
    "arrays of tables": repeated(1 << 22, lambda n: "[[a]]\n[[a.b]]\n"),
    "keys": repeated(1 << 22, lambda n: f"k{n}=1\n"),
    "values": "a = [" + "1," * (1 << 20) + "]",
    "arrays": "a = [" + "[]," * (1 << 19) + "]",
    "tables in an array": "a = [" + "{}," * (1 << 19) + "]",
    "an array in an array": "a = " + "[" * 50_000,
    "a table in a table": "a = " + "{a = " * 50_000,
    "a long text": f'a = "{"x" * (1 << 23)}"',
    "escapes": 'a = "' + "\\n" * (1 << 20) + '"',
    "comments": "#\n" * (1 << 20),
    "nothing": "\n" * (1 << 22),
    "many in all": "a = [" + '"aaaaaaaaaa",' * (1 << 17) + "]\n" + "[a1]\n" * (1 << 15),
}


@pytest.mark.parametrize("shape", TOMLS)
def test_toml_of_any_shape_costs_little(shape):
    own = TOMLS[shape]
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
