SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2007.17 +/- 119.6 | 87857.2 +/- 9867 | 43.7716 +/- 3.967

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
26 | 1149.33 +/- 108.2
42 | 1089.81 +/- 107.7
18 | 999.044 +/- 97.16
50 | 903.97 +/- 97.09
note: age is collected in bins, each shown by its lower end: 18 is 18..25

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 698.549 +/- 68.41
2026-03-02 | 652.26 +/- 69.35
2026-03-03 | 656.363 +/- 69.16

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3327.5 +/- 175.7

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 119.6 (95 % interval: ± 234.4)
    standard error of these reports: 119.6 (95 % interval: ± 234.5)
    one forged report can add up to 3.93 people, or take away up to 2.56
    16 of 5 x 4 x 2 cells
  SUM(pay)
    predicted standard error: 9920 (95 % interval: ± 1.944e+04)
    standard error of these reports: 9867 (95 % interval: ± 1.934e+04)
    one forged report can add up to 502, or take away up to 213
    8 of 5 x 4 x 2 cells
COUNT(*): one forged report can add up to 3.93, or take away up to 2.56
SUM(pay): one forged report can add up to 502, or take away up to 213
AVG(pay): one forged report can add up to 0.166, or take away up to 0.142

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: staircase, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 176.3 (95 % interval: ± 345.6)
    standard error of these reports: 175.7 (95 % interval: ± 344.3)
    one forged report can add up to 16.6 people, or take away up to 10.3
    28 of 5 x 4 x 2 cells
