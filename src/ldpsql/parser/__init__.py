"""Run by the collector; sees questions, not reports. SQL text to `Statement`; imports sqlglot."""

from ldpsql.parser.parameters import Parameters
from ldpsql.parser.statement import parse

__all__ = ["Parameters", "parse"]
