SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1714.97 +/- 375.6 | 101993 +/- 3.049e+04 | 59.4726 +/- 14.13

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 687.335 +/- 167.8
38 | 528.721 +/- 167
56 | 400.806 +/- 166.4
22 | 362.432 +/- 166.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 426.586 +/- 214.2
2026-03-02 | 690.546 +/- 220.2
2026-03-03 | 597.834 +/- 216.1

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3155.33 +/- 360.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: olh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 375.8
    standard error of these reports: 375.6
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.049e+04
    standard error of these reports: 3.049e+04
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: olh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 360.3
    standard error of these reports: 360.6
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
