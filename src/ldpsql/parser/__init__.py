"""Run by the collector; sees questions, not reports. SQL text to `ParsedSQL`; imports sqlglot.

text -> tokens -> syntax tree -> base queries + outer SQL
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlglot import exp

from ldpsql.limits import check
from ldpsql.parser import binder, catalog
from ldpsql.parser.gradients import Tracer
from ldpsql.parser.outer import LookupOf, OuterReader, SurveyOf
from ldpsql.parser.query import Output, ParsedSQL
from ldpsql.parser.source import Refusal, deep_stack, parse_query, quiet, read, refuse, write_sql
from ldpsql.parser.values import Parameters, bind, substitute, write_now

__all__ = ["Parameters", "parse", "require_parameters"]


def parse(
    sql: str,
    parameters: Parameters,
    survey_of: SurveyOf,
    lookup_of: LookupOf = lambda _: None,
) -> ParsedSQL:
    """Read one SQL text.

    parameters: values for `?` and `$1` (a sequence) or `:name` and `$name` (a mapping).
    survey_of: gives the survey of a table name, or raises QueryError that lists those there are.
    lookup_of: gives the look-up table of a name, or None. CURRENT_DATE, NOW() and the like are the
    day and the moment of the call in UTC.

    Raises QueryError for what is wrong (unknown names, types, syntax, parameters) and
    UnsupportedSQL for what cannot be answered from randomized reports; both carry the place.
    """
    try:
        return _parse(sql, parameters, survey_of, lookup_of)
    except Refusal as refusal:
        raise refusal.locate(sql) from None


def require_parameters(sql: str, parameters: Parameters) -> None:
    """Raise the error of `parse` for parameters that do not fit the placeholders of a text, or have
    no place in SQL."""
    try:
        _, source = read(sql)
        bind(source.tokens, parameters)
    except Refusal as refusal:
        raise refusal.locate(sql) from None


def _parse(sql: str, parameters: Parameters, survey_of: SurveyOf, lookup_of: LookupOf) -> ParsedSQL:
    mode, source = read(sql)
    with deep_stack(source.tokens):
        tokens, values = bind(source.tokens, parameters)
        reader = OuterReader(source, survey_of, lookup_of)
        if catalog.is_command(source.tokens):
            if mode != "answer":
                raise refuse("only queries can be explained", source.tokens[0], "leave it out")
            tree, name = catalog.command(source.tokens)
            if name is not None and lookup_of(name.text) is None:
                reader.find(name.text, name)
        elif (named := catalog.summarized(source.tokens)) is not None:
            survey = reader.find(named.text, named)
            tree = catalog.write_summary(survey.table, survey.schema)
        else:
            tree = parse_query(source, tokens)
            substitute(tree, values)
            write_now(tree, datetime.now(UTC).replace(tzinfo=None))
            table = catalog.surveyed(tree)
            if table is not None and lookup_of(table.name) is None:
                tree = catalog.write_empty(reader.find(table.name, table).schema)
        query = reader.root(tree)
        check()
        outer = write_sql(query)
        check()
        names = [item.alias_or_name for item in query.selects]
        if not reader.is_bound:
            names = binder.bind(query, outer, reader.bases, reader.schemas, reader.tables)
        bases, tables, projection = tuple(reader.bases), tuple(reader.tables), None
        if len(bases) == 1 and (projection := _projection(query)) is not None:
            measured = {column.name for column in bases[0].columns if column.what == "value"}
            outputs = tuple(Output(name, column in measured) for column, name in projection)
            return ParsedSQL(sql, mode, bases, outer, outputs, projection=projection)
        others = {table.relation: table.rows.column_names for table in tables}
        tracer = Tracer(bases, {**catalog.relation_columns(), **others})
        with quiet():  # gradients are written from parts, which sqlglot warns of
            traces = tracer.trace(query)
        check()
        outputs = tuple(
            Output(name, bool(trace.terms), trace.lost)
            for name, trace in zip(names, traces, strict=True)
        )
        traced = query.sql(dialect="duckdb", comments=False)
        check()
    reasons, asks_catalog = tuple(tracer.reasons), reader.asks_catalog
    more = (None, asks_catalog, tables, tracer.is_chosen)
    return ParsedSQL(sql, mode, bases, outer, outputs, traced, reasons, *more)


def _projection(query: exp.Query) -> tuple[tuple[str, str], ...] | None:
    """The columns that a query picks, with their names, if it does nothing else."""
    parts = {name for name, value in query.args.items() if value}
    if parts != {"expressions", "from_"} or not isinstance(query.args["from_"].this, exp.Table):
        return None
    picked = query.args["expressions"]
    if not all(isinstance(e, exp.Alias) and isinstance(e.this, exp.Column) for e in picked):
        return None
    return tuple((entry.this.name, entry.alias) for entry in picked)
