"""What anybody may know of the surveys here: which there are, and how well they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ldpsql.designer import predict_errors
from ldpsql.estimate import CONFIDENCE, quantile
from ldpsql.server.problems import RETRY, Problem
from ldpsql.store.base import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, StoreError

_MOST_KINDS = 24

T = TypeVar("T")


class Surveys:
    """The endpoints for whoever looks at a survey. No credentials, and nothing of any report."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forecasts: dict[str, dict[str, Any] | Error] = {}
        self._turn: anyio.CapacityLimiter | None = None

    async def list(self, _: Request) -> Response:
        """All surveys, by name."""

        def find() -> list[dict[str, str]]:
            return [
                {"table": intake.table, "fingerprint": intake.fingerprint}
                for intake in self._store.intakes()
            ]

        return JSONResponse({"surveys": await self._work(find)})

    async def forecast(self, request: Request) -> Response:
        """The expected error of what a survey was designed for, which is computed once."""
        fingerprint = request.path_params["fingerprint"]

        def find() -> dict[str, Any] | Error:
            if fingerprint not in self._forecasts:
                intake = self._store.intake_of(fingerprint)
                if intake is None:
                    raise Problem(404, "unknown-survey", "there is no such survey here")
                if not intake.is_complete:
                    detail = "there is only the part of the survey here that devices fetch"
                    raise Problem(404, "no-forecast", detail)
                self._forecasts[fingerprint] = _predict(self._store.survey(intake.table))
            return self._forecasts[fingerprint]

        found = await self._work(find)
        if isinstance(found, Error):
            raise Problem(404, "no-forecast", str(found))
        return JSONResponse(found, headers={"Cache-Control": "public, max-age=86400"})

    async def _work(self, work: Callable[[], T]) -> T:
        """Work on a thread, one request at a time."""
        if self._turn is None:
            self._turn = anyio.CapacityLimiter(1)
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._turn)
        except StoreError as error:
            raise Problem(503, "unavailable", str(error), RETRY) from None


def _predict(survey: Survey) -> dict[str, Any] | Error:
    """What is said of a survey's expected errors, or why nothing can be."""
    try:
        forecast, half = predict_errors(survey), quantile(CONFIDENCE)
    except Error as error:
        return error
    kinds = [
        {
            "text": entry.text,
            "half_width": half * entry.error,
            "share": half * entry.share,
            "limit": entry.limit,
        }
        for entry in forecast.expect_errors(_MOST_KINDS)
    ]
    return {"people": forecast.people, "level": CONFIDENCE, "kinds": kinds}
