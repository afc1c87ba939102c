SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1677.81 +/- 377.6 | 79371.7 +/- 2.147e+04 | 47.3066 +/- 6.265

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 510.056 +/- 185.5
54 | 506.27 +/- 180.7
56 | 414.409 +/- 171.6
26 | 409.352 +/- 185.6

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 539.279 +/- 220.6
2026-03-02 | 849.919 +/- 225.2
2026-03-03 | 288.616 +/- 213

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3530.77 +/- 351.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: jurr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 365
    standard error of these reports: 377.6
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 365 per unit of the public column
    standard error of these reports: 2.147e+04
    32 of 20 x 4 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: jurr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 338
    standard error of these reports: 351.6
    56 of 20 x 4 cells
