SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1949.81 +/- 203.9 | 85991.4 +/- 1.517e+04 | 44.1024 +/- 5.976

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1892.41 +/- 136.2 | 48.3792 +/- 4.176
NY | 1490.7 +/- 132.5 | 43.0125 +/- 5.089
WA | 970.982 +/- 129.6 | 46.1373 +/- 7.645
None | 645.915 +/- 127 | 56.2305 +/- 10.96

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 260.534 +/- 172.7
20 | 614.471 +/- 227.3
30 | 956.1 +/- 225.4
40 | 763.657 +/- 227.2
50 | 788.341 +/- 223.8

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 911.438 +/- 115.5 | 45556.5 +/- 8946
2026-03-02 | 1179.88 +/- 116 | 47508.9 +/- 9100
2026-03-03 | 925.314 +/- 116.9 | 55343.4 +/- 9222

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
126.974 | 20825.1 | 51815.1

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 243.5 (95 % interval: ± 477.3)
    standard error of these reports: 252.3 (95 % interval: ± 494.4)
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 1.729e+04 (95 % interval: ± 3.389e+04)
    standard error of these reports: 1.762e+04 (95 % interval: ± 3.454e+04)
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
      predicted standard error: 207.2 (95 % interval: ± 406)
      standard error of these reports: 204.8 (95 % interval: ± 401.3)
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 108.7 (95 % interval: ± 213)
      standard error of these reports: 111.1 (95 % interval: ± 217.7)
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0

SELECT AVG(state = 'NY') AS share, SUM(pay * length(state)) AS letters, AVG(age // 10 * 10) AS decade FROM app
----------------------------------------
0.342367 +/- 0.02859 | 400941 +/- 2.498e+04 | 32.9032 +/- 1.101

SELECT COUNT(*), COUNT_IF(state LIKE '%A') AS n FROM app WHERE age % 4 < 2
----------------------------------------
2475.93 +/- 394.9 | 1308.77 +/- 480

SELECT region, COUNT(*), AVG(pay), SUM(big) FROM app LEFT JOIN (VALUES ('CA', 'west', 39), ('WA', 'west', 8), ('NY', 'east', 19)) AS r(state, region, big) USING (state) WHERE age >= 30 GROUP BY region
----------------------------------------
east | 812.68 +/- 213.8 | 26.0457 +/- 14.32 | 15440.9 +/- 4062
west | 2526.64 +/- 254.4 | 48.2165 +/- 5.454 | 72771.1 +/- 7961
None | 218.517 +/- 201.2 | None +/- nan | 0 +/- 0
note: AVG(pay) (in 1 of 3 rows): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT tag, COUNT(*) FROM app, (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) WHERE state = code GROUP BY tag
----------------------------------------
sea | 2863.39 +/- 148.9
sun | 1892.41 +/- 136.2
note: up to 2 rows of t match one person, who counts once for each

EXPLAIN SELECT tag, COUNT(*) FROM app JOIN (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) ON state = code GROUP BY tag
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
private groups: 2 rows; the first is shown
reports: all reports (5000)
  box: state in {CA}
  box: state in {WA}, match_of_t in {1}
  group: sea
  COUNT(*)
    predicted standard error: 149 (95 % interval: ± 292)
    standard error of these reports: 148.9 (95 % interval: ± 291.8)
    table state of 4 cells, box of 2

SELECT VAR_POP(age // 2), STDDEV(age // 2), VAR_POP(age) FILTER (WHERE state = 'NY') FROM app
----------------------------------------
refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; compare age with the edges of its bins

SELECT STDDEV(age // 2), REGR_SLOPE(pay, age // 2), CORR(age // 2, length(state)) FROM app
----------------------------------------
5.66742 +/- 0.1819 | -0.259779 +/- 0.8521 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT state, COVAR_SAMP(age // 2, age // 4) FROM app GROUP BY state
----------------------------------------
CA | 16.2002 +/- 2.841
NY | 23.8604 +/- 3.515
WA | 1.20819 +/- 6.865
None | 7.1945 +/- 18.66

SELECT MEDIAN(age), QUANTILE_DISC(age, 0.9) FILTER (WHERE state = 'NY'), MODE(age) FROM app
----------------------------------------
36 +/- 1.276 | 52 +/- 2.806 | 44 +/- 9.439
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one

SELECT state, QUANTILE_CONT(age, [0.25, 0.75]) AS q FROM app GROUP BY state
----------------------------------------
CA | 30 +/- 4.292 | 46 +/- 3.841
NY | 22 +/- 5.165 | 52 +/- 5.614
WA | 36 +/- 4.758 | 42 +/- 4.305
None | 22 +/- 6.512 | 38 +/- 7.41
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level

SELECT HISTOGRAM(state) FROM app
----------------------------------------
CA | 1892.41 +/- 136.2
NY | 1490.7 +/- 132.5
WA | 970.982 +/- 129.6

SELECT CDF(age, 27), MAX(age) FROM app
----------------------------------------
refused: MAX depends on single people, whom reports do not tell at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize

SELECT CDF(age, 27) FROM app
----------------------------------------
0.226766 +/- 0.03828
