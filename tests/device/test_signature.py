"""Keys and signatures of surveys: what is signed, what is refused, what may be missing."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from support import reference_client
from support.later_rounds import next_survey
from support.vectors import published_key, small_survey

from ldpsql.survey import Survey
from ldpsql_device.errors import NotSupportedError, OperationalError, SurveyError
from ldpsql_device.ledger import chain_of
from ldpsql_device.schema import Schema
from ldpsql_device.signature import SMALL_ORDER, SigningKey, check_author, verify
from ldpsql_device.survey import Schedule
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_lab.simulation import simulate

STAGED = Schema.from_keys({"dimension": {"age": {"type": "int", "domain": [0, 7]}}})


@pytest.fixture
def other(tmp_path):
    return SigningKey.create(tmp_path / "other.key")


def test_the_key_of_the_rfc_has_its_public_key_and_signature():
    """RFC 8032, section 7.1, test 1."""
    key = published_key()
    assert key.author == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert key.sign("").startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901")


def test_a_signed_survey_names_its_author_and_is_read_again():
    plain, key = small_survey(), published_key()
    signed = plain.sign(key)
    assert signed.author == key.author
    assert signed.fingerprint != plain.fingerprint
    device = DeviceSurvey.from_json(signed.device_text)
    device.verify()
    assert (device.author, device.fingerprint) == (key.author, signed.fingerprint)
    assert Survey.from_json(signed.to_json()) == signed
    assert signed.sign(key) == signed


def test_another_author_makes_another_survey_and_another_chain(other):
    own, theirs = (small_survey().sign(key) for key in (published_key(), other))
    assert own.fingerprint != theirs.fingerprint
    assert chain_of(own) == f"{own.author}:{own.fingerprint}"
    forged = replace(theirs, author=None, signature=None).sign(other)
    assert chain_of(forged) != chain_of(own)


def test_an_unsigned_survey_cannot_be_verified():
    with pytest.raises(SurveyError, match="is not signed"):
        small_survey().verify()


def test_a_key_without_the_library_says_what_to_install(monkeypatch, tmp_path):
    key = tmp_path / "a.key"
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    for act in (SigningKey.create, SigningKey.read):
        with pytest.raises(NotSupportedError, match=r"pip install ldpsql-device\[sign\]"):
            act(key)
    assert not key.exists()


def test_a_key_file_is_its_owners_and_is_never_overwritten(tmp_path):
    path = tmp_path / "author.key"
    old = os.umask(0)
    try:
        key = SigningKey.create(path)
    finally:
        os.umask(old)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.read(path).author == key.author
    content = path.read_bytes()
    assert content.startswith(b"-----BEGIN PRIVATE KEY-----")
    with pytest.raises(OperationalError, match="no key is overwritten"):
        SigningKey.create(path)
    assert path.read_bytes() == content
    assert "PRIVATE" not in repr(key)


def test_what_is_no_key_is_refused_in_one_line(tmp_path):
    path = tmp_path / "some.key"
    curve = generate_private_key(SECP256R1())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    locked = serialization.BestAvailableEncryption(b"x")
    texts = [b"", b"secret", curve.private_bytes(*form, serialization.NoEncryption())]
    texts += [curve.private_bytes(*form, locked)]
    for text in texts:
        path.write_bytes(text)
        with pytest.raises(OperationalError, match="holds no Ed25519 key without a password"):
            SigningKey.read(path)
    with pytest.raises(OperationalError, match=r"cannot read the key .*No such file"):
        SigningKey.read(tmp_path / "nothing.key")
    with pytest.raises(OperationalError, match=r"cannot write the key .*No such file"):
        SigningKey.create(tmp_path / "nowhere" / "a.key")


def test_all_rounds_have_one_author(other):
    first = Survey.of("app", STAGED, "3", "ahead").sign(key := published_key())
    second = next_survey(first, key=key)
    assert (second.author, second.first) == (key.author, first.fingerprint)
    assert chain_of(second) == chain_of(first)
    second.verify()
    third = next_survey(second, key=key)
    assert chain_of(third) == chain_of(first)
    for wrong in (None, other):
        with pytest.raises(SurveyError, match=f"{key.author} has signed the first"):
            next_survey(first, key=wrong)
    with pytest.raises(SurveyError, match="nobody has signed the first"):
        next_survey(Survey.of("app", STAGED, "3", "ahead"), key=key)


def test_a_simulation_of_a_signed_survey_asks_all_rounds():
    survey = Survey.of("app", STAGED, "3", "ahead").sign(published_key())
    people = pa.table({"age": [i % 8 for i in range(4000)]})
    with simulate(survey, people) as connection:
        ((count,),) = connection.execute("SELECT COUNT(*) FROM app").fetchall()
    assert count > 0


def test_a_schedule_has_days_in_order():
    with pytest.raises(SurveyError, match="before it starts"):
        Schedule(date(2026, 2, 1), date(2026, 1, 31))
    assert Schedule(date(2026, 2, 1), date(2026, 2, 1)).end == date(2026, 2, 1)
    with pytest.raises(SurveyError, match="are dates"):
        Schedule("2026-02-01")
    survey = replace(small_survey(), schedule=Schedule(replay_window=366))
    assert survey.schedule.last_sending_day(date.max) == date.max


@pytest.mark.parametrize("sign", [0, 0x80])
def test_a_key_of_small_order_is_no_author(sign):
    for encoded in SMALL_ORDER:
        author = f"{encoded[:62]}{int(encoded[62:], 16) | sign:02x}"
        with pytest.raises(SurveyError, match="anybody can sign"):
            check_author(author, f"01{'00' * 63}")
    # Seven values of y: two of order 8, and those of orders 1, 2 and 4 with two that are not below
    # the prime.
    assert len(SMALL_ORDER) == 7
    for encoded in SMALL_ORDER:
        whole = int.from_bytes(bytes.fromhex(encoded), "little") % reference_client.FIELD
        point = reference_client.decompress(whole.to_bytes(32, "little"))
        assert reference_client.multiply(8, point) == (0, 1)


def test_control_under_the_neutral_key_one_signature_fits_every_text():
    for text in ("one", "another"):
        verify(f"01{'00' * 31}", f"01{'00' * 63}", text)
