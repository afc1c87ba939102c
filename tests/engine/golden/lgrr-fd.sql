SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2188.31 +/- 170.3 | 112031 +/- 1.3e+04 | 51.1952 +/- 7.227
note: app: not differentially private (lgrr-fd)

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
36 | 362.154 +/- 78.64
46 | 338.154 +/- 76.81
50 | 338.154 +/- 76.81
30 | 326.154 +/- 75.88
note: age is collected in bins, each shown by its lower end: 18 is 18..19
note: app: not differentially private (lgrr-fd)

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 643.754 +/- 93.23
2026-03-02 | 770.4 +/- 100.9
2026-03-03 | 774.154 +/- 100.8
note: app: not differentially private (lgrr-fd)

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3262.77 +/- 214.9
note: app: not differentially private (lgrr-fd)

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-fd, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 163.9 (95 % interval: ± 321.3)
    standard error of these reports: 170.3 (95 % interval: ± 333.8)
    one forged report can add up to 23.9 people, or take away up to 0.0615
    group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
  SUM(pay)
    predicted standard error: 1.244e+04 (95 % interval: ± 2.438e+04)
    standard error of these reports: 1.3e+04 (95 % interval: ± 2.547e+04)
    one forged report can add up to 2390, or take away up to 6.15
    group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7
COUNT(*): one forged report can add up to 23.9, or take away up to 0.0615
SUM(pay): one forged report can add up to 2390, or take away up to 6.15
AVG(pay): one forged report can add up to 1.1, or take away up to 0.563

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr-fd, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 220.6 (95 % interval: ± 432.4)
    standard error of these reports: 214.9 (95 % interval: ± 421.1)
    one forged report can add up to 23.8 people, or take away up to 0.154
    group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes): nodes 7, 11
