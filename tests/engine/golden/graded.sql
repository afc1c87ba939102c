SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1634.92 +/- 467.5 | 66431.6 +/- 2.713e+04 | 40.6329 +/- 8.817

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 601.557 +/- 215.9
52 | 560.992 +/- 215
54 | 452.821 +/- 212.5
48 | 398.736 +/- 211.9
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 535.316 +/- 267.6
2026-03-02 | 424.085 +/- 274.1
2026-03-03 | 675.521 +/- 269.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3540.56 +/- 437.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: graded, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 468.4 (95 % interval: ± 918)
    standard error of these reports: 467.5 (95 % interval: ± 916.4)
    one forged report can add up to 8.51 people, or take away up to 5.01
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
    standard error of these reports: 2.713e+04 (95 % interval: ± 5.317e+04)
    one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
    32 of 20 x 4 cells
  COUNT(pay), public
    predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
    standard error of these reports: 467.5 (95 % interval: ± 916.4)
    one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
    32 of 20 x 4 cells
COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: graded, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 438.1 (95 % interval: ± 858.7)
    standard error of these reports: 437.6 (95 % interval: ± 857.6)
    one forged report can add up to 4.76 people, or take away up to 8.76
    56 of 20 x 4 cells
