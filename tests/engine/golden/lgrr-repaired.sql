SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1095.4 +/- 359.3 | 80724.1 +/- 3.842e+04 | 73.6935 +/- 42.6

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 818.977 +/- 357.7
56 | 650.391 +/- 340.4
50 | 566.098 +/- 331.2
52 | 566.098 +/- 331.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 201.209 +/- 189.1
2026-03-02 | 297.083 +/- 218.2
2026-03-03 | 633.218 +/- 237.3

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
4433.48 +/- 517.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-repaired, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 395.3
    standard error of these reports: 359.3
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 1..2
  SUM(pay)
    predicted standard error: 3.872e+04
    standard error of these reports: 3.842e+04
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
    standard error of these reports: 517.2
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes, grr): nodes 7, 11
