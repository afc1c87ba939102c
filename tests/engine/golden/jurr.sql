SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2548.71 +/- 386.2 | 137260 +/- 2.266e+04 | 53.8545 +/- 4.123

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
56 | 635.256 +/- 186.8
26 | 565.488 +/- 189.6
40 | 465.421 +/- 179.8
20 | 452.792 +/- 182.5
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 817.963 +/- 218.3
2026-03-02 | 932.626 +/- 227.2
2026-03-03 | 798.123 +/- 220.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2892.21 +/- 362.7

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: jurr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 365 (95 % interval: ± 715.4)
    standard error of these reports: 386.2 (95 % interval: ± 757)
    one forged report can add up to 18.4 people, or take away up to 11.6
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
    standard error of these reports: 2.266e+04 (95 % interval: ± 4.442e+04)
    one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
    32 of 20 x 4 cells
  COUNT(pay), public
    predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
    standard error of these reports: 386.2 (95 % interval: ± 757)
    one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
    32 of 20 x 4 cells
COUNT(*): one forged report can add up to 18.4, or take away up to 11.6
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: jurr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 338 (95 % interval: ± 662.5)
    standard error of these reports: 362.7 (95 % interval: ± 710.8)
    one forged report can add up to 11.3 people, or take away up to 18.6
    56 of 20 x 4 cells
