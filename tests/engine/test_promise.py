"""Answers state both promises, and the achieved one where a batch was small."""

from __future__ import annotations

from contextlib import contextmanager
from decimal import Decimal

import pytest
from support.shuffled_survey import USERS, raw_reports, shuffled_survey

from ldpsql.engine.notes import guarantee_of_batches, shortfall_notes
from ldpsql.engine.session import Session
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql.synthesis import Synthesizer

SQL = "SELECT COUNT(*) FROM app WHERE member"


@pytest.fixture(scope="module")
def survey():
    return shuffled_survey()


def asked(survey, sizes, sql=SQL):
    """The answer of a store with batches of these sizes."""
    with stored(survey, sizes) as store:
        return Session(store).execute(sql)


@contextmanager
def stored(survey, sizes):
    """A store with batches of these sizes."""
    whole = shuffle_table(survey, raw_reports(survey, USERS))
    with open_store(None, read_only=False) as store:
        for size in sizes:
            said = ShuffledBatch(survey.fingerprint, size).to_json().encode()
            metadata = {**whole.schema.metadata, BATCH_KEY.encode(): said}
            table = whole.slice(0, size).replace_schema_metadata(metadata)
            store.ingest_table(table, survey, accept_smaller_batch=True)
        yield store


def test_a_batch_as_designed_keeps_the_promise(survey):
    found = asked(survey, [USERS])
    assert found.guarantees == (survey.guarantee,)
    assert found.notes == ()
    assert asked(survey, [USERS], f"EXPLAIN {SQL}").explain.splitlines()[1] == (
        f"guarantee: {survey.guarantee}"
    )


@pytest.mark.parametrize("sql", [SQL, f"EXPLAIN {SQL}"])
def test_the_smallest_batch_decides(survey, sql):
    found = asked(survey, [USERS, 600], sql)
    (got,) = found.guarantees
    assert got.central.people == 540
    assert (
        got.central.epsilon.value == find_epsilon(survey.design, survey.shuffled, 600) > Decimal(1)
    )
    assert got.epsilon == survey.epsilon
    assert len(found.notes) == 1
    assert str(got.central) in found.notes[0]
    assert str(survey.guarantee.central) in found.notes[0]
    if found.explain is not None:
        assert found.explain.splitlines()[1] == f"guarantee: {got}"


def test_a_synthetic_table_states_what_the_smallest_batch_keeps(survey):
    with stored(survey, [USERS, 600]) as store:
        drawn = Synthesizer.of(store)
        (got,) = Session(store).execute(SQL).guarantees
    assert got.central.people == 540
    assert drawn.columns.metadata[b"ldpsql.guarantee"].decode() == f"app: {got} (hio)"
    assert str(got) in drawn.notes[0]
    assert drawn.notes[-1] == shortfall_notes(survey, got)[0]
    with stored(survey, [USERS]) as store:
        whole = Synthesizer.of(store)
    assert str(survey.guarantee) in whole.notes[0]
    assert not any("smaller than designed" in note for note in whole.notes)


def test_too_few_to_hide_among_leave_the_local_promise(survey):
    for smallest in (1, 3):
        got = guarantee_of_batches(survey, smallest)
        assert got.central is None
        assert "no more than the local promise" in shortfall_notes(survey, got)[0]


def test_local_surveys_have_nothing_to_fall_short_of(survey):
    local = Survey.of("app", survey.schema, "1", "hio")
    assert guarantee_of_batches(local, 1) == local.guarantee
    assert shortfall_notes(local, local.guarantee) == []
    assert guarantee_of_batches(survey, None) == survey.guarantee
