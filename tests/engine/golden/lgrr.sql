SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1936 +/- 121.5 | 96000 +/- 8667 | 49.5868 +/- 5.541
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 266 +/- 22.78
44 | 266 +/- 22.78
46 | 266 +/- 22.78
48 | 266 +/- 22.78
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 648 +/- 70.3
2026-03-02 | 720 +/- 73.99
2026-03-03 | 568 +/- 66.07
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3300 +/- 151.4
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 123.3
    standard error of these reports: 121.5
    group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
    leaves answered from parents, by their share of codes
  SUM(pay)
    predicted standard error: 8832
    standard error of these reports: 8667
    group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7
    leaves answered from parents, by their share of codes

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 153.5
    standard error of these reports: 151.4
    group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
    group 6 (age level 1, state level 1; 10 nodes): nodes 3, 5
    leaves answered from parents, by their share of codes
