"""The statement of a shuffler about a batch: in the metadata of the batch's file.

A store that names a shuffler by its key takes only batches that it signed. Without a signature the
statement proves nothing: anybody who can write the file can write it.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np
import pyarrow as pa

from ldpsql.store.intake import Intake
from ldpsql.store.report_files import WRITTEN_ID
from ldpsql_device.errors import ReportError, SurveyError
from ldpsql_device.reports import ID_BYTES
from ldpsql_device.signature import SigningKey, check_author, verify
from ldpsql_device.survey import (
    canonical,
    parse_json,
    read_day,
    require_hashes,
    require_keys,
    signed_text,
)

BATCH_KEY = "ldpsql.shuffled"
"""The metadata of a file under which its `ShuffledBatch` stands."""
_FORMAT = 3
_KEYS = ("format", "fingerprint", "reports", "id")
_SIGNED = ("digest", "day", "shuffler", "signature")


@dataclass(frozen=True)
class BatchSignature:
    """A shuffler's word for a batch.

    digest: SHA-256 of the reports in their order, each as `pack_reports` has it.  day: on which
    the batch was full (UTC).  shuffler, signature: an Ed25519 public key, and its signature of
    everything else that is said of the batch.
    """

    digest: str
    day: date
    shuffler: str
    signature: str


@dataclass(frozen=True)
class ShuffledBatch:
    """The statement about a batch that stands in its file.

    fingerprint: of the survey.  reports: how many there are.  id: 16 random bytes in hexadecimal,
    of this batch alone, so that it is not taken twice.  signed: None for a batch that nobody
    signed.
    """

    fingerprint: str
    reports: int
    id: str = field(default_factory=lambda: os.urandom(ID_BYTES).hex())
    signed: BatchSignature | None = None

    def sign(self, key: SigningKey, digest: str, day: date) -> ShuffledBatch:
        """The same, signed; digest, day: see `BatchSignature`."""
        own = replace(self, signed=BatchSignature(digest, day, key.author, ""))
        assert own.signed is not None
        signature = key.sign(signed_text(own._to_data()))
        return replace(self, signed=replace(own.signed, signature=signature))

    def to_json(self) -> str:
        """The text that stands in the metadata."""
        return canonical(self._to_data())

    def _to_data(self) -> dict[str, object]:
        said: dict[str, object] = {"format": _FORMAT, "fingerprint": self.fingerprint}
        said |= {"reports": self.reports, "id": self.id}
        return (
            said
            if self.signed is None
            else said | vars(self.signed) | {"day": str(self.signed.day)}
        )

    @classmethod
    def from_json(cls, text: str, name: str) -> ShuffledBatch:
        """The inverse of `to_json`; ReportError, naming the file, for anything else. Who signed it
        is not checked."""
        try:
            data = parse_json(text)
            has_signature = isinstance(data, dict) and "signature" in data
            require_keys(data, "the batch", _KEYS + (_SIGNED if has_signature else ()))
            own, reports, fingerprint = data["id"], data["reports"], data["fingerprint"]
            require_hashes(fingerprint)
            is_read = data["format"] == _FORMAT and type(reports) is int and fingerprint is not None
            if is_read and isinstance(own, str) and WRITTEN_ID.fullmatch(own):
                return cls(
                    fingerprint, reports, own, _read_signature(data) if has_signature else None
                )
        except SurveyError:
            pass
        raise ReportError(f"{name}: its record of the shuffling cannot be read; shuffle it again")

    def require_signature(self, shufflers: Collection[str], name: str) -> None:
        """ReportError unless one of these shufflers signed it; any batch will do where none is
        named. NotSupportedError where the library that checks signatures is missing.

        shufflers: public keys.  name: of the file.
        """
        if not shufflers:
            return
        if self.signed is None or self.signed.shuffler not in shufflers:
            by = "nobody" if self.signed is None else f"another one ({self.signed.shuffler[:12]})"
            named = ", ".join(sorted(key[:12] for key in shufflers))
            raise ReportError(
                f"{name} is signed by {by}, and batches are taken from the shuffler {named} alone; "
                "nothing was taken. Take the batch as the shuffler wrote it, or name another "
                "shuffler (--shuffler-key)"
            )
        try:
            verify(self.signed.shuffler, self.signed.signature, signed_text(self._to_data()))
        except SurveyError:
            raise ReportError(
                f"{name}: its signature is not the shuffler's, so the statement about the "
                "batch was changed; nothing was taken. Take it as the shuffler wrote it"
            ) from None


def _read_signature(data: dict[str, object]) -> BatchSignature:
    day = read_day(data["day"], "batch.day")
    require_hashes(data["digest"])
    check_author(data["shuffler"], data["signature"])
    if None in (day, data["digest"], data["shuffler"]):
        raise SurveyError("not a batch: a signature needs a digest, a day and a shuffler")
    given = data["digest"], day, data["shuffler"], data["signature"]
    return BatchSignature(*given)  # type: ignore[arg-type]


def pack_reports(intake: Intake, rows: pa.RecordBatch | pa.Table) -> bytes:
    """Reports as bytes, one after the other: the numbers of each, most significant byte first, as
    its hexadecimal digits write them."""
    packed = np.empty(rows.num_rows, intake.packing)
    for name in intake.report_columns:
        packed[name] = rows.column(name).to_numpy()
    return packed.tobytes()
