SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2093.24 +/- 140.9 | 100366 +/- 1.044e+04 | 47.9478 +/- 3.684

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
50 | 1247.05 +/- 118.6
26 | 1143.47 +/- 128.1
34 | 949.772 +/- 128.5
42 | 909.755 +/- 126.8

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 677.68 +/- 80.25
2026-03-02 | 607.769 +/- 82.38
2026-03-03 | 807.794 +/- 81.31

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3218.19 +/- 167

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 141.1
    standard error of these reports: 140.9
    16 of 5 x 4 x 2 cells
  SUM(pay)
    predicted standard error: 1.044e+04
    standard error of these reports: 1.044e+04
    8 of 5 x 4 x 2 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 168
    standard error of these reports: 167
    28 of 5 x 4 x 2 cells
