SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2075.84 +/- 437.7 | 117153 +/- 2.548e+04 | 56.4366 +/- 6.25

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
26 | 780.86 +/- 204.7
42 | 490.151 +/- 198
20 | 452.233 +/- 199.5
22 | 439.593 +/- 197.9

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 644.016 +/- 250.3
2026-03-02 | 883.577 +/- 257
2026-03-03 | 548.244 +/- 251.9

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2961.37 +/- 574.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: tdrr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 437.8
    standard error of these reports: 437.7
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
    standard error of these reports: 574.6
    56 of 20 x 4 cells
