SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2286.47 +/- 903 | 144273 +/- 7.413e+04 | 63.0985 +/- 26.01
note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
44 | 1161.5 +/- 427
52 | 979.199 +/- 422
36 | 588.557 +/- 411.1
28 | 484.385 +/- 408.2
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 63.0322 +/- 511.8
2026-03-02 | 1222.88 +/- 531
2026-03-03 | 1000.56 +/- 520.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3395.83 +/- 844.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 902.1 (95 % interval: ± 1768)
    standard error of these reports: 903 (95 % interval: ± 1770)
    one forged report can add up to 16 people, or take away up to 10
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 7.366e+04 (95 % interval: ± 1.444e+05)
    standard error of these reports: 7.413e+04 (95 % interval: ± 1.453e+05)
    one forged report can add up to 2100, or take away up to 501
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
COUNT(*): one forged report can add up to 16, or take away up to 10
SUM(pay): one forged report can add up to 2100, or take away up to 501
AVG(pay): one forged report can add up to 0.48, or take away up to 0.664

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: grr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 843.9 (95 % interval: ± 1654)
    standard error of these reports: 844.6 (95 % interval: ± 1655)
    one forged report can add up to 8.51 people, or take away up to 17.5
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
