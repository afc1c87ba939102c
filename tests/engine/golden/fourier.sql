SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1914.98 +/- 204.6 | 87049.8 +/- 1.551e+04 | 45.4573 +/- 6.128

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1945.43 +/- 136.1 | 43.1168 +/- 4.076
NY | 1671.59 +/- 133.4 | 50.3875 +/- 4.561
WA | 756.883 +/- 127.7 | 56.1109 +/- 9.606
None | 626.105 +/- 127.6 | 62.1339 +/- 11.67

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 241.549 +/- 172
20 | 502.735 +/- 237.6
30 | 1005.61 +/- 240.6
40 | 1194.3 +/- 237.5
50 | 672.815 +/- 225.6

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 848.37 +/- 117.6 | 39958.4 +/- 9281
2026-03-02 | 1066.66 +/- 117 | 45447.5 +/- 9365
2026-03-03 | 800.534 +/- 114.9 | 33655.1 +/- 8973

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
127.646 | 23009.4 | 54795.4

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 243.5
    standard error of these reports: 243.1
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 1.729e+04
    standard error of these reports: 1.738e+04
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
      standard error of these reports: 200
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 108.7
      standard error of these reports: 109.4
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0

SELECT AVG(state = 'NY') AS share, SUM(pay * length(state)) AS letters, AVG(age // 10 * 10) AS decade FROM app
----------------------------------------
0.382173 +/- 0.02858 | 421154 +/- 2.512e+04 | 32.5088 +/- 1.1

SELECT COUNT(*), COUNT_IF(state LIKE '%A') AS n FROM app WHERE age % 4 < 2
----------------------------------------
2313.57 +/- 394.9 | 1195.57 +/- 477.4
