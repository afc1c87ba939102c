SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1582.79 +/- 902.1 | 186467 +/- 9.639e+04 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
38 | 1497.96 +/- 747.2
26 | 1138.55 +/- 747.3
40 | 800.292 +/- 747.4
54 | 736.868 +/- 747.4

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 218.743 +/- 513.3
2026-03-02 | 858.5 +/- 530.1
2026-03-03 | 505.546 +/- 518.9

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
5186.93 +/- 1371

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: hi, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 903.3
    standard error of these reports: 902.1
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 1..2
  SUM(pay)
    predicted standard error: 9.641e+04
    standard error of these reports: 9.639e+04
    group 4 (age level 1, state level 0, sign of pay; 10 nodes, olh at 0.182): nodes 1..2, 6..7

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: hi, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 1373
    standard error of these reports: 1371
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 0, 3..4
    group 5 (age level 1, state level 1; 20 nodes, olh at 0.182): nodes 7, 11
