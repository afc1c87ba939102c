-- What is asked of both, ldpsql and DuckDB, in `test_semantics.py`; one on a line, and in their order within a section.

-- aggregates
COUNT(*)
COUNT(state)
COUNT(age)
COUNT(version)
COUNT(pay)
SUM(pay)
AVG(pay)
SUM(age)
AVG(age)
SUM(price)
AVG(price)
SUM(version)
AVG(version)
SUM(pay) / COUNT(*)
2 * COUNT(*) - SUM(price) / 4
AVG(pay) - AVG(age)
-SUM(pay) + 1
COUNT(*) FILTER (WHERE age > 3)
COUNT_IF(state = 'NY' AND NOT active)
COUNT(*) FILTER (WHERE age % 2 = 0 OR shop = 'north')
SUM(pay) FILTER (WHERE state LIKE 'N%')
SUM(price) FILTER (WHERE active) / SUM(price)
AVG(pay) FILTER (WHERE active) - AVG(pay) FILTER (WHERE NOT active)
AVG(version) FILTER (WHERE version > 0 AND age < 9)
SUM(CASE WHEN state = 'CA' THEN 1 ELSE 0 END)
COUNT(CASE WHEN version = 1 THEN active END)
AVG(CASE WHEN state < 'NZ' THEN 1 ELSE 0 END)
AVG(CASE WHEN age > 4 THEN pay END)
SUM(CASE WHEN state = 'CA' THEN pay WHEN active THEN 2 * pay ELSE day(joined) END)
SUM(CASE WHEN state = 'CA' THEN version ELSE 10 * age END)
COUNT(CASE WHEN state = 'CA' THEN version WHEN active THEN 3 END)
AVG(active)
AVG(state = 'NY')
SUM(age > 4)
SUM(day(joined))
AVG(age * age)
SUM(length(state) * day(joined)) FILTER (WHERE age <> 7)
COUNT(nullif(age, 3))
COUNT(coalesce(state, 'x'))
AVG(age % 3 + score // 4)
SUM(pay * day(joined))
AVG(pay * (age - 4) / 2)
SUM(pay - 10 * day(joined)) / COUNT(*)
SUM(version * age)
AVG(version + age)
AVG(price * day(joined) - pay)
SUM(price + version)
AVG(price * age - version)
COUNT(version + price)
AVG(CASE WHEN active THEN version ELSE price END)
SUM(CASE WHEN shop = 'north' THEN 1 WHEN version = 1 THEN age ELSE 3 END)
AVG(CASE shop WHEN 'north' THEN pay ELSE price END)
COUNT(CASE WHEN version = 1 THEN 1 WHEN shop = 'north' THEN version END)
COUNT(bonus)
SUM(bonus)
AVG(bonus)
AVG(bonus) FILTER (WHERE age > 3)
SUM(bonus) / COUNT(*)
COUNT(tip) / COUNT(*)
AVG(tip) - AVG(bonus)
SUM(tip + 1)
AVG(2 * bonus - day(joined))
COUNT(bonus * day(joined))
AVG(bonus * (age - 4))
SUM(COALESCE(bonus, 3))
COUNT(COALESCE(tip, 0))
AVG(COALESCE(bonus * 2, age) - 1)
SUM(CASE WHEN state = 'CA' THEN tip WHEN active THEN 2 END)
COUNT(CASE WHEN state = 'CA' THEN tip ELSE 1 END)
SUM(CASE WHEN active THEN bonus ELSE 0 END)
COUNT(CASE WHEN shop = 'north' THEN bonus END)
AVG(CASE WHEN shop = 'north' THEN tip ELSE age END)
SUM(CASE WHEN version = 1 THEN bonus END)
AVG(bonus) FILTER (WHERE shop = 'south') + AVG(pay)
SUM(pay + bonus)
AVG(pay - 2 * bonus + day(joined))
AVG(bonus + version)
COUNT(pay + bonus)
COUNT(*) FILTER (WHERE bonus IS NULL)
COUNT_IF(tip IS NOT NULL AND age > 3)
SUM(pay) FILTER (WHERE tip IS NOT NULL OR active)
AVG(bonus) FILTER (WHERE NOT (bonus IS NULL) AND state = 'NY')
SUM(CASE WHEN bonus IS NULL THEN 1 ELSE 0 END)
AVG(CASE WHEN tip IS NULL THEN age ELSE pay END)
COUNT(CASE WHEN bonus IS NULL THEN 1 END) / COUNT(*)
SUM(CASE WHEN bonus IS NULL THEN 2 ELSE bonus END)
1 - AVG(CASE WHEN tip IS NULL AND active THEN 1 ELSE 0 END)
SUM(COALESCE(version, 2) * age)

-- functions
VAR_POP(age)
VAR_SAMP(age * 2 - day(joined))
STDDEV(age) FILTER (WHERE active)
STDDEV_POP(nullif(age, 4)) / 2 + 1
COVAR_POP(pay, age)
COVAR_SAMP(age, day(joined))
CORR(length(nullif(state, 'NY')) * age, day(joined))
CORR(age, day(joined)) FILTER (WHERE shop = 'north' OR age > 3)
REGR_SLOPE(pay, age)
REGR_SLOPE(version, age)
REGR_INTERCEPT(age, day(joined))
REGR_COUNT(age, length(nullif(state, 'CA')))
REGR_AVGX(pay, nullif(age, 2))
REGR_AVGY(version, nullif(age, 2))
REGR_SXX(nullif(age, 2), day(joined))
REGR_SYY(age, nullif(day(joined), 3))
REGR_SXY(age, pay)
VAR_POP(bonus)
STDDEV(bonus) FILTER (WHERE active)
COVAR_POP(bonus, age)
COVAR_SAMP(tip, day(joined))
CORR(bonus, age)
REGR_SLOPE(bonus, nullif(age, 4))
REGR_COUNT(tip, age)
REGR_AVGX(age, bonus)
REGR_AVGY(tip, nullif(age, 2))
MEDIAN(age)
MEDIAN(age) FILTER (WHERE active) - AVG(pay)
QUANTILE_CONT(age, 0.35)
QUANTILE_CONT(age // 3, 0.6)
QUANTILE_DISC(nullif(day(joined), 3), 0.5)
CDF(age, 6)
CDF(joined, DATE '2026-01-03') FILTER (WHERE active)
QUANTILE_DISC(age, 0.25)
QUANTILE_DISC(age, -0.25)
PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)
PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY age DESC)

-- statements
SELECT shop, COUNT(*) AS n FROM app GROUP BY shop HAVING COUNT(*) > 10 ORDER BY n DESC
SELECT age, AVG(pay) AS m FROM app GROUP BY age ORDER BY m LIMIT 3
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT MAX(n), SUM(n) FROM t
SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM app WHERE active) a, (SELECT COUNT(*) AS n FROM app WHERE NOT active) b
SELECT ROUND(AVG(price), 1) FROM app WHERE age > 4
SELECT COUNT(*) FROM app WHERE age BETWEEN 4 AND 2
SELECT state, SUM(pay) / SUM(price) FROM app GROUP BY 1 ORDER BY 1 NULLS LAST
SELECT SUM(pay + version), AVG(price - pay / 2), COUNT(pay + price), SUM(pay * age + version) FILTER (WHERE state = 'CA') FROM app
SELECT state, active, COUNT(*) FROM app GROUP BY ROLLUP (state, active)
SELECT state, age // 4 AS b, AVG(pay) FROM app WHERE age > 3 GROUP BY CUBE (state, b)
SELECT shop, active, COUNT(*) FROM app GROUP BY shop, ROLLUP (active)
SELECT state, active, age % 2, SUM(pay) FROM app GROUP BY GROUPING SETS ((state, active), (age % 2), (), state)
SELECT state, active, COUNT(*) FROM app GROUP BY ROLLUP (state), CUBE (active)
SELECT shop, version, COUNT(*), AVG(pay), SUM(price) FROM app GROUP BY ROLLUP (shop, version)
SELECT shop, active, COUNT(*) AS n, AVG(pay) FROM app GROUP BY CUBE (shop, active)
SELECT version, state, SUM(tip), MEDIAN(age) FROM app WHERE age > 3 AND price < 15 GROUP BY GROUPING SETS ((), (state), (version, state), (version), (version))
SELECT joined, shop, COUNT(*) FROM app GROUP BY GROUPING SETS ((shop), (), (joined))
SELECT upper(shop) AS s, age // 4 AS b, AVG(pay) FILTER (WHERE active), AVG(pay) FILTER (WHERE NOT active) FROM app GROUP BY ROLLUP (s, b)
SELECT shop, state, COUNT(*) FROM app GROUP BY ROLLUP (shop), CUBE (state)
SELECT version, COUNT(*) AS n FROM app GROUP BY ROLLUP (version) HAVING COUNT(*) > 80 ORDER BY n DESC, version LIMIT 2
SELECT shop, active, COUNT(*) / 10.0 AS n FROM app GROUP BY CUBE (shop, active) ORDER BY shop NULLS LAST, active DESC NULLS FIRST OFFSET 2
SELECT shop, COUNT(*) FROM app WHERE shop = 'west' GROUP BY ROLLUP (shop)
SELECT shop, GROUPING(shop), GROUPING(version, shop), GROUPING_ID(), COUNT(*) FROM app GROUP BY ROLLUP (shop, version)
SELECT state, active, GROUPING(state, active) AS g, COUNT(*) FROM app GROUP BY CUBE (state, active) HAVING GROUPING(state) = 0
SELECT CASE WHEN GROUPING(state) = 1 THEN 'all' ELSE state END AS s, AVG(pay) FROM app GROUP BY ROLLUP (state) ORDER BY GROUPING(state), s
SELECT state, GROUPING(state), COUNT(*) FROM app GROUP BY state
SELECT age // 4 AS b, shop, COUNT(*) FROM app GROUP BY GROUPING SETS ((b), (2))
SELECT shop, active, RANK() OVER (PARTITION BY GROUPING(shop), GROUPING(active) ORDER BY COUNT(*) DESC) FROM app GROUP BY CUBE (shop, active)
WITH r AS (SELECT shop, version, COUNT(*) AS n FROM app GROUP BY ROLLUP (shop, version)), s AS (SELECT shop, COUNT(*) AS m FROM app GROUP BY shop) SELECT shop, version, n, m FROM r JOIN s USING (shop)
SELECT region, shop, COUNT(*) FROM app JOIN regions ON state = code GROUP BY ROLLUP (shop, region)
SELECT DISTINCT GROUPING(shop) AS g FROM app GROUP BY CUBE (shop, version) ORDER BY g
SELECT age / 2 AS half, half * 2, COUNT(*) AS n FROM app GROUP BY half HAVING half > 2
SELECT age // 3, COUNT(*) FROM app GROUP BY 1 HAVING AGE // 3 < 2
SELECT year(joined), day(joined) < 4, COUNT(*) FROM app GROUP BY ALL
SELECT upper(state), COUNT(*) FROM app GROUP BY ALL ORDER BY upper(state)
SELECT -(age // 3), COUNT(*) FROM app GROUP BY age // 3
SELECT state, COUNT(*) AS n FROM app GROUP BY state QUALIFY RANK() OVER (ORDER BY n) < 3
SELECT state, active, SUM(COUNT(*)) OVER (PARTITION BY state) AS n, SUM(pay) / SUM(SUM(pay)) OVER () FROM app GROUP BY state, active QUALIFY n > 30
SELECT state, active, shop, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY shop, active), AVG(pay) FROM app WHERE age > 2 GROUP BY state, active, shop
SELECT age // 3 AS t, SUM(pay) / SUM(SUM(pay)) OVER () AS s FROM app GROUP BY t
SELECT shop, COUNT(*) / SUM(COUNT(*)) OVER () FROM app GROUP BY shop
SELECT state, COUNT(*) / SUM(COUNT(*)) OVER () FROM app GROUP BY state HAVING state < 'NZ'
SELECT state, LAG(COUNT(*)) OVER (ORDER BY state NULLS LAST) FROM app GROUP BY state
SELECT state, LAG(COUNT(*)) OVER w, MAX(COUNT(*)) OVER v, LAST_VALUE(AVG(pay)) OVER (w ROWS 1 PRECEDING) FROM app GROUP BY state WINDOW v AS (), w AS (v ORDER BY state NULLS LAST)
WITH young AS (SELECT * FROM app WHERE age < 5) SELECT AVG(pay), COUNT(*) FROM young
WITH y AS (SELECT * FROM app WHERE app.age < 5 OR active), z AS (SELECT * FROM y AS a WHERE NOT a.active) SELECT z.state, SUM(age) FROM z WHERE z.age > 2 OR shop = 'north' GROUP BY z.state
SELECT COUNT(*) FROM (SELECT * FROM app WHERE state LIKE 'N%') AS t WHERE t.age % 2 = 1
SELECT d * 2, COUNT(*) AS n FROM (SELECT age + 1 AS d, active FROM app WHERE age < 9) t WHERE active GROUP BY d HAVING n > 1
WITH a AS (SELECT *, age // 3 AS third FROM app WHERE version = 1) SELECT third, shop, AVG(pay) FROM a WHERE a.third < 3 GROUP BY third, shop
SELECT u.x, SUM(u.pay) FROM (SELECT t.y % 2 AS x, pay FROM (SELECT age AS y, pay FROM app AS s WHERE s.active) AS t WHERE t.y < 8) AS u GROUP BY u.x
SELECT DISTINCT shop, active FROM app WHERE age < 6
SELECT upper(state) AS s FROM app WHERE state <> 'NY' GROUP BY state ORDER BY s
WITH y AS (SELECT * FROM app WHERE age < 5), n AS (SELECT COUNT(*) AS n FROM y) SELECT n, (SELECT COUNT(*) FROM y WHERE active) FROM n
SELECT state, active, AVG(bonus), COUNT(tip) FROM app GROUP BY ROLLUP (state, active)
SELECT state, COUNT(*), AVG(pay), SUM(bonus) FROM app WHERE bonus IS NOT NULL AND age > 3 GROUP BY state
SELECT shop, COUNT(*) FILTER (WHERE bonus IS NULL) / COUNT(*) FROM app GROUP BY shop HAVING COUNT(bonus) > 10
SELECT active, AVG(bonus) - AVG(pay) FROM app WHERE tip IS NULL OR NOT active GROUP BY active
SELECT AVG(bonus) FROM app WHERE age < 4 UNION ALL SELECT SUM(tip) / COUNT(*) FROM app WHERE age >= 4
SELECT state, CASE WHEN AVG(bonus) > 5 THEN 'high' ELSE 'low' END FROM app GROUP BY state
SELECT state, active, AVG(bonus), SUM(tip) FROM app GROUP BY GROUPING SETS ((state), (active), ())
SELECT shop, SUM(bonus), AVG(tip) FROM app WHERE age > 3 GROUP BY shop HAVING COUNT(bonus) > 10
SELECT state, SUM(tip) / SUM(SUM(tip)) OVER () FROM app GROUP BY state
WITH y AS (SELECT state, bonus * 2 AS b FROM app WHERE age < 9) SELECT state, AVG(b), COUNT(b) FROM y GROUP BY state
SELECT COUNT(*) FROM app HAVING COUNT(*) > 10
SELECT COUNT(*) FROM app WHERE age BETWEEN 8 AND 3
SELECT COUNT(*) FROM app WHERE age = '3'
SELECT "state", COUNT(*) AS "n" FROM app WHERE "active" GROUP BY "state" LIMIT 0
SELECT state AS s, AVG(pay) AS d FROM app GROUP BY s HAVING d > 0 ORDER BY d DESC
SELECT COUNT_IF(age < 6), SUM(CASE WHEN age < 6 THEN pay ELSE 0 END) FROM app
SELECT AVG(n) FROM (SELECT state, COUNT(*) AS n FROM app GROUP BY state)
SELECT COUNT(*) FROM app WHERE state = NULL
SELECT state, COUNT(*) * 100 / SUM(COUNT(*)) OVER () AS share FROM app GROUP BY state
SELECT state, COUNT(*) FROM app GROUP BY state QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2
