SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2356.54 +/- 92.49 | 116453 +/- 5361 | 49.4169 +/- 1.142

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 2044.04 +/- 72.3
NY | 1488.46 +/- 72.3
WA | 868.078 +/- 72.47
None | 599.42 +/- 72.47

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 754.869 +/- 52.62
2026-03-02 | 894.258 +/- 54
2026-03-03 | 705.892 +/- 53.43

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: haarhrr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 92.85
    standard error of these reports: 92.49
    group 0 (nodes of 2 codes): 2 of 2 coefficients
  SUM(pay), public
    predicted standard error: 92.85 per unit of the public column
    standard error of these reports: 5361
    group 0 (nodes of 2 codes): 2 of 2 coefficients
