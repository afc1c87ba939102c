"""The key to which devices seal their reports, and which opens them: of the shuffler alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ldpsql_device.errors import ReportError
from ldpsql_device.hpke import KEY_BYTES, derive
from ldpsql_device.pledge import INFO

_SEALED = re.compile("(?:[0-9a-f]{2})*")


@dataclass(frozen=True)
class Opener:
    """A private X25519 key.

    public: what a pledge names as `encryption`, 64 hexadecimal digits.
    """

    public: str
    _private: X25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, private: X25519PrivateKey) -> Opener:
        """The key of the library's key."""
        return cls(private.public_key().public_bytes_raw().hex(), private)

    @classmethod
    def create(cls) -> Opener:
        """A new key."""
        return cls.of(X25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, secret: bytes) -> Opener:
        """The inverse of `to_bytes`; ValueError for anything but 32 bytes."""
        return cls.of(X25519PrivateKey.from_private_bytes(secret))

    def to_bytes(self) -> bytes:
        """The private key, to be kept: 32 bytes."""
        return self._private.private_bytes_raw()

    def open_report(self, line: str, fingerprint: str) -> str:
        """The line of a report of a survey, from the line that a device sent.

        ReportError for one that is not sealed, or was sealed to another key, for another survey or
        by another rule, or has been changed. What it gives is not yet checked to be a report.
        """
        try:
            data = json.loads(line)
            [(key, digits)] = data.items()
            if key == "sealed" and _SEALED.fullmatch(digits):
                return self.open(bytes.fromhex(digits), INFO, fingerprint.encode()).decode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
        raise ReportError("not a report that was sealed for this survey and this shuffler's key")

    def open(self, message: bytes, info: bytes, associated: bytes) -> bytes:
        """What `ldpsql_device.hpke.seal` sealed; ValueError for anything else."""
        sent, text = message[:KEY_BYTES], message[KEY_BYTES:]
        secret = self._private.exchange(X25519PublicKey.from_public_bytes(sent))
        key, nonce = derive(secret, sent, bytes.fromhex(self.public), info)
        try:
            return AESGCM(key).decrypt(nonce, text, associated)
        except InvalidTag:
            raise ValueError("sealed for another key or purpose, or changed since") from None
