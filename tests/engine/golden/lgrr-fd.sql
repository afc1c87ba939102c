SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2140.31 +/- 168.7 | 96430.8 +/- 1.228e+04 | 45.0546 +/- 6.811
note: app: not differentially private (lgrr-fd)

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 326.154 +/- 75.88
30 | 314.154 +/- 74.94
28 | 314.154 +/- 74.94
46 | 278.154 +/- 72.03
note: app: not differentially private (lgrr-fd)

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 727.754 +/- 98.13
2026-03-02 | 710.4 +/- 97.55
2026-03-03 | 702.154 +/- 96.79
note: app: not differentially private (lgrr-fd)

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2950.77 +/- 206.9
note: app: not differentially private (lgrr-fd)

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-fd, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 163.9
    standard error of these reports: 168.7
    group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
  SUM(pay)
    predicted standard error: 1.244e+04
    standard error of these reports: 1.228e+04
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
    standard error of these reports: 206.9
    group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes): nodes 7, 11
