SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2176.95 +/- 438.2 | 119881 +/- 2.548e+04 | 55.0681 +/- 5.319

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
22 | 591.267 +/- 198.9
52 | 565.988 +/- 198.8
42 | 401.674 +/- 195
40 | 401.674 +/- 195

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 504.981 +/- 249.6
2026-03-02 | 896.216 +/- 257.2
2026-03-03 | 775.756 +/- 252.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3542.63 +/- 566.9

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: tdrr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 437.8
    standard error of these reports: 438.2
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 437.8 per unit of the public column
    standard error of these reports: 2.548e+04
    32 of 20 x 4 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: tdrr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 566.7
    standard error of these reports: 566.9
    56 of 20 x 4 cells
