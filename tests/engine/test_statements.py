"""What becomes of statements as analysts and their tools write them."""

from __future__ import annotations

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


def test_statements_are_answered_or_refused_as_listed() -> None:
    listed = statements()
    with shoppers() as session:
        found = {sql: outcome(sql, session) for own in listed.values() for sql in own}
    assert found == {sql: kind for kind, own in listed.items() for sql in own}
