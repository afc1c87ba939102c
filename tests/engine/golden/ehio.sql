SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1656.17 +/- 255.2 | 144991 +/- 2.676e+04 | 87.546 +/- 21.05

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1898.53 +/- 229.7 | 24.5708 +/- 10.6
NY | 1311.24 +/- 210 | 82.6289 +/- 21.4
None | 928.222 +/- 194 | 1.12654 +/- 18
WA | 800.55 +/- 187.9 | 88.4281 +/- 32.95

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | -57.6143 +/- 279.6
20 | 732.891 +/- 604.5
30 | 441.188 +/- 600.3
40 | 191.936 +/- 389.2
50 | 678.923 +/- 280.4

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 756.331 +/- 233 | 56665.6 +/- 2.486e+04
2026-03-02 | 1155.99 +/- 247 | 68973 +/- 2.502e+04
2026-03-03 | 1074.91 +/- 244.9 | 53142.7 +/- 2.356e+04

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
193.976 | -26427.9 | 28519.3

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 360.2
    standard error of these reports: 372.5
    group 5 (age level 1, state level 1; 20 nodes, olh): nodes 5..6, 9..10
  SUM(pay)
    predicted standard error: 3.758e+04
    standard error of these reports: 3.655e+04
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
      standard error of these reports: 339.8
      group 3 (age level 1, state level 0; 5 nodes, olh): nodes 4
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 193.2
      standard error of these reports: 192.9
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0
