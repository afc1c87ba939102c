"""A deadline holds whatever there is much of, at every door: each input is answered or refused
within two seconds of processor time where one may be taken.

Deadlines count processor time here, so that what else the machine does changes nothing.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
import urllib.error
from pathlib import Path

import pyarrow as pa
import pytest
from support.command_line import run
from support.heavy_statements import list_cases
from support.http import fetch, serving
from support.shoppers import shoppers

import ldpsql
from ldpsql import limits
from ldpsql.designer import design
from ldpsql.randomize.table import randomize
from ldpsql.server.analysts import QUESTION_BYTES
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql_device.errors import Error
from ldpsql_lab.simulation import accept_everything

TIMEOUT, MOST = 1.0, 2.0
CASES = dict(list_cases())
AT_ALL_DOORS = [
    "commas, all that fit",
    "block comments, all that fit",
    "parentheses, all that fit",
    "IN, all that fit",
    "CASE branches of WHERE, all that fit",
    "different counts, all that fit",
    "UNION of counts, all that fit",
    "parameters",
    "named parameters",
    "a text of 10 MB",
]


@pytest.fixture(scope="module")
def session():
    with shoppers(people=200) as opened:
        opened.seconds = TIMEOUT
        opened.execute("SELECT COUNT(*) FROM shoppers")
        yield opened


@pytest.fixture
def by_processor(monkeypatch):
    """Deadlines count the processor time of this process."""
    plain = limits.deadline
    monkeypatch.setattr(limits, "deadline", lambda seconds: plain(seconds, clock=time.process_time))


def spend(work, *arguments):
    """Processor seconds of work, which may end in one of the library's errors."""
    begun = time.process_time()
    try:
        work(*arguments)
    except Error as error:
        assert len(str(error)) < 2_000
    return time.process_time() - begun


@pytest.mark.fast(8)
@pytest.mark.parametrize("name", CASES)
def test_much_of_anything_is_over_in_time(session, by_processor, name):
    statement = CASES[name]()
    assert spend(session.execute, *statement) < MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["CASE of a value, all that fit", "sums over results, all that fit"]
)
def test_without_the_deadline_it_would_take_longer(session, by_processor, monkeypatch, name):
    """Negative control."""
    monkeypatch.setattr(session, "seconds", 6.0)
    assert spend(session.execute, *CASES[name]()) > MOST


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doors")
    survey = design(
        '[survey]\ntable = "shoppers"\nepsilon = "2"\nmechanism = "hio"\n'
        '[dimension.age]\ntype = "int"\ndomain = [18, 90]\n'
        '[dimension.state]\ntype = "category"\nvalues = ["CA", "NY", "WA"]\n'
    )
    rows = pa.table({"age": [18 + i % 73 for i in range(500)], "state": ["CA"] * 500})
    path = folder / "s.duckdb"
    with open_store(path, read_only=False) as store:
        store.ingest_table(randomize(survey, rows, policy=accept_everything(survey)), survey)
    return path


@pytest.mark.parametrize("name", AT_ALL_DOORS)
def test_python_keeps_to_it(database, name):
    sql, parameters = CASES[name]()
    with ldpsql.connect(database, timeout=TIMEOUT) as connection:
        cursor = connection.cursor()
        assert spend(cursor.execute, sql, parameters) < MOST


@pytest.mark.parametrize("name", [n for n in AT_ALL_DOORS if n.endswith("fit")])
def test_the_command_line_keeps_to_it(database, name):
    def ask_by_command(sql):
        assert run("--db", database, "--timeout", TIMEOUT, "-", text=sql).exit_code in (0, 1)

    assert spend(ask_by_command, CASES[name]()[0]) < MOST


# -- HTTP -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(database):
    token = Tokens.beside(database).add("eve", "admin")
    with serving("--db", str(database)) as (process, url):
        port = int(url.rsplit(":", 1)[1])
        assert post(url, token, "SELECT COUNT(*) FROM shoppers").status == 200
        yield process.pid, url, port, token


def post(url, token, sql, parameters=None, timeout=TIMEOUT):
    body = json.dumps({"sql": sql, "parameters": parameters, "timeout": timeout}).encode()
    return fetch(f"{url}/v1/query", body, authorization=f"Bearer {token}")


def count_processor(pid):
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def await_rest(pid):
    """Wait until a process does nothing for half a second; the processor time that it has used."""
    before, until = -1.0, time.monotonic() + 60.0
    while (used := count_processor(pid)) > before + 0.02 and time.monotonic() < until:
        before = used
        time.sleep(0.5)
    return used


@pytest.mark.parametrize("name", AT_ALL_DOORS)
def test_a_collector_keeps_to_it(server, name):
    pid, url, _, token = server
    sql, parameters = CASES[name]()
    before = await_rest(pid)
    try:
        assert post(url, token, sql, parameters).status in (200, 400)
    except urllib.error.URLError:  # refused while it is still sent
        assert len(sql) + len(str(parameters)) > QUESTION_BYTES
    assert await_rest(pid) - before < MOST


LONG = (
    "WITH r AS (SELECT age, COUNT(*) AS n FROM shoppers GROUP BY age) SELECT count(*) FROM "
    + ", ".join(f"r AS r{i}" for i in range(8))
)


def send_question(port, token, sql=LONG):
    body = json.dumps({"sql": sql, "timeout": 60}).encode()
    connection = socket.create_connection(("127.0.0.1", port))
    head = (
        f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def close(connection):
    connection.close()


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def half_close(connection):
    connection.shutdown(socket.SHUT_WR)


def close_behind_another_request(connection):
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    time.sleep(0.2)
    connection.close()


def close_within_another_body(connection):
    connection.sendall(b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    connection.sendall(b"x" * 100_000)
    time.sleep(0.2)
    connection.close()


@pytest.mark.parametrize(
    "leave",
    [close, reset, half_close, close_behind_another_request, close_within_another_body],
)
def test_work_stops_once_its_asker_has_gone(server, leave):
    pid, _, port, token = server
    before = await_rest(pid)
    connection = send_question(port, token)
    while count_processor(pid) < before + 0.5:
        time.sleep(0.05)
    at_leaving = count_processor(pid)
    leave(connection)
    # Both cores may work for a second.
    assert await_rest(pid) - at_leaving < 2.0
    connection.close()


def test_a_question_whose_asker_stays_goes_on(server):
    """Negative control: it would have used much more."""
    pid, _, port, token = server
    before = await_rest(pid)
    with send_question(port, token):
        until = time.monotonic() + 60.0
        while count_processor(pid) < before + 3.0:
            assert time.monotonic() < until
            time.sleep(0.1)
