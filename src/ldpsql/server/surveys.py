"""The endpoints that anybody may ask: which surveys there are, and how well they answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.designer import predict_errors
from ldpsql.limits import deadline
from ldpsql.server.problems import Problem, unknown_survey
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, NotSupportedError

_MOST_KINDS, _SECONDS = 24, 30.0
"""Kinds of queries that are told, and seconds of processor time that it may take."""

T = TypeVar("T")


class Surveys:
    """The endpoints for whoever looks at a survey. No credentials, and nothing of any report."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forecasts: dict[str, dict[str, Any] | str] = {}
        self._turn = anyio.CapacityLimiter(1)

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

        def find() -> dict[str, Any] | str:
            if fingerprint not in self._forecasts:
                intake = self._store.intake_of(fingerprint)
                if intake is None:
                    raise unknown_survey()
                if not intake.is_complete:
                    detail = "there is only the part of the survey here that devices fetch"
                    raise Problem(404, "no-forecast", detail)
                with deadline(_SECONDS, _late, time.thread_time):
                    self._forecasts[fingerprint] = _predict(self._store.survey(intake.table))
            return self._forecasts[fingerprint]

        found = await self._work(find)
        if isinstance(found, str):
            raise Problem(404, "no-forecast", found)
        return JSONResponse(found, headers={"Cache-Control": "public, max-age=86400"})

    async def _work(self, work: Callable[[], T]) -> T:
        """Work on a thread, one request at a time."""
        return await anyio.to_thread.run_sync(work, limiter=self._turn)


def _late(seconds: float) -> Error:
    return NotSupportedError(
        f"the expected errors take longer than {seconds:g} s to compute; `ldpsql design` prints "
        "them where the survey is designed"
    )


def _predict(survey: Survey) -> dict[str, Any] | str:
    """The expected errors of a survey, or why nothing can be, which follows from the
    survey alone."""
    try:
        forecast, half = predict_errors(survey), quantile(CONFIDENCE)
    except Error as error:
        return str(error)
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
