"""What a batch of shuffled reports says of itself.

A shuffler writes it into the metadata of the batch's file. It proves nothing: whoever can write the
file can write this. It keeps reports that were never shuffled from being taken by mistake.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ldpsql_device.errors import ReportError

BATCH_KEY = "ldpsql.shuffled"
FORMAT = 1


@dataclass(frozen=True)
class ShuffledBatch:
    """fingerprint: of the survey.  reports: how many there are in the batch."""

    fingerprint: str
    reports: int

    def to_json(self) -> str:
        """The text that stands in the metadata."""
        return json.dumps(
            {"format": FORMAT, "fingerprint": self.fingerprint, "reports": self.reports}
        )

    @classmethod
    def from_json(cls, text: str, name: str) -> ShuffledBatch:
        """What `to_json` wrote; ReportError, naming the file, for anything else."""
        try:
            data = json.loads(text)
            fingerprint, reports = data["fingerprint"], data["reports"]
            if data["format"] == FORMAT and isinstance(fingerprint, str) and type(reports) is int:
                return cls(fingerprint, reports)
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        raise ReportError(f"{name}: what it says of its shuffling cannot be read; shuffle it again")
