SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
336.137 +/- 742.7 | 71429.1 +/- 5.251e+04 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 1176.48 +/- 262.1
54 | 819.334 +/- 262.4
28 | 556.727 +/- 262.5
40 | 546.223 +/- 262.5
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 378.154 +/- 423.9
2026-03-02 | -210.086 +/- 435.1
2026-03-03 | 168.069 +/- 427.3

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
4359.28 +/- 980.6

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: hrr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 742.2 (95 % interval: ± 1455)
    standard error of these reports: 742.7 (95 % interval: ± 1456)
    one forged report can add up to 84 people, or take away up to 84
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 16..47, 96..127
  SUM(pay)
    predicted standard error: 5.25e+04 (95 % interval: ± 1.029e+05)
    standard error of these reports: 5.251e+04 (95 % interval: ± 1.029e+05)
    one forged report can add up to 4200, or take away up to 4200
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 16..47, 96..127
COUNT(*): one forged report can add up to 84, or take away up to 84
SUM(pay): one forged report can add up to 4200, or take away up to 4200
AVG(pay): one forged report can add up to 54.2, or take away up to 54.2

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: hrr, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 981.3 (95 % interval: ± 1923)
    standard error of these reports: 980.6 (95 % interval: ± 1922)
    one forged report can add up to 147 people, or take away up to 147
    group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
