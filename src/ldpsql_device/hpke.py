"""Encryption to an X25519 key: one message in base mode of HPKE (RFC 9180), with HKDF-SHA256 and
AES-128-GCM; loaded only where a report is sealed for a shuffler.

X25519 and AES-GCM are those of the library `cryptography`. Its own HPKE has no associated data.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from ldpsql_device.errors import SurveyError
from ldpsql_device.signature import needing_library

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

KEY_BYTES = 32
"""Of an X25519 key: every message starts with one of the sender's, which is drawn for it alone."""
_KEM, _SUITE = b"KEM\0\x20", b"HPKE\0\x20\0\x01\0\x01"
_HASH_BYTES, _CIPHER_BYTES, _NONCE_BYTES = 32, 16, 12


def seal(
    text: bytes,
    recipient: str,
    info: bytes,
    associated: bytes,
    own: X25519PrivateKey | None = None,
) -> bytes:
    """A message that only the owner of a public key (64 hexadecimal digits) can read.

    own: the sender's key, for this message alone; drawn if left out.  SurveyError for a recipient's
    key of small order, with which anybody could read it, and NotSupportedError where `cryptography`
    is missing.
    """
    with needing_library():
        from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
    own = own or x25519.X25519PrivateKey.generate()
    public, sent = bytes.fromhex(recipient), own.public_key().public_bytes_raw()
    try:
        secret = own.exchange(x25519.X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise SurveyError("what is encrypted to such a key can be read by anybody") from None
    key, nonce = derive(secret, sent, public, info)
    return sent + AESGCM(key).encrypt(nonce, text, associated)


def derive(secret: bytes, sent: bytes, recipient: bytes, info: bytes) -> tuple[bytes, bytes]:
    """The key and the nonce of a message (RFC 9180, 4.1 and 5.1), from what X25519 gives."""
    shared = _expand(
        _extract(b"", _KEM, b"eae_prk", secret),
        _KEM,
        b"shared_secret",
        sent + recipient,
        _HASH_BYTES,
    )
    # Mode 0, without a key that both had before.
    context = b"\0" + b"".join(
        _extract(b"", _SUITE, label, given)
        for label, given in ((b"psk_id_hash", b""), (b"info_hash", info))
    )
    mixed = _extract(shared, _SUITE, b"secret", b"")
    return (
        _expand(mixed, _SUITE, b"key", context, _CIPHER_BYTES),
        _expand(mixed, _SUITE, b"base_nonce", context, _NONCE_BYTES),
    )


def _extract(salt: bytes, suite: bytes, label: bytes, given: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + given, "sha256")


def _expand(key: bytes, suite: bytes, label: bytes, context: bytes, length: int) -> bytes:
    """At most the bytes of one hash, which is all that is needed here."""
    given = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + context + b"\x01"
    return hmac.digest(key, given, "sha256")[:length]
