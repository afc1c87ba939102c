SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2113.82 +/- 249.2 | 84202.5 +/- 2.453e+04 | 39.8343 +/- 12.52

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1837.25 +/- 216 | 36.7616 +/- 11.57
NY | 1768.31 +/- 214 | 42.4759 +/- 12.45
WA | 757.141 +/- 176.1 | 42.5454 +/- 25.75
None | 688.198 +/- 172.8 | 79.8074 +/- 34.27
note: AVG(pay) (in 2 of 4 rows): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | -31.1702 +/- 282.2
20 | 676.186 +/- 609.3
30 | 735.618 +/- 610.2
40 | 568.076 +/- 389.8
50 | 536.795 +/- 267.4

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 1133.57 +/- 243.6 | 31581.8 +/- 2.412e+04
2026-03-02 | 1167.48 +/- 249 | 50262.5 +/- 2.4e+04
2026-03-03 | 748.105 +/- 231.3 | 20749.9 +/- 2.311e+04

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
172.784 | 23446 | 86400.5

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 360.2 (95 % interval: ± 705.9)
    standard error of these reports: 356.2 (95 % interval: ± 698.1)
    one forged report can add up to 40 people, or take away up to 13.3
    group 5 (age level 1, state level 1; 20 nodes, olh): nodes 5..6, 9..10
  SUM(pay)
    predicted standard error: 3.758e+04 (95 % interval: ± 7.366e+04)
    standard error of these reports: 3.856e+04 (95 % interval: ± 7.557e+04)
    one forged report can add up to 7430, or take away up to 1440
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
      predicted standard error: 319.8 (95 % interval: ± 626.8)
      standard error of these reports: 339.2 (95 % interval: ± 664.9)
      one forged report can add up to 58.5 people, or take away up to 6.7
      group 3 (age level 1, state level 0; 5 nodes, olh): nodes 4
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 193.2 (95 % interval: ± 378.6)
      standard error of these reports: 201.6 (95 % interval: ± 395.2)
      one forged report can add up to 41.6 people, or take away up to 8.06
      group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
      group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: ehio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0
