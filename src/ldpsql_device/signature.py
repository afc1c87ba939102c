"""Signatures of surveys: Ed25519 (RFC 8032), by the library `cryptography`.

Only who signs, and a device that reads a signed survey, loads that library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ldpsql_device.errors import NotSupportedError, OperationalError, SurveyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def verify(author: str, signature: str, text: str) -> None:
    """SurveyError unless it is the signature of a text by the owner of a public key.

    author, signature: in hexadecimal. NotSupportedError where `cryptography` is missing.
    """
    with _needing_library():
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
        with _needing_library():
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
        with _needing_library():
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
def _needing_library() -> Iterator[None]:
    """NotSupportedError where the library is missing."""
    try:
        yield
    except ImportError:
        raise NotSupportedError(
            "signatures need the library cryptography: pip install ldpsql[sign]"
        ) from None
