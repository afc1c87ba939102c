"""Spark sessions, what a `spark://` address says, and what can go wrong with Spark."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from ldpsql import limits
from ldpsql_device.errors import InterfaceError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"spark:/+", re.IGNORECASE)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

# The warning is about pandas, which nothing here uses.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


@dataclass(frozen=True)
class Address:
    """An address such as `spark:///data/reports/?survey=app.survey.json`.

    reports: the folder, on Spark's own file system unless it has a scheme of its own, as
    spark:///s3a://bucket/reports/ does.  survey: the published survey's file, None for the one that
    is known there.
    """

    reports: str
    survey: Path | None

    @classmethod
    def parse(cls, url: str) -> Address:
        """InterfaceError for an address that says anything else."""
        body, _, said = _SCHEME.sub("", url, count=1).partition("?")
        given = dict(parse_qsl(said, keep_blank_values=True))
        if list(given) not in ([], ["survey"]) or not all(given.values()):
            raise InterfaceError(
                f"{url!r:.100} is not the address of a folder of reports; write "
                "spark:///path/to/reports/?survey=FILE"
            )
        place = unquote(body)
        if not place.strip("/"):
            raise InterfaceError(f"{url!r:.100} names no folder; write spark:///path/to/reports/")
        folder = place if _HAS_SCHEME.match(place) else f"/{place}"
        return cls(folder, Path(given["survey"]) if given else None)


def start() -> SparkSession:
    """The session of this process: the one there is, or what the environment says (SPARK_REMOTE,
    spark-defaults.conf, spark-submit), and without all that Spark on this machine.

    StoreError where there is no PySpark, and where Spark does not start.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra, and it takes long)
    except ImportError:
        raise StoreError(
            "a folder of reports is read by Spark, which is not installed; run "
            "`pip install 'ldpsql[spark]'`"
        ) from None
    # Or the workers of this machine would be whatever `python3` is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.builder.appName("ldpsql").getOrCreate()
    except Exception as error:
        raise StoreError(
            f"Spark does not start ({_name(error)}); check that Java 17 or newer is there, or the "
            "address in SPARK_REMOTE"
        ) from None


@contextmanager
def explain(what: str) -> Iterator[None]:
    """Turn what Spark says into a StoreError.  what: Spark could not do, in its words.

    Spark quotes files, and may quote rows, so only the name of its error is told.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except PySparkException as error:
        raise StoreError(f"Spark could not {what} ({_name(error)}); its log says more") from None
    except Exception as error:  # of the connection to it, whichever that is
        if type(error).__module__.split(".")[0] in ("grpc", "py4j"):
            raise StoreError(
                f"Spark could not {what}: it does not answer; its log says more"
            ) from None
        raise


@contextmanager
def in_time(session: SparkSession) -> Iterator[None]:
    """Have what this thread asks of Spark end at the statement's deadline; QueryError then."""
    left, tag = limits.find_remaining(), f"ldpsql-{token_hex(8)}"
    if not isfinite(left):
        yield
        return
    timer = threading.Timer(min(left, threading.TIMEOUT_MAX), session.interruptTag, [tag])
    timer.daemon = True
    session.addTag(tag)
    timer.start()
    try:
        yield
    except Exception:
        limits.check()
        raise
    finally:
        timer.cancel()
        session.removeTag(tag)


def _name(error: Exception) -> str:
    """Spark's name of an error, such as PATH_NOT_FOUND."""
    find = getattr(error, "getCondition", None)
    return str(find and find()) if find and find() else type(error).__name__
