"""A device as it must not be: it refuses a record for its values. For the controls of attacks."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsql_device.answer import respond
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Dimension, Measure
from ldpsql_device.survey import Published
from ldpsql_device.values import INSIDE

from .surveys import ANYTHING


def make_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a value that is not inside its domain or bounds is an error, which quotes it."""
    code, threshold = Dimension.code, Measure.threshold

    def strict_code(self: Dimension, value: Any, drawn: int) -> tuple[int, int]:
        found = code(self, value, drawn)
        if found[1] != INSIDE:
            raise RecordError(f"{self.name}: {value!r} does not fit")
        return found

    def strict_threshold(self: Measure, value: Any) -> tuple[int, int]:
        found = threshold(self, value)
        if found[1] != INSIDE:
            raise RecordError(f"{self.name}: {value!r} does not fit")
        return found

    monkeypatch.setattr(Dimension, "code", strict_code)
    monkeypatch.setattr(Measure, "threshold", strict_threshold)


def seen(survey: Published, record: Any) -> str:
    """What a collector sees of whether a device answers: that a report came, of a length, or the
    error for want of which none did."""
    try:
        return f"a report of {len(respond(survey, record, policy=ANYTHING).to_json())} characters"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
