"""The prompt of the shell: lines that can be edited, completed, and brought back later.

prompt_toolkit is imported here and for completions, and only where somebody sits at a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, is_searching
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.utils import is_dumb_terminal

HISTORY = "LDPSQL_HISTORY"
"""The variable of the environment that names the file of the history; empty for none."""


def history_file(environment: Mapping[str, str]) -> Path | None:
    """Where the history is kept; None for nowhere."""
    if HISTORY in environment:
        return Path(environment[HISTORY]) if environment[HISTORY] else None
    state = environment.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:  # nobody's home
        return None
    return folder / "ldpsql" / "history"


class PrivateHistory(FileHistory):
    """Statements, without their answers, in a file that its owner alone can read.

    One that begins with a blank is not kept, nor is anything that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        """OSError where there can be no such file."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link could have others read, or lose, what is written.
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(file, 0o600)
        finally:
            os.close(file)
        super().__init__(path)

    def store_string(self, string: str) -> None:
        """Keep a text."""
        if not string[:1].isspace():
            with suppress(OSError):
                super().store_string(string)


class Prompt:
    """Asks for one input after another."""

    def __init__(
        self,
        is_complete: Callable[[str], bool],
        offers: Callable[[str], Iterable[Completion]],
        takes_file: Callable[[str], bool],
        history: Path | None,
        *,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        """Prepare it.

        is_complete: whether a text can be answered, so that Enter need not begin another line.
        offers: what may stand behind a text.  takes_file: whether the name of a file is what stands
        behind it.  history: the file for it.  terminal: where other than standard input and output.
        OSError where the history cannot be kept.
        """
        kept: History = InMemoryHistory() if history is None else PrivateHistory(history)
        keyboard, screen = terminal or (None, _screen())
        self._session: PromptSession[str] = PromptSession(
            "ldpsql> ",
            multiline=True,
            prompt_continuation="   ...> ",
            completer=_Offering(offers, takes_file),
            history=kept,
            key_bindings=_bindings(is_complete),
            input=keyboard,
            output=screen,
        )

    def read(self) -> str:
        """One input; nothing after Ctrl-C. EOFError after Ctrl-D."""
        try:
            return self._session.prompt()
        except KeyboardInterrupt:
            return ""


def _screen() -> Output:
    """Where the prompt appears: stdout carries data alone, so stderr where that goes elsewhere."""
    if is_dumb_terminal():  # it obeys no escape sequence
        return PlainTextOutput(sys.stdout if sys.stdout.isatty() else sys.stderr)
    return create_output(always_prefer_tty=True)


class _Offering(Completer):
    """Offers, as prompt_toolkit asks for them."""

    def __init__(
        self, offers: Callable[[str], Iterable[Completion]], takes_file: Callable[[str], bool]
    ) -> None:
        self._offers, self._takes_file = offers, takes_file
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Completions at the cursor."""
        before = document.text_before_cursor
        if self._takes_file(before):
            name = before.partition(" ")[2].lstrip()
            yield from self._files.get_completions(Document(name), event)
            return
        # Before a letter is written there is too much to be shown unasked.
        if not event.completion_requested and not (
            before[-1:].isalnum() or before[-1:] in ("_", "'", ".")
        ):
            return
        yield from self._offers(before)


def _bindings(is_complete: Callable[[str], bool]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        """Accept what is complete, and go on in another line where it is not."""
        buffer: Buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("enter", filter=completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Take what was chosen from the menu."""
        event.current_buffer.complete_state = None

    return keys
