SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
2549.9 +/- 46.45 | 128453 +/- 2889 | 50.3758 +/- 0.6648

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
----------------------------------------
CA | 1944.61 +/- 42.43
NY | 1582.19 +/- 44.59
WA | 967.707 +/- 32.97
None | 505.499 +/- 36.9

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 837.478 +/- 26.54
2026-03-02 | 860.626 +/- 27.25
2026-03-03 | 851.791 +/- 26.75

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
----------------------------------------
survey app: urr, epsilon 2
guarantee: 2-ULDP
reports: all reports (5000)
  box: state in {NY, WA}
  COUNT(*)
    predicted standard error: 46.42 (95 % interval: ± 90.99)
    standard error of these reports: 46.45 (95 % interval: ± 91.03)
    one forged report can add up to 1.16 people, or take away up to 0.157
    2 of 4 cells
  SUM(pay), public
    predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
    standard error of these reports: 2889 (95 % interval: ± 5663)
    one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
    2 of 4 cells
  COUNT(pay), public
    predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
    standard error of these reports: 46.45 (95 % interval: ± 91.03)
    one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
    2 of 4 cells
COUNT(*): one forged report can add up to 1.16, or take away up to 0.157
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do
