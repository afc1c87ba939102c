SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2540.7 +/- 46.45 | 126832 +/- 2887 | 49.92 +/- 0.672

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1957.74 +/- 42.51
NY | 1544.11 +/- 44.43
WA | 996.594 +/- 33.37
None | 501.56 +/- 36.86

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 851.922 +/- 26.53
2026-03-02 | 850.122 +/- 27.24
2026-03-03 | 838.661 +/- 26.76

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urr, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 46.42
    standard error of these reports: 46.45
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 46.42 per unit of the public column
    standard error of these reports: 2887
    2 of 4 cells
