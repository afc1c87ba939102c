"""Surveys changed by somebody who knows the format, with hashes that fit the change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ldpsql.survey import Survey
from ldpsql_device.survey import canonical, sha256


def resealed(survey: Survey, change: Callable[[Any, Any], object]) -> str:
    """A survey's JSON after `change(device part, collector's part)`."""
    content = json.loads(survey.to_json())
    change(content["survey"], content["collector"])
    content["survey"]["collector"] = sha256(canonical(content["collector"]))
    return json.dumps(content)
