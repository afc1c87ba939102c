"""The prompt: keys in, inputs out; and the shell at a terminal."""

from __future__ import annotations

import os
import signal
import stat
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from support.command_line import store_reports

from ldpsql.workbench.prompt import PrivateHistory, Prompt, history_file

ENTER, CTRL_C, CTRL_D, UP = "\r", "\x03", "\x04", "\x1b[A"


@contextmanager
def typing(keys, history=None):
    """A prompt at which somebody types."""
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        yield Prompt(
            lambda text: text.endswith(";") or not text,
            lambda before: [Completion("COUNT", -3)] if before.endswith("COU") else [],
            lambda before: before.startswith(".read "),
            history,
            terminal=(keyboard, DummyOutput()),
        )


def test_a_statement_goes_on_until_its_end():
    with typing(f"SELECT{ENTER} 1{ENTER};{ENTER}") as prompt:
        assert prompt.read() == "SELECT\n 1\n;"


def test_ctrl_c_clears_and_ctrl_d_ends():
    with typing(f"SELECT{CTRL_C}a;{ENTER}{CTRL_D}") as prompt:
        assert prompt.read() == ""
        assert prompt.read() == "a;"
        with pytest.raises(EOFError):
            prompt.read()


def offered(prompt, before, *, by_tab=True):
    """What is offered behind a text: with what it is completed."""
    event = CompleteEvent(completion_requested=by_tab)
    completer = prompt._session.completer
    return [
        before[: len(before) + each.start_position] + each.text
        for each in completer.get_completions(Document(before), event)
    ]


def test_what_is_offered_completes_what_was_begun(tmp_path):
    """Unasked only once a letter is there; files where a command takes one."""
    (tmp_path / "questions.sql").touch()
    with typing("") as prompt:
        assert offered(prompt, "SELECT COU") == ["SELECT COUNT"]
        assert offered(prompt, "SELECT COU", by_tab=False) == ["SELECT COUNT"]
        assert offered(prompt, f".read {tmp_path}/quest") == [f".read {tmp_path}/questions.sql"]
    with create_pipe_input() as keyboard:
        terminal = (keyboard, DummyOutput())
        eager = Prompt(
            bool, lambda _: [Completion("SELECT")], lambda _: False, None, terminal=terminal
        )
        assert offered(eager, "") == ["SELECT"]
        assert offered(eager, "", by_tab=False) == []


def test_what_was_asked_comes_back_in_the_next_session(tmp_path):
    file = tmp_path / "state" / "history"
    with typing(f"SELECT{ENTER}1;{ENTER} secret;{ENTER}", file) as prompt:
        assert prompt.read() == "SELECT\n1;"
        assert prompt.read() == " secret;"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "secret" not in file.read_text()
    assert [*PrivateHistory(file).load_history_strings()] == ["SELECT\n1;"]


def test_a_history_that_others_could_read_is_closed_to_them_and_a_link_refused(tmp_path):
    file, link = tmp_path / "history", tmp_path / "link"
    file.touch(0o644)
    PrivateHistory(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    link.symlink_to(file)
    with pytest.raises(OSError, match="link"):
        PrivateHistory(link)


def test_a_history_that_cannot_be_written_loses_no_question(tmp_path):
    history = PrivateHistory(tmp_path / "gone" / "history")
    (tmp_path / "gone" / "history").unlink()
    (tmp_path / "gone").rmdir()
    history.append_string("SELECT 1;")
    assert history.get_strings() == ["SELECT 1;"]


def test_where_the_history_is_kept():
    assert history_file({"LDPSQL_HISTORY": "/x/h", "XDG_STATE_HOME": "/s"}) == Path("/x/h")
    assert history_file({"LDPSQL_HISTORY": ""}) is None
    assert history_file({"XDG_STATE_HOME": "/s"}) == Path("/s/ldpsql/history")
    default = Path.home() / ".local" / "state" / "ldpsql" / "history"
    assert history_file({}) == history_file({"XDG_STATE_HOME": "relative"}) == default


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shell")
    store_reports(folder / "app.duckdb", 1000)
    return folder


@contextmanager
def terminal(home, **environment):
    """`ldpsql app.duckdb` at a terminal, past its first prompt."""
    pexpect = pytest.importorskip("pexpect")
    env = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"}
    env |= {"LDPSQL_HISTORY": str(home / "history"), **environment}
    command = ["-m", "ldpsql", "app.duckdb"]
    process = pexpect.spawn(
        sys.executable, command, cwd=str(home), env=env, timeout=120, encoding="utf-8"
    )
    try:
        process.expect_exact("ldpsql>")
        yield process
    finally:
        process.close(force=True)


def test_the_shell_at_a_terminal(home):
    with terminal(home) as process:
        process.send(f"SELECT 1 AS lost{CTRL_C}")
        process.expect_exact("ldpsql>")
        process.send("SELECT COUNT(*) AS everybody")
        process.send(f"{ENTER}FROM app;{ENTER}")
        process.expect("everybody\\s+-+\\s+1000\\s")
        process.expect_exact("ldpsql>")
        process.send(f"SELECT x FROM app;{ENTER}")
        process.expect_exact("ldpsql: error: ")
        process.expect_exact("ldpsql>")
        process.send(f"quit{ENTER}")
        process.expect(process_end())
        process.close()
        assert process.exitstatus == 0
    with terminal(home) as process:
        process.send(UP * 3 + ENTER)  # the end, the wrong one, the right one
        process.expect("everybody\\s+-+\\s+1000\\s")
        process.expect_exact("ldpsql>")
        process.send(CTRL_D)
        process.expect(process_end())
        process.close()
        assert process.exitstatus == 0


def test_a_dumb_terminal_and_sigterm(home):
    with terminal(home, TERM="dumb", LDPSQL_HISTORY="") as process:
        process.send(f"SELECT COUNT(*) AS n FROM app;{ENTER}")
        process.expect("1000\\s")
        assert "\x1b" not in process.before
        process.expect_exact("ldpsql>")
        process.kill(signal.SIGTERM)
        process.expect(process_end())
        process.close()
        assert process.exitstatus == 130


def process_end():
    return pytest.importorskip("pexpect").EOF
