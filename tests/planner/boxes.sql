SELECT COUNT(*) FROM app;
-- where anybody
--   everybody

SELECT COUNT(*) FROM app WHERE age = 20;
-- where anybody
--   age 2..2

SELECT COUNT(*) FROM app WHERE age BETWEEN 30 AND 39 AND state = 'NY' AND NOT active;
-- where anybody
--   age 12..21, state 1..1, active 0..0

SELECT COUNT(*) FROM app WHERE age BETWEEN 4 AND 2;
-- where anybody
--   nobody

SELECT COUNT(*) FROM app WHERE age BETWEEN SYMMETRIC 40 AND 30;
-- where anybody
--   age 12..22

SELECT COUNT(*) FROM app WHERE age > 17 AND age < 1000 AND hours <= 3.5;
-- where anybody
--   hours 0..3

SELECT COUNT(*) FROM app WHERE age <> 20;
-- where anybody
--   age 0..1 3..72

SELECT COUNT(*) FROM app WHERE state IN ('CA', NULL);
-- where anybody
--   state 0..0

SELECT COUNT(*) FROM app WHERE state NOT IN ('CA');
-- where anybody
--   state 1..2

SELECT COUNT(*) FROM app WHERE state NOT IN ('CA', NULL);
-- where anybody
--   nobody

SELECT COUNT(*) FROM app WHERE state IS NULL;
-- where anybody
--   state 3..3

SELECT COUNT(*) FROM app WHERE state IS DISTINCT FROM 'CA';
-- where anybody
--   state 1..3

SELECT COUNT(*) FROM app WHERE age IS NULL;
-- where anybody
--   nobody

SELECT COUNT(*) FROM app WHERE state = NULL OR NOT (state = NULL);
-- where anybody
--   nobody

SELECT COUNT(*) FROM app WHERE age = 20 OR age = 22 OR age BETWEEN 21 AND 24;
-- where anybody
--   age 2..6

SELECT COUNT(*) FROM app WHERE age = 20 OR hours = 3;
-- where anybody
--   age 2..2
--   hours 3..3

SELECT COUNT(*) FROM app WHERE NOT (age = 20 AND hours = 3);
-- where anybody
--   age 0..1 3..72
--   hours 0..2 4..99

SELECT COUNT(*) FROM app WHERE (age = 20 OR hours = 3) AND (age = 21 OR hours = 4);
-- where anybody
--   age 2..2, hours 4..4
--   age 3..3, hours 3..3

SELECT COUNT(*) FROM app WHERE joined >= '2026-03-01' AND joined < DATE '2026-05-01';
-- where anybody
--   joined 2..3

SELECT COUNT(*) FROM app WHERE score >= 0.5;
-- where anybody
--   score 1..2

SELECT COUNT(*) FROM app WHERE day = '2026-01-31' AND version <> 'it''s';
-- where (("day" = DATE '2026-01-31') AND ("version" <> 'it''s'))
--   everybody

SELECT COUNT(*) FROM app WHERE beta AND amount BETWEEN -1 AND 2.5 AND age = 20;
-- where (("beta" = TRUE) AND (("amount" >= -1) AND ("amount" <= 2.5)))
--   age 2..2

SELECT COUNT(*) FROM app WHERE beta OR age = 20;
-- where ("beta" = TRUE)
--   everybody
-- where ("beta" = TRUE) IS NOT TRUE
--   age 2..2

SELECT COUNT(*) FROM app WHERE (beta AND age = 20) OR (build IN (1, NULL) AND age = 21);
-- where ("beta" = TRUE) AND ("build" IN (1, NULL))
--   age 2..3
-- where ("beta" = TRUE) AND ("build" IN (1, NULL)) IS NOT TRUE
--   age 2..2
-- where ("beta" = TRUE) IS NOT TRUE AND ("build" IN (1, NULL))
--   age 3..3

SELECT COUNT(*) FROM app WHERE NOT (seen < '2026-01-31 12:00' OR age = 20);
-- where (NOT ("seen" < TIMESTAMP '2026-01-31 12:00:00'))
--   age 0..1 3..72

SELECT COUNT(*) FROM app WHERE beta AND age = 20 OR NOT beta AND age = 20;
-- where (("beta" = TRUE)) OR (("beta" = TRUE) IS NOT TRUE AND (NOT ("beta" = TRUE)))
--   age 2..2

SELECT state, COUNT(*) FROM app WHERE age = 20 GROUP BY state, bin(hours, 40);
-- where anybody
--   age 2..2
-- 12 rows, by no public column
--   ('CA', 0): state 0..0, hours 0..39
--   ('CA', 40): state 0..0, hours 40..79
--   ('CA', 80): state 0..0, hours 80..99
--   ('NY', 0): state 1..1, hours 0..39
--   ('NY', 40): state 1..1, hours 40..79
--   ('NY', 80): state 1..1, hours 80..99

SELECT day, active, COUNT(*) FROM app GROUP BY active, day;
-- where anybody
--   everybody
-- 2 rows, by day
--   (False,): active 0..0
--   (True,): active 1..1

SELECT age, COUNT(*) FROM app WHERE hours = 1 GROUP BY age, bin(age, 40) HAVING COUNT(*) > 3;
-- where anybody
--   hours 1..1
-- 73 rows, by no public column
--   (18, 0): age 0..0
--   (19, 0): age 1..1
--   (20, 0): age 2..2
--   (21, 0): age 3..3
--   (22, 0): age 4..4
--   (23, 0): age 5..5

SELECT COUNT(*) FROM app WHERE age % 20 = 0 AND state LIKE '_A';
-- where anybody
--   age 2..2 22..22 42..42 62..62, state 0..0 2..2

SELECT COUNT(*) FROM app WHERE CASE WHEN active THEN age >= 60 ELSE state IS NULL END;
-- where anybody
--   state 3..3, active 0..0
--   age 42..72, active 1..1

SELECT COUNT(*) FROM app WHERE (state, active) IN (('CA', TRUE), ('WA', FALSE)) OR month(joined) = 4;
-- where anybody
--   joined 3..3
--   state 0..0, active 1..1
--   state 2..2, active 0..0

SELECT COUNT(*) FROM app WHERE (score < 1.0) = active AND length(version) = 3;
-- where (LENGTH("version") = 3)
--   active 0..0, score 2..2
--   active 1..1, score 0..1

SELECT age // 20 AS a, COUNT(*) FROM app GROUP BY a;
-- where anybody
--   everybody
-- 5 rows, by no public column
--   (0,): age 0..1
--   (1,): age 2..21
--   (2,): age 22..41
--   (3,): age 42..61
--   (4,): age 62..72

SELECT CASE WHEN age < 30 THEN 'young' WHEN active THEN 'active' END, COUNT(*) FROM app WHERE state = 'CA' GROUP BY 1;
-- where anybody
--   state 0..0
-- 3 rows, by no public column
--   ('active',): age 12..72, active 1..1
--   ('young',): age 0..11
--   (None,): age 12..72, active 0..0

SELECT quarter(joined), state, SUM(purchase) FROM app WHERE NOT active GROUP BY ROLLUP (quarter(joined), state);
-- where anybody
--   active 0..0
-- 21 rows, by no public column
--   (1, 'CA'): state 0..0, joined 0..2
--   (1, 'NY'): state 1..1, joined 0..2
--   (1, 'WA'): state 2..2, joined 0..2
--   (1, None): state 3..3, joined 0..2
--   (2, 'CA'): state 0..0, joined 3..5
--   (2, 'NY'): state 1..1, joined 3..5
