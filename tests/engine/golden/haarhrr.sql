SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2513.21 +/- 93.13 | 125494 +/- 5398 | 49.9336 +/- 1.073

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1811.8 +/- 72.93
NY | 1608.37 +/- 72.93
WA | 904.839 +/- 72.92
None | 674.992 +/- 72.92

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 876.573 +/- 52.55
2026-03-02 | 802.853 +/- 54.36
2026-03-03 | 832.933 +/- 54.33

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: haarhrr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 92.85 (95 % interval: ± 182)
    standard error of these reports: 93.13 (95 % interval: ± 182.5)
    one forged report can add up to 3.14 people, or take away up to 2.14
    group 0 (nodes of 2 codes): 2 of 2 coefficients
  SUM(pay), public
    predicted standard error: 92.85 (95 % interval: ± 182) per unit of the public column
    standard error of these reports: 5398 (95 % interval: ± 1.058e+04)
    one forged report can add up to 3.14, or take away up to 2.14 per unit of the public column
    group 0 (nodes of 2 codes): 2 of 2 coefficients
  COUNT(pay), public
    predicted standard error: 92.85 (95 % interval: ± 182) per unit of the public column
    standard error of these reports: 93.13 (95 % interval: ± 182.5)
    one forged report can add up to 3.14, or take away up to 2.14 per unit of the public column
    group 0 (nodes of 2 codes): 2 of 2 coefficients
COUNT(*): one forged report can add up to 3.14, or take away up to 2.14
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do
