"""The store over a folder of report files that Spark reads."""

from ldpsql.store.spark.store import SparkStore

__all__ = ["SparkStore"]
