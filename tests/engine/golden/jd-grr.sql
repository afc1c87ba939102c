SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1053.5 +/- 467 | 44092.9 +/- 2.713e+04 | 41.8537 +/- 15.05

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 574.514 +/- 214.6
50 | 560.992 +/- 214.3
56 | 547.471 +/- 215.2
36 | 479.864 +/- 212.4

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 35.0236 +/- 265.9
2026-03-02 | 478.17 +/- 274
2026-03-03 | 540.307 +/- 269.5

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
4230.16 +/- 436.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: jd-grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4
    standard error of these reports: 467
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 per unit of the public column
    standard error of these reports: 2.713e+04
    32 of 20 x 4 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: jd-grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 438.1
    standard error of these reports: 436.2
    56 of 20 x 4 cells
