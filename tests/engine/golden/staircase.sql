SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1928.57 +/- 120 | 88508.1 +/- 9883 | 45.8931 +/- 4.14

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 1163.85 +/- 108
26 | 1092.81 +/- 107
18 | 1006.18 +/- 96.95
50 | 901.404 +/- 95.95

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 588.027 +/- 68.25
2026-03-02 | 626.645 +/- 70.13
2026-03-03 | 713.896 +/- 69.38

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3033.56 +/- 174.7

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 119.6 (95 % interval: ± 234.5)
    standard error of these reports: 120 (95 % interval: ± 235.2)
    one forged report can add up to 3.93 people, or take away up to 2.56
    16 of 5 x 4 x 2 cells
  SUM(pay)
    predicted standard error: 9929 (95 % interval: ± 1.946e+04)
    standard error of these reports: 9883 (95 % interval: ± 1.937e+04)
    one forged report can add up to 502, or take away up to 213
    8 of 5 x 4 x 2 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 175.6 (95 % interval: ± 344.2)
    standard error of these reports: 174.7 (95 % interval: ± 342.5)
    one forged report can add up to 16.6 people, or take away up to 10.3
    28 of 5 x 4 x 2 cells
