SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1215.76 +/- 467.2 | 58902.9 +/- 2.714e+04 | 48.4495 +/- 12.45

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
54 | 628.6 +/- 215.9
46 | 615.078 +/- 215.6
38 | 560.992 +/- 214.4
52 | 533.95 +/- 213.7

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 116.152 +/- 266.3
2026-03-02 | 640.427 +/- 274.4
2026-03-03 | 459.179 +/- 269

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
4216.63 +/- 435.8

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: truthful, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4
    standard error of these reports: 467.2
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 per unit of the public column
    standard error of these reports: 2.714e+04
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
    standard error of these reports: 435.8
    56 of 20 x 4 cells
