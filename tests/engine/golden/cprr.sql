SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1837.74 +/- 468.1 | 91604.5 +/- 2.724e+04 | 49.8462 +/- 7.333

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 601.557 +/- 214.7
36 | 493.385 +/- 213.1
54 | 425.778 +/- 210.8
52 | 371.693 +/- 209.6
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 765.18 +/- 267.8
2026-03-02 | 451.127 +/- 273.8
2026-03-03 | 621.436 +/- 269.2

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3216.05 +/- 439.2

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: cprr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4 (95 % interval: ± 918)
    standard error of these reports: 468.1 (95 % interval: ± 917.5)
    one forged report can add up to 8.51 people, or take away up to 5.01
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
    standard error of these reports: 2.724e+04 (95 % interval: ± 5.34e+04)
    one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
    32 of 20 x 4 cells
  COUNT(pay), public
    predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
    standard error of these reports: 468.1 (95 % interval: ± 917.5)
    one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
    32 of 20 x 4 cells
COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: cprr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 438.1 (95 % interval: ± 858.7)
    standard error of these reports: 439.2 (95 % interval: ± 860.8)
    one forged report can add up to 4.76 people, or take away up to 8.76
    56 of 20 x 4 cells
