SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2041.15 +/- 201.1 | 113788 +/- 1.552e+04 | 55.7469 +/- 5.644

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 2101.53 +/- 137.4 | 42.5831 +/- 3.855
NY | 1681.51 +/- 134.3 | 50.3433 +/- 4.593
WA | 755.305 +/- 127.6 | 76.8207 +/- 10.16
None | 461.653 +/- 125.4 | 75.7803 +/- 16.29

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 243.79 +/- 172.3
20 | 983.066 +/- 228.7
30 | 734.563 +/- 233.6
40 | 939.257 +/- 227.3
50 | 882.366 +/- 219.4

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 934.143 +/- 117.8 | 49670.1 +/- 9470
2026-03-02 | 1162.72 +/- 116.4 | 75216.5 +/- 9489
2026-03-03 | 939.47 +/- 117.9 | 62762.6 +/- 9440

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
125.354 | 19097 | 50871.4

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 243.6
    standard error of these reports: 242.4
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 1.731e+04
    standard error of these reports: 1.752e+04
    table age x state of 20 x 4 cells, box of 8 x 2
    with the sign of pay

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
  survey app: fourier, epsilon 2
  guarantee: 2-LDP
  reports: ("day" > DATE '2026-03-01') (3371)
    box: age in {18..29}, state in {CA}
    box: age in {50..57}
    COUNT(*)
      predicted standard error: 207.2
      standard error of these reports: 203.7
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 108.7
      standard error of these reports: 111.4
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0
