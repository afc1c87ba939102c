"""What docs/collect.md shows works as it is written there."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.browser import CLIENT
from support.http import fetch, serving
from support.surveys import ANYTHING, category, integer, measure, survey_toml
from support.transcripts import ROOT, find_file

from ldpsql.designer import design
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql_device.answer import respond
from ldpsql_device.counters import Counters
from ldpsql_device.reports import read_report
from ldpsql_device.survey import Survey

PAGE = (ROOT / "docs" / "collect.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8080"
TOML = survey_toml(
    integer("age", 17, 90),
    category("sex", "Female", "Male"),
    measure("hours_per_week", 0, 80),
    table="people",
    epsilon="2",
    mechanism="hgrr",
)
RECORD = {"age": 41, "sex": "Female", "hours_per_week": 38}


def transcript(command: str) -> list[str]:
    """What the page says a command prints."""
    found = re.search(rf"    \$ \S+ {re.escape(command)}\n((?:    .+\n)+)", PAGE)
    assert found, command
    return [line.strip() for line in found[1].splitlines()]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published survey, in a folder with its collector's part."""
    path = tmp_path_factory.mktemp("survey") / "people.survey.json"
    design(TOML).write(path)
    return path


@pytest.fixture
def folder(tmp_path: Path, survey: Path) -> Path:
    shutil.copytree(survey.parent, tmp_path / "home")
    return tmp_path / "home"


@contextmanager
def collecting(folder: Path, *arguments: str) -> Iterator[str]:
    """The page's `ldpsql serve`, which ends well."""
    given = ["--db", str(folder / "people.duckdb"), "--survey", str(folder / "people.survey.json")]
    with serving(*given, *arguments) as (process, address):
        yield address
        process.terminate()
        assert process.wait(10) == 0


def run(folder: Path, *command: str, **variables: str) -> list[str]:
    """The lines that a program of the page prints."""
    done = start(folder, *command, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def start(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What becomes of a program of the page, which finds `ldpsql`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **variables, "PATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def count(folder: Path) -> int:
    with open_store(folder / "people.duckdb", read_only=True) as store:
        return int(store.sizes("people").sum())


def lines_of(survey: Path, people: int) -> str:
    device = Survey.from_json(survey)
    made = (respond(device, RECORD, policy=ANYTHING).to_json() for _ in range(people))
    return "".join(f"{line}\n" for line in made)


def test_a_backend_in_python_sends_each_persons_report_once(folder: Path) -> None:
    (folder / "backend.py").write_text(find_file(PAGE, "backend.py"))
    with collecting(folder) as address:
        for _ in range(2):
            said = run(folder, sys.executable, "backend.py", COLLECTOR=address)
            assert said == transcript("python backend.py")
    assert count(folder) == 3


@pytest.mark.slow
def test_a_backend_in_node_sends_each_persons_report_once(folder: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    (folder / "backend.mjs").write_text(find_file(PAGE, "backend.mjs"))
    package = folder / "node_modules" / "@ldpsql" / "client"
    package.parent.mkdir(parents=True)
    package.symlink_to(CLIENT.parent)
    with collecting(folder) as address:
        said = run(folder, node, "backend.mjs", COLLECTOR=address)
        assert said == transcript("node backend.mjs")
        said = run(folder, node, "backend.mjs", COLLECTOR=address)
        assert said == ["0 reports sent, 0 to be sent later"]
    assert count(folder) == 2


@pytest.mark.slow
def test_several_hosts_keep_files_which_one_process_takes_in(folder: Path) -> None:
    """Twice the same ones, and what came by HTTP too: every report counts once."""
    (folder / "keep_batch.py").write_text(find_file(PAGE, "keep_batch.py"))
    (folder / "take_in.sh").write_text(find_file(PAGE, "take_in.sh"))
    (folder / "batches").mkdir()
    batches = [lines_of(folder / "people.survey.json", people) for people in (40, 60)]
    token = Tokens.beside(folder / "people.duckdb").add("hosts", "relay")
    with collecting(folder) as address:
        script = (folder / "take_in.sh").read_text()
        assert ADDRESS in script
        (folder / "take_in.sh").write_text(script.replace(ADDRESS, address))
        fingerprint = fetch(f"{address}/v1/tables/people").json["fingerprint"]
        by_http = "".join(batches[0].splitlines(keepends=True)[:10]).encode()
        reports = f"{address}/v1/surveys/{fingerprint}/reports"
        assert fetch(reports, by_http, content_type="application/x-ndjson").status == 200
        for _ in range(2):
            for batch in batches:
                subprocess.run(
                    [sys.executable, "keep_batch.py", "batches"],
                    cwd=folder,
                    input=batch,
                    text=True,
                    check=True,
                )
            (folder / "batches" / "half.unfinished").write_text("half a li")
            assert run(folder, "sh", "take_in.sh", LDPSQL_TOKEN=token) == []
            assert list((folder / "taking").iterdir()) == []
        assert run(folder, "sh", "take_in.sh", LDPSQL_TOKEN=token) == []
    assert count(folder) == 100


def test_what_could_not_be_taken_in_stays(folder: Path) -> None:
    (folder / "take_in.sh").write_text(find_file(PAGE, "take_in.sh"))
    (folder / "batches").mkdir()
    (folder / "batches" / "a.jsonl").write_text(lines_of(folder / "people.survey.json", 5))
    assert start(folder, "sh", "take_in.sh").returncode != 0
    assert [path.name for path in (folder / "taking").iterdir()] == ["a.jsonl"]


@pytest.mark.slow
def test_a_copy_of_a_stopped_collector_is_a_backup(folder: Path, tmp_path: Path) -> None:
    with collecting(folder) as address:
        fingerprint = fetch(f"{address}/v1/tables/people").json["fingerprint"]
        body = lines_of(folder / "people.survey.json", 7).encode()
        reports = f"{address}/v1/surveys/{fingerprint}/reports"
        assert fetch(reports, body, content_type="application/x-ndjson").status == 200
    assert not (folder / "people.duckdb.wal").exists()
    (tmp_path / "copy").mkdir()
    shutil.copy(folder / "people.duckdb", tmp_path / "copy")
    assert count(tmp_path / "copy") == 7


# -- TLS ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with collect.pem, for 127.0.0.1, and collect.key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    own = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=collect.example "
        "-addext subjectAltName=IP:127.0.0.1 -keyout collect.key -out collect.pem"
    )
    subprocess.run(command.split(), cwd=own, check=True, capture_output=True)
    return own


def check_https(folder: Path, address: str, certificate: Path, token: str) -> None:
    """Reports, whole files of them, and questions over https."""
    (folder / "backend.py").write_text(find_file(PAGE, "backend.py"))
    trust = {"SSL_CERT_FILE": str(certificate / "collect.pem")}
    said = run(folder, sys.executable, "backend.py", COLLECTOR=address, **trust)
    assert said == transcript("python backend.py")
    asked = {**trust, "LDPSQL_TOKEN": token}
    (folder / "more.jsonl").write_text(lines_of(folder / "people.survey.json", 2000))
    given = ("more.jsonl", "--survey", "people.survey.json", "--db", address)
    run(folder, "ldpsql", "ingest", *given, **asked)
    answer = run(folder, "ldpsql", "--db", address, "SELECT COUNT(*) FROM people", **asked)
    assert answer[-1].strip() == "2003"


@pytest.mark.slow
def test_tls_without_a_proxy(folder: Path, certificate: Path) -> None:
    token = Tokens.beside(folder / "people.duckdb").add("ann", "admin")
    files = [str(certificate / name) for name in ("collect.key", "collect.pem")]
    with collecting(folder, "--tls-key", files[0], "--tls-certificate", files[1]) as address:
        assert address.startswith("https://")
        check_https(folder, address, certificate, token)


@contextmanager
def proxying(own: Path, text: str) -> Iterator[list[str]]:
    """nginx with this in its http block, in a folder of its own; what it says, at the end."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if nginx is None:
        pytest.skip("there is no nginx on this machine")
    own.mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {own}/{kind};\n" for kind in kinds)
    start = f"daemon off; pid {own}/pid; error_log stderr warn; events {{}}\n"
    if os.geteuid() == 0:  # or its workers may not enter the folder
        start += "user root;\n"
    (own / "nginx.conf").write_text(f"{start}http {{ {paths} {text} }}\n")
    command = [nginx, "-p", str(own), "-c", str(own / "nginx.conf"), "-e", "stderr"]
    said = list[str]()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield said
        finally:
            process.terminate()
            assert process.stderr is not None
            said += process.stderr.read().splitlines()


@pytest.mark.slow
def test_nginx_in_front(folder: Path, certificate: Path, tmp_path: Path) -> None:
    """With the page's file but for addresses: reports, files and questions get through, and no body
    is written to a disk, which nginx would warn of."""
    token = Tokens.beside(folder / "people.duckdb").add("ann", "admin")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    https = f"https://127.0.0.1:{port}"
    trusted = ssl.create_default_context(cafile=str(certificate / "collect.pem"))
    with collecting(folder) as address:
        text = find_file(PAGE, "collector.conf").replace("/etc/ssl", str(certificate))
        for old, new in (
            ("127.0.0.1:8080", address.removeprefix("http://")),
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("error_log /dev/null crit", "error_log stderr warn"),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        with proxying(tmp_path / "nginx", text) as said:
            wait_for(https, trusted)
            check_https(folder, https, certificate, token)
            assert send_many(https, folder, trusted) == 200
            assert send_many(https, folder, trusted, times=2) == 413
        assert [line for line in said if "intended to send too large body" not in line] == []
        without = re.sub(r"client_body_buffer_size.*\n", "", text)
        with proxying(tmp_path / "control", without) as said:
            wait_for(https, trusted)
            assert send_many(https, folder, trusted) == 200
        assert any("buffered to a temporary file" in line for line in said)


def send_many(address: str, folder: Path, trusted: ssl.SSLContext, times: int = 1) -> int:
    """The status that 500 reports get."""
    survey = folder / "people.survey.json"
    fingerprint = Survey.from_json(survey).fingerprint
    body = times * lines_of(survey, 500).encode()
    place = f"{address}/v1/surveys/{fingerprint}/reports"
    request = urllib.request.Request(place, body, {"Content-Type": "application/x-ndjson"})
    try:
        with urllib.request.urlopen(request, context=trusted, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def wait_for(address: str, trusted: ssl.SSLContext) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", context=trusted, timeout=5):
                return
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_program_counts_its_events_and_reports_months_that_have_ended(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(find_file(PAGE, "app.toml"))
    program = find_file(PAGE, "program.py")
    design(tmp_path / "app.toml").write(tmp_path / "app.survey.json")
    given = ["--db", str(tmp_path / "app.duckdb"), "--survey", str(tmp_path / "app.survey.json")]
    with serving(*given) as (_, address):
        (tmp_path / "program.py").write_text(program.replace("https://collect.example", address))
        run(tmp_path, sys.executable, "program.py")
        counters = Counters(tmp_path / "app.counters")
        with counters.open() as (database, state):  # as if it had been five weeks ago
            database.execute("UPDATE days SET day = day - 35")
            state["born"] -= 35
            state["next"] = {}
        run(tmp_path, sys.executable, "program.py")
        options = ["--counters", "app.counters", "--max-epsilon", "1", "--public", "version"]
        shown = run(tmp_path, "ldpsql", "answer", address, "app", *options, "--dry-run")
        assert len(shown) == 1
        read_report(shown[0], Survey.from_json(tmp_path / "app.survey.json"))
        listed = run(tmp_path, "ldpsql", "sent", "app.ledger", "--counters", "app.counters")
        reports = [line.strip() for line in listed if line.startswith("    {")]
    assert listed[0] == "Survey app"
    assert shown[0] not in reports
    with open_store(tmp_path / "app.duckdb", read_only=True) as store:
        assert int(store.sizes("app").sum()) == len(reports) in (1, 2)
