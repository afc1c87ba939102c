SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2413.53 +/- 485.1 | 156391 +/- 3.442e+04 | 64.7976 +/- 10.49

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
56 | 608.941 +/- 173.5
36 | 493.394 +/- 172.9
32 | 490.768 +/- 172.9
38 | 464.508 +/- 172.8
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 875.48 +/- 277.1
2026-03-02 | 889.341 +/- 284.3
2026-03-03 | 648.709 +/- 278.8

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2986.8 +/- 640.1

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: oue, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 484.7 (95 % interval: ± 949.9)
    standard error of these reports: 485.1 (95 % interval: ± 950.9)
    one forged report can add up to 148 people, or take away up to 20
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 3.43e+04 (95 % interval: ± 6.723e+04)
    standard error of these reports: 3.442e+04 (95 % interval: ± 6.747e+04)
    one forged report can add up to 7400, or take away up to 1000
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
COUNT(*): one forged report can add up to 148, or take away up to 20
SUM(pay): one forged report can add up to 7400, or take away up to 1000
AVG(pay): one forged report can add up to 1.36, or take away up to 2.15

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: oue, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 640.3 (95 % interval: ± 1255)
    standard error of these reports: 640.1 (95 % interval: ± 1254)
    one forged report can add up to 259 people, or take away up to 35.1
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
