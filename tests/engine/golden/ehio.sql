SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1656.17 +/- 253.8 | 144991 +/- 2.667e+04 | 87.546 +/- 20.96

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1898.53 +/- 228.4 | 24.5708 +/- 10.53
NY | 1311.24 +/- 208.6 | 82.6289 +/- 21.28
None | 928.222 +/- 192.5 | 1.12654 +/- 17.82
WA | 800.55 +/- 186.4 | 88.4281 +/- 32.72

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | -57.6143 +/- 278.7
20 | 732.891 +/- 604.1
30 | 441.188 +/- 599.9
40 | 191.936 +/- 387.8
50 | 678.923 +/- 279.4

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 756.331 +/- 230.4 | 56665.6 +/- 2.465e+04
2026-03-02 | 1155.99 +/- 244.6 | 68973 +/- 2.483e+04
2026-03-03 | 1074.91 +/- 242.7 | 53142.7 +/- 2.338e+04

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
192.478 | -26163.5 | 28254.9

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 360.2
    group 5 (age level 1, state level 1; 20 nodes, olh): nodes 5..6, 9..10
  SUM(pay)
    predicted standard error: 3.758e+04
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
      group 3 (age level 1, state level 0; 5 nodes, olh): nodes 4
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 193.2
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match
