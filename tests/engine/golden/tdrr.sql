SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1646.09 +/- 437.3 | 88106.2 +/- 2.546e+04 | 53.5244 +/- 8.083

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
20 | 730.302 +/- 201.5
28 | 641.826 +/- 200.9
52 | 528.07 +/- 203.5
54 | 401.674 +/- 195.1
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 606.098 +/- 249.9
2026-03-02 | 769.821 +/- 256.8
2026-03-03 | 270.174 +/- 251.8

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3262.49 +/- 576

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: tdrr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 437.8 (95 % interval: ± 858.2)
    standard error of these reports: 437.3 (95 % interval: ± 857.2)
    one forged report can add up to 7.98 people, or take away up to 4.66
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 437.8 (95 % interval: ± 858.2) per unit of the public column
    standard error of these reports: 2.546e+04 (95 % interval: ± 4.991e+04)
    one forged report can add up to 7.98, or take away up to 4.66 per unit of the public column
    32 of 20 x 4 cells
  COUNT(pay), public
    predicted standard error: 437.8 (95 % interval: ± 858.2) per unit of the public column
    standard error of these reports: 437.3 (95 % interval: ± 857.2)
    one forged report can add up to 7.98, or take away up to 4.66 per unit of the public column
    32 of 20 x 4 cells
COUNT(*): one forged report can add up to 7.98, or take away up to 4.66
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: tdrr, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 566.7 (95 % interval: ± 1111)
    standard error of these reports: 576 (95 % interval: ± 1129)
    one forged report can add up to 8.37 people, or take away up to 11.6
    56 of 20 x 4 cells
