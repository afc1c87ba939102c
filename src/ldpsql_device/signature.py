"""Signatures of surveys: Ed25519 (RFC 8032), by the library `cryptography`.

Only who signs, and a device that reads a signed survey, loads that library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsql_device.errors import NotSupportedError, OperationalError, SurveyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


SMALL_ORDER = (
    *(f"{byte}{'00' * 31}" for byte in ("00", "01")),
    *(f"{byte}{'ff' * 30}7f" for byte in ("ec", "ed", "ee")),
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)
"""Ed25519 keys of order 8 or less, all their encodings, up to the sign: the highest bit of the last
byte."""


def check_author(author: Any, signature: Any) -> None:
    """SurveyError unless there are a public key and a signature, by their form, or neither."""
    if (author is None) != (signature is None):
        raise SurveyError("not a survey: a signature needs its author, and an author a signature")
    for name, digits, length in (("author", author, 64), ("signature", signature, 128)):
        if digits is not None and not (
            isinstance(digits, str) and re.fullmatch(f"[0-9a-f]{{{length}}}", digits)
        ):
            raise SurveyError(f"not a survey: {name} must be {length} hexadecimal digits")
    if author is not None and f"{int(author, 16) & ~0x80:064x}" in SMALL_ORDER:
        raise SurveyError("not a survey: author is a key under which anybody can sign")


def verify(author: str, signature: str, text: str) -> None:
    """SurveyError unless it is the signature of a text by the owner of a public key.

    author, signature: in hexadecimal. NotSupportedError where `cryptography` is missing.
    """
    with needing_library():
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(author))
        key.verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        raise SurveyError(
            "not a survey: the signature is not its author's; somebody has changed the survey"
        ) from None


@dataclass(frozen=True)
class SigningKey:
    """The key with which an author signs surveys.

    author: the public key, 64 hexadecimal digits, which apps pin.
    """

    author: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> SigningKey:
        """The key of the library's key."""
        return cls(private.public_key().public_bytes_raw().hex(), private)

    @classmethod
    def create(cls, path: str | Path) -> SigningKey:
        """Draw a key and write it to a new file that only its owner can read (PEM, PKCS #8).

        OperationalError for a file that exists or cannot be written.
        """
        with needing_library():
            from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
            from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
        private = ed25519.Ed25519PrivateKey.generate()
        text = private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        try:
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise OperationalError(
                f"{path} exists, and no key is overwritten; name another file"
            ) from None
        except OSError as error:
            raise OperationalError(f"cannot write the key {path}: {error.strerror}") from None
        return cls.of(private)

    @classmethod
    def read(cls, path: str | Path) -> SigningKey:
        """The key in a file; OperationalError for one that holds none, or cannot be read."""
        with needing_library():
            from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
            from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
            from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
        try:
            private = serialization.load_pem_private_key(Path(path).read_bytes(), None)
        except OSError as error:
            raise OperationalError(f"cannot read the key {path}: {error.strerror}") from None
        except (ValueError, TypeError, UnsupportedAlgorithm):
            private = None
        if not isinstance(private, ed25519.Ed25519PrivateKey):
            raise OperationalError(
                f"{path} holds no Ed25519 key without a password; `ldpsql keygen` makes one"
            )
        return cls.of(private)

    def sign(self, text: str) -> str:
        """The signature of a text, 128 hexadecimal digits."""
        return self._private.sign(text.encode()).hex()


@contextmanager
def needing_library() -> Iterator[None]:
    """NotSupportedError where the library is missing."""
    try:
        yield
    except ImportError:
        raise NotSupportedError(
            "signatures need the library cryptography: pip install ldpsql-device[sign]"
        ) from None
