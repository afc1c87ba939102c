SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1426.33 +/- 901.6 | 152089 +/- 9.64e+04 | None +/- nan
note: 1 value(s) are NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
54 | 2047.63 +/- 747
20 | 1645.95 +/- 747.2
38 | 1455.67 +/- 747.3
30 | 1096.27 +/- 747.4

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | -42.014 +/- 512.1
2026-03-02 | 832.424 +/- 529.9
2026-03-03 | 635.924 +/- 519.6

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3229.24 +/- 1372

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: hi, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 903.3
    standard error of these reports: 901.6
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 1..2
  SUM(pay)
    predicted standard error: 9.641e+04
    standard error of these reports: 9.64e+04
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
    standard error of these reports: 1372
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 0, 3..4
    group 5 (age level 1, state level 1; 20 nodes, olh at 0.182): nodes 7, 11
