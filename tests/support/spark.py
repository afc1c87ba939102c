"""Spark on this machine, for tests: one session for all of a process."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from ldpsql.store.spark.session import start

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def find_problem() -> str | None:
    """Why there is no Spark here; None where there is."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed: make spark"
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        return "Java is not installed"
    return None


def start_here() -> Any:
    """A session that takes little of this machine: classic, or where SPARK_REMOTE is `local` of
    Spark Connect."""
    given = " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items())
    if "SPARK_REMOTE" not in os.environ:
        given += " --master local[2]"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{given} pyspark-shell"
    return start()
