SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
281.174 +/- 896.9 | 16663 +/- 7.276e+04 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
54 | 979.199 +/- 422
50 | 901.071 +/- 419.9
38 | 822.942 +/- 417.7
52 | 822.942 +/- 417.7

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 141.161 +/- 512.2
2026-03-02 | -495.944 +/- 524.9
2026-03-03 | 635.957 +/- 518.9

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3395.83 +/- 844.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 902.1
    standard error of these reports: 896.9
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 7.366e+04
    standard error of these reports: 7.276e+04
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
    standard error of these reports: 844.6
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
