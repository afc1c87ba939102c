SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2148.74 +/- 468.7 | 101741 +/- 2.725e+04 | 47.3495 +/- 6.822

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 601.557 +/- 215.7
22 | 479.864 +/- 212.8
52 | 371.693 +/- 210.2
48 | 358.171 +/- 211.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 548.837 +/- 266.9
2026-03-02 | 789.163 +/- 274.7
2026-03-03 | 810.736 +/- 269.8

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3107.88 +/- 439.5

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: jd-grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4
    standard error of these reports: 468.7
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 per unit of the public column
    standard error of these reports: 2.725e+04
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
    standard error of these reports: 439.5
    56 of 20 x 4 cells
