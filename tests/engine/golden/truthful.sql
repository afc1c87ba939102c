SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2202.82 +/- 469.2 | 111051 +/- 2.724e+04 | 50.4131 +/- 5.701

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 655.642 +/- 216.3
22 | 615.078 +/- 215.4
18 | 344.65 +/- 209.2
34 | 331.128 +/- 211.3

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 670.53 +/- 267.3
2026-03-02 | 653.949 +/- 274.5
2026-03-03 | 878.343 +/- 269.9

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2810.41 +/- 440.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: truthful, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4
    standard error of these reports: 469.2
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 per unit of the public column
    standard error of these reports: 2.724e+04
    32 of 20 x 4 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: truthful, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 438.1
    standard error of these reports: 440.6
    56 of 20 x 4 cells
