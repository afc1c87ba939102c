SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2589.23 +/- 105.3 | 128839 +/- 6182 | 49.7597 +/- 1.241

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1895.98 +/- 81.84
NY | 1578.23 +/- 79.26
WA | 1011 +/- 73.77
None | 512.045 +/- 67.79

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 784.242 +/- 59.61
2026-03-02 | 866.329 +/- 61.52
2026-03-03 | 938.658 +/- 61.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: hh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 104.8 (95 % interval: ± 205.5)
    standard error of these reports: 105.3 (95 % interval: ± 206.3)
    one forged report can add up to 4.63 people, or take away up to 0.626
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
  SUM(pay), public
    predicted standard error: 104.8 (95 % interval: ± 205.5) per unit of the public column
    standard error of these reports: 6182 (95 % interval: ± 1.212e+04)
    one forged report can add up to 4.63, or take away up to 0.626 per unit of the public column
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
  COUNT(pay), public
    predicted standard error: 104.8 (95 % interval: ± 205.5) per unit of the public column
    standard error of these reports: 105.3 (95 % interval: ± 206.3)
    one forged report can add up to 4.63, or take away up to 0.626 per unit of the public column
    group 0 (state level 1; 4 nodes, oue): nodes 1..2
COUNT(*): one forged report can add up to 4.63, or take away up to 0.626
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do
