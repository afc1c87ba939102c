"""SQL text to Statement; the only importer of sqlglot here."""

from ldpsql.parser.parameters import Parameters
from ldpsql.parser.statement import parse

__all__ = ["Parameters", "parse"]
