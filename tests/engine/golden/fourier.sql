SELECT COUNT(*) FROM app
----------------------------------------
5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1985.46 +/- 197.8 | 88650 +/- 1.553e+04 | 44.6496 +/- 6.057

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
----------------------------------------
CA | 1966.29 +/- 114 | 50.8624 +/- 3.582
NY | 1562.19 +/- 110.5 | 42.5879 +/- 4.336
WA | 999.841 +/- 104.9 | 52.0043 +/- 6.329
None | 471.676 +/- 98.89 | 52.9387 +/- 12.44

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
----------------------------------------
10 | 30.2019 +/- 199.8
20 | 902.149 +/- 265.3
30 | 1012.22 +/- 265.1
40 | 905.667 +/- 264.9
50 | 678.244 +/- 257.3

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 969.104 +/- 113.8 | 49651.1 +/- 9199
2026-03-02 | 1155.64 +/- 116.3 | 57693.7 +/- 9377
2026-03-03 | 970.629 +/- 114.7 | 54778.2 +/- 9284

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
----------------------------------------
98.8947 | 12356.8 | 37583.1

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}, state in {NY, WA}
  COUNT(*)
    predicted standard error: 273.2 (95 % interval: ± 535.5)
    standard error of these reports: 273.7 (95 % interval: ± 536.5)
    one forged report can add up to 36.1 people, or take away up to 34.3
    table age x state of 20 x 4 cells, box of 8 x 2
  SUM(pay)
    predicted standard error: 2.008e+04 (95 % interval: ± 3.935e+04)
    standard error of these reports: 2.009e+04 (95 % interval: ± 3.938e+04)
    one forged report can add up to 3150, or take away up to 2190
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
      predicted standard error: 223.6 (95 % interval: ± 438.3)
      standard error of these reports: 227.2 (95 % interval: ± 445.4)
      one forged report can add up to 25.8 people, or take away up to 21.5
      table age x state of 20 x 4 cells, box of 6 x 1
      table age of 20 cells, box of 4
  reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
    box: age in {18..29}, state in {CA}
    COUNT(*)
      predicted standard error: 125.6 (95 % interval: ± 246.2)
      standard error of these reports: 129 (95 % interval: ± 252.9)
      one forged report can add up to 25.2 people, or take away up to 20.4
      table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
----------------------------------------
survey app: fourier, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  no box: nothing can match, an exact 0

SELECT AVG(state = 'NY') AS share, SUM(pay * length(state)) AS letters, AVG(age // 10 * 10) AS decade FROM app
----------------------------------------
0.344983 +/- 0.02307 | 437074 +/- 2.244e+04 | 31.5598 +/- 1.093

SELECT COUNT(*), COUNT_IF(state LIKE '%A') AS n FROM app WHERE age % 4 < 2
----------------------------------------
2848.68 +/- 380 | 995.013 +/- 557.5

SELECT region, COUNT(*), AVG(pay), SUM(big) FROM app LEFT JOIN (VALUES ('CA', 'west', 39), ('WA', 'west', 8), ('NY', 'east', 19)) AS r(state, region, big) USING (state) WHERE age >= 30 GROUP BY region
----------------------------------------
east | 984.161 +/- 234.1 | 51.2449 +/- 12.68 | 18699.1 +/- 4447
west | 2333.47 +/- 278.5 | 45.7207 +/- 6.624 | 68638.8 +/- 8930
None | -3.90717 +/- 221.5 | None +/- nan | 0 +/- 0
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT tag, COUNT(*) FROM app, (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) WHERE state = code GROUP BY tag
----------------------------------------
sea | 2966.13 +/- 122
sun | 1966.29 +/- 114
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
    predicted standard error: 122.1 (95 % interval: ± 239.4)
    standard error of these reports: 122 (95 % interval: ± 239.1)
    one forged report can add up to 3.42 people, or take away up to 2.42
    table state of 4 cells, box of 2

SELECT VAR_POP(age // 2), STDDEV(age // 2), VAR_POP(age) FILTER (WHERE state = 'NY') FROM app
----------------------------------------
refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; compare age with the edges of its bins

SELECT STDDEV(age // 2), REGR_SLOPE(pay, age // 2), CORR(age // 2, length(state)) FROM app
----------------------------------------
5.81942 +/- 0.1738 | -0.833413 +/- 0.8504 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT state, COVAR_SAMP(age // 2, age // 4) FROM app GROUP BY state
----------------------------------------
CA | 18.0598 +/- 3.554
NY | 15.4161 +/- 4.304
WA | 15.088 +/- 8.796
None | -24.0325 +/- 56.38

SELECT MEDIAN(age), QUANTILE_DISC(age, 0.9) FILTER (WHERE state = 'NY'), MODE(age) FROM app
----------------------------------------
36 +/- 1.276 | 48 +/- 4.337 | 28 +/- 9.949
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one

SELECT state, QUANTILE_CONT(age, [0.25, 0.75]) AS q FROM app GROUP BY state
----------------------------------------
CA | 28 +/- 5.165 | 52 +/- 4.716
NY | 28 +/- 4.743 | 46 +/- 5.647
WA | 34 +/- 7.451 | 50 +/- 6.547
None | 18 +/- 7.857 | 32 +/- 8.755
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level

SELECT HISTOGRAM(state) FROM app
----------------------------------------
CA | 1966.29 +/- 114
NY | 1562.19 +/- 110.5
WA | 999.841 +/- 104.9

SELECT CDF(age, 27), MAX(age) FROM app
----------------------------------------
refused: MAX depends on single people, whom reports do not reveal at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize

SELECT CDF(age, 27) FROM app
----------------------------------------
0.220667 +/- 0.03729
