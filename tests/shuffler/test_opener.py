"""What devices seal for a shuffler, and who opens it."""

from __future__ import annotations

import json
from datetime import date

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING

from ldpsql.shuffler.opener import Opener
from ldpsql_device import hpke
from ldpsql_device.answer import respond
from ldpsql_device.errors import ReportError
from ldpsql_device.pledge import Pledge
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey

# RFC 9180, A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode.
SENDER = "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"
SENT = "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
RECIPIENT = "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"
PUBLIC = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
INFO, ASSOCIATED = b"Ode on a Grecian Urn", b"Count-0"
TEXT = b"Beauty is truth, truth beauty"
CIPHER = (
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
)

SURVEY = Survey.from_json(shuffled_survey().device_text)
OPENER = Opener.create()


@pytest.fixture
def pledge(tmp_path):
    key = SigningKey.create(tmp_path / "shuffler.key")
    until = date(2026, 12, 31)
    return Pledge.sign(SURVEY, key, SURVEY.shuffled, OPENER.public, until)


def test_a_message_is_that_of_the_published_vector():
    own = X25519PrivateKey.from_private_bytes(bytes.fromhex(SENDER))
    message = hpke.seal(TEXT, PUBLIC, INFO, ASSOCIATED, own)
    assert message.hex() == SENT + CIPHER
    opener = Opener.from_bytes(bytes.fromhex(RECIPIENT))
    assert opener.public == PUBLIC
    assert opener.open(message, INFO, ASSOCIATED) == TEXT


def test_a_library_that_shares_nothing_with_this_one_opens_what_has_no_associated_data():
    library = pytest.importorskip("cryptography.hazmat.primitives.hpke")
    suite = library.Suite(library.KEM.X25519, library.KDF.HKDF_SHA256, library.AEAD.AES_128_GCM)
    private = X25519PrivateKey.generate()
    opener = Opener.of(private)
    sealed = hpke.seal(TEXT, opener.public, INFO, b"")
    assert suite.decrypt(sealed, private, info=INFO) == TEXT
    assert opener.open(suite.encrypt(TEXT, private.public_key(), info=INFO), INFO, b"") == TEXT


def test_the_shuffler_reads_what_a_device_seals(pledge):
    report = respond(SURVEY, {}, policy=ANYTHING)
    line = pledge.seal(report).to_json()
    assert OPENER.open_report(line, SURVEY.fingerprint) == report.to_json()
    assert Opener.from_bytes(OPENER.to_bytes()).open_report(line, SURVEY.fingerprint)


def test_two_messages_of_one_report_have_nothing_in_common_but_their_length(pledge):
    report = respond(SURVEY, {}, policy=ANYTHING)
    one, other = (pledge.seal(report).sealed for _ in range(2))
    assert one[:64] != other[:64]
    assert one[64:] != other[64:]
    assert len(one) == len(other)


def test_nothing_else_is_opened(pledge):
    report = respond(SURVEY, {}, policy=ANYTHING)
    sealed = pledge.seal(report)
    last = "0" if sealed.sealed[-1] != "0" else "1"
    changed = json.dumps({"sealed": sealed.sealed[:-1] + last})
    elsewhere = hpke.seal(b"{}", OPENER.public, b"another purpose", SURVEY.fingerprint.encode())
    for line in (
        report.to_json(),
        changed,
        json.dumps({"sealed": elsewhere.hex()}),
        json.dumps({"sealed": sealed.sealed.upper()}),
        json.dumps({"sealed": "00" * 80}),
        json.dumps({"sealed": ""}),
        json.dumps({"sealed": 7}),
        "[]",
        "",
        "[" * 100_000,
    ):
        with pytest.raises(ReportError, match="sealed for this survey"):
            OPENER.open_report(line, SURVEY.fingerprint)
    for opener, fingerprint in ((Opener.create(), SURVEY.fingerprint), (OPENER, "0" * 64)):
        with pytest.raises(ReportError, match="sealed for this survey"):
            opener.open_report(sealed.to_json(), fingerprint)
