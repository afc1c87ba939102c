SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2673.26 +/- 105.6 | 135735 +/- 6232 | 50.7752 +/- 1.204

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1914.37 +/- 81.98
NY | 1567.73 +/- 79.17
WA | 1105.54 +/- 74.77
None | 564.567 +/- 68.48

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 1010.08 +/- 61.29
2026-03-02 | 895.216 +/- 61.74
2026-03-03 | 767.964 +/- 59.83

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: hh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 104.8
    standard error of these reports: 105.6
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
  SUM(pay), public
    predicted standard error: 104.8 per unit of the public column
    standard error of these reports: 6232
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
