SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2412.32 +/- 207.7 | 133748 +/- 1.564e+04 | 55.4436 +/- 4.987

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 2070.76 +/- 136.8 | 43.2909 +/- 3.834
NY | 1552.81 +/- 133.7 | 55.8193 +/- 4.948
WA | 966.897 +/- 130.6 | 49.1988 +/- 7.773
None | 409.535 +/- 123.7 | 81.281 +/- 18.91

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 330.68 +/- 175.6
20 | 841.356 +/- 235
30 | 1052.81 +/- 238.3
40 | 671.25 +/- 231.4
50 | 727.473 +/- 230.8

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 999.327 +/- 116.3 | 51402.6 +/- 9363
2026-03-02 | 997.374 +/- 121.5 | 57860.4 +/- 9570
2026-03-03 | 1009.32 +/- 119 | 52121.1 +/- 9674

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
123.703 | 17973.4 | 48601.6

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 243.6
    standard error of these reports: 253.7
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 1.731e+04
    standard error of these reports: 1.772e+04
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
      standard error of these reports: 211.6
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 108.7
      standard error of these reports: 108.1
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0
