"""Problem documents (RFC 9457) for clients whose requests are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

RETRY = {"Retry-After": "30"}
_TYPE = "urn:ldpsql:error:"


class Problem(Exception):
    """A refusal: a status, a kind that programs can tell apart, and a sentence for people.

    more: members of the document besides.  headers: of the response.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers or {}, more

    def response(self) -> Response:
        """The document."""
        title = self.kind.replace("-", " ")
        said = {"type": _TYPE + self.kind, "title": title, "status": self.status}
        text = json.dumps({**said, "detail": self.detail, **self.more})
        return Response(text, self.status, self.headers, "application/problem+json")


def unknown_survey() -> Problem:
    """The refusal of whatever is asked about a survey that is not here."""
    return Problem(404, "unknown-survey", "there is no such survey here")
