SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2559.09 +/- 46.44 | 127603 +/- 2882 | 49.8628 +/- 0.6649

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1936.73 +/- 42.38
NY | 1584.81 +/- 44.6
WA | 974.272 +/- 33.06
None | 504.186 +/- 36.88

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 866.365 +/- 26.52
2026-03-02 | 875.069 +/- 27.24
2026-03-03 | 817.652 +/- 26.76

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urr, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 46.42
    standard error of these reports: 46.44
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 46.42 per unit of the public column
    standard error of these reports: 2882
    2 of 4 cells
