"""What becomes of statements as analysts and their tools write them."""

from __future__ import annotations

import pytest
from support.shoppers import shoppers, statements

from ldpsql import Error
from ldpsql.engine.session import Session


def outcome(sql: str, session: Session) -> str:
    """One of the kinds of `statements`; an error is of one line."""
    try:
        result = session.execute(sql)
    except Error as error:
        assert "\n" not in str(error), sql
        return "refused"
    if any("no error bar" in note for note in result.notes):
        return "bare"
    return "bars" if result.intervals else "exact"


@pytest.mark.parametrize(("first", "step"), [(2, 4), pytest.param(0, 1, marks=pytest.mark.slow)])
def test_statements_are_answered_or_refused_as_listed(first: int, step: int) -> None:
    """Every fourth of each kind, or all."""
    listed = {sql: kind for kind, own in statements().items() for sql in own[first::step]}
    with shoppers() as session:
        assert {sql: outcome(sql, session) for sql in listed} == listed
