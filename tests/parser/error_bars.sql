-- Statements, one on a line; how many base queries each has, and what becomes of every output: ± has an
-- error bar, and behind a colon stands why it has none though estimates decide.
-- `tests/parser/test_parsed.py` reads it.

-- Every output has an error bar
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n, h FROM t  -- 1: n ± | h ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n + h, n - h, n * h, n / h, -n, (n), 2 * n, n / 2, 1 / n FROM t  -- 1: n + h ± | n - h ± | n * h ± | n / h ± | -n ± | (n) ± | 2 * n ± | n / 2 ± | 1 / n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT ROUND(n, 1), n::INT, CAST(h AS DECIMAL(9, 2)), n // 10, FLOOR(n), CEIL(n) FROM t  -- 1: ROUND(n, 1) ± | n::INT ± | CAST(h AS DECIMAL(9, 2)) ± | n // 10 ± | FLOOR(n) ± | CEIL(n) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SQRT(n), LN(n), LOG10(n), LOG2(n), LOG(n), EXP(h), CBRT(n), n ** 2 FROM t  -- 1: SQRT(n) ± | LN(n) ± | LOG10(n) ± | LOG2(n) ± | LOG(n) ± | EXP(h) ± | CBRT(n) ± | n ** 2 ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT POW(2, h), TRY_CAST(n AS INT), TRUNC(n) FROM t  -- 1: POW(2, h) ± | TRY_CAST(n AS INT) ± | TRUNC(n) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT COALESCE(n, 0), NULLIF(n, 0), CASE WHEN state = 'CA' THEN n ELSE 0 END FROM t  -- 1: COALESCE(n, 0) ± | NULLIF(n, 0) ± | CASE WHEN state = 'CA' THEN n ELSE 0 END ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT CASE state WHEN 'CA' THEN n END, IF(state = 'CA', n, h), IFNULL(h, n) FROM t  -- 1: CASE state WHEN 'CA' THEN n END ± | IF(state = 'CA', n, h) ± | IFNULL(h, n) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n), AVG(n), MEAN(n), SUM(n) FILTER (WHERE state = 'CA'), SUM(n) * 2 FROM t  -- 1: SUM(n) ± | AVG(n) ± | MEAN(n) ± | SUM(n) FILTER (WHERE state = 'CA') ± | SUM(n) * 2 ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT MAX(n), MIN(n), ANY_VALUE(n), MEDIAN(n), FIRST(n) FROM t  -- 1: MAX(n) ± | MIN(n) ± | ANY_VALUE(n) ± | MEDIAN(n) ± | FIRST(n) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) OVER (ORDER BY state), AVG(n) OVER () FROM t  -- 1: SUM(n) OVER (ORDER BY state) ± | AVG(n) OVER () ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT LAG(n, 1, 0) OVER (ORDER BY state) FROM t  -- 1: LAG(n, 1, 0) OVER (ORDER BY state) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FILTER (WHERE state > 'A') OVER w FROM t WINDOW w AS (PARTITION BY state)  -- 1: SUM(n) FILTER (WHERE state > 'A') OVER w ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT LAG(n IGNORE NULLS) OVER (ORDER BY state) FROM t  -- 1: LAG(n IGNORE NULLS) OVER (ORDER BY state) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT FIRST_VALUE(n) OVER (ORDER BY state) FROM t  -- 1: FIRST_VALUE(n) OVER (ORDER BY state) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(SUM(n)) OVER () FROM t GROUP BY state HAVING state <> 'CA'  -- 1: SUM(SUM(n)) OVER () ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n / (SELECT SUM(n) FROM t), (SELECT x.n FROM t x WHERE x.state = t.state) FROM t  -- 1: n / (SELECT SUM(n) FROM t) ± | (SELECT x.n FROM t x WHERE x.state = t.state) ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t UNION ALL SELECT 1.5 UNION ALL SELECT SUM(h) FROM t  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT q.m FROM (SELECT n AS m FROM t UNION ALL BY NAME SELECT h AS m FROM t) q  -- 1: m ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT DISTINCT ON (state) n FROM t ORDER BY state  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT a.n - b.n FROM t a LEFT JOIN t b USING (state)  -- 1: a.n - b.n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n AS m, m / 2 FROM t ORDER BY m DESC LIMIT 2  -- 1: m ± | m / 2 ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t WHERE n > 3 QUALIFY RANK() OVER (ORDER BY h) < 3  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT x.n_1, x.n FROM (SELECT a.n, b.n FROM t a JOIN t b USING (state)) x  -- 1: n_1 ± | n ±
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT x.c FROM (SELECT n, h FROM t) AS x(b, c)  -- 1: c ±

-- What depends on no estimate is exact
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT state, UPPER(state), 1, state = 'CA' FROM t  -- 1: state | UPPER(state) | 1 | state = 'CA'
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT COUNT(*), COUNT(n), MIN(state), COUNT(DISTINCT state) FROM t  -- 1: COUNT(*) | COUNT(n) | MIN(state) | COUNT(DISTINCT state)
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT ROW_NUMBER() OVER (ORDER BY state), COUNT(*) OVER () FROM t  -- 1: ROW_NUMBER() OVER (ORDER BY state) | COUNT(*) OVER ()
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT EXISTS (SELECT 1 FROM t), state IN (SELECT state FROM t) FROM t  -- 1: EXISTS (SELECT 1 FROM t) | state IN (SELECT state FROM t)
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT STDERR(COUNT(*)) FROM app  -- 2: STDERR(COUNT(*))
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT DISTINCT state FROM t UNION SELECT state FROM t  -- 1: state
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT table_name FROM information_schema.tables  -- 1: table_name
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT 1 AS a, a + 1 AS b ORDER BY ALL LIMIT 1  -- 1: a | b

-- An error bar is lost for a reason
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n > 3 FROM t  -- 1: n > 3: a comparison of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT NOT n > 3 FROM t  -- 1: NOT n > 3: a comparison of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n IN (SELECT h FROM t) FROM t  -- 1: n IN (SELECT h FROM t): a comparison of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT ABS(n) FROM t  -- 1: ABS(n): ABS of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT GREATEST(n, 0) FROM t  -- 1: GREATEST(n, 0): GREATEST of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n % 2 FROM t  -- 1: n % 2: MOD of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n::VARCHAR FROM t  -- 1: n::VARCHAR: CAST of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT STDDEV_SAMP(n) FROM t  -- 1: STDDEV_SAMP(n): STDDEV_SAMP of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(DISTINCT n) FROM t  -- 1: SUM(DISTINCT n): DISTINCT of estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT CASE WHEN n > 3 THEN n END FROM t  -- 1: CASE WHEN n > 3 THEN n END: CASE chooses by estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT RANK() OVER (ORDER BY n) FROM t  -- 1: RANK() OVER (ORDER BY n): estimates order the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) OVER (ORDER BY n) FROM t  -- 1: SUM(n) OVER (ORDER BY n): estimates order the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) OVER w FROM t WINDOW w AS (ORDER BY n)  -- 1: SUM(n) OVER w: estimates order the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM t WHERE n > 3  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT COUNT(*) FROM t WHERE n > 3  -- 1: COUNT(*): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FILTER (WHERE h > 3) FROM t  -- 1: SUM(n) FILTER (WHERE h > 3): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) OVER () FROM t WHERE h > 3  -- 1: SUM(n) OVER (): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(SUM(n)) OVER () FROM t GROUP BY state HAVING SUM(n) > 3  -- 1: SUM(SUM(n)) OVER (): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM (SELECT n FROM t ORDER BY n LIMIT 2)  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM (SELECT n FROM t ORDER BY 1 LIMIT 2)  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM (SELECT n FROM t QUALIFY RANK() OVER (ORDER BY n) < 2)  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(a.n) FROM t a JOIN t b ON a.n < b.n  -- 1: SUM(a.n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM t a JOIN t b USING (n)  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT (SELECT n FROM t ORDER BY n DESC LIMIT 1)  -- 1: (SELECT n FROM t ORDER BY n DESC LIMIT 1): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT EXISTS (SELECT 1 FROM t WHERE n > 3)  -- 1: EXISTS (SELECT 1 FROM t WHERE n > 3): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT SUM(n) FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.n > t.n)  -- 1: SUM(n): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t GROUP BY n  -- 1: n: GROUP BY compares estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n, COUNT(*) FROM t GROUP BY ALL  -- 1: n: GROUP BY compares estimates | COUNT(*): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT COUNT(*) FROM t GROUP BY n // 10  -- 1: COUNT(*): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n // 10 AS d, COUNT(*) FROM t GROUP BY 1  -- 1: d: GROUP BY compares estimates | COUNT(*): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT DISTINCT n FROM t  -- 1: n: DISTINCT compares estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t UNION SELECT 1.0  -- 1: n: UNION compares estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t EXCEPT SELECT h FROM t  -- 1: n: EXCEPT compares estimates
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT n FROM t UNION ALL BY NAME SELECT h FROM t  -- 1: n: UNION BY NAME adds columns | h: UNION BY NAME adds columns
WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) SELECT a FROM (VALUES (1), ((SELECT SUM(n) FROM t))) AS v(a)  -- 1: a: VALUES of estimates

-- Queries over results
SELECT COUNT(*), COUNT(*) FROM app  -- 1: COUNT(*) ± | COUNT(*) ±
SELECT state, day, COUNT(*) FROM app GROUP BY ALL HAVING COUNT(*) > 0 ORDER BY ALL  -- 1: state | day | COUNT(*) ±
SELECT state, AVG(hours) FROM app GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 2  -- 1: state | AVG(hours) ±
SELECT DISTINCT COUNT(*) n FROM app GROUP BY state ORDER BY n  -- 1: n: DISTINCT compares estimates
(SELECT COUNT(*) FROM app)  -- 1: COUNT(*) ±
SELECT 1  -- 0: 1
SELECT COUNT(*) n, (SELECT AVG(hours) FROM app) AS mean FROM app  -- 2: n ± | mean ±
SELECT (SELECT COUNT(*) FROM app) - (SELECT AVG(hours) FROM app) AS d  -- 2: d ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT (SELECT MAX(n) FROM t) most, n FROM t  -- 1: most ± | n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT * FROM t  -- 1: state | n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT t.*, x.n FROM t JOIN t AS x USING (state)  -- 1: state | n ± | n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT * FROM t JOIN t AS x USING (state)  -- 1: state | n ± | n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT * FROM t LEFT JOIN t AS x ON t.n = x.n CROSS JOIN t y  -- 1: state | n ± | state | n ± | state | n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT state, n, RANK() OVER (ORDER BY n DESC) AS r FROM t QUALIFY r < 3  -- 1: state | n ± | r: estimates order the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT SUM(n) OVER w FROM t WINDOW w AS (PARTITION BY state)  -- 1: SUM(n) OVER w ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT MAX(n), MIN(state), MEDIAN(n), STDDEV_SAMP(n), COUNT(*) FROM t  -- 1: MAX(n) ± | MIN(state) | MEDIAN(n) ± | STDDEV_SAMP(n): STDDEV_SAMP of estimates | COUNT(*)
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT state, n / (SELECT SUM(n) FROM t) AS share FROM t WHERE n > 0  -- 1: state | share ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t UNION ALL SELECT SUM(n) FROM t ORDER BY n LIMIT 1  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE state LIKE 'C!A' ESCAPE '!'  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE state LIKE 'C%' OR state IN (SELECT state FROM t)  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.n > t.n)  -- 1: n ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT UPPER(state), ROUND(n, 1)::INT, n % 2, n // 2 FROM t  -- 1: UPPER(state) | ROUND(n, 1)::INT ± | n % 2: MOD of estimates | n // 2 ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COALESCE(state, 'none') s, SUM(n) FROM t GROUP BY s HAVING s <> ''  -- 1: s | SUM(n) ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COUNT(DISTINCT state), SUM(n) FILTER (WHERE n > 1) FROM t  -- 1: COUNT(DISTINCT state) | SUM(n) FILTER (WHERE n > 1): estimates choose the rows that it is computed from
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT s FROM (SELECT state AS s FROM t) AS q WHERE q.s = 'CA'  -- 1: s
WITH t(a, b) AS (SELECT state, COUNT(*) FROM app GROUP BY 1) SELECT a, b FROM t  -- 1: a | b ±
WITH app AS (SELECT COUNT(*) AS n FROM app) SELECT n FROM app  -- 1: n ±
WITH t AS (SELECT 1 AS x) SELECT COUNT(*) FROM app  -- 1: COUNT(*) ±
SELECT * FROM (SELECT COUNT(*) FROM app)  -- 1: COUNT(*) ±
SELECT a.n + b.n FROM (SELECT COUNT(*) n FROM app) a, (SELECT AVG(hours) n FROM app) b  -- 2: a.n + b.n ±
SELECT COUNT(*) FROM app UNION ALL SELECT COUNT(*) FROM app WHERE active  -- 2: COUNT(*) ±
SELECT COUNT(*) / (SELECT COUNT(*) FROM app) FROM app WHERE active  -- 2: COUNT(*) / (SELECT COUNT(*) FROM app) ±
SELECT state, COUNT(*) FROM app GROUP BY 1 HAVING COUNT(*) > (SELECT AVG(hours) FROM app)  -- 2: state | COUNT(*) ±
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT N, n / 2, ROUND(n, 1)  AS r FROM t  -- 1: N ± | n / 2 ± | r ±
SELECT Histogram(hours) FROM people  -- 1: hours | Histogram(hours) ±
SELECT cdf(age, 30) * 2 FROM people  -- 1: cdf(age, 30) * 2 ±
