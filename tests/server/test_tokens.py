from __future__ import annotations

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
    for name, words in (("ann", "there is a token ann"), ("a b", "is no name"), ("", "is no name")):
        with pytest.raises(DataError, match=words):
            tokens.add(name, "analyst")
    with pytest.raises(DataError, match="there is no token"):
        tokens.remove("eve")
    tokens.remove("ann")
    assert tokens.read_known() == {}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format":2,"tokens":[]}', '{"format":1,"tokens":[{}]}']
)
def test_a_damaged_file_lets_nobody_in(tmp_path, text):
    (tmp_path / "t").write_text(text)
    with pytest.raises(StoreError, match="is damaged"):
        Tokens(tmp_path / "t").find("x")
