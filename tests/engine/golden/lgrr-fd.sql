SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1792.31 +/- 156.7 | 91630.8 +/- 1.205e+04 | 51.1245 +/- 8.143
note: app: not differentially private (lgrr-fd)

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
52 | 446.154 +/- 84.73
26 | 350.154 +/- 77.74
48 | 326.154 +/- 75.88
46 | 302.154 +/- 73.98
note: app: not differentially private (lgrr-fd)

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 655.754 +/- 93.95
2026-03-02 | 518.4 +/- 85.73
2026-03-03 | 618.154 +/- 91.8
note: app: not differentially private (lgrr-fd)

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3346.77 +/- 216.9
note: app: not differentially private (lgrr-fd)

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-fd, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 163.9
    standard error of these reports: 156.7
    group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
  SUM(pay)
    predicted standard error: 1.244e+04
    standard error of these reports: 1.205e+04
    group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr-fd, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 220.6
    standard error of these reports: 216.9
    group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes): nodes 7, 11
