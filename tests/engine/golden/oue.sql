SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2009.11 +/- 484.7 | 125929 +/- 3.436e+04 | 62.6787 +/- 12.45

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 698.228 +/- 174
20 | 543.29 +/- 173.2
46 | 398.856 +/- 172.4
28 | 398.856 +/- 172.4

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 665.394 +/- 276.7
2026-03-02 | 350.996 +/- 283.1
2026-03-03 | 992.724 +/- 279.4

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2905.39 +/- 640

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: oue, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 484.7
    standard error of these reports: 484.7
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.43e+04
    standard error of these reports: 3.436e+04
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
    standard error of these reports: 640
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
