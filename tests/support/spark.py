"""Spark on this machine, for tests: one session for all of a process."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from ldpsql.spark.session import start

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
    Spark Connect, or on the SPARK_MASTER that is named, such as `local-cluster[2,1,1024]`, whose
    executors are processes of their own."""
    given = " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items())
    if "SPARK_REMOTE" not in os.environ:
        given += f" --master {os.environ.get('SPARK_MASTER', 'local[2]')}"
        # Where a cluster's executors are started from, which Spark finds for itself in one process.
        [home] = find_spec("pyspark").submodule_search_locations
        os.environ.setdefault("SPARK_HOME", home)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{given} pyspark-shell"
    return start()
