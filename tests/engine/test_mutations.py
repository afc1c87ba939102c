"""Whatever statement is asked: it is answered, or an error of this library on one line says why."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from support.mutations import mutations
from support.shoppers import shoppers, statements

from ldpsql import Error
from ldpsql_device.errors import InternalError

SECONDS = 10.0


def ask(count: int, seed: int) -> Counter[str]:
    """How many mutated statements end in which way."""
    given = [sql for listed in statements().values() for sql in listed]
    ends: Counter[str] = Counter()
    with shoppers(people=200) as session:
        session.seconds = SECONDS
        for sql in mutations(given, count, seed):
            started = time.monotonic()
            try:
                session.execute(sql)
                ends["answered"] += 1
            except Error as error:
                assert not isinstance(error, InternalError), sql
                assert len(str(error).splitlines()) == 1, sql
                ends[type(error).__name__] += 1
            # The machine may be busy with other tests.
            assert time.monotonic() - started < 2 * SECONDS, sql
    return ends


def test_mutated_statements_end_in_an_answer_or_an_error_of_one_line() -> None:
    ends = ask(300, seed=1)
    assert sum(ends.values()) == 300
    assert ends["answered"] > 5
    assert ends["UnsupportedSQL"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_fifty_thousand_mutated_statements(seed: int) -> None:
    assert sum(ask(5_000, seed).values()) == 5_000
