from __future__ import annotations

import subprocess
import sys

import pytest

from ldpsql.server.tokens import Tokens
from ldpsql_device.errors import DataError, StoreError


def test_tokens_are_found_by_their_text_alone(tmp_path):
    tokens = Tokens(tmp_path / "t")
    assert tokens.find("") is None
    text, other = tokens.add("ann", "analyst"), tokens.add("eve@work", "admin")
    assert text != other
    assert tokens.find(text).name == "ann"
    assert Tokens(tmp_path / "t").find(other).role == "admin"
    assert tokens.find(tokens.find(text).sha256) is None


def test_names_are_names_and_taken_once(tmp_path):
    tokens = Tokens(tmp_path / "t")
    tokens.add("ann", "analyst")
    for name, words in (
        ("ann", "a token ann already exists"),
        ("a b", "is not the name"),
        ("", "is not the name"),
    ):
        with pytest.raises(DataError, match=words):
            tokens.add(name, "analyst")
    with pytest.raises(DataError, match="there is no token"):
        tokens.remove("eve")
    tokens.remove("ann")
    assert tokens.read_known() == {}


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", '{"format":2,"tokens":[]}', '{"format":1,"tokens":[{}]}']
)
def test_a_damaged_file_lets_nobody_in(tmp_path, text):
    (tmp_path / "t").write_text(text)
    with pytest.raises(StoreError, match="is damaged"):
        Tokens(tmp_path / "t").find("x")


ADD = """
import sys
from pathlib import Path
from ldpsql.server.tokens import Tokens
who, tokens = sys.argv[2], Tokens(Path(sys.argv[1]))
print("ready", flush=True)
input()
for number in range(25):
    print(tokens.add(f"{who}{number}", "analyst"))
"""


def test_two_processes_add_tokens_at_once_and_none_is_lost(tmp_path):
    command = [sys.executable, "-c", ADD, str(tmp_path / "t")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    adding = [subprocess.Popen([*command, who], **pipes) for who in ("a", "b")]
    for each in adding:
        assert each.stdout.readline() == "ready\n"
    for each in adding:
        each.stdin.write("\n")
        each.stdin.flush()
    said = [each.communicate()[0].split() for each in adding]
    assert [each.returncode for each in adding] == [0, 0]
    tokens = Tokens(tmp_path / "t")
    found = [tokens.find(text) for texts in said for text in texts]
    assert [token.name for token in found] == [f"{who}{n}" for who in "ab" for n in range(25)]
    assert len(tokens.read_known()) == 50


def test_two_that_add_one_name_do_not_both_succeed(tmp_path):
    """The second one sees what the first one wrote, whatever it had read before."""
    first, second = (Tokens(tmp_path / "t") for _ in range(2))
    assert (first.read_known(), second.read_known()) == ({}, {})
    first.add("ann", "analyst")
    with pytest.raises(DataError, match="a token ann already exists"):
        second.add("ann", "admin")
