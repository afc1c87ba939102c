"""The SQL that DuckDB may evaluate over estimates or declared values.

Three allow-lists: *scalar* expressions, which may surround the aggregates of a base query;
*deterministic* ones, which may stand over declared values; and *outer* ones, which may also
aggregate and rank the rows of a relation of estimates. Whatever is in none of them is refused; in
particular nothing that reads files, settings or other tables, and nothing that makes texts grow
(REPLACE, STRING_AGG; CONCAT only a few times, over declared values), which no memory limit of
DuckDB stops.
"""

from __future__ import annotations

from sqlglot import exp


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCALAR_NODES = _words(
    """
    Add And Between Boolean Case Cast DataType DataTypeParam Div EQ GT GTE ILike If In IntDiv
    Interval Is LT LTE Like Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Or Paren Pow Sub
    TryCast Var
    """
)
_OUTER_NODES = _SCALAR_NODES | _words(
    """
    Alias DPipe Distinct Escape Exists Filter Group Having Identifier IgnoreNulls Limit LimitOptions
    Offset Order Ordered Qualify RespectNulls Star Tuple Where Window WindowSpec
    """
)
_SCALAR_FUNCTIONS = _words(
    """
    ABS CBRT CEIL CEILING COALESCE DATE_PART DATE_TRUNC DAY EXP EXTRACT FLOOR GREATEST HOUR
    IFNULL ISFINITE ISINF ISNAN IS_NAN IS_INF LEAST LEFT LENGTH LN LOG LOG10 LOG2 LOWER MOD MONTH
    NULLIF POW POWER QUARTER RIGHT ROUND SIGN SQRT STRFTIME SUBSTR SUBSTRING
    TIMESTAMP_TRUNC TIME_TO_STR TRIM TRUNC UPPER WEEK YEAR
    """
)
_OUTER_FUNCTIONS = _SCALAR_FUNCTIONS | _words(
    """
    ANY_VALUE ARG_MAX ARG_MIN AVG BOOL_AND BOOL_OR CORR COUNT COUNT_IF COVAR_POP COVAR_SAMP
    CUME_DIST DENSE_RANK FIRST FIRST_VALUE LAG LAST LAST_VALUE LEAD LOGICAL_AND
    LOGICAL_OR MAX MEAN MEDIAN MIN MODE NTH_VALUE NTILE PERCENTILE_CONT PERCENTILE_DISC
    PERCENT_RANK PRODUCT QUANTILE QUANTILE_CONT QUANTILE_DISC RANK ROW_NUMBER STDDEV STDDEV_POP
    STDDEV_SAMP SUM VARIANCE VARIANCE_POP VAR_POP VAR_SAMP
    """
)
_DOMAIN_NODES = _SCALAR_NODES | _words(
    """
    BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift DPipe Escape Exists Glob SimilarTo Tuple
    """
)
_DOMAIN_FUNCTIONS = _SCALAR_FUNCTIONS | _words(
    """
    CONCAT CONTAINS DATE DATE_FROM_PARTS DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DAY_OF_MONTH
    DAY_OF_WEEK DAY_OF_YEAR ENDS_WITH ISODOW MONTHNAME PREFIX REGEXP_FULL_MATCH REGEXP_LIKE
    STARTS_WITH STR_POSITION STR_TO_TIME SUFFIX TIMESTAMP_FROM_PARTS WEEKDAY
    WEEK_OF_YEAR WEEKOFYEAR YEARWEEK
    """
)
_TYPES = _words(
    """
    BIGINT BOOLEAN DATE DECIMAL DOUBLE FLOAT HUGEINT INT INT128 SMALLINT TEXT TIMESTAMP TIMESTAMPNTZ
    TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TINYINT UBIGINT UINT UINT128 USMALLINT UTINYINT VARCHAR
    """
)


def is_scalar(node: exp.Expr) -> bool:
    """Whether a node, its children aside, may surround the aggregates of a base query."""
    return _is_allowed(node, _SCALAR_NODES, _SCALAR_FUNCTIONS)


def is_outer(node: exp.Expr) -> bool:
    """Whether a node, its children aside, may stand in a query over estimates."""
    return _is_allowed(node, _OUTER_NODES, _OUTER_FUNCTIONS)


def is_deterministic(node: exp.Expr) -> bool:
    """Whether a node, its children aside, may stand in an expression over declared values: its
    value depends on its operands alone, and it has no other effect."""
    return _is_allowed(node, _DOMAIN_NODES, _DOMAIN_FUNCTIONS)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls an aggregate or a window function that an outer query may call."""
    is_function = isinstance(node, exp.Func) and not isinstance(node, exp.Exists)
    return is_function and is_outer(node) and not is_scalar(node)


def function_name(node: exp.Expr) -> str:
    """A function's name in capitals; the kind of node for anything else."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    if isinstance(node, exp.Func):
        return str(type(node).sql_names()[0])
    return type(node).__name__.upper()


def _is_allowed(node: exp.Expr, nodes: frozenset[str], functions: frozenset[str]) -> bool:
    if isinstance(node, exp.DataType):
        return str(getattr(node.this, "value", node.this)).upper() in _TYPES
    if type(node).__name__ in nodes:
        return True
    if isinstance(node, exp.Anonymous):
        return not isinstance(node.this, exp.Identifier) and node.name.upper() in functions
    return isinstance(node, exp.Func) and not functions.isdisjoint(type(node).sql_names())
