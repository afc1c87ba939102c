SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1914.58 +/- 484.6 | 104132 +/- 3.431e+04 | 54.3892 +/- 12.72

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 548.542 +/- 173.2
54 | 454.003 +/- 172.7
30 | 372.595 +/- 172.3
34 | 356.839 +/- 172.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 1203.74 +/- 277.5
2026-03-02 | 104.145 +/- 282.4
2026-03-03 | 606.692 +/- 278.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3007.81 +/- 640.1

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: oue, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 484.7
    standard error of these reports: 484.6
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.43e+04
    standard error of these reports: 3.431e+04
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: oue, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 640.3
    standard error of these reports: 640.1
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
