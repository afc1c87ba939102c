"""Authors' statements of what is asked: kept beside the survey, and handed out with its name."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.request import urlopen

import pytest
from support.command_line import run
from support.http import ask, serving
from support.shuffled_survey import SCHEMA, shuffled_survey
from support.vectors import published_key

from ldpsql.errors import QueryError
from ldpsql.server.app import make_app
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.shuffler.arrivals import Arrivals
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.errors import OperationalError, StoreError, SurveyError
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import utc_today

KEY = published_key()
SURVEY = Survey.of("people", SCHEMA, "2", "hio").sign(KEY)
TODAY, WEEK = utc_today(), timedelta(7)
EARLIER = TODAY - WEEK


def say(issued=EARLIER, until=TODAY + WEEK, survey=SURVEY, key=KEY):
    return Statement.sign(survey, key, issued=issued, until=until)


@pytest.fixture(params=["store", "shuffler"])
def served(request, tmp_path):
    """A store or a shuffler with a survey that was signed, and the survey."""
    if request.param == "store":
        with open_store(tmp_path / "s.duckdb", read_only=False) as store:
            store.register(SURVEY)
            yield store, SURVEY
    else:
        survey = shuffled_survey().sign(KEY)
        with Arrivals(tmp_path / "w.db", tmp_path / "batches") as arrivals:
            arrivals.register(survey)
            yield arrivals, survey


def test_a_statement_is_handed_out_with_the_name_of_its_table(served, tmp_path):
    receiver, survey = served
    tokens, own = Tokens(tmp_path / "tokens"), Writer(receiver, "http")
    texts = {role: tokens.add(role, role) for role in ("admin", "relay", "analyst")}

    def post(statement, role="admin"):
        header = {"authorization": f"Bearer {texts.get(role, role)}"}
        body = statement.text.encode()
        return ask(app, "/v1/statements", body, client="127.0.0.1", **header)

    try:
        app = make_app(receiver, own, tokens)
        path = f"/v1/tables/{survey.table}"
        assert ask(app, path).json == {"fingerprint": survey.fingerprint}
        first, second = say(survey=survey), say(TODAY, survey=survey)
        for role, status in (("", 401), ("relay", 403), ("analyst", 403)):
            assert post(first, role).status == status
        assert ask(app, path).json == {"fingerprint": survey.fingerprint}
        for said in (first, second):
            assert post(said).status == 200
            assert ask(app, path).body.decode() == said.text
        refused = post(first)
        assert (refused.status, refused.json["error"]) == (422, "OperationalError")
        assert f"statement of {TODAY}" in refused.json["detail"]
        garbled = ask(
            app,
            "/v1/statements",
            b"\xff{}",
            client="127.0.0.1",
            authorization=f"Bearer {texts['admin']}",
        )
        assert garbled.status == 422
        assert ask(app, path).body.decode() == second.text
    finally:
        own.close()


def test_only_what_is_about_the_survey_that_is_asked_is_kept(served, tmp_path):
    receiver, survey = served
    other = SigningKey.create(tmp_path / "other.key")
    theirs = Survey.of(survey.table, SCHEMA, "1", "hio").sign(other)
    earlier = Survey.of(survey.table, SCHEMA, "1", "hio").sign(KEY)
    for bad in (say(survey=theirs, key=other), say(survey=earlier)):
        with pytest.raises(SurveyError, match="not about the survey"):
            receiver.keep_statement(bad)
    with pytest.raises(QueryError, match="there is no survey"):
        receiver.keep_statement(say(survey=Survey.of("others", SCHEMA, "1", "hio").sign(KEY)))
    assert receiver.find_statement(receiver.intake(survey.table)) is None


@pytest.mark.parametrize("days", [(-14, -1), (1, 14)])
def test_one_that_no_device_would_believe_is_not_kept(served, days):
    """And above all none of a day to come, after which no other one would be taken."""
    receiver, survey = served
    issued, until = (TODAY + timedelta(day) for day in days)
    with pytest.raises(OperationalError, match=f"from {issued} to {until}, and not on {TODAY}"):
        receiver.keep_statement(say(issued, until, survey=survey))
    receiver.keep_statement(say(TODAY - timedelta(20), TODAY, survey=survey))


def test_of_two_stores_the_later_one_is_taken(tmp_path):
    """Whichever is taken into which; and none that nobody signed."""
    paths = [tmp_path / f"{name}.duckdb" for name in "abcd"]
    forged = say(TODAY).text.replace(str(TODAY + WEEK), "2999-01-01")
    for path, text in zip(paths, (say().text, say(TODAY).text, forged, None), strict=True):
        with open_store(path, read_only=False) as store:
            store.register(SURVEY)
            if text is not None:
                with store._change_at_once():
                    store._rows(
                        "CREATE TABLE IF NOT EXISTS statements (survey VARCHAR, text VARCHAR)"
                    )
                    row = (store.intake("people").key, text)
                    store._rows("INSERT INTO statements VALUES (?, ?)", *row)
    earlier, later, bad, own = paths
    with open_store(own, read_only=False) as store:
        with pytest.raises(SurveyError, match="signature"):
            store.import_surveys(bad)
        for source, day in ((earlier, EARLIER), (later, TODAY), (earlier, TODAY)):
            store.import_surveys(source)
            assert store.find_statement(store.intake("people")) == say(day).text


def test_a_store_keeps_it_as_long_as_its_survey(tmp_path):
    path, copy = tmp_path / "s.duckdb", tmp_path / "copy.duckdb"
    with open_store(path, read_only=False) as store:
        store.register(SURVEY)
        assert store.find_statement(store.intake("people")) is None
        store.keep_statement(say())
    with open_store(path, read_only=True) as store:
        assert store.find_statement(store.intake("people")) == say().text
        with pytest.raises(StoreError, match="read-only"):
            store.keep_statement(say(TODAY))
    with open_store(path, read_only=False) as store:
        assert store.check() == []
        store.export(copy, ["people"])
        store.remove_survey("people")
        store.register(SURVEY)
        assert store.find_statement(store.intake("people")) is None
    with open_store(copy, read_only=True) as store:
        assert store.find_statement(store.intake("people")) == say().text


def test_a_shuffler_keeps_it(tmp_path):
    survey = shuffled_survey().sign(KEY)
    for _ in range(2):
        with Arrivals(tmp_path / "w.db", tmp_path / "batches") as arrivals:
            arrivals.register(survey)
            arrivals.keep_statement(say(survey=survey))
    with Arrivals(tmp_path / "w.db", tmp_path / "batches") as arrivals:
        assert arrivals.find_statement(arrivals.intake(survey.table)) == say(survey=survey).text


def test_an_author_hands_it_to_a_collector_that_runs(tmp_path, monkeypatch):
    """`serve --statement` hands one out, and `sign --to` puts a later one in its place."""
    db, key, source = tmp_path / "s.duckdb", tmp_path / "author.key", tmp_path / "people.json"
    run("keygen", key)
    own = SigningKey.read(key)
    survey = Survey.of("people", SCHEMA, "2", "hio").sign(own)
    survey.write(source)
    first = say(survey=survey, key=own)
    (tmp_path / "said.json").write_text(first.text)
    monkeypatch.setenv("LDPSQL_TOKEN", Tokens.beside(db).add("eve", "admin"))
    arguments = ("--db", db, "--survey", source, "--statement", tmp_path / "said.json")

    def read():
        with urlopen(f"{address}/v1/tables/people") as response:
            return Statement.from_json(response.read().decode())

    soon = f"devices believe the statement about people until {TODAY + WEEK}"
    with serving(*map(str, arguments), complaint=soon) as (_, address):
        assert read() == first
        days = ("--until", "2999-01-31")
        done = run("statement", source, "--key", key, *days, "--to", address)
        assert (done.exit_code, done.stdout) == (0, "")
        later = read()
        assert (later.issued, later.until) == (utc_today(), date(2999, 1, 31))
    complaint = f"said.json is not handed out: there is a later statement of {utc_today()}"
    with serving(*map(str, arguments), complaint=complaint) as (_, address):
        assert read() == later
