SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1901.72 +/- 375.7 | 78968.8 +/- 3.045e+04 | 41.5249 +/- 12.73

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
52 | 518.488 +/- 167
28 | 487.788 +/- 166.8
18 | 446.856 +/- 166.6
44 | 439.181 +/- 166.6
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 564.734 +/- 214.4
2026-03-02 | 813.344 +/- 220.2
2026-03-03 | 523.644 +/- 216

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3418.83 +/- 360.4

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: olh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 375.8 (95 % interval: ± 736.5)
    standard error of these reports: 375.7 (95 % interval: ± 736.4)
    one forged report can add up to 20.9 people, or take away up to 17.5
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.049e+04 (95 % interval: ± 5.975e+04)
    standard error of these reports: 3.045e+04 (95 % interval: ± 5.967e+04)
    one forged report can add up to 1810, or take away up to 1000
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
COUNT(*): one forged report can add up to 20.9, or take away up to 17.5
SUM(pay): one forged report can add up to 1810, or take away up to 1000
AVG(pay): one forged report can add up to 0.614, or take away up to 0.541

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: olh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 360.3 (95 % interval: ± 706.2)
    standard error of these reports: 360.4 (95 % interval: ± 706.3)
    one forged report can add up to 18.6 people, or take away up to 19.8
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
