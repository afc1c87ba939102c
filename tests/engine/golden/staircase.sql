SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1876.12 +/- 141 | 103502 +/- 1.057e+04 | 55.1681 +/- 4.095

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 1084.17 +/- 128.4
50 | 1045.35 +/- 117
18 | 994.368 +/- 116
26 | 948.798 +/- 126.9

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 569.435 +/- 80.07
2026-03-02 | 755.292 +/- 82.89
2026-03-03 | 551.393 +/- 80.91

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3344.53 +/- 167.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 141.1 (95 % interval: ± 276.5)
    standard error of these reports: 141 (95 % interval: ± 276.4)
    16 of 5 x 4 x 2 cells
  SUM(pay)
    predicted standard error: 1.044e+04 (95 % interval: ± 2.047e+04)
    standard error of these reports: 1.057e+04 (95 % interval: ± 2.072e+04)
    8 of 5 x 4 x 2 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 168 (95 % interval: ± 329.2)
    standard error of these reports: 167.2 (95 % interval: ± 327.8)
    28 of 5 x 4 x 2 cells
