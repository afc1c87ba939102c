"""The relay of the page: a shuffler behind it learns of a report only that it came."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.http import serving
from support.shuffled_survey import shuffled_survey
from support.transcripts import find_file

from ldpsql_device.answer import respond
from ldpsql_device.collector import Collector
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey

PAGE = (Path(__file__).parents[2] / "docs" / "collect.md").read_text()
USERS = 30
PERSON = "127.0.0.9"
"""Where a device is, as far as one machine has other addresses."""


@pytest.fixture
def relay(tmp_path):
    """Starts the page's relay in front of an address."""
    (tmp_path / "relay.py").write_text(find_file(PAGE, "relay.py"))

    @contextmanager
    def start(shuffler):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        command = [sys.executable, "relay.py", shuffler, str(port)]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
            for _ in range(600):
                with socket.socket() as attempt:
                    if attempt.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()
                said.append(process.stderr.read())

    said = start.said = []
    return start


@contextmanager
def recording():
    """A shuffler's address, and what it sees there: addresses, and what was sent from them."""
    seen = []
    answer = b"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno"

    def listen(own):
        while True:
            try:
                connection, (address, _) = own.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                sent = connection.recv(1 << 16)
                head, _, body = sent.partition(b"\r\n\r\n")
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length"):
                        while len(body) < int(line.split(b":")[1]):
                            body += connection.recv(1 << 16)
                seen.append((address, head, body))
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as own:
        thread = threading.Thread(target=listen, args=[own], daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{own.getsockname()[1]}", seen
        own.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def send_as_somebody(address, method="POST", path="/v1/surveys/0/reports", body=b"{}"):
    """As a browser with all that names its person."""
    headers = {
        "Content-Type": "application/x-ndjson",
        "Cookie": "person=ann",
        "User-Agent": "ann's own browser",
        "X-Forwarded-For": PERSON,
        "Forwarded": f"for={PERSON}",
        "Referer": "https://app.example/ann",
        "Accept-Language": "de-AT",
        "Origin": "https://app.example",
    }
    with connecting(address, source_address=(PERSON, 0)) as own:
        own.request(method, path, body, headers)
        answer = own.getresponse()
        return answer.status, answer.headers, answer.read()


def connecting(address, **options):
    return closing(http.client.HTTPConnection(urlsplit(address).netloc, **options))


def test_it_passes_on_nothing_of_who_sends(relay):
    with recording() as (shuffler, seen), relay(shuffler) as address:
        status, headers, content = send_as_somebody(address)
        assert (status, headers["Retry-After"], content) == (503, "7", b"no")
    [(peer, head, body)] = seen
    assert (peer, body) == ("127.0.0.1", b"{}")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /v1/surveys/0/reports HTTP/1.1"
    names = {line.partition(":")[0].lower() for line in lines}
    assert names == {"host", "accept-encoding", "content-length", "content-type", "origin"}
    assert not any(word in head for word in (b"ann", PERSON.encode(), b"de-AT"))
    assert relay.said == [b""]


def test_without_it_the_shuffler_sees_everything():
    """Negative control."""
    with recording() as (shuffler, seen):
        send_as_somebody(shuffler)
    [(peer, head, _)] = seen
    assert peer == PERSON
    assert b"person=ann" in head


def test_it_leads_nowhere_else(relay):
    """Whatever address within the shuffler is asked for, the relay goes to the shuffler."""
    with recording() as (other, elsewhere), recording() as (shuffler, seen):
        with relay(shuffler) as address:
            for path in (f"@{urlsplit(other).netloc}/", f"{other}/x", "//x/y", "/../x"):
                assert send_as_somebody(address, "GET", path, b"")[0] == 503
        assert len(seen) == 4
        assert elsewhere == []


def test_too_much_is_refused_and_not_read(relay):
    with recording() as (shuffler, seen), relay(shuffler) as address:
        for size in ("65537", "-1"):
            with connecting(address) as own:
                own.putrequest("POST", "/v1/surveys/0/reports")
                own.putheader("Content-Length", size)
                own.endheaders()
                assert own.getresponse().status == 413
    assert seen == []


def test_devices_reach_a_shuffler_by_way_of_it(relay, tmp_path):
    survey, key = shuffled_survey(USERS), SigningKey.create(tmp_path / "shuffler.key")
    survey.write(tmp_path / "app.survey.json")
    given = ["--db", tmp_path / "waiting.db", "--survey", tmp_path / "app.survey.json"]
    given += ["--shuffler", tmp_path / "batches", "--key", tmp_path / "shuffler.key"]
    given += ["--origin", "https://app.example"]
    with serving(*map(str, given)) as (_, shuffler), relay(shuffler) as address:
        policy, mixer = Policy(max_epsilon=2, shufflers={key.author}), Collector(address)
        asked, _ = mixer.fetch("app", policy=policy)
        pledge = mixer.fetch_pledge(asked)
        record = {"age": 30, "member": True}
        sealed = [respond(asked, record, policy=policy, pledge=pledge) for _ in range(USERS)]
        assert mixer.send(asked, sealed).settled == USERS
        assert not any("report" in json.loads(each.to_json()) for each in sealed)
        asking = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        with connecting(address) as own:
            own.request("OPTIONS", f"/v1/surveys/{asked.fingerprint}/reports", headers=asking)
            answer = own.getresponse()
            assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
            answer.read()
    assert len(list((tmp_path / "batches").iterdir())) == 1
