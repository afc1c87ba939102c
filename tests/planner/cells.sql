SELECT COUNT(*) FROM app
-- where anybody
--   everybody
--   COUNT(*)
--     known exactly: 1 x all reports

SELECT COUNT(*) FROM app WHERE age BETWEEN 20 AND 60
-- where anybody
--   age 2..42
--   COUNT(*)
--     group 119 (age level 1, state level 0, active level 0, hours level 0, joined level 0, score level 0; 5 nodes, grr): nodes 1
--     group 239 (age level 2, state level 0, active level 0, hours level 0, joined level 0, score level 0; 25 nodes, grr): nodes 1..4, 10..13
--     group 359 (age level 3, state level 0, active level 0, hours level 0, joined level 0, score level 0; 73 nodes, grr): nodes 2, 42
--     group 670 (age level 1, state level 0, active level 0, hours level 0, joined level 0, score level 0; 5 nodes, grr): nodes 1
--     group 862 (age level 2, state level 0, active level 0, hours level 0, joined level 0, score level 0; 25 nodes, grr): nodes 1..4, 10..13
--     group 1054 (age level 3, state level 0, active level 0, hours level 0, joined level 0, score level 0; 73 nodes, grr): nodes 2, 42

SELECT COUNT(*), SUM(purchase), AVG(amount), COUNT(state) FROM app WHERE age < 25 AND active
-- where anybody
--   age 0..6, active 1..1
--   COUNT(*)
--     group 269 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 389 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--     group 910 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 1102 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--   SUM(purchase)
--     group 911 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0, sign of purchase; 100 nodes, grr): nodes 1, 3, 51, 53
--     group 1103 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0, sign of purchase; 292 nodes, grr): nodes 13, 159
--   SUM(amount), public
--     group 269 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 389 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--     group 910 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 1102 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--   COUNT(amount), public
--     group 269 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 389 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--     group 910 (age level 2, state level 0, active level 1, hours level 0, joined level 0, score level 0; 50 nodes, grr): nodes 1, 3
--     group 1102 (age level 3, state level 0, active level 1, hours level 0, joined level 0, score level 0; 146 nodes, grr): nodes 13
--   COUNT(state)
--     group 329 (age level 2, state level 1, active level 1, hours level 0, joined level 0, score level 0; 200 nodes, grr): nodes 1, 3, 5, 9, 11, 13
--     group 449 (age level 3, state level 1, active level 1, hours level 0, joined level 0, score level 0; 584 nodes, grr): nodes 49, 51, 53
--     group 1006 (age level 2, state level 1, active level 1, hours level 0, joined level 0, score level 0; 200 nodes, grr): nodes 1, 3, 5, 9, 11, 13
--     group 1198 (age level 3, state level 1, active level 1, hours level 0, joined level 0, score level 0; 584 nodes, grr): nodes 49, 51, 53

SELECT COUNT(*) FROM app WHERE age < 30 AND state = 'CA' OR age >= 70 AND day > DATE '2026-03-01'
-- where ("day" > DATE '2026-03-01')
--   age 0..11, state 0..0
--   age 52..72
--   COUNT(*)
--     group 119 (age level 1, state level 0, active level 0, hours level 0, joined level 0, score level 0; 5 nodes, grr): nodes 4
--     group 239 (age level 2, state level 0, active level 0, hours level 0, joined level 0, score level 0; 25 nodes, grr): nodes 18..19
--     group 299 (age level 2, state level 1, active level 0, hours level 0, joined level 0, score level 0; 100 nodes, grr): nodes 0, 4, 8, 12
--     group 359 (age level 3, state level 0, active level 0, hours level 0, joined level 0, score level 0; 73 nodes, grr): nodes 52..53
--     group 670 (age level 1, state level 0, active level 0, hours level 0, joined level 0, score level 0; 5 nodes, grr): nodes 4
--     group 862 (age level 2, state level 0, active level 0, hours level 0, joined level 0, score level 0; 25 nodes, grr): nodes 18..19
--     group 958 (age level 2, state level 1, active level 0, hours level 0, joined level 0, score level 0; 100 nodes, grr): nodes 0, 4, 8, 12
--     group 1054 (age level 3, state level 0, active level 0, hours level 0, joined level 0, score level 0; 73 nodes, grr): nodes 52..53
-- where ("day" > DATE '2026-03-01') IS NOT TRUE
--   age 0..11, state 0..0
--   COUNT(*)
--     group 299 (age level 2, state level 1, active level 0, hours level 0, joined level 0, score level 0; 100 nodes, grr): nodes 0, 4, 8, 12
--     group 958 (age level 2, state level 1, active level 0, hours level 0, joined level 0, score level 0; 100 nodes, grr): nodes 0, 4, 8, 12

SELECT state, AVG(hours) FROM app WHERE age > 100 OR active GROUP BY state
-- where anybody
--   active 1..1
--   SUM(hours)
--     group 90 (age level 0, state level 1, active level 1, hours level 0, joined level 0, score level 0, sign of hours; 16 nodes, grr): nodes 1, 9
--   COUNT(*)
--     group 89 (age level 0, state level 1, active level 1, hours level 0, joined level 0, score level 0; 8 nodes, grr): nodes 1
--     group 622 (age level 0, state level 1, active level 1, hours level 0, joined level 0, score level 0; 8 nodes, grr): nodes 1
-- 4 rows, by no public column
--   ('CA',): state 0..0
--   ('NY',): state 1..1
--   ('WA',): state 2..2
--   (None,): state 3..3

SELECT COUNT(*) FROM app WHERE state = 'CA' AND state = 'NY'
-- where anybody
--   nobody
--   COUNT(*)
