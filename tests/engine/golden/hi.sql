SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2964.8 +/- 906 | -29910.9 +/- 9.64e+04 | 0 +/- 32.66
note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
18 | 1815.08 +/- 747.1
50 | 1138.55 +/- 747.3
34 | 800.292 +/- 747.4
30 | 736.868 +/- 747.4
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 1157.47 +/- 518
2026-03-02 | 675.97 +/- 529.2
2026-03-03 | 1131.36 +/- 522

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2071.32 +/- 1375

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: hi, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 903.3 (95 % interval: ± 1770)
    standard error of these reports: 906 (95 % interval: ± 1776)
    one forged report can add up to 16 people, or take away up to 10
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 1..2
  SUM(pay)
    predicted standard error: 9.641e+04 (95 % interval: ± 1.89e+05)
    standard error of these reports: 9.64e+04 (95 % interval: ± 1.889e+05)
    one forged report can add up to 2040, or take away up to 2010
    group 4 (age level 1, state level 0, sign of pay; 10 nodes, olh at 0.182): nodes 1..2, 6..7
COUNT(*): one forged report can add up to 16, or take away up to 10
SUM(pay): one forged report can add up to 2040, or take away up to 2010
AVG(pay): one forged report can add up to 0.745, or take away up to 0.713

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: hi, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 1373 (95 % interval: ± 2690)
    standard error of these reports: 1375 (95 % interval: ± 2694)
    one forged report can add up to 32.3 people, or take away up to 36.1
    group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 0, 3..4
    group 5 (age level 1, state level 1; 20 nodes, olh at 0.182): nodes 7, 11
