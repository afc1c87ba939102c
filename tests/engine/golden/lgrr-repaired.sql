SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1777.18 +/- 388.5 | 126087 +/- 4.047e+04 | 70.9477 +/- 27.55
note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
44 | 735.924 +/- 331.1
30 | 584.073 +/- 315.7
38 | 584.073 +/- 315.7
52 | 508.147 +/- 307.7
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 458.011 +/- 207.7
2026-03-02 | 773.798 +/- 246
2026-03-03 | 568.836 +/- 245.1

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3065.72 +/- 500.1

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr-repaired, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 395.3 (95 % interval: ± 774.7)
    standard error of these reports: 388.5 (95 % interval: ± 761.4)
    one forged report can add up to 43.5 people, or take away up to 25.6
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 1..2
  SUM(pay)
    predicted standard error: 3.872e+04 (95 % interval: ± 7.588e+04)
    standard error of these reports: 4.047e+04 (95 % interval: ± 7.931e+04)
    one forged report can add up to 5640, or take away up to 1560
    group 5 (age level 1, state level 0, sign of pay; 10 nodes, grr): nodes 1..2, 6..7
COUNT(*): one forged report can add up to 43.5, or take away up to 25.6
SUM(pay): one forged report can add up to 5640, or take away up to 1560
AVG(pay): one forged report can add up to 3.21, or take away up to 1.75

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr-repaired, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 540.4 (95 % interval: ± 1059)
    standard error of these reports: 500.1 (95 % interval: ± 980.1)
    one forged report can add up to 62.9 people, or take away up to 42.6
    group 4 (age level 1, state level 0; 5 nodes, grr): nodes 0, 3..4
    group 6 (age level 1, state level 1; 20 nodes, grr): nodes 7, 11
