"""The steps to a collector and a shuffler in containers, run as processes of this machine."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml
from support.shuffled_survey import shuffled_survey

from ldpsql.dbapi.connection import connect
from ldpsql.server.tokens import Tokens
from ldpsql_device.answer import respond
from ldpsql_device.collector import Collector
from ldpsql_device.policy import Policy

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
USERS, PATIENCE = 40, 120.0


def steps():
    """The commands of the page, each as a list of words."""
    page = (ROOT / "docs" / "collect.md").read_text()
    [block] = re.findall(r"```sh\n(docker build.*?)```", page, re.DOTALL)
    return [shlex.split(line) for line in block.splitlines()]


def volumes(name):
    """Where each folder of a service is kept: a volume's own name, or a folder of the clone."""
    kept = dict(each.split(":")[1::-1] for each in SERVICES[name]["volumes"])
    named = COMPOSE["volumes"]
    return {inside: named[own]["name"] if own in named else own for inside, own in kept.items()}


def words_here(words, folders, ports, home):
    """A command of a container as this machine runs it."""
    for inside, own in folders.items():
        words = [word.replace(f"{inside}/", f"{home / own}/") for word in words]
    words = [word.replace("0.0.0.0", "127.0.0.1") for word in words]
    for port, free in ports.items():
        words = [re.sub(rf"\b{port}$", str(free), word) for word in words]
    return [sys.executable, "-m", "ldpsql", *words]


def fill(text, values):
    """As compose puts variables in; it stops where one is missing."""
    return re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: values[found[1]], text)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def await_health(address):
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        try:
            return urlopen(f"{address}/healthz").close()
        except URLError:
            time.sleep(0.2)
    raise TimeoutError(address)


def test_two_services_from_the_steps_of_the_page_to_an_answer(tmp_path):
    build, keygen, token, written, up = steps()
    assert build == ["docker", "build", "-t", SERVICES["shuffler"]["image"], "."]
    assert up == ["docker", "compose", "up"]
    (tmp_path / "surveys").mkdir()
    survey = shuffled_survey(USERS, table="people")
    survey.write(tmp_path / "surveys" / "people.survey.json")

    printed = []
    for step in (keygen, token):
        assert step[:4] == ["docker", "run", "--rm", "-v"]
        assert step[5] == SERVICES["shuffler"]["image"]
        own, inside = step[4].split(":")
        (tmp_path / own).mkdir()
        command = words_here(step[6:], {inside: own}, {}, tmp_path)
        printed.append(subprocess.check_output(command, text=True).strip())
    names = re.findall(r"([A-Z_]+)=%s", written[1])
    assert written[-2:] == [">", ".env"]
    values = dict(zip(names, printed, strict=True))

    ports = {port: free_port() for port in (8080, 8081)}
    with ExitStack() as ending:
        for name, service in SERVICES.items():
            given = [fill(word, values) for word in service["command"]]
            here = words_here(given, volumes(name), ports, tmp_path)
            more = {key: fill(text, values) for key, text in service.get("environment", {}).items()}
            process = ending.enter_context(subprocess.Popen(here, env={**os.environ, **more}))
            ending.callback(process.terminate)
        collector, shuffler = (f"http://127.0.0.1:{port}" for port in ports.values())
        await_health(collector)
        await_health(shuffler)
        policy = Policy(max_epsilon=2, shufflers={values["SHUFFLER_KEY"]})
        asked, _ = Collector(collector).fetch("people", policy=policy)
        pledge = Collector(shuffler).fetch_pledge(asked)
        record = {"age": 30, "member": True}
        sealed = [respond(asked, record, policy=policy, pledge=pledge) for _ in range(USERS)]
        assert Collector(shuffler).send(asked, sealed).settled == USERS
        database = tmp_path / volumes("collector")["/data"] / "reports.duckdb"
        analyst = Tokens.beside(database).add("ann", "analyst")
        with connect(collector, token=analyst) as connection:
            ends, found = time.monotonic() + PATIENCE, 0
            while found == 0 and time.monotonic() < ends:
                found = connection.execute("SELECT COUNT(*) FROM people").result.reports
                time.sleep(0.2)
            assert found == USERS


def test_ports_that_are_published_are_those_that_are_listened_at():
    published = {each.rpartition(":")[2] for each in SERVICES["collector"]["ports"]}
    listened = {
        word.removeprefix("--port=")
        for service in SERVICES.values()
        for word in service["command"]
        if word.startswith("--port=")
    }
    assert published == listened
    assert all(each.startswith("127.0.0.1:") for each in SERVICES["collector"]["ports"])
    assert SERVICES["shuffler"]["network_mode"] == "service:collector"
    [port] = re.findall(r"127\.0\.0\.1:(\d+)/healthz", str(SERVICES["shuffler"]["healthcheck"]))
    assert f"--port={port}" in SERVICES["shuffler"]["command"]


def test_nothing_starts_without_the_key_that_is_named():
    """Negative control: a variable that is not set ends the steps."""
    with pytest.raises(KeyError):
        [fill(word, {}) for word in SERVICES["collector"]["command"]]
