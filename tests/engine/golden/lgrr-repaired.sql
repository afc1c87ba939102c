SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1909.36 +/- 408.1 | 89247.8 +/- 3.965e+04 | 46.7422 +/- 23.04

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 898.369 +/- 356
28 | 658.233 +/- 332.2
42 | 578.187 +/- 323.8
46 | 578.187 +/- 323.8

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 809.991 +/- 268.4
2026-03-02 | 482.472 +/- 211.7
2026-03-03 | 696.708 +/- 265.4

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3240.23 +/- 535.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-repaired, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 395.3
    standard error of these reports: 408.1
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 1..2
  SUM(pay)
    predicted standard error: 3.872e+04
    standard error of these reports: 3.965e+04
    group 5 (age level 1, state level 0, sign of pay; 10 nodes, grr): nodes 1..2, 6..7

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr-repaired, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 540.4
    standard error of these reports: 535.2
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes, grr): nodes 7, 11
