SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2468.86 +/- 92.29 | 124815 +/- 5374 | 50.5559 +/- 1.078

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1999.45 +/- 72.31
NY | 1444.13 +/- 72.31
WA | 1024.73 +/- 72.36
None | 531.693 +/- 72.36

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 824.908 +/- 52.75
2026-03-02 | 850.266 +/- 53.89
2026-03-03 | 793.627 +/- 53.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: haarhrr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 92.85
    standard error of these reports: 92.29
    group 0 (nodes of 2 codes): 2 of 2 coefficients
  SUM(pay), public
    predicted standard error: 92.85 per unit of the public column
    standard error of these reports: 5374
    group 0 (nodes of 2 codes): 2 of 2 coefficients
