SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2496.32 +/- 80.85 | 127041 +/- 4807 | 50.8913 +/- 1.019

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1949 +/- 48.26
NY | 1498.09 +/- 75.84
WA | 998.227 +/- 37.22
None | 660.64 +/- 72.64

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 830.442 +/- 45.84
2026-03-02 | 843.581 +/- 47.58
2026-03-03 | 822.294 +/- 46.71

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urap, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 81.12 (95 % interval: ± 159)
    standard error of these reports: 80.85 (95 % interval: ± 158.5)
    one forged report can add up to 3.16 people, or take away up to 0.582
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 81.12 (95 % interval: ± 159) per unit of the public column
    standard error of these reports: 4807 (95 % interval: ± 9422)
    one forged report can add up to 3.16, or take away up to 0.582 per unit of the public column
    2 of 4 cells
  COUNT(pay), public
    predicted standard error: 81.12 (95 % interval: ± 159) per unit of the public column
    standard error of these reports: 80.85 (95 % interval: ± 158.5)
    one forged report can add up to 3.16, or take away up to 0.582 per unit of the public column
    2 of 4 cells
COUNT(*): one forged report can add up to 3.16, or take away up to 0.582
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do
