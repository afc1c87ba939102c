SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2415.91 +/- 104.4 | 118228 +/- 6107 | 48.9373 +/- 1.319

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1935.38 +/- 82.13
NY | 1473.19 +/- 78.34
WA | 942.721 +/- 73.02
None | 606.584 +/- 69.02

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 834.137 +/- 60.03
2026-03-02 | 858.451 +/- 61.45
2026-03-03 | 723.32 +/- 59.42

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: hh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 104.8
    standard error of these reports: 104.4
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
  SUM(pay), public
    predicted standard error: 104.8 per unit of the public column
    standard error of these reports: 6107
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
