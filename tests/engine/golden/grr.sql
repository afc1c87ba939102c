SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2755.24 +/- 904.3 | 123439 +/- 7.391e+04 | 44.8013 +/- 21.35

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
38 | 953.156 +/- 421.3
20 | 953.156 +/- 421.3
52 | 822.942 +/- 417.7
22 | 692.728 +/- 414.1

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 1677.69 +/- 519.3
2026-03-02 | 754.111 +/- 528.9
2026-03-03 | 323.443 +/- 517.3

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3890.64 +/- 841.5

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 902.1
    standard error of these reports: 904.3
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 7.366e+04
    standard error of these reports: 7.391e+04
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 843.9
    standard error of these reports: 841.5
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
