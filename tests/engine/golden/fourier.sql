SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1832.03 +/- 197.6 | 77839.1 +/- 1.554e+04 | 42.4879 +/- 6.598

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1976.81 +/- 113.7 | 52.0196 +/- 3.587
NY | 1551.25 +/- 110 | 41.8174 +/- 4.383
WA | 995.149 +/- 104.6 | 52.265 +/- 6.385
None | 476.793 +/- 98.75 | 46.9962 +/- 12.36

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 8.01977 +/- 199
20 | 800.765 +/- 264.9
30 | 958.502 +/- 265.2
40 | 972.633 +/- 265
50 | 788.138 +/- 257.2

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 894.191 +/- 113.5 | 40652.1 +/- 9198
2026-03-02 | 1237.21 +/- 116.3 | 64513.5 +/- 9462
2026-03-03 | 913.836 +/- 114.4 | 49179.7 +/- 9257

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
98.7541 | 9850.57 | 34964.4

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 273.7 (95 % interval: ± 536.5)
    standard error of these reports: 273.9 (95 % interval: ± 536.9)
    one forged report can add up to 42.2 people, or take away up to 37.8
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 2.009e+04 (95 % interval: ± 3.938e+04)
    standard error of these reports: 2.011e+04 (95 % interval: ± 3.941e+04)
    one forged report can add up to 3160, or take away up to 2200
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
      predicted standard error: 223.7 (95 % interval: ± 438.5)
      standard error of these reports: 226.9 (95 % interval: ± 444.7)
      one forged report can add up to 39.1 people, or take away up to 25.8
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 125.8 (95 % interval: ± 246.5)
      standard error of these reports: 129.1 (95 % interval: ± 253)
      one forged report can add up to 42 people, or take away up to 30.7
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0

SELECT AVG(state = 'NY') AS share, SUM(pay * length(state)) AS letters, AVG(age // 10 * 10) AS decade FROM app
----------------------------------------
0.342953 +/- 0.02299 | 439427 +/- 2.25e+04 | 31.8095 +/- 1.091

SELECT COUNT(*), COUNT_IF(state LIKE '%A') AS n FROM app WHERE age % 4 < 2
----------------------------------------
2656.53 +/- 377.1 | 1996.72 +/- 561.8

SELECT region, COUNT(*), AVG(pay), SUM(big) FROM app LEFT JOIN (VALUES ('CA', 'west', 39), ('WA', 'west', 8), ('NY', 'east', 19)) AS r(state, region, big) USING (state) WHERE age >= 30 GROUP BY region
----------------------------------------
east | 1232.43 +/- 233.7 | 47.7737 +/- 10.12 | 23416.2 +/- 4440
west | 2275.7 +/- 279.4 | 50.1441 +/- 6.776 | 64297.7 +/- 8947
None | -141.033 +/- 222.3 | None +/- nan | 0 +/- 0
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT tag, COUNT(*) FROM app, (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) WHERE state = code GROUP BY tag
----------------------------------------
sea | 2971.96 +/- 121.5
sun | 1976.81 +/- 113.7
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
    predicted standard error: 121.6 (95 % interval: ± 238.4)
    standard error of these reports: 121.5 (95 % interval: ± 238.1)
    one forged report can add up to 4.14 people, or take away up to 3.14
    table state of 4 cells, box of 2

SELECT VAR_POP(age // 2), STDDEV(age // 2), VAR_POP(age) FILTER (WHERE state = 'NY') FROM app
----------------------------------------
refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; compare age with the edges of its bins

SELECT STDDEV(age // 2), REGR_SLOPE(pay, age // 2), CORR(age // 2, length(state)) FROM app
----------------------------------------
5.87953 +/- 0.1714 | -0.898119 +/- 0.834 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT state, COVAR_SAMP(age // 2, age // 4) FROM app GROUP BY state
----------------------------------------
CA | 18.5837 +/- 3.438
NY | 14.1263 +/- 4.18
WA | 13.423 +/- 10.53
None | -107.378 +/- 108.6

SELECT MEDIAN(age), QUANTILE_DISC(age, 0.9) FILTER (WHERE state = 'NY'), MODE(age) FROM app
----------------------------------------
36 +/- 1.276 | 50 +/- 3.316 | 28 +/- 9.949
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one

SELECT state, QUANTILE_CONT(age, [0.25, 0.75]) AS q FROM app GROUP BY state
----------------------------------------
CA | 28 +/- 5.176 | 50 +/- 4.726
NY | 32 +/- 5.195 | 48 +/- 4.292
WA | 36 +/- 7.001 | 50 +/- 7.001
None | 18 +/- 7.448 | 24 +/- 8.802
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level

SELECT HISTOGRAM(state) FROM app
----------------------------------------
CA | 1976.81 +/- 113.7
NY | 1551.25 +/- 110
WA | 995.149 +/- 104.6

SELECT CDF(age, 27), MAX(age) FROM app
----------------------------------------
refused: MAX depends on single people, whom reports do not reveal at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize

SELECT CDF(age, 27) FROM app
----------------------------------------
0.239042 +/- 0.03727
