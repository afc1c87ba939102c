-- What is refused: a statement of one line (\n is a line break), the class of its error, [the marked
-- text], and what is said; ... stands for anything. Surveys and look-up tables are those of
-- `support/sql_survey.py`; `tests/parser/test_refused.py` reads this table.

-- SELECT over a survey
SELECT * FROM app  -- UnsupportedSQL [*]: * would show single people; name aggregates: COUNT(*), AVG(column)
FROM app  -- UnsupportedSQL [F]: * would show single people; name aggregates: COUNT(*), AVG(column)
SELECT app.* FROM app  -- UnsupportedSQL [app.*]: * would show single people; name aggregates: COUNT(*), AVG(column)
SELECT COUNT(*), * EXCLUDE (age) FROM app  -- UnsupportedSQL [* EXCLUDE (age)]: * would show single people; name aggregates: COUNT(*), AVG(column)
SELECT age FROM app  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
SELECT state, COUNT(*) FROM app  -- UnsupportedSQL [state]: state stands outside of an aggregate and is not a GROUP BY key; add GROUP BY state, or aggregate it
SELECT day, COUNT(*) FROM app  -- UnsupportedSQL [day]: day stands outside of an aggregate and is not a GROUP BY key; add GROUP BY day, or aggregate it
SELECT age, COUNT(*) FROM app GROUP BY state  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
SELECT bin(age, 5), COUNT(*) FROM app GROUP BY age  -- UnsupportedSQL [bin(age, 5)]: this bin() is not a GROUP BY key; add it to GROUP BY
SELECT 1 FROM app  -- UnsupportedSQL [1]: a query without an aggregate is not supported; add COUNT(*), or one of COUNT, SUM, AVG,...
SELECT MIN(age) FROM app  -- UnsupportedSQL [MIN(age)]: MIN depends on single people, whom reports do not reveal; ask QUANTILE_DISC(age, 0.01), or make a...
SELECT MAX(age), COUNT(*) FROM app  -- UnsupportedSQL [MAX(age)]: MAX depends on single people, whom reports do not reveal; ask QUANTILE_DISC(age, 0.99), or make a...
SELECT KURTOSIS(age) FROM app  -- UnsupportedSQL [KURTOSIS(age)]: KURTOSIS cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP,...
SELECT STDDEV(purchase) FROM app  -- UnsupportedSQL [purchase]: reports give sums of the measure purchase, not its squares; declare [dimension.purchase] in the survey...
SELECT STRING_AGG(state) FROM app  -- UnsupportedSQL [STRING_AGG(state)]: STRING_AGG cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP,...
SELECT LIST(age) FROM app  -- UnsupportedSQL [LIST(age)]: LIST cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP,...
SELECT FIRST(age) FROM app  -- UnsupportedSQL [FIRST(age)]: FIRST cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP,...
SELECT ANY_VALUE(age) FROM app  -- UnsupportedSQL [ANY_VALUE(age)]: ANY_VALUE cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP,...
SELECT COUNT(DISTINCT age) FROM app  -- UnsupportedSQL [COUNT(DISTINCT age)]: COUNT(DISTINCT ...) is not supported; reports cannot tell which declared values...
SELECT SUM(DISTINCT hours) FROM app  -- UnsupportedSQL [SUM(DISTINCT hours)]: SUM(DISTINCT ...) is not supported; reports cannot tell which declared values...
SELECT SUM(purchase * build) FROM app  -- UnsupportedSQL [build]: this is not linear in measures and public columns; sum them times expressions over dimensions; put conditions into FILTER
SELECT AVG(abs(purchase)) FROM app  -- UnsupportedSQL [purchase]: this is not linear in measures and public columns; sum them times expressions over dimensions, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT AVG(score * 2) FROM app  -- UnsupportedSQL [score]: score is collected in bins of real numbers: this has no exact answer; compare it with their edges
SELECT SUM(COUNT(*)) FROM app  -- UnsupportedSQL [COUNT(*)]: an aggregate cannot stand here; write it in HAVING
SELECT AVG(app.*) FROM app  -- UnsupportedSQL [AVG(app.*)]: AVG takes one column; write AVG(column)
SELECT SUM(state) FROM app  -- QueryError [state]: state is a dimension, not a measure, and cannot be summed; ask SELECT state, COUNT(*) FROM app GROUP BY state, or declare [measure.state] with bounds in the survey to sum it in later reports
SELECT AVG(version) FROM app  -- QueryError [version]: version is of type text: it has no sum
SELECT SUM(nope) FROM app  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
SELECT COUNT(nope) FROM app  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
SELECT COUNT(*) OVER () FROM app  -- UnsupportedSQL [COUNT]: COUNT(*) OVER would count single people; write SUM(COUNT(*))
SELECT RANK() OVER (ORDER BY age), COUNT(*) FROM app  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
SELECT SUM(COALESCE(amount, tip)) FROM tips  -- UnsupportedSQL [tip]: this is not linear in measures and public columns; write SUM(amount) + SUM(tip) FILTER (WHERE amount IS NULL)
SELECT SUM(GREATEST(tip, pay)) FROM tips  -- UnsupportedSQL [tip]: this is not linear in measures and public columns; sum them times expressions over dimensions...
SELECT SUM(amount - lower(state)) FROM app  -- QueryError [amount - lower(state)]: No function...
SELECT LOWER(state), COUNT(*) FROM app  -- UnsupportedSQL [state]: state stands outside of an aggregate and is not a GROUP BY key; add GROUP BY state, or aggregate it
SELECT COUNT(*) FROM app GROUP BY lower('A')  -- UnsupportedSQL [lower('A')]: a constant is not a GROUP BY key; leave it out
SELECT COUNT(*) FROM app GROUP BY random()  -- UnsupportedSQL [random()]: the function RANDOM is not supported over columns; use functions of the values alone, such as...
SELECT getenv('X'), COUNT(*) FROM app  -- UnsupportedSQL [getenv('X')]: the function GETENV is not supported here; use aggregates and arithmetic over them
SELECT [COUNT(*)] FROM app  -- UnsupportedSQL [[COUNT(*)]]: the function ARRAY is not supported here; use aggregates and arithmetic over them
SELECT {'a': COUNT(*)} FROM app  -- UnsupportedSQL [{'a': COUNT(*)}]: the function STRUCT is not supported here; use aggregates and arithmetic over them
SELECT COUNT(*)::BLOB FROM app  -- UnsupportedSQL [COUNT(*)::BLOB]: DATATYPE is not supported here; use aggregates and arithmetic over them
SELECT COUNT(*) FROM app JOIN b USING (x)  -- QueryError [b]: there is no survey 'b'; there are app
SELECT COUNT(*) FROM app, app AS b  -- UnsupportedSQL [app AS b]: app is joined with itself: no report says whose it is; ask it in CTEs: WITH a AS (SELECT COUNT(*) AS n FROM app) SELECT * FROM a, a AS b
SELECT COUNT(*) FROM app TABLESAMPLE 10%  -- UnsupportedSQL [10]: sampling is not supported; leave it out: every report is used
SELECT COUNT(*) FROM app USING SAMPLE 10%  -- UnsupportedSQL [10]: sampling is not supported; leave it out: every report is used
SELECT COUNT(*) FROM app QUALIFY age > 3  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
SELECT RANK() OVER w FROM app  -- QueryError [RANK() OVER w]: there is no window 'w' here; write OVER (...)
SELECT COUNT(*) || '!' FROM app  -- UnsupportedSQL [COUNT(*) || '!']: joining texts is not supported here; join them in a query around this one
SELECT DISTINCT ON (state) COUNT(*) FROM app  -- UnsupportedSQL [state]: DISTINCT ON is not supported; write GROUP BY
SELECT COUNT(*) FROM app AS a(x)  -- UnsupportedSQL [app AS a(x)]: a table's columns cannot be renamed; write only the alias
SELECT COUNT(*) FROM other.app  -- QueryError [other.app]: there is no schema 'other'; surveys and look-up tables are in main: ask SHOW TABLES
SELECT COUNT(*) FROM nope  -- QueryError [nope]: there is no survey 'nope'; there are app
SELECT COUNT(*) FROM 'file.parquet'  -- QueryError ['file.parquet']: there is no survey 'file.parquet'; there are app
SELECT COUNT(*) FROM read_csv('x')  -- UnsupportedSQL [read_csv('x')]: a table function is not supported; name a survey or a CTE
SELECT COUNT(*) FROM read_parquet('x')  -- UnsupportedSQL [read_parquet('x')]: a table function is not supported; name a survey or a CTE
SELECT COUNT(*) FROM range(5)  -- UnsupportedSQL [range(5)]: a table function is not supported; name a survey or a CTE
SELECT COUNT(*) FROM app GROUP BY build + age  -- UnsupportedSQL [build + age]: an expression cannot combine age, which is private, and build, which is public; write a condition for each, joined by AND or OR
SELECT COUNT(*) FROM app GROUP BY 1  -- QueryError [COUNT(*)]: an aggregate cannot be a GROUP BY key; leave it out, or write conditions on it in HAVING
SELECT COUNT(*) FROM app GROUP BY 2  -- QueryError [2]: there is no column 2; positions are 1 to 1
SELECT COUNT(*) FROM app GROUP BY purchase  -- QueryError [purchase]: purchase is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(purchase) of everybody, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT COUNT(*) FROM app GROUP BY nope  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
SELECT GROUPING(age) FROM app GROUP BY ROLLUP (day)  -- QueryError [GROUPING(age)]: GROUPING takes 1 to 63 GROUP BY keys; write GROUPING(key)
SELECT GROUPING(1) FROM app GROUP BY ROLLUP (day)  -- QueryError [GROUPING(1)]: GROUPING takes 1 to 63 GROUP BY keys; write GROUPING(key)
SELECT GROUPING_ID() FROM app  -- QueryError [GROUPING_ID()]: GROUPING_ID takes 1 to 63 GROUP BY keys; write GROUPING(key)
SELECT COUNT(*) FROM app GROUP BY score / 2  -- UnsupportedSQL [score]: score is collected in bins of real numbers: this has no exact answer; compare it with their edges
SELECT COUNT(*) FROM app GROUP BY bin(age)  -- QueryError [bin(age)]: bin() takes a column and a width; write bin(age, 10)
SELECT COUNT(*) FROM app GROUP BY bin(age, 0)  -- QueryError [0]: the width of bin() must be a positive number
SELECT COUNT(*) FROM app GROUP BY bin(age, hours)  -- QueryError [hours]: the width of bin() must be a positive number
SELECT COUNT(*) FROM app GROUP BY bin(build, 5)  -- UnsupportedSQL [bin(build, 5)]: bin() takes a dimension, and build is public; group by build and bin it in an outer query
SELECT COUNT(*) FROM app HAVING age > 3  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
SELECT COUNT(*) FROM app ORDER BY nope  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
SELECT COUNT(*) FROM app ORDER BY 2  -- QueryError [2]: there is no column 2; positions are 1 to 1
SELECT COUNT(*) FROM app LIMIT age  -- UnsupportedSQL [age]: LIMIT and OFFSET take a constant; write LIMIT 10
SELECT STDERR(age) FROM app  -- UnsupportedSQL [STDERR(age)]: STDERR takes an aggregate, or + - * / over aggregates; write STDERR(COUNT(*))
SELECT STDERR() FROM app  -- QueryError [STDERR()]: STDERR takes one aggregate
SELECT STDERR(COUNT(*), 0.9) FROM app  -- QueryError [STDERR(COUNT(*), 0.9)]: STDERR takes one aggregate
SELECT STDERR(STDERR(COUNT(*))) FROM app  -- UnsupportedSQL [STDERR(STDERR(COUNT(*)))]: STDERR takes an aggregate, or + - * / over aggregates; write STDERR(COUNT(*))
SELECT STDERR(ROUND(COUNT(*))) FROM app  -- UnsupportedSQL [STDERR(ROUND(COUNT(*)))]: STDERR takes an aggregate, or + - * / over aggregates; write STDERR(COUNT(*))
SELECT CI_LOW(COUNT(*), 1) FROM app  -- QueryError [1]: a confidence level is a number between 0 and 1; write 0.95
SELECT CI_HIGH(COUNT(*), 'x') FROM app  -- QueryError ['x']: a confidence level is a number between 0 and 1; write 0.95
SELECT CI_HIGH(COUNT(*), COUNT(*)) FROM app  -- QueryError [COUNT(*)]: a confidence level is a number between 0 and 1; write 0.95
SELECT COUNT(*) / 0 / (1 / 0) FROM app  -- QueryError [1 / 0]: division by zero
SELECT AVG(purchase / build) FROM app  -- UnsupportedSQL [build]: this is not linear in measures and public columns; divide sums: SUM(a) / SUM(b), the average of the quotient weighted by b
SELECT AVG(18 / purchase) FROM app  -- UnsupportedSQL [purchase]: this is not linear in measures and public columns; sum them times expressions over dimensions, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT MAX(age) FROM app  -- UnsupportedSQL [MAX(age)]: MAX depends on single people, whom reports do not reveal; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize
SELECT MAX(state) FROM app  -- UnsupportedSQL [MAX(state)]: MAX depends on single people, whom reports do not reveal; count by it: GROUP BY state; or make a table with ldpsql synthesize
SELECT MIN(purchase) FROM app  -- UnsupportedSQL [MIN(purchase)]: MIN depends on single people, whom reports do not reveal; make a table with ldpsql synthesize
SELECT MAX(age + 1) FROM app  -- UnsupportedSQL [MAX(age + 1)]: MAX depends on single people, whom reports do not reveal; make a table with ldpsql synthesize
SELECT MAX(version) FROM app  -- UnsupportedSQL [MAX(version)]: MAX depends on single people, whom reports do not reveal; GROUP BY version in a CTE, and ask it of its rows
SELECT ANY_VALUE(state) FROM app  -- UnsupportedSQL [ANY_VALUE(state)]: ANY_VALUE cannot be answered from randomized reports; use COUNT, SUM, AVG, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP, MEDIAN, QUANTILE_CONT, QUANTILE_DISC, MODE

-- Conditions: what is wrong
SELECT COUNT(*) FROM app WHERE active AND (agee = 3)  -- QueryError [agee]: app has no column 'agee'; did you mean age? there are age, state,...
SELECT COUNT(*) FROM app WHERE active AND (purchase > 3)  -- QueryError [purchase]: purchase is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(purchase) of everybody, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT COUNT(*) FROM app WHERE active AND (nope.age = 3)  -- QueryError [nope.age]: there is no table 'nope' here; write app.age
SELECT COUNT(*) FROM app WHERE active AND (x.y.age = 3)  -- QueryError [x.y.age]: there is no table 'x.y' here; write app.age
SELECT COUNT(*) FROM app WHERE active AND (age)  -- QueryError [age]: age is not of type bool; compare it: age = ...
SELECT COUNT(*) FROM app WHERE active AND (1 = 'x')  -- QueryError [1 = 'x']: Could not convert string 'x' to INT32; write the value out
SELECT COUNT(*) FROM app WHERE active AND (age IN ())  -- QueryError [age IN ()]: IN needs at least one value
SELECT COUNT(*) FROM app WHERE Stat = 'CA'  -- QueryError [Stat]: app has no column 'Stat'; did you mean state? there are age, state, active, hours, joined, score, purchase, day, amount, version, beta, seen, build
SELECT COUNT(*) FROM app WHERE purchase = 3  -- QueryError [purchase]: purchase is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(purchase) of everybody, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT COUNT(*) FROM app AS people WHERE app.age = 3  -- QueryError [app.age]: there is no table 'app' here; write people.age

-- Conditions: what is outside the subset
SELECT COUNT(*) FROM app WHERE active AND age = build  -- UnsupportedSQL [age = build]: an expression cannot combine age, which is private, and build, which is public; write a condition for each, joined by AND or OR
SELECT COUNT(*) FROM app WHERE active AND score + 1 > 2  -- UnsupportedSQL [score]: score is collected in bins of real numbers: this has no exact answer; compare it with their edges
SELECT COUNT(*) FROM app WHERE active AND random() < age  -- UnsupportedSQL [random()]: the function RANDOM is not supported over columns; use functions of the values alone, such as...
SELECT COUNT(*) FROM app WHERE active AND bin(age, 10) = 30  -- UnsupportedSQL [bin(age, 10)]: the function BIN is not supported over columns; use functions of the values alone, such as...
SELECT COUNT(*) FROM app WHERE active AND age > now()  -- QueryError [age > now()]: a column of type int cannot be compared with datetime.datetime(...; write age >= 18
SELECT COUNT(*) FROM app WHERE active AND joined > current_time  -- UnsupportedSQL [current_time]: the function CURRENT_TIME is not supported over columns; write the day itself, such as DATE...
SELECT COUNT(*) FROM app WHERE active AND age IN (SELECT age FROM app)  -- UnsupportedSQL [app]: app holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of...
SELECT COUNT(*) FROM app WHERE active AND age = (SELECT COUNT(*) FROM app)  -- UnsupportedSQL [app]: app holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of...
SELECT COUNT(*) FROM app WHERE active AND EXISTS (SELECT 1 FROM app)  -- UnsupportedSQL [app]: app holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of...
SELECT COUNT(*) FROM app WHERE active AND age = ANY (SELECT 1)  -- UnsupportedSQL [ANY (SELECT 1)]: ANY is not supported over columns; use functions of the values alone, such as...
SELECT COUNT(*) FROM app WHERE active AND age IN hours  -- UnsupportedSQL [age IN hours]: IN takes a list of constants; write IN (1, 2, 3)
SELECT COUNT(*) FROM app WHERE active AND COUNT(*) > 3  -- UnsupportedSQL [COUNT(*)]: an aggregate cannot stand here; write it in HAVING
SELECT COUNT(*) FROM app WHERE active AND 1 < age < 3  -- UnsupportedSQL [1 < age]: a comparison of comparisons is not supported; write BETWEEN, or AND of two
SELECT COUNT(*) FROM app WHERE active AND age IS TRUE  -- UnsupportedSQL [age IS TRUE]: IS takes NULL, or TRUE and FALSE for a bool column; write = or <>
SELECT COUNT(*) FROM app WHERE active AND 1  -- UnsupportedSQL [1]: a constant is not a condition; write TRUE or FALSE
SELECT COUNT(*) FROM app WHERE active AND 'x'  -- UnsupportedSQL ['x']: a constant is not a condition; write TRUE or FALSE
SELECT COUNT(*) FROM app WHERE active AND age[1] = 3  -- UnsupportedSQL [age[1]]: BRACKET is not supported over columns; use functions of the values alone, such as...

-- Queries over results
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT nn FROM t  -- QueryError [nn]: there is no column 'nn' here; did you mean n?
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT x.n FROM t  -- QueryError [x.n]: there is no column 'x.n' here; name a column of the relations in FROM
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT t FROM t  -- QueryError [t]: there is no column 't' here
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE m > 3  -- QueryError [m]: there is no column 'm' here; did you mean n?
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t JOIN t x ON t.n = x.m  -- QueryError [x.m]: there is no column 'x.m' here; name a column of the relations in FROM
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT x.* FROM t  -- QueryError [x.*]: there is no relation 'x' here; name a column of the relations in FROM
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, t  -- QueryError [t]: two relations are called 't'
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT (*) FROM t  -- QueryError [*]: * stands only by itself or in COUNT(*)
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT * / n FROM t  -- QueryError [*]: * stands only by itself or in COUNT(*)
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM u  -- QueryError [u]: there is no survey 'u'; there are app
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t UNION SELECT state, n FROM t  -- QueryError [state, n FROM t]: ...columns...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t JOIN app USING (state)  -- UnsupportedSQL [app]: JOIN with a survey's table is not supported; aggregate each survey in a CTE, then join the results
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, app  -- UnsupportedSQL [app]: JOIN with a survey's table is not supported; aggregate each survey in a CTE, then join the results
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT * EXCLUDE (n) FROM t  -- UnsupportedSQL [* EXCLUDE (n)]: EXCLUDE, REPLACE and RENAME are not supported; name the columns
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COLUMNS('n') FROM t  -- UnsupportedSQL [COLUMNS('n')]: the function COLUMNS is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t NATURAL JOIN t x  -- UnsupportedSQL [t x]: NATURAL JOIN is not supported; write JOIN ... USING or ON
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t ASOF JOIN t x ON t.n > x.n  -- UnsupportedSQL [t x]: ASOF JOIN is not supported; write JOIN ... USING or ON
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t SEMI JOIN t x USING (n)  -- UnsupportedSQL [t x]: SEMI JOIN is not supported; write JOIN ... USING or ON
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t TABLESAMPLE 10%  -- UnsupportedSQL [10]: sampling is not supported; leave it out: every report is used
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, read_csv('x')  -- UnsupportedSQL [read_csv('x')]: a table function is not supported; name a survey or a CTE
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, unnest([1])  -- UnsupportedSQL [[1]]: a table function is not supported; name a survey, a CTE or a subquery
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, LATERAL (SELECT 1)  -- UnsupportedSQL [1]: a table function is not supported; name a survey, a CTE or a subquery
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, (VALUES (getenv('HOME'))) v  -- UnsupportedSQL [getenv('HOME')]: the function GETENV is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t, 'file.csv'  -- QueryError ['file.csv']: there is no survey 'file.csv'; there are app
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT getenv('HOME') FROM t  -- UnsupportedSQL [getenv('HOME')]: the function GETENV is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT current_setting('threads') FROM t  -- UnsupportedSQL [current_setting('threads')]: the function CURRENT_SETTING is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT nextval('x') FROM t  -- UnsupportedSQL [nextval('x')]: the function NEXTVAL is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT repeat('x', 1000000000) FROM t  -- UnsupportedSQL [repeat('x', 1000000000)]: the function REPEAT is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT random() FROM t  -- UnsupportedSQL [random()]: the function RANDOM is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t ORDER BY read_text('x')  -- UnsupportedSQL [read_text('x')]: the function READ_TEXT is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT STDERR(n) FROM t  -- UnsupportedSQL [STDERR(n)]: STDERR is answered only in the SELECT over a survey's table; name it there and use its name here
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT bin(n, 10) FROM t  -- UnsupportedSQL [bin(n, 10)]: BIN is answered only in the SELECT over a survey's table; name it there and use its name here
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n[1] FROM t  -- UnsupportedSQL [n[1]]: BRACKET is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT x -> n FROM t  -- UnsupportedSQL [x -> n]: the function JSON_EXTRACT is not supported; use plain SQL functions over the result
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT (SELECT age FROM app) FROM t  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT (SELECT COUNT(*) FROM app WHERE age = t.n) FROM t  -- QueryError [t.n]: there is no table 't' here; write app.n

-- Other ways around
WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x FROM t) SELECT x FROM t  -- UnsupportedSQL [t AS (SELECT 1 AS x UNION ALL SELECT x FROM t]: recursive queries are not supported; write WITH
WITH ldpsql_base_0 AS (SELECT 1 AS x) SELECT x FROM ldpsql_base_0  -- QueryError [ldpsql_base_0]: names that start with ldpsql_ are reserved; rename it
SELECT x FROM (SELECT 1 AS x) AS ldpsql_base_0  -- QueryError [ldpsql_base_0]: names that start with ldpsql_ are reserved; rename it
WITH t AS (SELECT COUNT(*) AS ldpsql_d1 FROM app) SELECT ldpsql_d1 + 1 FROM t  -- QueryError [ldpsql_d1]: names that start with ldpsql_ are reserved; rename it
SELECT x.LDPSQL_D0 FROM (SELECT 1) AS x(ldpsql_d0)  -- QueryError [ldpsql_d0]: names that start with ldpsql_ are reserved; rename it
WITH t(a, b) AS (SELECT COUNT(*) FROM app) SELECT a FROM t  -- QueryError [t(a, b)]: there are 1 columns to name
WITH t AS (SELECT age FROM app) SELECT age FROM t  -- UnsupportedSQL [age]: age stands outside of an aggregate and is not a GROUP BY key; add GROUP BY age, or aggregate it
WITH t AS (SELECT age FROM app) SELECT COUNT(*) FROM t WHERE active  -- QueryError [active]: there is no column 'active' here; there are age
WITH t AS (SELECT age FROM app) SELECT COUNT(*) FROM t WHERE t.active  -- QueryError [t.active]: there is no column 'active' here; there are age
WITH t AS (SELECT nope FROM app) SELECT COUNT(*) FROM t  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER () AS r FROM app) AS t  -- UnsupportedSQL [ROW_NUMBER() OVER () AS r]: a query without an aggregate is not supported; add COUNT(*), or one of COUNT, SUM, AVG,...
SELECT COUNT(*) FROM (SELECT * FROM app UNION ALL SELECT * FROM app)  -- QueryError [app]: ...a survey twice...
WITH t AS (DELETE FROM app RETURNING *) SELECT * FROM t  -- UnsupportedSQL [app RETURNING *]: this is not a query; write SELECT ... FROM <survey>
SELECT *  -- QueryError [*]: * needs a FROM
SELECT  -- QueryError: SELECT names no column; name at least one
SELECT COUNT(*) app  -- QueryError [COUNT(*) app]: an aggregate needs a FROM; write FROM <survey>
SELECT * AS x FROM (SELECT COUNT(*) FROM app)  -- QueryError [* AS x]: * has no single name; leave AS out

-- Queries that filter people
WITH y AS (SELECT * FROM app) SELECT * FROM y  -- UnsupportedSQL [*]: * would show single people; name aggregates: COUNT(*), AVG(column)
WITH y AS (SELECT * FROM app) SELECT COUNT(*) FROM y JOIN y AS z ON TRUE  -- UnsupportedSQL [y AS z]: y holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of...
WITH y AS (SELECT * FROM app WHERE nope) SELECT COUNT(*) FROM y  -- QueryError [nope]: app has no column 'nope'; there are age, state, active, hours, joined,...
WITH y AS (SELECT * FROM app LIMIT 3) SELECT COUNT(*) FROM y  -- UnsupportedSQL [*]: * would show single people; name aggregates: COUNT(*), AVG(column)
WITH y(a) AS (SELECT * FROM app) SELECT COUNT(*) FROM y  -- UnsupportedSQL [*]: * would show single people; name aggregates: COUNT(*), AVG(column)

-- What is not one query
SELECT COUNT(*) FROM app; SELECT 1  -- UnsupportedSQL [SELECT]: more than one statement; send one query at a time
CREATE TABLE x (a INT)  -- UnsupportedSQL [CREATE]: CREATE is not supported; only queries are: write SELECT ... FROM <survey>
INSERT INTO app VALUES (1)  -- UnsupportedSQL [INSERT]: INSERT is not supported; only queries are: write SELECT ... FROM <survey>
UPDATE app SET age = 3  -- UnsupportedSQL [UPDATE]: UPDATE is not supported; only queries are: write SELECT ... FROM <survey>
DELETE FROM app  -- UnsupportedSQL [DELETE]: DELETE is not supported; only queries are: write SELECT ... FROM <survey>
DROP TABLE app  -- UnsupportedSQL [DROP]: DROP is not supported; only queries are: write SELECT ... FROM <survey>
COPY app TO 'x.csv'  -- UnsupportedSQL [COPY]: COPY is not supported; only queries are: write SELECT ... FROM <survey>
ATTACH 'x.duckdb'  -- UnsupportedSQL [ATTACH]: ATTACH is not supported; only queries are: write SELECT ... FROM <survey>
PRAGMA version  -- UnsupportedSQL [PRAGMA]: PRAGMA is not supported; only queries are: write SELECT ... FROM <survey>
SET threads = 1  -- UnsupportedSQL [SET]: SET is not supported; only queries are: write SELECT ... FROM <survey>
INSTALL httpfs  -- UnsupportedSQL [INSTALL]: INSTALL is not supported; only queries are: write SELECT ... FROM <survey>
LOAD httpfs  -- UnsupportedSQL [LOAD]: LOAD is not supported; only queries are: write SELECT ... FROM <survey>
CALL pragma_version()  -- UnsupportedSQL [CALL]: CALL is not supported; only queries are: write SELECT ... FROM <survey>
VALUES (1)  -- UnsupportedSQL [VALUES]: VALUES is not supported; only queries are: write SELECT ... FROM <survey>
DESCRIBE SELECT COUNT(*) FROM app  -- UnsupportedSQL [DESCRIBE]: this DESCRIBE is not supported; write SHOW TABLES, or DESCRIBE <survey>
SHOW DATABASES  -- UnsupportedSQL [SHOW]: this SHOW is not supported; write SHOW TABLES, or DESCRIBE <survey>
EXPLAIN DESCRIBE app  -- UnsupportedSQL [DESCRIBE]: only queries can be explained; leave it out
DESCRIBE nowhere  -- QueryError [nowhere]: there is no survey 'nowhere'; there are app
PIVOT app ON age USING COUNT(*)  -- UnsupportedSQL [PIVOT]: PIVOT is not supported; write SELECT age, COUNT(*) FROM app GROUP BY age
EXPLAIN ANALYZE SELECT 1  -- UnsupportedSQL [EXPLAIN ANALYZE]: EXPLAIN ANALYZE is not offered; write EXPLAIN or EXPLAIN VERBOSE
EXPLAIN; SELECT COUNT(*) FROM app  -- UnsupportedSQL [;]: EXPLAIN without a query; write the query after it
EXPLAIN VERBOSE\n;\nSELECT 1;  -- UnsupportedSQL [;]: EXPLAIN without a query; write the query after it
SELEC COUNT(*) FROM app  -- QueryError [SELEC]: no query starts with 'SELEC'; write SELECT ... FROM <survey>
SELECT COUNT(* FROM app  -- QueryError [FROM]: syntax error near 'FROM'; ...
SELECT COUNT(*) FROM app WHERE age = 'x  -- QueryError [']: a quote is not closed; close it, or double it
SELECT COUNT(*) FROM app /* open  -- QueryError [/*]: a comment is not closed; close it, or double it
SELECT COUNT(*) FROM app WHERE  -- QueryError [WHERE]: syntax error near 'WHERE'; ...
SELECT COUNT(*) FROM app WHERE age = = 3  -- QueryError [=]: syntax error near '='; ...
SELECT COUNT(*) FROM app)  -- QueryError [)]: syntax error near ')'; ...

-- The catalog
SELECT COUNT(*) FROM information_schema.schemata  -- QueryError [information_schema.schemata]: there is no schema 'information_schema'; surveys and look-up tables are in main: ask SHOW TABLES
SELECT nothing FROM information_schema.tables  -- QueryError [nothing]: there is no column 'nothing' here; did you mean epsilon?
SELECT COUNT(*) FROM other.information_schema.tables  -- QueryError [other.information_schema.tables]: there is no schema 'other.information_schema'; surveys and look-up tables are in main: ask SHOW TABLES
SELECT COUNT(*) FROM other.app  -- QueryError [other.app]: there is no schema 'other'; surveys and look-up tables are in main: ask SHOW TABLES
SELECT COUNT(*) FROM other.main.app  -- QueryError [other.main.app]: there is no schema 'other.main'; surveys and look-up tables are in main: ask SHOW TABLES
SELECT * FROM ldpsql_tables  -- QueryError [ldpsql_tables]: there is no survey 'ldpsql_tables'; there are app
DESCRIBE  -- UnsupportedSQL [DESCRIBE]: this DESCRIBE is not supported; write SHOW TABLES, or DESCRIBE <survey>
SHOW TABLES FROM app  -- UnsupportedSQL [SHOW]: this SHOW is not supported; write SHOW TABLES, or DESCRIBE <survey>
DESCRIBE 'app'  -- UnsupportedSQL [DESCRIBE]: this DESCRIBE is not supported; write SHOW TABLES, or DESCRIBE <survey>

-- Errors of the binder
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT t.stat FROM t  -- QueryError [t.stat]: there is no column 't.stat' here; did you mean state?
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE 'é' = stat  -- QueryError [stat]: there is no column 'stat' here; did you mean state?
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT q.n FROM (SELECT n FROM t) AS q WHERE q.z = 1  -- QueryError [q.z]: there is no column 'q.z' here; name a column of the relations in FROM
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT (SELECT MAX(n) FROM t y WHERE y.n > t.k) FROM t  -- QueryError [t.k]: there is no column 't.k' here; name a column of the relations in FROM
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t JOIN t x USING (zz)  -- QueryError [zz]: ...does not exist on left side...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t CROSS JOIN t y  -- QueryError [n]: Ambiguous reference...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT UPPER(n) FROM t  -- QueryError [UPPER(n)]: No function matches...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT state,\n n, SUM(n) FROM t  -- QueryError [n]: ...must appear in the GROUP BY...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT SUM(n) OVER w FROM t  -- QueryError [w]: ...does not exist...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t ORDER BY 9  -- QueryError [9]: ...out of range...
WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT n FROM t WHERE state IN (SELECT state, n FROM t)  -- QueryError [n]: ...2 columns...
SELECT COUNT(*) FROM app WHERE regexp_matches(state, '[')  -- QueryError [regexp_matches(state, '[')]: ...missing ]...; check the constants in it
SELECT COUNT(*) FROM app WHERE lower(age) = 'a'  -- QueryError [lower(age) = 'a']: ...No function matches...; check the types of what it is written over

-- Constants
SELECT COUNT(*) FROM app WHERE age = 1 / 0  -- QueryError [1 / 0]: division by zero
SELECT COUNT(*) FROM app WHERE age = 1 + 'x'  -- QueryError [1 + 'x']: Could not choose a best candidate function for the function call "+(INTEGER_LITERAL, STRING_LITERAL)"; write the value out
SELECT COUNT(*) FROM app WHERE age = -TRUE  -- QueryError [-TRUE]: No function matches the given name and argument types '-(BOOLEAN)'; write the value out
SELECT COUNT(*) FROM app WHERE age = 1e999  -- QueryError [1e999]: this number is too large
SELECT COUNT(*) FROM app WHERE age = 1e308 * 10  -- QueryError [1e308 * 10]: this number is too large
SELECT COUNT(*) FROM app WHERE age = 99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999  -- QueryError [99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999]: this number has too many digits
SELECT COUNT(*) FROM app WHERE age = DATE 'yesterday'  -- QueryError [DATE 'yesterday']: 'yesterday' is not a date; write 2026-01-31
SELECT COUNT(*) FROM app WHERE age = TIMESTAMP '2026-01-01 00:00+02'  -- QueryError [TIMESTAMP '2026-01-01 00:00+02']: '2026-01-01 00:00+02' has a time zone; write local time without one

-- Values that are not declared
SELECT COUNT(*) FROM app WHERE state = 'ca'  -- QueryError ['ca']: state has no value 'ca'; did you mean 'CA'? declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE 'Wa ' <> state  -- QueryError ['Wa ']: state has no value 'Wa '; did you mean 'WA'? declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE state IN ('CA', 'Oregon', 'NY')  -- QueryError ['Oregon']: state has no value 'Oregon'; declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE state NOT IN ('CA', 'NYC')  -- QueryError ['NYC']: state has no value 'NYC'; did you mean 'NY'? declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE state IS DISTINCT FROM 'wa'  -- QueryError ['wa']: state has no value 'wa'; did you mean 'WA'? declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE CASE WHEN state = 'ca' THEN age > 3 END  -- QueryError ['ca']: state has no value 'ca'; did you mean 'CA'? declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE (age, state) IN ((20, 'CA'), (30, 'OR'))  -- QueryError ['OR']: state has no value 'OR'; declared are 'CA', 'NY', 'WA'
SELECT COUNT(*) FROM app WHERE age > 3 OR NOT (state = '')  -- QueryError ['']: state has no value ''; declared are 'CA', 'NY', 'WA'
SELECT state, COUNT(*) FROM app GROUP BY state HAVING state <> 'ny'  -- QueryError ['ny']: state has no value 'ny'; did you mean 'NY'? declared are 'CA', 'NY', 'WA'
SELECT state, COUNT(*) FROM app GROUP BY state ORDER BY state IN ('CA', 'ny')  -- QueryError ['ny']: state has no value 'ny'; did you mean 'NY'? declared are 'CA', 'NY', 'WA'
SELECT CASE state WHEN 'ny' THEN 1 END, COUNT(*) FROM app GROUP BY state  -- QueryError ['ny']: state has no value 'ny'; did you mean 'NY'? declared are 'CA', 'NY', 'WA'
SELECT CASE WHEN state = ('ny') THEN COUNT(*) END FROM app GROUP BY state  -- QueryError ['ny']: state has no value 'ny'; did you mean 'NY'? declared are 'CA', 'NY', 'WA'

-- Joins
SELECT COUNT(*) FROM app JOIN regions USING (code)  -- QueryError [code]: app and regions have no column 'code'; did you mean code? there are age, state, active, hours, joined, score, purchase, day, amount, version, beta, seen, build, code, region, pop
SELECT COUNT(*) FROM app JOIN cities USING (city)  -- QueryError [city]: app and cities have no column 'city'; did you mean city? there are age, state, active, hours, joined, score, purchase, day, amount, version, beta, seen, build, city
SELECT COUNT(*) FROM app JOIN regions ON code  -- QueryError [code]: this is not a condition; compare two columns
SELECT COUNT(*) FROM app LEFT JOIN regions  -- QueryError [regions]: a LEFT JOIN needs ON or USING
SELECT COUNT(*) FROM app SEMI JOIN regions  -- QueryError [regions]: a SEMI JOIN needs ON or USING
SELECT COUNT(*) FROM app FULL JOIN regions ON state = code  -- UnsupportedSQL [regions]: FULL JOIN with a survey's table is not supported; write JOIN or LEFT JOIN, the survey's table first, with ON or USING
SELECT COUNT(*) FROM app RIGHT JOIN regions ON state = code  -- UnsupportedSQL [regions]: RIGHT JOIN with a survey's table is not supported; write JOIN or LEFT JOIN, the survey's table first, with ON or USING
SELECT COUNT(*) FROM app NATURAL JOIN cities  -- UnsupportedSQL [cities]: NATURAL JOIN with a survey's table is not supported; write JOIN or LEFT JOIN, the survey's table first, with ON or USING
SELECT COUNT(*) FROM app POSITIONAL JOIN cities  -- UnsupportedSQL [cities]: POSITIONAL JOIN with a survey's table is not supported; write JOIN or LEFT JOIN, the survey's table first, with ON or USING
SELECT COUNT(*) FROM app ASOF JOIN cities USING (state)  -- UnsupportedSQL [cities]: ASOF JOIN with a survey's table is not supported; write JOIN or LEFT JOIN, the survey's table first, with ON or USING
SELECT COUNT(*) FROM app JOIN cities ON state = 'NY'  -- QueryError [state]: several tables have a column 'state'; write app.state or cities.state
SELECT COUNT(*) FROM app JOIN cities ON app.state = cities.nope  -- QueryError [cities.nope]: cities has no column 'nope'; there are state, city
SELECT COUNT(*) FROM app JOIN cities ON app.state = x.state  -- QueryError [x.state]: there is no table 'x' here; write app.state
SELECT COUNT(*) FROM app JOIN cities USING (state) JOIN cities USING (state)  -- QueryError [cities]: two relations are called 'cities'
SELECT COUNT(*) FROM app JOIN cities AS app USING (state)  -- QueryError [cities AS app]: two relations are called 'app'
SELECT COUNT(*) FROM app JOIN regions ON purchase = pop  -- QueryError [purchase]: purchase is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(purchase) of everybody, or declare [dimension.purchase] in the survey to ask this of later reports
SELECT COUNT(*) FROM app JOIN (SELECT 1)  -- QueryError [1]: joined rows need a name; write JOIN (...) AS name
SELECT COUNT(*) FROM app JOIN app AS q USING (state)  -- UnsupportedSQL [app AS q]: app is joined with itself: no report says whose it is; ask it in CTEs: WITH a AS (SELECT COUNT(*) AS n FROM app) SELECT * FROM a, a AS b
SELECT COUNT(*) FROM app JOIN sellers USING (region)  -- UnsupportedSQL [sellers]: app is joined with the survey sellers: no report says whose it is; ask each survey by itself and join the results, or all as one by UNION ALL
SELECT COUNT(*) FROM app NATURAL JOIN sellers  -- UnsupportedSQL [sellers]: app is joined with the survey sellers: no report says whose it is; ask each survey by itself and join the results, or all as one by UNION ALL
SELECT COUNT(*) FROM app , sellers WHERE app.state = sellers.state  -- UnsupportedSQL [sellers]: app is joined with the survey sellers: no report says whose it is; ask each survey by itself and join the results, or all as one by UNION ALL
SELECT COUNT(*) FROM app JOIN regions ON state = code JOIN sellers USING (x)  -- UnsupportedSQL [sellers]: app is joined with the survey sellers: no report says whose it is; ask each survey by itself and join the results, or all as one by UNION ALL
SELECT COUNT(*) FROM app JOIN read_csv('x') AS q USING (state)  -- UnsupportedSQL [read_csv('x') AS q]: a table function is not supported; name a survey or a CTE
SELECT COUNT(*) FROM app JOIN (FROM read_csv('x')) AS q USING (state)  -- UnsupportedSQL [read_csv('x')]: a table function is not supported; name a survey or a CTE
SELECT COUNT(*) FROM app JOIN (SELECT getenv('HOME') AS state) AS q USING (state)  -- UnsupportedSQL [getenv('HOME')]: the function GETENV is not supported; use plain SQL functions over the result
SELECT COUNT(*) FROM app JOIN (SELECT random() AS state) AS q USING (state)  -- UnsupportedSQL [random()]: the function RANDOM is not supported; use plain SQL functions over the result
SELECT COUNT(*) FROM app JOIN nowhere USING (state)  -- QueryError [nowhere]: there is no survey 'nowhere'; there are app
SELECT COUNT(*) FROM app JOIN information_schema.tables AS t ON true  -- UnsupportedSQL [information_schema.tables AS t]: tables holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of both; or write the values
SELECT COUNT(*) FROM app WHERE state IN (SELECT state FROM app)  -- UnsupportedSQL [app]: app holds estimates: a JOIN with a survey's table, or a subquery, takes look-up tables only; aggregate in a CTE, and join the results of both; or write the values
SELECT COUNT(*) FROM app WHERE state IN (SELECT nope FROM cities)  -- QueryError [state IN (SELECT nope FROM cities)]: Column "nope" referenced that exists in the SELECT clause - but this column cannot be referenced before it is defined; check the types of what it is written over
SELECT COUNT(*) FROM app WHERE EXISTS (SELECT 1 FROM cities AS c WHERE c.state = q.state)  -- QueryError [q.state]: there is no table 'q' here; write app.state

-- Literals of another type
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (age = 'x')  -- QueryError [age = 'x']: a column of type int cannot be compared with 'x'; write age >= 18
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (state > 3)  -- QueryError [state > 3]: a column of type category cannot be compared with 3
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (joined = 'soon')  -- QueryError [joined = 'soon']: 'soon' is not a date; write joined >= DATE '2026-01-01'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (joined > '2026-03-15')  -- QueryError [joined > '2026-03-15']: this has no exact answer: all values from 2026-03-01 up to 2026-04-01 share one code; write joined >= DATE '2026-03-01', or joined >= DATE '2026-04-01'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (score = 0.5)  -- QueryError [score = 0.5]: a float column is collected in bins, so = has no exact answer; write score >= 0.5 AND score < 1.0
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (score < 0.7)  -- QueryError [score < 0.7]: this has no exact answer: all values from 0.5 up to 1.0 share one code; write score < 0.5, or score < 1.0
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (state IN ('CA', 3))  -- QueryError [state IN ('CA', 3)]: a column of type category cannot be compared with 3
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (day = 3)  -- QueryError [day = 3]: day is a column of type date and cannot be compared with '3'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (day = '2026-01-01 12:00')  -- QueryError [day = '2026-01-01 12:00']: '2026-01-01 12:00' is not a date; write 2026-01-31
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (day = 'soon')  -- QueryError [day = 'soon']: 'soon' is not a date; write 2026-01-31
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (seen = '2026-01-01 12:00+02')  -- QueryError [seen = '2026-01-01 12:00+02']: '2026-01-01 12:00+02' has a time zone; write local time without one
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (version = 3)  -- QueryError [version = 3]: version is a column of type text and cannot be compared with '3'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (amount = 'x')  -- QueryError [amount = 'x']: amount is a column of type float and cannot be compared with 'x'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (build IN (1, TRUE))  -- QueryError [build IN (1, TRUE)]: build is a column of type int and cannot be compared with 'True'
SELECT COUNT(*) FROM app WHERE hours > 1 AND NOT (beta = 'yes')  -- QueryError [beta = 'yes']: beta is a column of type bool and cannot be compared with 'yes'
SELECT COUNT(*) FROM app GROUP BY bin(score, 0.3)  -- QueryError [bin(score, 0.3)]: this has no exact answer: all values from 0.0 up to 0.5 share one code; write >= or < with 0.0 or 0.5
SELECT COUNT(*) FROM app GROUP BY bin(state, 2)  -- QueryError [bin(state, 2)]: bin() takes an int or float column, not category

-- Expressions over declared values
SELECT COUNT(*) FROM types WHERE score % 3 = 0  -- UnsupportedSQL [score % 3 = 0]: this has no exact answer: it is not the same for all values of score in 0..9, which share one code; write (score < 10 OR score >= 12)
SELECT COUNT(*) FROM types WHERE score - 3 < 10  -- UnsupportedSQL [score - 3 < 10]: this has no exact answer: it is not the same for all values of score in 12..19, which share one code; write score < 12
SELECT COUNT(*) FROM types WHERE EXTRACT(day FROM week) < 10  -- UnsupportedSQL [EXTRACT(day FROM week) < 10]: this has no exact answer: it is not the same for all values of week in 2026-01-05..2026-01-11, which share one code; write (week < DATE '2026-01-12' OR week >= DATE '2026-01-26' AND week < DATE '2026-02-16' OR week >= DATE '2026-02-23'), or week >= DATE '2026-02-02' AND week < DATE '2026-02-09'
SELECT COUNT(*) FROM types WHERE hour(seen) < 12  -- UnsupportedSQL [hour(seen) < 12]: this has no exact answer: it is not the same for all values of seen in [2026-01-01 00:00:00, 2026-01-02 00:00:00), which share one code; compare seen with the edges of its bins
SELECT COUNT(*) FROM types WHERE seen + INTERVAL 1 HOUR > DATE '2026-01-03'  -- UnsupportedSQL [seen]: times of seen within an hour cannot be told apart here; write date_trunc('hour', seen), EXTRACT(day FROM seen) or CAST(seen AS DATE)
SELECT COUNT(*) FROM types WHERE minute(seen) = 0  -- UnsupportedSQL [minute(seen)]: the function MINUTE is not supported over columns; use functions of the values alone, such as lower, abs, date_trunc or CASE
SELECT COUNT(*) FROM types WHERE date_part('minute', seen) = 0  -- UnsupportedSQL [seen]: times of seen within an hour cannot be told apart here; write date_trunc('hour', seen), EXTRACT(day FROM seen) or CAST(seen AS DATE)
SELECT COUNT(*) FROM types WHERE strftime(seen, '%H:%M') < '12:00'  -- UnsupportedSQL [seen]: times of seen within an hour cannot be told apart here; write date_trunc('hour', seen), EXTRACT(day FROM seen) or CAST(seen AS DATE)
SELECT COUNT(*) FROM types WHERE strftime(seen, '%%%S') < '%30'  -- UnsupportedSQL [seen]: times of seen within an hour cannot be told apart here; write date_trunc('hour', seen), EXTRACT(day FROM seen) or CAST(seen AS DATE)
SELECT COUNT(*) FROM types WHERE strftime(seen, lower('%d')) = '03'  -- UnsupportedSQL [seen]: times of seen within an hour cannot be told apart here; write date_trunc('hour', seen), EXTRACT(day FROM seen) or CAST(seen AS DATE)
SELECT COUNT(*) FROM types WHERE strftime(seen, '%d %H') < '03 12'  -- UnsupportedSQL [strftime(seen, '%d %H') < '03 12']: this has no exact answer: it is not the same for all values of seen in [2026-01-03 00:00:00, 2026-01-04 00:00:00), which share one code; write seen < TIMESTAMP '2026-01-04 00:00:00', or seen < TIMESTAMP '2026-01-03 00:00:00'
SELECT COUNT(*) FROM types WHERE income * 2 > 10  -- UnsupportedSQL [income]: income is collected in bins of real numbers: this has no exact answer; compare it with their edges
SELECT COUNT(*) FROM types WHERE (income < 20 OR income > 30) = TRUE  -- QueryError [income > 30]: this has no exact answer: all values from 20.0 up to and including 40.0 share one code; write >= 20.0, < 20.0 or <= 40.0
SELECT COUNT(*) FROM types WHERE wide % 2 = 0  -- UnsupportedSQL [wide % 2 = 0]: wide have 1000000001 combinations of values, and an expression takes at most 1048576; write it over fewer columns, or as conditions on each joined by AND
SELECT COUNT(*) FROM types WHERE age * score > 30 * length(size) + day(seen) + day(week)  -- UnsupportedSQL [age * score > 30 * length(size) + day(seen) + day(week)]: age and score and size and seen and week have 78489600 combinations of values, and an expression takes at most 1048576; write it over fewer columns, or as conditions on each joined by AND
SELECT COUNT(*) FROM types WHERE age + size > 3  -- QueryError [age + size > 3]: No function matches the given name and argument types '+(BIGINT, VARCHAR)'; check the types of what it is written over
SELECT COUNT(*) FROM types WHERE lower(age) = 'x'  -- QueryError [lower(age) = 'x']: No function matches the given name and argument types 'lower(BIGINT)'; check the types of what it is written over
SELECT COUNT(*) FROM types WHERE length(size)  -- QueryError [length(size)]: this is not a condition; compare it with something

-- Quantiles, moments and distributions
SELECT MEDIAN(pay) FROM people  -- UnsupportedSQL [pay]: pay is a measure: reports give its sum, not its order; ask AVG(pay), or declare [dimension.pay] in the survey to ask this of later reports
SELECT MEDIAN(state) FROM people  -- UnsupportedSQL [state]: state is of type category, not a number; count by it: GROUP BY state
SELECT MEDIAN(age + hours) FROM people  -- UnsupportedSQL [age + hours]: MEDIAN takes a dimension, or a number over one; write MEDIAN of a dimension, or of numbers computed from one
SELECT MEDIAN(7) FROM people  -- UnsupportedSQL [7]: MEDIAN takes a dimension, or a number over one; write MEDIAN of a dimension, or of numbers computed from one
SELECT MEDIAN(day) FROM people  -- UnsupportedSQL [day]: day is of type date, not a number; ask for a number of days: day - DATE '2026-01-01'
SELECT MEDIAN(pay + 1) FROM people  -- QueryError [pay]: pay is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(pay) of everybody, or declare [dimension.pay] in the survey to ask this of later reports
SELECT MEDIAN(upper(state)) FROM people  -- QueryError [upper(state)]: this is of type VARCHAR, and cannot be ordered as a number; write MEDIAN of a dimension, or of numbers computed from one
SELECT MEDIAN(hours + 1) FROM people  -- UnsupportedSQL [hours + 1]: hours is collected in bins; write MEDIAN(hours), or count by it: GROUP BY hours
SELECT MEDIAN(ln(age - 18)) FROM people  -- QueryError [ln(age - 18)]: this is infinite or NaN for some declared value; write MEDIAN of a dimension, or of numbers computed from one
SELECT MEDIAN(CAST(state AS INT)) FROM people  -- QueryError [CAST(state AS INT)]: Could not convert string 'CA' to INT32 when casting from source column state; this is said of declared values
SELECT MEDIAN(NULLIF(age, age)) FROM people  -- QueryError [NULLIF(age, age)]: this is NULL for every declared value; write MEDIAN of a dimension, or of numbers computed from one
SELECT MEDIAN(1e308 * age) FROM people  -- QueryError [1e308 * age]: this is infinite or NaN for some declared value; write MEDIAN of a dimension, or of numbers computed from one
SELECT QUANTILE_CONT(age) FROM people  -- QueryError [QUANTILE_CONT(age)]: QUANTILE_CONT takes a dimension and a share from 0 to 1; write QUANTILE_CONT(column, 0.5)
SELECT QUANTILE_CONT(age, 1.5) FROM people  -- QueryError [QUANTILE_CONT(age, 1.5)]: QUANTILE_CONT takes a dimension and a share from 0 to 1; write QUANTILE_CONT(column, 0.5)
SELECT QUANTILE_CONT(age, [0.5, 2]) FROM people  -- QueryError [[0.5, 2]]: a list of shares holds numbers from 0 to 1; write [0.1, 0.5, 0.9]
SELECT QUANTILE_CONT(age, []) FROM people  -- QueryError [[]]: a list of shares holds numbers from 0 to 1; write [0.1, 0.5, 0.9]
SELECT QUANTILE_CONT(age, [-0.1, 0.5]) FROM people  -- UnsupportedSQL [[-0.1, 0.5]]: the shares of one list must count from the same end; write two lists
SELECT QUANTILE_CONT(age, [0.1]) + 1 FROM people  -- UnsupportedSQL [QUANTILE_CONT(age, [0.1])]: a list of shares stands by itself in the select list; write QUANTILE_CONT once for each share
SELECT QUANTILE_DISC(age, age) FROM people  -- QueryError [QUANTILE_DISC(age, age)]: QUANTILE_DISC takes a dimension and a share from 0 to 1; write QUANTILE_DISC(column, 0.5)
SELECT QUANTILE(age, 0.1, 0.9) FROM people  -- QueryError [)]: syntax error near ')'; the number of provided arguments (3) is greater than the maximum number of supported arguments (2)
SELECT QUANTILE_CONT(age, 0.1, 0.9) FROM people  -- QueryError [)]: syntax error near ')'; the number of provided arguments (3) is greater than the maximum number of supported arguments (2)
SELECT QUANTILE_DISC(age, 0.1, 0.9) FROM people  -- QueryError [)]: syntax error near ')'; the number of provided arguments (3) is greater than the maximum number of supported arguments (2)
SELECT MIN(age) FROM people  -- UnsupportedSQL [MIN(age)]: MIN depends on single people, whom reports do not reveal; ask QUANTILE_DISC(age, 0.01), or make a table with ldpsql synthesize
SELECT MAX(age) FROM people  -- UnsupportedSQL [MAX(age)]: MAX depends on single people, whom reports do not reveal; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize
SELECT VAR_POP(pay) FROM people  -- UnsupportedSQL [pay]: reports give sums of the measure pay, not its squares; declare [dimension.pay] in the survey to ask this of later reports, or design it for VAR_POP(pay) in [workload] queries
SELECT CORR(pay, age) FROM people  -- UnsupportedSQL [pay]: reports give sums of the measure pay, not its squares; declare [dimension.pay] in the survey to ask this of later reports, or design it for VAR_POP(pay) in [workload] queries
SELECT CORR(age) FROM people  -- QueryError [)]: syntax error near ')'; required keyword: 'expression' missing for Corr
SELECT VARIANCE(state) FROM people  -- QueryError [state]: this is of type VARCHAR: it has no sum
SELECT VAR_POP(hours) FROM people  -- UnsupportedSQL [hours]: this has no exact answer: it is not the same for all values of hours in 0..9, which share one code; GROUP BY hours, of which the bins are told apart
SELECT HISTOGRAM(age), COUNT(*) FROM people  -- UnsupportedSQL [age]: HISTOGRAM stands beside keys alone; GROUP BY age, and aggregate as you like
SELECT HISTOGRAM(age) FROM people HAVING COUNT(*) > 3  -- UnsupportedSQL [age]: HISTOGRAM stands beside keys alone; GROUP BY age, and aggregate as you like
SELECT HISTOGRAM(age + 1) FROM people  -- UnsupportedSQL [age + 1]: HISTOGRAM takes a column; write HISTOGRAM(column)
SELECT HISTOGRAM(pay) FROM people  -- QueryError [pay]: pay is a measure, not a dimension: it can be summed, not compared or grouped; ask AVG(pay) of everybody, or declare [dimension.pay] in the survey to ask this of later reports
SELECT CDF(hours, 35) FROM people  -- QueryError [hours, 35]: this has no exact answer: all values from 30 up to 40 share one code; write hours < 30, or hours < 40
