SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2598.86 +/- 81.15 | 127087 +/- 4740 | 48.901 +/- 0.9773

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1917.36 +/- 47.99
NY | 1591.14 +/- 76.37
WA | 1007.72 +/- 37.37
None | 639 +/- 72.84

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 839.516 +/- 45.77
2026-03-02 | 897.335 +/- 47.96
2026-03-03 | 862.008 +/- 46.92

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urap, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 81.12
    standard error of these reports: 81.15
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 81.12 per unit of the public column
    standard error of these reports: 4740
    2 of 4 cells
