"""What outputs depend on, how that goes through a query, and why it is lost."""

from __future__ import annotations

import pytest
from support.sql_survey import parsed

_T = "WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) "


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n, h FROM t",
        "SELECT n + h, n - h, n * h, n / h, -n, (n), 2 * n, n / 2, 1 / n FROM t",
        "SELECT ROUND(n, 1), n::INT, CAST(h AS DECIMAL(9, 2)), n // 10, FLOOR(n), CEIL(n) FROM t",
        "SELECT SQRT(n), LN(n), LOG10(n), LOG2(n), LOG(n), EXP(h), CBRT(n), n ** 2 FROM t",
        "SELECT POW(2, h), TRY_CAST(n AS INT), TRUNC(n) FROM t",
        "SELECT COALESCE(n, 0), NULLIF(n, 0), CASE WHEN state = 'CA' THEN n ELSE 0 END FROM t",
        "SELECT CASE state WHEN 'CA' THEN n END, IF(state = 'CA', n, h), IFNULL(h, n) FROM t",
        "SELECT SUM(n), AVG(n), MEAN(n), SUM(n) FILTER (WHERE state = 'CA'), SUM(n) * 2 FROM t",
        "SELECT MAX(n), MIN(n), ANY_VALUE(n), MEDIAN(n), FIRST(n) FROM t",
        "SELECT SUM(n) OVER (ORDER BY state), AVG(n) OVER () FROM t",
        "SELECT LAG(n, 1, 0) OVER (ORDER BY state) FROM t",
        "SELECT SUM(n) FILTER (WHERE state > 'A') OVER w FROM t WINDOW w AS (PARTITION BY state)",
        "SELECT LAG(n IGNORE NULLS) OVER (ORDER BY state) FROM t",
        "SELECT FIRST_VALUE(n) OVER (ORDER BY state) FROM t",
        "SELECT SUM(SUM(n)) OVER () FROM t GROUP BY state HAVING state <> 'CA'",
        "SELECT n / (SELECT SUM(n) FROM t), (SELECT x.n FROM t x WHERE x.state = t.state) FROM t",
        "SELECT n FROM t UNION ALL SELECT 1.5 UNION ALL SELECT SUM(h) FROM t",
        "SELECT q.m FROM (SELECT n AS m FROM t UNION ALL BY NAME SELECT h AS m FROM t) q",
        "SELECT DISTINCT ON (state) n FROM t ORDER BY state",
        "SELECT a.n - b.n FROM t a LEFT JOIN t b USING (state)",
        "SELECT n AS m, m / 2 FROM t ORDER BY m DESC LIMIT 2",
        "SELECT n FROM t WHERE n > 3 QUALIFY RANK() OVER (ORDER BY h) < 3",
        "SELECT x.n_1, x.n FROM (SELECT a.n, b.n FROM t a JOIN t b USING (state)) x",
        "SELECT x.c FROM (SELECT n, h FROM t) AS x(b, c)",
    ],
)
def test_every_output_has_a_gradient(query: str) -> None:
    assert [(o.name, o.lost) for o in parsed(_T + query).outputs if not o.is_estimate] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT state, UPPER(state), 1, state = 'CA' FROM t",
        "SELECT COUNT(*), COUNT(n), MIN(state), COUNT(DISTINCT state) FROM t",
        "SELECT ROW_NUMBER() OVER (ORDER BY state), COUNT(*) OVER () FROM t",
        "SELECT EXISTS (SELECT 1 FROM t), state IN (SELECT state FROM t) FROM t",
        "SELECT STDERR(COUNT(*)) FROM app",
        "SELECT DISTINCT state FROM t UNION SELECT state FROM t",
        "SELECT table_name FROM information_schema.tables",
        "SELECT 1 AS a, a + 1 AS b ORDER BY ALL LIMIT 1",
    ],
)
def test_what_depends_on_no_estimate_is_exact(query: str) -> None:
    assert [
        (o.is_estimate, o.lost) for o in parsed(_T + query).outputs if o.is_estimate or o.lost
    ] == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT n > 3 FROM t", "a comparison of estimates"),
        ("SELECT NOT n > 3 FROM t", "a comparison of estimates"),
        ("SELECT n IN (SELECT h FROM t) FROM t", "a comparison of estimates"),
        ("SELECT ABS(n) FROM t", "ABS of estimates"),
        ("SELECT GREATEST(n, 0) FROM t", "GREATEST of estimates"),
        ("SELECT n % 2 FROM t", "MOD of estimates"),
        ("SELECT n::VARCHAR FROM t", "CAST of estimates"),
        ("SELECT STDDEV_SAMP(n) FROM t", "STDDEV_SAMP of estimates"),
        ("SELECT SUM(DISTINCT n) FROM t", "DISTINCT of estimates"),
        ("SELECT CASE WHEN n > 3 THEN n END FROM t", "CASE chooses by estimates"),
        ("SELECT RANK() OVER (ORDER BY n) FROM t", "estimates order the rows"),
        ("SELECT SUM(n) OVER (ORDER BY n) FROM t", "estimates order the rows"),
        ("SELECT SUM(n) OVER w FROM t WINDOW w AS (ORDER BY n)", "estimates order the rows"),
        ("SELECT SUM(n) FROM t WHERE n > 3", "estimates choose the rows"),
        ("SELECT COUNT(*) FROM t WHERE n > 3", "estimates choose the rows"),
        ("SELECT SUM(n) FILTER (WHERE h > 3) FROM t", "estimates choose the rows"),
        ("SELECT SUM(n) OVER () FROM t WHERE h > 3", "estimates choose the rows"),
        ("SELECT SUM(SUM(n)) OVER () FROM t GROUP BY state HAVING SUM(n) > 3", "choose the rows"),
        ("SELECT SUM(n) FROM (SELECT n FROM t ORDER BY n LIMIT 2)", "choose the rows"),
        ("SELECT SUM(n) FROM (SELECT n FROM t ORDER BY 1 LIMIT 2)", "choose the rows"),
        ("SELECT SUM(n) FROM (SELECT n FROM t QUALIFY RANK() OVER (ORDER BY n) < 2)", "choose"),
        ("SELECT SUM(a.n) FROM t a JOIN t b ON a.n < b.n", "estimates choose the rows"),
        ("SELECT SUM(n) FROM t a JOIN t b USING (n)", "estimates choose the rows"),
        ("SELECT (SELECT n FROM t ORDER BY n DESC LIMIT 1)", "estimates choose the rows"),
        ("SELECT EXISTS (SELECT 1 FROM t WHERE n > 3)", "estimates choose the rows"),
        ("SELECT SUM(n) FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.n > t.n)", "choose"),
        ("SELECT n FROM t GROUP BY n", "GROUP BY compares estimates"),
        ("SELECT n, COUNT(*) FROM t GROUP BY ALL", "GROUP BY compares estimates"),
        ("SELECT COUNT(*) FROM t GROUP BY n // 10", "estimates choose the rows"),
        ("SELECT n // 10 AS d, COUNT(*) FROM t GROUP BY 1", "GROUP BY compares estimates"),
        ("SELECT DISTINCT n FROM t", "DISTINCT compares estimates"),
        ("SELECT n FROM t UNION SELECT 1.0", "UNION compares estimates"),
        ("SELECT n FROM t EXCEPT SELECT h FROM t", "EXCEPT compares estimates"),
        ("SELECT n FROM t UNION ALL BY NAME SELECT h FROM t", "UNION BY NAME adds columns"),
        ("SELECT a FROM (VALUES (1), ((SELECT SUM(n) FROM t))) AS v(a)", "VALUES of estimates"),
    ],
)
def test_a_lost_error_bar_has_a_reason(query: str, reason: str) -> None:
    outputs = parsed(_T + query).outputs
    assert not any(output.is_estimate for output in outputs)
    assert any(reason in output.lost for output in outputs)


def test_nothing_is_logged_of_the_parts_of_windows(caplog: pytest.LogCaptureFixture) -> None:
    (lag,) = parsed(_T + "SELECT LAG(n IGNORE NULLS) OVER (ORDER BY state) FROM t").outputs
    assert lag.is_estimate
    assert not caplog.records


def test_expressions_that_double_are_not_followed_for_ever() -> None:
    steps = ", ".join(f"{' + '.join([f'a{i}'] * 4)} AS a{i + 1}" for i in range(6))
    last = parsed(f"{_T} SELECT n AS a0, {steps} FROM t").outputs[-1]
    assert last.lost == "its expression is too long to follow"
    nested = "n"
    for _ in range(40):
        nested = f"CASE WHEN state = 'CA' THEN COALESCE({nested}, 0) ELSE 1 END"
    assert not parsed(f"{_T} SELECT {nested} FROM t").outputs[0].is_estimate


def test_stars_show_no_gradients() -> None:
    for query in (
        "SELECT * FROM t",
        "SELECT * FROM t WHERE n IN (SELECT 1 FROM (SELECT * FROM t))",
    ):
        assert [o.name for o in parsed(_T + query).outputs] == ["state", "n", "h"]
    joined = parsed(_T + "SELECT *, b.* FROM t JOIN t b USING (state)")
    assert [o.name for o in joined.outputs] == ["state", "n", "h", "n", "h", "state", "n", "h"]
    assert (
        "IN (SELECT * FROM t)"
        not in parsed(
            "WITH t AS (SELECT COUNT(*) AS n FROM app) SELECT 1 FROM t WHERE 1 IN (SELECT * FROM t)"
        ).traced
    )
