SELECT COUNT(*) FROM app
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- COUNT(*)

SELECT count() FROM app
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "count()" FROM ldpsql_base_0
-- count()

SELECT COUNT(1) FROM app
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "COUNT(1)" FROM ldpsql_base_0
-- COUNT(1)

SELECT COUNT(State) FROM app
-- e0 value: COUNT(state)
-- SELECT ldpsql_base_0.e0 AS "COUNT(State)" FROM ldpsql_base_0
-- COUNT(State)

SELECT COUNT(day), COUNT(purchase) FROM app
-- e0 value: COUNT(day)
-- e1 value: COUNT(purchase)
-- SELECT ldpsql_base_0.e0 AS "COUNT(day)", ldpsql_base_0.e1 AS "COUNT(purchase)" FROM ldpsql_base_0
-- COUNT(day) | COUNT(purchase)

SELECT SUM(purchase), AVG(hours) FROM app
-- e0 value: SUM(purchase)
-- e1 value: AVG(hours)
-- SELECT ldpsql_base_0.e0 AS "SUM(purchase)", ldpsql_base_0.e1 AS "AVG(hours)" FROM ldpsql_base_0
-- SUM(purchase) | AVG(hours)

SELECT SUM(amount) FROM app
-- e0 value: SUM(amount)
-- SELECT ldpsql_base_0.e0 AS "SUM(amount)" FROM ldpsql_base_0
-- SUM(amount)

SELECT SUM(purchase) / COUNT(*) FROM app
-- e0 value: (SUM(purchase) / COUNT(*))
-- SELECT ldpsql_base_0.e0 AS "SUM(purchase) / COUNT(*)" FROM ldpsql_base_0
-- SUM(purchase) / COUNT(*)

SELECT -AVG(hours) FROM app
-- e0 value: (0 - AVG(hours))
-- SELECT ldpsql_base_0.e0 AS "-AVG(hours)" FROM ldpsql_base_0
-- -AVG(hours)

SELECT 100 * COUNT(*) - 2 * 3 FROM app
-- e0 value: ((100 * COUNT(*)) - 6)
-- SELECT ldpsql_base_0.e0 AS "100 * COUNT(*) - 2 * 3" FROM ldpsql_base_0
-- 100 * COUNT(*) - 2 * 3

SELECT COUNT(*), COUNT(*) AS n, (COUNT(*)) FROM app
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)", ldpsql_base_0.e0 AS "n", ldpsql_base_0.e0 AS "(COUNT(*))" FROM ldpsql_base_0
-- COUNT(*) | n | (COUNT(*))

SELECT ROUND(AVG(hours), 1), AVG(hours) FROM app
-- e0 value: AVG(hours)
-- SELECT ROUND(ldpsql_base_0.e0, 1) AS "ROUND(AVG(hours), 1)", ldpsql_base_0.e0 AS "AVG(hours)" FROM ldpsql_base_0
-- ROUND(AVG(hours), 1) | AVG(hours)

SELECT COUNT(*) AS n, n / 2 FROM app
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) / 2)
-- SELECT ldpsql_base_0.e0 AS "n", ldpsql_base_0.e1 AS "n / 2" FROM ldpsql_base_0
-- n | n / 2

SELECT STDERR(AVG(hours)), CI_LOW(COUNT(*)), ci_high(COUNT(*), 0.9) FROM app
-- e0 stderr: AVG(hours)
-- e1 low: COUNT(*)
-- e2 high 0.9: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "STDERR(AVG(hours))", ldpsql_base_0.e1 AS "CI_LOW(COUNT(*))", ldpsql_base_0.e2 AS "ci_high(COUNT(*), 0.9)" FROM ldpsql_base_0
-- STDERR(AVG(hours)) | CI_LOW(COUNT(*)) | ci_high(COUNT(*), 0.9)

SELECT COUNT(*) AS n, STDERR(n) FROM app
-- e0 value: COUNT(*)
-- e1 stderr: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "n", ldpsql_base_0.e1 AS "STDERR(n)" FROM ldpsql_base_0
-- n | STDERR(n)

SELECT COUNT(*) + STDERR(COUNT(*)), COUNT(*) % 2 FROM app
-- e0 value: COUNT(*)
-- e1 stderr: COUNT(*)
-- SELECT ldpsql_base_0.e0 + ldpsql_base_0.e1 AS "COUNT(*) + STDERR(COUNT(*))", ldpsql_base_0.e0 % 2 AS "COUNT(*) % 2" FROM ldpsql_base_0
-- COUNT(*) + STDERR(COUNT(*)) | COUNT(*) % 2

SELECT state AS s, COUNT(*) FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT state AS s, COUNT(*) FROM app GROUP BY 1
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT state AS s, COUNT(*) FROM app GROUP BY s
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT state AS s, COUNT(*) FROM app GROUP BY app.STATE, state, 1
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT state AS s, COUNT(*) FROM app GROUP BY state, day, bin(age, 10)
-- k0: state
-- k1: day
-- k2: age in bins of 10
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT state AS s, COUNT(*) FROM app GROUP BY ALL
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- s | COUNT(*)

SELECT AVG(hours) AS age, COUNT(*) FROM app GROUP BY age
-- k0: age
-- e0 value: AVG(hours)
-- e1 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "age", ldpsql_base_0.e1 AS "COUNT(*)" FROM ldpsql_base_0
-- age | COUNT(*)

SELECT state, COUNT(*) AS n FROM app WHERE age > 30 GROUP BY state HAVING n > 5 ORDER BY n DESC, state LIMIT 3 OFFSET 1
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "n" FROM ldpsql_base_0 WHERE ldpsql_base_0.e0 > 5 ORDER BY ldpsql_base_0.e0 DESC, ldpsql_base_0.k0 LIMIT 3 OFFSET 1
-- state | n

SELECT COUNT(*) FROM app GROUP BY bin(age, 10) HAVING COUNT(*) / 2 > 3 ORDER BY 1
-- k0: age in bins of 10
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) / 2)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0 WHERE ldpsql_base_0.e1 > 3 ORDER BY 1
-- COUNT(*)

SELECT bin(age, 10), COUNT(*) FROM app GROUP BY 1 ORDER BY bin(age, 10), ALL
-- k0: age in bins of 10
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "bin(age, 10)", ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0 ORDER BY ldpsql_base_0.k0, 1, 2
-- bin(age, 10) | COUNT(*)

SELECT ROUND(AVG(hours), 1) r, CASE WHEN COUNT(*) > 3 THEN 'a' ELSE state END FROM app GROUP BY state ORDER BY r + 1
-- k0: state
-- e0 value: AVG(hours)
-- e1 value: COUNT(*)
-- SELECT ROUND(ldpsql_base_0.e0, 1) AS "r", CASE WHEN ldpsql_base_0.e1 > 3 THEN 'a' ELSE ldpsql_base_0.k0 END AS "CASE WHEN COUNT(*) > 3 THEN 'a' ELSE state END" FROM ldpsql_base_0 ORDER BY (ROUND(ldpsql_base_0.e0, 1)) + 1
-- r | CASE WHEN COUNT(*) > 3 THEN 'a' ELSE state END

SELECT DISTINCT COUNT(*) FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- SELECT DISTINCT ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- COUNT(*)

SELECT DISTINCT state AS s, COUNT(*) AS n FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.k0 AS "s", ldpsql_base_0.e0 AS "n" FROM ldpsql_base_0
-- s | n

SELECT DISTINCT state, COUNT(*) AS n FROM app GROUP BY state, age
-- k0: state
-- k1: age
-- e0 value: COUNT(*)
-- SELECT DISTINCT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "n" FROM ldpsql_base_0
-- state | n

SELECT DISTINCT COUNT(*) FROM app
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- COUNT(*)

SELECT 7 AS seven, COUNT(*) AS n FROM app GROUP BY state ORDER BY seven, n
-- k0: state
-- e0 value: COUNT(*)
-- SELECT 7 AS "seven", ldpsql_base_0.e0 AS "n" FROM ldpsql_base_0 ORDER BY ldpsql_base_0.e0
-- seven | n

FROM app SELECT COUNT(*)
-- e0 value: COUNT(*)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)" FROM ldpsql_base_0
-- COUNT(*)

SELECT COUNT(*) AS e1, AVG(hours) AS e0 FROM app ORDER BY AVG(hours)
-- e0 value: COUNT(*)
-- e1 value: AVG(hours)
-- SELECT ldpsql_base_0.e0 AS "e1", ldpsql_base_0.e1 AS "e0" FROM ldpsql_base_0 ORDER BY ldpsql_base_0.e1
-- e1 | e0

SELECT COUNT(*), COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "COUNT(*)", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- COUNT(*) | last

SELECT count( * ), COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "count( * )", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- count( * ) | last

SELECT COUNT(*) AS n, COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "n", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- n | last

SELECT COUNT(*) n, COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "n", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- n | last

SELECT COUNT(*) AS "a ""b"" c", COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "a ""b"" c", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- a "b" c | last

SELECT STATE, COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "last" FROM ldpsql_base_0
-- state | last

SELECT app.state, COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "last" FROM ldpsql_base_0
-- state | last

SELECT (state), COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: (COUNT(*) + 1)
-- SELECT (ldpsql_base_0.k0) AS "state", ldpsql_base_0.e0 AS "last" FROM ldpsql_base_0
-- state | last

SELECT 1, COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: (COUNT(*) + 1)
-- SELECT 1 AS "1", ldpsql_base_0.e0 AS "last" FROM ldpsql_base_0
-- 1 | last

SELECT SUM(purchase)
 / COUNT(*), COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: (SUM(purchase) / COUNT(*))
-- e1 value: (COUNT(*) + 1)
-- SELECT ldpsql_base_0.e0 AS "SUM(purchase)
--  / COUNT(*)", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- SUM(purchase)
--  / COUNT(*) | last

SELECT COALESCE(COUNT(*), (1 + 2)), COUNT(*) + 1 AS last FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: (COUNT(*) + 1)
-- SELECT COALESCE(ldpsql_base_0.e0, (1 + 2)) AS "COALESCE(COUNT(*), (1 + 2))", ldpsql_base_0.e1 AS "last" FROM ldpsql_base_0
-- COALESCE(COUNT(*), (1 + 2)) | last

SELECT state, COUNT(*) n, ROUND(AVG(hours), 1), SUM(purchase) FROM app GROUP BY state
-- k0: state
-- e0 value: COUNT(*)
-- e1 value: AVG(hours)
-- e2 value: SUM(purchase)
-- SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "n", ROUND(ldpsql_base_0.e1, 1) AS "ROUND(AVG(hours), 1)", ldpsql_base_0.e2 AS "SUM(purchase)" FROM ldpsql_base_0
-- state | n | ROUND(AVG(hours), 1) | SUM(purchase)

SELECT COUNT(*) FILTER (WHERE active) FROM app
-- e0 value: COUNT(*) under filter 1
-- SELECT ldpsql_base_0.e0 AS "COUNT(*) FILTER (WHERE active)" FROM ldpsql_base_0
-- COUNT(*) FILTER (WHERE active)

SELECT COUNT_IF(active), COUNT(CASE WHEN ACTIVE THEN 1 END) FROM app
-- e0 value: COUNT(*) under filter 1
-- SELECT ldpsql_base_0.e0 AS "COUNT_IF(active)", ldpsql_base_0.e0 AS "COUNT(CASE WHEN ACTIVE THEN 1 END)" FROM ldpsql_base_0
-- COUNT_IF(active) | COUNT(CASE WHEN ACTIVE THEN 1 END)

SELECT SUM(CASE WHEN active THEN 1 ELSE 0 END) FROM app
-- e0 value: SUM(1) under filter 1
-- SELECT ldpsql_base_0.e0 AS "SUM(CASE WHEN active THEN 1 ELSE 0 END)" FROM ldpsql_base_0
-- SUM(CASE WHEN active THEN 1 ELSE 0 END)

SELECT SUM(if(active, purchase, 0)) FROM app
-- e0 value: SUM(purchase) under filter 1
-- SELECT ldpsql_base_0.e0 AS "SUM(if(active, purchase, 0))" FROM ldpsql_base_0
-- SUM(if(active, purchase, 0))

SELECT AVG(if(active, purchase, NULL)) FROM app
-- e0 value: AVG(purchase) under filter 1
-- SELECT ldpsql_base_0.e0 AS "AVG(if(active, purchase, NULL))" FROM ldpsql_base_0
-- AVG(if(active, purchase, NULL))

SELECT AVG(active) FROM app
-- e0 value: (COUNT(*) under filter 1 / COUNT(*) under filter 2)
-- SELECT ldpsql_base_0.e0 AS "AVG(active)" FROM ldpsql_base_0
-- AVG(active)

SELECT SUM(beta) FROM app
-- e0 value: COUNT(*) under filter 1
-- SELECT ldpsql_base_0.e0 AS "SUM(beta)" FROM ldpsql_base_0
-- SUM(beta)

SELECT AVG(Age) FROM app
-- e0 value: AVG("age")
-- SELECT ldpsql_base_0.e0 AS "AVG(Age)" FROM ldpsql_base_0
-- AVG(Age)

SELECT SUM(age * 2), SUM(AGE * 2) FROM app
-- e0 value: SUM("age" * 2)
-- SELECT ldpsql_base_0.e0 AS "SUM(age * 2)", ldpsql_base_0.e0 AS "SUM(AGE * 2)" FROM ldpsql_base_0
-- SUM(age * 2) | SUM(AGE * 2)

SELECT AVG(hours) FROM app
-- e0 value: AVG(hours)
-- SELECT ldpsql_base_0.e0 AS "AVG(hours)" FROM ldpsql_base_0
-- AVG(hours)

SELECT SUM(purchase * (age - 18)) FROM app
-- e0 value: SUM("purchase" * ("age" - 18))
-- SELECT ldpsql_base_0.e0 AS "SUM(purchase * (age - 18))" FROM ldpsql_base_0
-- SUM(purchase * (age - 18))

SELECT SUM(amount + build) FROM app
-- e0 value: SUM("amount" + "build") under filter 1
-- SELECT ldpsql_base_0.e0 AS "SUM(amount + build)" FROM ldpsql_base_0
-- SUM(amount + build)

SELECT SUM(CASE WHEN beta THEN 1 WHEN build = 2 THEN purchase END) FROM app
-- e0 value: (SUM(1) under filter 1 + SUM(purchase) under filter 2)
-- SELECT ldpsql_base_0.e0 AS "SUM(CASE WHEN beta THEN 1 WHEN build = 2 THEN purchase END)" FROM ldpsql_base_0
-- SUM(CASE WHEN beta THEN 1 WHEN build = 2 THEN purchase END)

SELECT AVG(CASE build WHEN 1 THEN age WHEN 2 THEN 0 END) FROM app
-- e0 value: ((SUM("age") under filter 1 + SUM(0) under filter 2) / (COUNT(age) under filter 1 + COUNT(*) under filter 2))
-- SELECT ldpsql_base_0.e0 AS "AVG(CASE build WHEN 1 THEN age WHEN 2 THEN 0 END)" FROM ldpsql_base_0
-- AVG(CASE build WHEN 1 THEN age WHEN 2 THEN 0 END)

SELECT SUM(CASE WHEN active THEN 1 WHEN age < 30 THEN 2 END) FROM app
-- e0 value: SUM(CASE WHEN "active" THEN 1 WHEN "age" < 30 THEN 2 END)
-- SELECT ldpsql_base_0.e0 AS "SUM(CASE WHEN active THEN 1 WHEN age < 30 THEN 2 END)" FROM ldpsql_base_0
-- SUM(CASE WHEN active THEN 1 WHEN age < 30 THEN 2 END)

SELECT state, active, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY state) AS share FROM app GROUP BY state, active
-- k0: state
-- k1: active
-- e0 value: (COUNT(*) / COUNT(*) of several rows)
-- SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.k1 AS "active", ldpsql_base_0.e0 AS "share" FROM ldpsql_base_0
-- state | active | share
