"""Tokens of analysts: random texts, of which a file beside the database keeps hashes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ldpsql.reports.atomic import lock_file, replace_file
from ldpsql.store.ownership import is_foreign
from ldpsql_device.errors import DataError, StoreError

ROLES = ("analyst", "admin", "relay")
"""An analyst asks; a relay brings reports, whole files of them too; an admin does both."""
_FORMAT = 1
_LARGEST = 1 << 24
"""Letters of the file: some hundred thousand tokens."""
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}")


@dataclass(frozen=True)
class Token:
    """Who has a token, what for, and its SHA-256 in hexadecimal."""

    name: str
    role: str
    sha256: str


class Tokens:
    """The tokens of a database. The file is read again whenever it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int] | None = None
        self._known: dict[str, Token] = {}

    @classmethod
    def beside(cls, database: Path) -> Tokens:
        """Those of a database, which may not be there yet."""
        return cls(database.with_name(f"{database.name}.tokens"))

    def read_known(self) -> Mapping[str, Token]:
        """All tokens, by hash; StoreError for a file that cannot be read."""
        try:
            found = self.path.stat()
            self._require_own(found)
            seen = (found.st_mtime_ns, found.st_ino)
            if seen != self._seen:
                self._known, self._seen = self._read(), seen
        except FileNotFoundError:
            self._known, self._seen = {}, None
        return self._known

    def find(self, text: str) -> Token | None:
        """Whose token a text is; None for nobody's.

        Hashes of random texts are looked up, so the time that it takes tells nothing of use.
        """
        return self.read_known().get(hashlib.sha256(text.encode()).hexdigest())

    def add(self, name: str, role: str) -> str:
        """A new token, which is nowhere else; DataError for a name that is taken or is none."""
        if not _NAME.fullmatch(name):
            raise DataError(f"{name!r:.70} is not the name of a token: use A-Z, a-z, 0-9, _ . @ -")
        text = secrets.token_urlsafe(32)
        own = Token(name, role, hashlib.sha256(text.encode()).hexdigest())
        with self._change() as known:
            if name in {token.name for token in known.values()}:
                raise DataError(
                    f"a token {name} already exists; remove it first, or choose another name"
                )
            known[own.sha256] = own
        return text

    def remove(self, name: str) -> None:
        """Have a token open nothing any more; DataError if there is none of that name."""
        with self._change() as known:
            own = [key for key, token in known.items() if token.name == name]
            if not own:
                raise DataError(f"there is no token {name!r:.70}; `ldpsql token list` shows them")
            for key in own:
                del known[key]

    @contextmanager
    def _change(self) -> Iterator[dict[str, Token]]:
        """The tokens, to be changed, while no other process changes them: a file beside theirs is
        locked, which the system unlocks for who was killed. It stays, for a lock on a file that is
        removed keeps nobody out of the next one."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(lock, flags, 0o600)
        except OSError as error:
            raise StoreError(f"cannot write {lock}: {error.strerror}") from None
        try:
            lock_file(descriptor, wait=True)
            known = dict(self.read_known())
            yield known
            rows = [asdict(token) for token in known.values()]
            text = json.dumps({"format": _FORMAT, "tokens": rows}, indent=1)
            with replace_file(self.path, mode=0o600) as temporary:
                temporary.write_text(f"{text}\n")
        finally:
            os.close(descriptor)

    def _require_own(self, found: os.stat_result) -> None:
        """StoreError for tokens that others may have put there, who would be let in."""
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{self.path} is not an ordinary file; remove it")
        if is_foreign(found, self.path.parent):
            raise StoreError(
                f"{self.path} belongs to another user, who could let anybody in; remove it, or "
                "make it yours"
            )

    def _read(self) -> dict[str, Token]:
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                data = json.loads(file.read(_LARGEST))
            tokens = [Token(**row) for row in data["tokens"]]
            if data["format"] == _FORMAT and all(token.role in ROLES for token in tokens):
                return {token.sha256: token for token in tokens}
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        raise StoreError(f"{self.path} is damaged; remove it, and add the tokens again")
