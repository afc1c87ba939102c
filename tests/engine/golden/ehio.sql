SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2002.82 +/- 249.5 | 102261 +/- 2.528e+04 | 51.0583 +/- 14.14

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1913.64 +/- 216.6 | 48.0635 +/- 12.17
NY | 1437.83 +/- 202.1 | 49.8086 +/- 15.56
WA | 1120.63 +/- 190.5 | 29.8423 +/- 16.96
None | 758.112 +/- 174.9 | 44.1125 +/- 26

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 18.2846 +/- 286.7
20 | 670.913 +/- 617.3
30 | 1860.39 +/- 631.2
40 | 518.506 +/- 389.9
50 | 981.936 +/- 275.6

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 857.488 +/- 247.7 | 29477.4 +/- 2.383e+04
2026-03-02 | 1020.59 +/- 241.7 | 40720 +/- 2.484e+04
2026-03-03 | 863.996 +/- 239.2 | 29435.2 +/- 2.349e+04

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
174.894 | 3606.23 | 63278.2

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 360.2
    standard error of these reports: 349.9
    group 5 (age level 1, state level 1; 20 nodes, olh): nodes 5..6, 9..10
  SUM(pay)
    predicted standard error: 3.758e+04
    standard error of these reports: 3.819e+04
    group 6 (age level 1, state level 1, sign of pay; 40 nodes, olh): nodes 5..6, 9..10, 25..26, 29..30

EXPLAIN VERBOSE SELECT COUNT(*) FROM app WHERE age < 30 AND state = 'CA' OR age >= 50 AND day > DATE '2026-03-01'
----------------------------------------
after boxes:
  reports: ("day" > DATE '2026-03-01')
    box: age in {50..57}
    box: age in {18..29}, state in {CA}
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE
    box: age in {18..29}, state in {CA}
after disjoin:
  reports: ("day" > DATE '2026-03-01')
    box: age in {18..29}, state in {CA}
    box: age in {50..57}
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE
    box: age in {18..29}, state in {CA}
after cells:
  survey app: ehio, epsilon 2
  guarantee: 2-LDP
  reports: ("day" > DATE '2026-03-01') (3371)
    box: age in {18..29}, state in {CA}
    box: age in {50..57}
    COUNT(*)
      predicted standard error: 319.8
      standard error of these reports: 344.9
      group 3 (age level 1, state level 0; 5 nodes, olh): nodes 4
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 193.2
      standard error of these reports: 202.6
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0
