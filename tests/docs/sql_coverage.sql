-- Point counts and ranges
SELECT COUNT(*) FROM shoppers WHERE age = 40;
SELECT COUNT(*) AS adults FROM shoppers WHERE age BETWEEN 25 AND 64;
SELECT COUNT(*) FROM shoppers WHERE age >= 65 OR age < 21;
SELECT COUNT(*) FROM shoppers WHERE state = 'NY' AND member;
SELECT COUNT(*) FROM shoppers WHERE state IN ('CA', 'WA', 'OR');
SELECT COUNT(*) FROM shoppers WHERE state NOT IN ('CA', 'NY') AND age > 30;
SELECT COUNT(*) FROM shoppers WHERE NOT (sex = 'Female' AND age < 30);
SELECT COUNT(*) FROM shoppers WHERE state IS NULL;
SELECT COUNT(state) FROM shoppers WHERE age < 50;
SELECT COUNT(*) FROM shoppers WHERE sex <> 'Male' AND items > 3;
SELECT COUNT(1) FROM shoppers WHERE items BETWEEN 1 AND 5;
SELECT COUNT(*) FROM shoppers WHERE member IS TRUE AND age > 35;
SELECT COUNT(*) FROM shoppers WHERE age = 200;
SELECT COUNT(*) FROM shoppers WHERE sex = 'female';
SELECT COUNT(*) FROM shoppers WHERE gender = 'Female';

-- Dates and times
SELECT COUNT(*) FROM shoppers WHERE visited >= DATE '2026-02-01';
SELECT COUNT(*) FROM shoppers WHERE visited BETWEEN DATE '2026-01-01' AND DATE '2026-01-31';
SELECT COUNT(*) FROM shoppers WHERE visited >= '2026-01-15' AND visited < '2026-02-15';
SELECT COUNT(*) FROM shoppers WHERE visited < TIMESTAMP '2026-01-08 00:00:00';
SELECT COUNT(*) FROM shoppers WHERE CAST(visited AS DATE) = DATE '2026-02-14';
SELECT COUNT(*) FROM shoppers WHERE visited::date BETWEEN '2026-02-01' AND '2026-02-28';
SELECT COUNT(*) FROM shoppers WHERE EXTRACT(month FROM visited) = 3;
SELECT COUNT(*) FROM shoppers WHERE dayofweek(visited) IN (0, 6);
SELECT date_trunc('month', visited) AS month, COUNT(*) FROM shoppers GROUP BY month ORDER BY month;
SELECT date_trunc('week', visited) AS week, AVG(spend) FROM shoppers GROUP BY 1 ORDER BY 1;
SELECT CAST(visited AS DATE) AS day, COUNT(*) AS visits FROM shoppers WHERE visited >= DATE '2026-03-01' GROUP BY day ORDER BY day;
SELECT dayname(visited) AS weekday, COUNT(*) FROM shoppers GROUP BY weekday;
SELECT year(joined) AS year, COUNT(*) FROM shoppers GROUP BY year(joined);
SELECT strftime(joined, '%Y-%m') AS month, COUNT(*) FROM shoppers GROUP BY month;
SELECT quarter(joined) AS q, SUM(spend) FROM shoppers GROUP BY q ORDER BY q;
SELECT COUNT(*) FROM shoppers WHERE joined >= DATE '2025-06-01' AND joined < DATE '2025-06-01' + INTERVAL 3 MONTH;
SELECT COUNT(*) FROM shoppers WHERE date_diff('month', joined, DATE '2026-01-01') >= 6;
SELECT COUNT(*) FROM shoppers WHERE hour(visited) >= 18;
SELECT COUNT(*) FROM shoppers WHERE visited > now() - INTERVAL 7 DAY;

-- Text
SELECT COUNT(*) FROM shoppers WHERE education LIKE '%school%';
SELECT COUNT(*) FROM shoppers WHERE lower(education) = 'bachelor';
SELECT COUNT(*) FROM shoppers WHERE education ILIKE 'ma%' OR education ILIKE 'do%';
SELECT COUNT(*) FROM shoppers WHERE regexp_matches(state, '^[A-M]');
SELECT left(state, 1) AS initial, COUNT(*) FROM shoppers GROUP BY initial ORDER BY initial;
SELECT upper(education) AS level, AVG(age) FROM shoppers GROUP BY level;
SELECT COUNT(*) FROM shoppers WHERE length(education) > 8;
SELECT COUNT(*) FROM shoppers WHERE starts_with(education, 'High') AND age < 30;
SELECT COUNT(*) FROM shoppers WHERE trim(sex) NOT LIKE 'F%';
SELECT COUNT(*) FROM shoppers WHERE contains(education, 'o');
SELECT coalesce(state, 'unknown') AS place, COUNT(*) FROM shoppers GROUP BY place ORDER BY 2 DESC;
SELECT sex || ' ' || education AS label, COUNT(*) FROM shoppers GROUP BY label;
SELECT concat(sex, ', ', education) AS label, COUNT(*) FROM shoppers GROUP BY 1;

-- Numbers
SELECT COUNT(*) FROM shoppers WHERE age % 10 = 0;
SELECT COUNT(*) FROM shoppers WHERE abs(age - 40) <= 5;
SELECT SUM(items * items) FROM shoppers;
SELECT AVG(sqrt(age)) FROM shoppers WHERE items > 0;
SELECT SUM(CAST(items AS DOUBLE)) / COUNT(*) FROM shoppers WHERE sex = 'Female';
SELECT AVG(greatest(age - 30, 0)) FROM shoppers;
SELECT floor(age / 10.0) * 10 AS decade, COUNT(*) FROM shoppers GROUP BY decade ORDER BY decade;
SELECT round(age, -1) AS about, COUNT(*) FROM shoppers GROUP BY about;
SELECT COUNT(*) FROM shoppers WHERE 2 * items > age / 10;
SELECT COUNT(*) FROM shoppers WHERE power(items, 2) BETWEEN 10 AND 50;
SELECT AVG(ln(items + 1)) FROM shoppers GROUP BY sex;
SELECT SUM(try_cast(items AS BIGINT)) FROM shoppers WHERE member;

-- Sums, averages and ratios
SELECT AVG(spend) FROM shoppers;
SELECT SUM(spend) FROM shoppers WHERE age < 30;
SELECT AVG(spend), SUM(spend), COUNT(*) FROM shoppers WHERE sex = 'Female';
SELECT AVG(age) FROM shoppers WHERE state = 'CA';
SELECT SUM(items) FROM shoppers WHERE member;
SELECT SUM(spend) / SUM(items) AS spend_per_item FROM shoppers;
SELECT SUM(spend) / COUNT(*) AS spend_per_person FROM shoppers WHERE NOT member;
SELECT AVG(spend * items) FROM shoppers;
SELECT SUM(spend * 1.19) FROM shoppers WHERE state = 'NY';
SELECT AVG(spend - 20) FROM shoppers WHERE age > 60;
SELECT COUNT(*) * 1.0 / 1000 AS thousands FROM shoppers WHERE age > 60;
SELECT 100.0 * SUM(CASE WHEN member THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM shoppers;
SELECT SUM(items) * 1.0 / NULLIF(COUNT(*), 0) AS mean FROM shoppers WHERE state = 'TX';
SELECT ROUND(AVG(spend), 2) FROM shoppers;
SELECT CAST(COUNT(*) AS INTEGER) FROM shoppers WHERE age < 30;
SELECT COALESCE(SUM(spend), 0) FROM shoppers WHERE sex = 'Other';
SELECT AVG(spend) AS mean, STDERR(AVG(spend)) AS se, CI_LOW(AVG(spend)) AS low, CI_HIGH(AVG(spend)) AS high FROM shoppers;

-- Conditions within aggregates and pivots
SELECT COUNT(*) FILTER (WHERE age < 30) AS young, COUNT(*) FILTER (WHERE age >= 65) AS old FROM shoppers;
SELECT SUM(CASE WHEN sex = 'Female' THEN 1 ELSE 0 END) AS women FROM shoppers;
SELECT COUNT(CASE WHEN items > 10 THEN 1 END) AS large FROM shoppers WHERE member;
SELECT COUNT_IF(state = 'NY') AS new_york FROM shoppers;
SELECT AVG(CASE WHEN member THEN spend END) AS members_spend FROM shoppers;
SELECT AVG(member) AS share FROM shoppers WHERE age < 40;
SELECT AVG(CASE WHEN education = 'Master' THEN 1.0 ELSE 0 END) AS share FROM shoppers;
SELECT SUM(spend) FILTER (WHERE state = 'CA') / SUM(spend) AS share FROM shoppers;
SELECT state, COUNT(*) FILTER (WHERE sex = 'Female') AS women, COUNT(*) FILTER (WHERE sex = 'Male') AS men FROM shoppers GROUP BY state;
SELECT SUM(CASE WHEN age < 30 THEN 1 WHEN age < 60 THEN 2 ELSE 3 END) AS points FROM shoppers;
SELECT sex, SUM(CASE WHEN platform = 'ios' THEN 1 ELSE 0 END) AS ios, SUM(CASE WHEN platform = 'web' THEN 1 ELSE 0 END) AS web FROM shoppers GROUP BY sex;
SELECT SUM(CASE WHEN platform = 'ios' THEN 1 WHEN platform = 'android' THEN 2 ELSE 0 END) AS points FROM shoppers WHERE member;
SELECT AVG(CASE WHEN state IN ('CA', 'OR', 'WA') THEN spend END) - AVG(CASE WHEN state = 'NY' THEN spend END) AS gap FROM shoppers;
SELECT SUM(IF(items >= 5, spend, 0)) FROM shoppers;
SELECT COUNT(NULLIF(state, 'NY')) FROM shoppers;
PIVOT shoppers ON sex USING COUNT(*) GROUP BY state;
SELECT * FROM shoppers PIVOT (COUNT(*) FOR sex IN ('Female', 'Male') GROUP BY state);

-- GROUP BY
SELECT sex, COUNT(*) FROM shoppers GROUP BY sex;
SELECT state, sex, COUNT(*) AS n FROM shoppers GROUP BY state, sex ORDER BY state, sex;
SELECT education, AVG(spend) FROM shoppers WHERE age >= 25 GROUP BY education;
SELECT age, COUNT(*) FROM shoppers WHERE age < 30 GROUP BY age ORDER BY age;
SELECT bin(age, 10) AS decade, COUNT(*), AVG(spend) FROM shoppers GROUP BY bin(age, 10);
SELECT member, items, COUNT(*) FROM shoppers GROUP BY ALL;
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS band, COUNT(*), AVG(items) FROM shoppers GROUP BY band;
SELECT age // 20 AS band, SUM(spend) FROM shoppers GROUP BY age // 20;
SELECT age >= 65 AS retired, AVG(spend) FROM shoppers GROUP BY retired;
SELECT state IS NULL AS hidden, COUNT(*) FROM shoppers GROUP BY hidden;
SELECT CASE state WHEN 'CA' THEN 'west' WHEN 'WA' THEN 'west' WHEN 'OR' THEN 'west' ELSE 'elsewhere' END AS coast, COUNT(*) FROM shoppers GROUP BY 1;
SELECT sex, member, AVG(items) FROM shoppers GROUP BY sex, member HAVING COUNT(*) > 500;
SELECT DISTINCT sex FROM shoppers;
SELECT sex FROM shoppers GROUP BY sex;

-- Grouping sets
SELECT sex, member, COUNT(*) FROM shoppers GROUP BY ROLLUP (sex, member);
SELECT sex, education, SUM(spend) FROM shoppers GROUP BY CUBE (sex, education);
SELECT state, sex, COUNT(*) FROM shoppers GROUP BY GROUPING SETS ((state), (sex), ());
SELECT platform, sex, COUNT(*) FROM shoppers GROUP BY platform, ROLLUP (sex);
SELECT state, COUNT(*) AS n, LAG(COUNT(*)) OVER w AS before FROM shoppers GROUP BY state WINDOW w AS (ORDER BY state);
SELECT sex, GROUPING(sex) AS is_total, COUNT(*) FROM shoppers GROUP BY ROLLUP (sex);
SELECT platform, sex, COUNT(*) FROM shoppers GROUP BY CUBE (platform, sex);

-- HAVING, ORDER BY, LIMIT and top-k
SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state ORDER BY n DESC LIMIT 3;
SELECT state, AVG(spend) AS mean FROM shoppers GROUP BY state HAVING AVG(spend) > 50 ORDER BY mean DESC;
SELECT education, COUNT(*) FROM shoppers GROUP BY education ORDER BY COUNT(*) LIMIT 2 OFFSET 1;
SELECT age, COUNT(*) AS n FROM shoppers GROUP BY age ORDER BY n DESC, age LIMIT 10;
SELECT state, sex, COUNT(*) AS n FROM shoppers GROUP BY state, sex QUALIFY ROW_NUMBER() OVER (PARTITION BY sex ORDER BY n DESC) <= 2;
SELECT state, COUNT(*) AS n FROM shoppers WHERE age > 30 GROUP BY state HAVING n > 100 AND state <> 'NY';
SELECT education, SUM(spend) AS total FROM shoppers GROUP BY education HAVING SUM(spend) / COUNT(*) > 10 ORDER BY total DESC;
SELECT state, COUNT(*) AS n, CI_LOW(COUNT(*)) AS low FROM shoppers GROUP BY state HAVING low > 0 ORDER BY n DESC;
SELECT DISTINCT state, COUNT(*) AS n FROM shoppers GROUP BY state;

-- Shares and percent of total
SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM shoppers GROUP BY sex;
SELECT state, sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY state) AS percent FROM shoppers GROUP BY state, sex;
SELECT education, SUM(spend) / SUM(SUM(spend)) OVER () AS share FROM shoppers GROUP BY education;
SELECT state, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM shoppers) AS percent FROM shoppers GROUP BY state;
WITH total AS (SELECT COUNT(*) AS n FROM shoppers WHERE age > 30) SELECT state, COUNT(*) / (SELECT n FROM total) AS share FROM shoppers WHERE age > 30 GROUP BY state;
SELECT education, ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent FROM shoppers GROUP BY education;
SELECT member, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM shoppers GROUP BY member HAVING COUNT(*) > 10;
SELECT sex, member, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM shoppers GROUP BY ROLLUP (sex, member);
SELECT sex, RATIO_TO_REPORT(COUNT(*)) OVER () FROM shoppers GROUP BY sex;

-- Differences and comparisons
SELECT AVG(spend) FILTER (WHERE sex = 'Female') - AVG(spend) FILTER (WHERE sex = 'Male') AS gap FROM shoppers;
SELECT COUNT(*) FILTER (WHERE member) - COUNT(*) FILTER (WHERE NOT member) AS lead FROM shoppers;
SELECT state, AVG(age) FILTER (WHERE member) / AVG(age) FILTER (WHERE NOT member) AS ratio FROM shoppers GROUP BY state;
SELECT SUM(CASE WHEN sex = 'Female' THEN spend ELSE -spend END) AS net FROM shoppers;
SELECT (SELECT COUNT(*) FROM shoppers WHERE age < 30) - (SELECT COUNT(*) FROM shoppers WHERE age >= 60) AS gap;
SELECT AVG(items) FILTER (WHERE visited >= DATE '2026-03-01') - AVG(items) FILTER (WHERE visited < DATE '2026-02-01') AS change FROM shoppers;
SELECT COUNT_IF(sex = 'Female' AND member) / COUNT_IF(sex = 'Female') - COUNT_IF(sex = 'Male' AND member) / COUNT_IF(sex = 'Male') AS gap FROM shoppers;

-- Variance and correlation
SELECT VAR_POP(age), VAR_SAMP(age) FROM shoppers;
SELECT STDDEV(age) FROM shoppers WHERE sex = 'Female';
SELECT state, STDDEV_POP(items) FROM shoppers GROUP BY state;
SELECT VARIANCE(items) FROM shoppers WHERE member;
SELECT AVG(age * age) - AVG(age) * AVG(age) AS variance FROM shoppers;
SELECT STDDEV_SAMP(age) / AVG(age) AS cv FROM shoppers;
SELECT CORR(age, items) FROM shoppers;
SELECT COVAR_POP(age, items), COVAR_SAMP(age, items) FROM shoppers;
SELECT REGR_SLOPE(items, age), REGR_INTERCEPT(items, age) FROM shoppers;
SELECT AVG(age * items) - AVG(age) * AVG(items) AS covariance FROM shoppers;
SELECT STDDEV(spend) FROM shoppers;
SELECT SKEWNESS(age) FROM shoppers;

-- Quantiles and extremes
SELECT MEDIAN(age) FROM shoppers;
SELECT sex, MEDIAN(age // 10) AS decade, MODE(length(state)) FROM shoppers GROUP BY sex;
SELECT MEDIAN(joined) FROM shoppers;
SELECT sex, MEDIAN(age) FROM shoppers GROUP BY sex;
SELECT QUANTILE_CONT(age, 0.9) FROM shoppers WHERE member;
SELECT QUANTILE_DISC(items, 0.25) FROM shoppers;
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM shoppers WHERE state = 'CA';
SELECT PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY items) FROM shoppers;
SELECT APPROX_QUANTILE(age, 0.95) FROM shoppers;
SELECT QUANTILE_CONT(age, [0.25, 0.5, 0.75]) FROM shoppers;
SELECT QUANTILE_CONT(age, 0.75) - QUANTILE_CONT(age, 0.25) AS iqr FROM shoppers;
SELECT MODE(state) FROM shoppers;
SELECT HISTOGRAM(education) FROM shoppers;
SELECT MAX(age) FROM shoppers;
SELECT MIN(spend), MAX(spend) FROM shoppers;
SELECT MEDIAN(spend) FROM shoppers;
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) / SUM(COUNT(*)) OVER () AS cdf FROM shoppers GROUP BY age;
SELECT COUNT(DISTINCT state) FROM shoppers;
SELECT APPROX_COUNT_DISTINCT(age) FROM shoppers;
SELECT STRING_AGG(state, ',') FROM shoppers;
SELECT ANY_VALUE(age) FROM shoppers;
SELECT state, MAX(items) FROM shoppers GROUP BY state;

-- Windows over answers
SELECT state, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM shoppers GROUP BY state;
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) AS running FROM shoppers WHERE age < 40 GROUP BY age;
SELECT date_trunc('month', visited) AS month, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY date_trunc('month', visited)) AS change FROM shoppers GROUP BY month;
SELECT CAST(visited AS DATE) AS day, AVG(COUNT(*)) OVER (ORDER BY CAST(visited AS DATE) ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS smooth FROM shoppers GROUP BY day;
SELECT state, AVG(spend) - AVG(AVG(spend)) OVER () AS deviation FROM shoppers GROUP BY state;
SELECT state, sex, SUM(COUNT(*)) OVER (PARTITION BY state) AS in_state FROM shoppers GROUP BY state, sex;
SELECT education, NTILE(2) OVER (ORDER BY AVG(spend)) AS half FROM shoppers GROUP BY education;
SELECT age, COUNT(*) / MAX(COUNT(*)) OVER () AS relative FROM shoppers GROUP BY age;

-- Look-up tables
SELECT r.region, COUNT(*) FROM shoppers JOIN (VALUES ('CA', 'west'), ('WA', 'west'), ('OR', 'west'), ('NY', 'east')) AS r(state, region) ON shoppers.state = r.state GROUP BY r.region;
WITH regions(state, region) AS (VALUES ('CA', 'west'), ('WA', 'west'), ('NY', 'east'), ('TX', 'south')) SELECT region, AVG(spend) FROM shoppers JOIN regions USING (state) GROUP BY region;
SELECT COUNT(*) FROM shoppers LEFT JOIN (VALUES ('CA', 1), ('NY', 2)) AS z(state, zone) USING (state) WHERE zone IS NULL;
SELECT SUM(w.weight) FROM shoppers s JOIN (VALUES ('Master', 2.0), ('Doctorate', 3.0)) AS w(education, weight) ON s.education = w.education;
SELECT COUNT(*) FROM shoppers WHERE state IN (SELECT state FROM (VALUES ('CA'), ('TX')) AS t(state));
SELECT COUNT(*) FROM shoppers s WHERE NOT EXISTS (SELECT 1 FROM (VALUES ('CA'), ('TX')) AS t(state) WHERE t.state = s.state);
SELECT band, COUNT(*) FROM shoppers JOIN (VALUES (18, 29, 'young'), (30, 59, 'middle'), (60, 90, 'old')) AS b(low, high, band) ON age BETWEEN low AND high GROUP BY band;
SELECT COUNT(*) FROM shoppers a JOIN shoppers b ON a.state = b.state;
SELECT COUNT(*) FROM shoppers, orders WHERE shoppers.id = orders.id;

-- CTEs and subqueries
WITH young AS (SELECT * FROM shoppers WHERE age < 30) SELECT AVG(spend) FROM young;
WITH young AS (SELECT * FROM shoppers WHERE age < 30) SELECT state, COUNT(*) FROM young WHERE member GROUP BY state;
SELECT COUNT(*) FROM (SELECT * FROM shoppers WHERE state LIKE 'C%') AS west WHERE age > 50;
WITH g AS (SELECT sex, COUNT(*) AS n FROM shoppers GROUP BY sex) SELECT sex, n FROM g;
WITH g AS (SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state) SELECT * FROM g WHERE n > 200 ORDER BY n DESC;
SELECT t.state, t.n FROM (SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state) AS t ORDER BY t.n DESC LIMIT 5;
WITH a AS (SELECT state, COUNT(*) AS n FROM shoppers WHERE member GROUP BY state), b AS (SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state) SELECT a.state, a.n / b.n AS share FROM a JOIN b USING (state);
WITH g AS (SELECT state, AVG(spend) AS mean FROM shoppers GROUP BY state) SELECT MAX(mean) FROM g;
WITH g AS (SELECT age, COUNT(*) AS n FROM shoppers GROUP BY age) SELECT SUM(n) FROM g WHERE age BETWEEN 20 AND 29;
WITH g AS (SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state) SELECT COUNT(*) FROM g WHERE n > 100;
WITH a AS (SELECT age, sex, spend FROM shoppers WHERE member) SELECT sex, AVG(spend) FROM a GROUP BY sex;
WITH a AS (SELECT *, age // 10 * 10 AS decade FROM shoppers) SELECT decade, COUNT(*) FROM a GROUP BY decade;
SELECT decade, COUNT(*) FROM (SELECT age // 10 * 10 AS decade FROM shoppers) AS t GROUP BY decade;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t;
SELECT (SELECT AVG(spend) FROM shoppers WHERE sex = 'Female') AS women, (SELECT AVG(spend) FROM shoppers WHERE sex = 'Male') AS men;

-- Set operations
SELECT 'young' AS who, COUNT(*) AS n FROM shoppers WHERE age < 30 UNION ALL SELECT 'old', COUNT(*) FROM shoppers WHERE age >= 60;
SELECT sex AS label, AVG(spend) AS mean FROM shoppers GROUP BY sex UNION ALL SELECT 'all', AVG(spend) FROM shoppers;
SELECT state FROM (SELECT state, COUNT(*) AS n FROM shoppers WHERE member GROUP BY state) AS a WHERE n > 50 INTERSECT SELECT state FROM (SELECT state, COUNT(*) AS n FROM shoppers WHERE NOT member GROUP BY state) AS b WHERE n > 50;
SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state EXCEPT SELECT state, COUNT(*) FROM shoppers WHERE state = 'NY' GROUP BY state;
SELECT sex, COUNT(*) FROM shoppers GROUP BY sex UNION SELECT education, COUNT(*) FROM shoppers GROUP BY education;

-- Correlated and quantified subqueries
SELECT state, COUNT(*) FROM shoppers s WHERE age > (SELECT AVG(age) FROM shoppers t WHERE t.state = s.state) GROUP BY state;
SELECT COUNT(*) FROM shoppers WHERE age > (SELECT AVG(age) FROM shoppers);
SELECT COUNT(*) FROM shoppers WHERE EXISTS (SELECT 1 FROM shoppers t WHERE t.age = 30);
SELECT COUNT(*) FROM shoppers WHERE age >= ALL (SELECT age FROM shoppers);
WITH g AS (SELECT state, sex, COUNT(*) AS n FROM shoppers GROUP BY state, sex) SELECT state, sex, n FROM g a WHERE n >= (SELECT MAX(n) FROM g b WHERE b.state = a.state);
SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state HAVING COUNT(*) > (SELECT COUNT(*) / 10 FROM shoppers);

-- Public columns
SELECT platform, COUNT(*) FROM shoppers GROUP BY platform;
SELECT platform, sex, COUNT(*) FROM shoppers GROUP BY platform, sex;
SELECT COUNT(*) FROM shoppers WHERE platform = 'ios' AND age < 30;
SELECT AVG(spend) FROM shoppers WHERE platform IN ('ios', 'android') AND build >= 3;
SELECT AVG(fee) FROM shoppers WHERE sex = 'Female';
SELECT sex, SUM(fee) FROM shoppers GROUP BY sex;
SELECT SUM(fee + tip) FROM shoppers WHERE member;
SELECT sex, AVG(fee * items) FROM shoppers GROUP BY sex;
SELECT upper(platform) AS platform, COUNT(*) FROM shoppers WHERE age > 50 GROUP BY 1;
SELECT date_trunc('month', sent) AS month, sex, COUNT(*) FROM shoppers GROUP BY month, sex;
SELECT CASE WHEN build < 3 THEN 'old' ELSE 'new' END AS release, AVG(age) FROM shoppers GROUP BY release;
SELECT COUNT(*) FROM shoppers WHERE (platform = 'ios' AND age < 30) OR (platform = 'web' AND age >= 60);
SELECT COUNT(*) FROM shoppers WHERE sent BETWEEN DATE '2026-03-01' AND DATE '2026-03-15' AND member;
SELECT COUNT(*) FROM shoppers;
SELECT SUM(CASE WHEN build >= 3 AND sex = 'Male' THEN fee ELSE 0 END) FROM shoppers;
SELECT COUNT(*) FROM shoppers WHERE build % 2 = 0 AND state = 'TX';
SELECT COUNT(*) FROM shoppers WHERE build > items;

-- As business-intelligence tools write it
SELECT "main"."shoppers"."sex" AS "sex", COUNT(*) AS "count" FROM "main"."shoppers" GROUP BY "main"."shoppers"."sex" ORDER BY "main"."shoppers"."sex" ASC;
SELECT date_trunc('day', "visited") AS "__timestamp", COUNT(*) AS "count" FROM "shoppers" WHERE "visited" >= '2026-02-01 00:00:00.000000' AND "visited" < '2026-03-01 00:00:00.000000' GROUP BY date_trunc('day', "visited") ORDER BY "count" DESC LIMIT 10000;
SELECT "state" AS "state", AVG("spend") AS "AVG(spend)" FROM "shoppers" WHERE ("sex" IN ('Female')) GROUP BY "state" ORDER BY "AVG(spend)" DESC LIMIT 100;
SELECT "source"."sex" AS "sex", COUNT(*) AS "count" FROM (SELECT "shoppers"."sex" AS "sex", "shoppers"."age" AS "age" FROM "shoppers") AS "source" WHERE "source"."age" > 30 GROUP BY "source"."sex" ORDER BY "source"."sex" ASC;
SELECT SUM(1) AS "COUNT", "shoppers"."sex" AS "sex" FROM "shoppers" "shoppers" GROUP BY 2 HAVING (COUNT(1) > 0);
SELECT (FLOOR((("shoppers"."age" - 0.0) / 10.0)) * 10.0) + 0.0 AS "age", COUNT(*) AS "count" FROM "shoppers" GROUP BY (FLOOR((("shoppers"."age" - 0.0) / 10.0)) * 10.0) + 0.0 ORDER BY 1 ASC;
SELECT SUM(CASE WHEN "member" = TRUE THEN 1 ELSE 0.0 END) / CAST(COUNT(*) AS DOUBLE) AS "share" FROM "shoppers";
SELECT "t0"."education" AS "c0", SUM("t0"."spend") AS "a0" FROM "shoppers" AS "t0" WHERE NOT "t0"."education" IS NULL GROUP BY "t0"."education" ORDER BY "a0" DESC LIMIT 1001;
SELECT CASE WHEN ("state" = 'CA') THEN 'California' WHEN ("state" = 'NY') THEN 'New York' ELSE "state" END AS "name", COUNT(*) AS "n" FROM "shoppers" GROUP BY 1 ORDER BY 2 DESC;
SELECT COUNT(*) AS "count", COUNT(CASE WHEN "items" > 10 THEN 1 ELSE NULL END) AS "large", AVG(CAST("age" AS DOUBLE)) AS "mean" FROM "shoppers" WHERE 1 = 1;
SELECT "shoppers"."state", SUM("shoppers"."items") AS "sum" FROM "shoppers" WHERE ("shoppers"."state" IS NOT NULL) AND (("shoppers"."age" >= 18) AND ("shoppers"."age" <= 64)) GROUP BY 1 ORDER BY "sum" DESC NULLS LAST LIMIT 50;
SELECT DATE_TRUNC('QUARTER', CAST("joined" AS TIMESTAMP)) AS "q", COUNT(1) AS "cnt" FROM "shoppers" GROUP BY 1;
SELECT EXTRACT(YEAR FROM "joined") AS "y", EXTRACT(MONTH FROM "joined") AS "m", SUM("spend") AS "s" FROM "shoppers" GROUP BY EXTRACT(YEAR FROM "joined"), EXTRACT(MONTH FROM "joined");
SELECT COUNT(*) FROM (SELECT * FROM "shoppers" LIMIT 100) AS t;
SELECT "state", "sex" FROM "shoppers" GROUP BY "state", "sex" ORDER BY "state" LIMIT 1000;
SELECT * FROM shoppers LIMIT 10;
SELECT TOP 5 state, COUNT(*) FROM shoppers GROUP BY state;

-- What can be asked
SHOW TABLES;
DESCRIBE shoppers;
SHOW COLUMNS FROM shoppers;
SELECT table_name FROM information_schema.tables;
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'shoppers' ORDER BY ordinal_position;
SELECT * FROM pg_catalog.pg_tables;
PRAGMA table_info('shoppers');
EXPLAIN SELECT COUNT(*) FROM shoppers WHERE age > 60;
SELECT 1;
SELECT version();

-- Single records, changes and definitions
SELECT age, sex FROM shoppers WHERE spend > 100;
SELECT COUNT(*) FROM shoppers WHERE spend > 100;
SELECT AVG(spend) FROM shoppers GROUP BY spend;
SELECT AVG(spend) FROM shoppers WHERE random() < 0.5;
SELECT COUNT(*) FROM shoppers TABLESAMPLE 10 PERCENT;
INSERT INTO shoppers (age) VALUES (30);
UPDATE shoppers SET age = 30;
DELETE FROM shoppers WHERE age < 20;
CREATE TABLE young AS SELECT * FROM shoppers WHERE age < 30;
CREATE VIEW women AS SELECT * FROM shoppers WHERE sex = 'Female';
DROP TABLE shoppers;
ALTER TABLE shoppers ADD COLUMN x INT;
COPY shoppers TO 'shoppers.csv';
SELECT * FROM read_csv('people.csv');
SELECT COUNT(*) FROM shoppers; SELECT COUNT(*) FROM shoppers;
