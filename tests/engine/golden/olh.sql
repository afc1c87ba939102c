SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1441.23 +/- 375.4 | 95853.6 +/- 3.048e+04 | 66.5082 +/- 17.15

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
46 | 610.586 +/- 167.4
54 | 587.562 +/- 167.3
36 | 572.212 +/- 167.3
18 | 411.039 +/- 166.5

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 587.759 +/- 214.4
2026-03-02 | 319.594 +/- 219.6
2026-03-03 | 533.877 +/- 216.1

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3564.65 +/- 360.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: olh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 375.8
    standard error of these reports: 375.4
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.049e+04
    standard error of these reports: 3.048e+04
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
    standard error of these reports: 360.2
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
