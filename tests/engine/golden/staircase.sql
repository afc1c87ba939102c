SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1968.52 +/- 141 | 109539 +/- 1.058e+04 | 55.6455 +/- 3.926

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
26 | 1052.39 +/- 127.3
42 | 1018.1 +/- 126.7
50 | 1009.06 +/- 116.5
18 | 1004.32 +/- 115.7

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 635.839 +/- 80.86
2026-03-02 | 688.419 +/- 82.26
2026-03-03 | 644.26 +/- 81.15

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3020.85 +/- 167.3

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 141.1
    standard error of these reports: 141
    16 of 5 x 4 x 2 cells
  SUM(pay)
    predicted standard error: 1.044e+04
    standard error of these reports: 1.058e+04
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
    standard error of these reports: 167.3
    28 of 5 x 4 x 2 cells
