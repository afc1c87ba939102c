SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2525.94 +/- 80.68 | 127832 +/- 4816 | 50.6078 +/- 1.01

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1944.25 +/- 48.22
NY | 1543.53 +/- 75.84
WA | 982.408 +/- 36.96
None | 615.197 +/- 72.27

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 910.508 +/- 46.74
2026-03-02 | 825.925 +/- 46.7
2026-03-03 | 789.507 +/- 46.33

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urap, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 81.12
    standard error of these reports: 80.68
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 81.12 per unit of the public column
    standard error of these reports: 4816
    2 of 4 cells
