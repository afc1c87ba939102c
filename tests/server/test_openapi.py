"""What the shipped description says is what the collector does, whatever it is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Route
from support.collecting import collecting
from support.http import ask
from support.shuffled_survey import SCHEMA, raw_reports
from support.tiers import examples

import ldpsql.server
from ldpsql.server import writer
from ldpsql.server.bodies import ARROW
from ldpsql.server.tokens import Tokens
from ldpsql.survey import Survey

DOCUMENT = json.loads(Path(ldpsql.server.__file__).with_name("openapi.json").read_text())
OPERATIONS = [(path, method) for path, own in DOCUMENT["paths"].items() for method in own]
SURVEY = Survey.of("people", SCHEMA, "2", "hio")
FINGERPRINT = SURVEY.fingerprint


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """An application with a survey and a token of an admin."""
    patch = pytest.MonkeyPatch()
    patch.setattr(writer, "SECONDS", 0.0)
    tokens = Tokens.beside(tmp_path_factory.mktemp("tokens") / "s.duckdb")
    with collecting((SURVEY, raw_reports(SURVEY, 500)), tokens=tokens) as (app, store):
        yield app, f"Bearer {tokens.add('eve', 'admin')}", store
    patch.undo()


def test_every_route_is_described_and_no_other(served):
    routes = {
        (route.path, method.lower())
        for route in served[0].routes
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
    }
    assert routes == set(OPERATIONS)
    assert ask(served[0], "/openapi.json").json == DOCUMENT


def test_references_lead_somewhere():
    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                found = DOCUMENT
                for key in node["$ref"].removeprefix("#/").split("/"):
                    found = found[key]
            for each in node.values():
                walk(each)
        elif isinstance(node, list):
            for each in node:
                walk(each)

    walk(DOCUMENT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "weights",
    "texts",
    "census",
    "sql",
    "parameters",
    "confidence",
    "estimator",
    "timeout",
    "one_population",
    "rows",
    "seed",
]
QUESTIONS = st.dictionaries(
    st.sampled_from(KEYS), JSON | st.sampled_from(["SELECT COUNT(*) FROM people", "people", 0.5, 3])
)
MADE_UP = st.dictionaries(st.sampled_from(["table", "rows", "seed"]), JSON | st.integers(0, 50))
REPORTS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text("0123456789abcdefA", min_size=31, max_size=33) | JSON,
        "report": st.text("0123456789abcdef", min_size=3, max_size=5) | JSON,
        "public": st.fixed_dictionaries({"shop": JSON}) | JSON,
    },
)
BODIES = (
    st.binary(max_size=200)
    | JSON.map(json.dumps).map(str.encode)
    | QUESTIONS.map(json.dumps).map(str.encode)
    | MADE_UP.map(json.dumps).map(str.encode)
    | st.lists(REPORTS.map(json.dumps), max_size=4).map("\n".join).map(str.encode)
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content_type": st.sampled_from(
            [
                "application/json",
                "text/plain",
                "application/x-ndjson",
                "text/csv",
                "",
                "a;b=c",
                ARROW,
            ]
        ),
        "content_encoding": st.sampled_from(["gzip", "identity", "br", ""]),
        "content_length": st.sampled_from(["0", "70000", "-1", "x"]),
        "accept": st.sampled_from(["*/*", "application/vnd.apache.arrow.stream"]),
        "accept_encoding": st.sampled_from(["gzip", "br"]),
        "authorization": st.sampled_from(["token", "Bearer x", "Basic"]),
        "if_none_match": st.sampled_from(["*", f'"{FINGERPRINT}"']),
    },
)
NAMES = st.sampled_from([FINGERPRINT, "people", "0" * 64, "r.parquet", "%00", "..", "é"])


@settings(max_examples=examples(300))
@given(
    st.sampled_from(OPERATIONS),
    NAMES,
    BODIES,
    HEADERS,
    st.sampled_from(["127.0.0.1", "203.0.113.9"]),
)
def test_whatever_is_sent_gets_an_answer_that_is_described(
    served, operation, name, body, headers, client
):
    app, token, _ = served
    path, method = operation
    given_headers = dict(headers)
    if given_headers.get("authorization") == "token":
        given_headers["authorization"] = token
    for key in ("{fingerprint}", "{table}", "{name}", "{handle}"):
        path = path.replace(key, name)
    if path == "/v1/files":
        path += "?name=r.jsonl"
    sent = body if method == "post" else None
    answer = ask(app, path, sent, method=method.upper(), client=client, **given_headers)
    described = DOCUMENT["paths"][operation[0]][method]["responses"]
    if answer.status == 404 and answer.json["type"] == "urn:ldpsql:error:unknown-address":
        return  # a name that makes it another path
    assert answer.status != 500
    assert str(answer.status) in described
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json["type"].startswith("urn:ldpsql:error:")
