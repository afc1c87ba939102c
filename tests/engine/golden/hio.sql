SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38 AND pay > 20
----------------------------------------
1992.98 +/- 220.5 | 124192 +/- 1.454e+04 | 62.3149 +/- 2.734

WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COUNT(*), SUM(n) FROM t
----------------------------------------
4 | 5005.37 +/- 157.3

EXPLAIN SELECT SUM(pay) FROM app WHERE age >= 38 OR day = DATE '2026-03-02'
----------------------------------------
survey app: hio, epsilon 2
guarantee: 2-LDP
reports: ("day" = DATE '2026-03-02') (1716)
  box: everything
  SUM(pay), public
    predicted standard error: 0 (95 % interval: ± 0) per unit of the public column
    standard error of these reports: 0 (95 % interval: ± 0)
    one forged report can add up to 1 per unit of the public column
    known exactly: 1 x all reports
reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
  box: age in {38..57}
  SUM(pay), public
    predicted standard error: 198.4 (95 % interval: ± 388.9) per unit of the public column
    standard error of these reports: 1.204e+04 (95 % interval: ± 2.361e+04)
    one forged report can add up to 23.9, or take away up to 2.89 per unit of the public column
    group 1 (age level 1, state level 0; 5 nodes, olh): nodes 3..4
    group 3 (age level 2, state level 0; 20 nodes, olh): nodes 10..11

SELECT COUNT(*) FILTER (WHERE state = 'NY') AS ny, COUNT_IF(age % 4 < 2) AS some, AVG(pay) FILTER (WHERE state = 'NY') - AVG(pay) FILTER (WHERE state <> 'NY') AS gap FROM app
----------------------------------------
1566.54 +/- 141.9 | 2458.41 +/- 324.1 | -3.21663 +/- 3.844

EXPLAIN SELECT SUM(CASE WHEN age < 38 THEN 2 WHEN state = 'NY' THEN 1 END) FROM app WHERE state IS NOT NULL
----------------------------------------
survey app: hio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: state in {CA, NY, WA}
  SUM(CASE WHEN "age" < 38 THEN 2 WHEN "state" = 'NY' THEN 1 END)
    predicted standard error: 859.3 (95 % interval: ± 1684)
    standard error of these reports: 867.1 (95 % interval: ± 1699)
    one forged report can add up to 83.5, or take away up to 22.3
    group 2 (age level 1, state level 1; 20 nodes, olh): nodes 0..2, 4..6, 13, 17
    group 4 (age level 2, state level 1; 80 nodes, olh): nodes 32..34, 36..38, 41, 45

EXPLAIN SELECT COUNT(*) FILTER (WHERE age < 38 OR day = DATE '2026-03-02') FROM app WHERE state LIKE '%A'
----------------------------------------
survey app: hio, epsilon 2
guarantee: 2-LDP
reports: ("day" = DATE '2026-03-02') (1716)
  box: state in {CA, WA}
  filter 1:
    box: state in {CA, WA}
  COUNT(*) under filter 1
    predicted standard error: 100.2 (95 % interval: ± 196.4)
    standard error of these reports: 102.5 (95 % interval: ± 200.9)
    one forged report can add up to 7.49 people, or take away up to 3.82
    group 0 (age level 0, state level 1; 4 nodes, olh): nodes 0, 2
reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
  box: state in {CA, WA}
  filter 1:
    box: age in {18..37}, state in {CA, WA}
  COUNT(*) under filter 1
    predicted standard error: 289.2 (95 % interval: ± 566.8)
    standard error of these reports: 287.1 (95 % interval: ± 562.7)
    one forged report can add up to 32.7 people, or take away up to 6.05
    group 2 (age level 1, state level 1; 20 nodes, olh): nodes 0, 2, 4, 6
    group 4 (age level 2, state level 1; 80 nodes, olh): nodes 32, 34, 36, 38

WITH g AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT state, ROUND(n) AS n, n / SUM(n) OVER () AS share, MAX(n) OVER () AS top FROM g UNION ALL SELECT 'all', SUM(n), 1, MAX(n) FROM g
----------------------------------------
CA | 1890 +/- 148.5 | 0.377556 +/- 0.02788 | 1889.81
NY | 1567 +/- 141.9 | 0.312971 +/- 0.02688 | 1889.81
WA | 963 +/- 126.5 | 0.192411 +/- 0.02436 | 1889.81
None | 586 +/- 114.3 | 0.117062 +/- 0.02226 | 1889.81
all | 5005.37 +/- 157.3 | 1 +/- 0 | 1889.81
note: no error bar for top: MAX of several estimates

WITH g AS (SELECT age // 10 AS decade, COUNT(*) AS n FROM app GROUP BY decade) SELECT decade, n - LAG(n) OVER (ORDER BY decade) AS step, SUM(n) OVER (ORDER BY decade) AS until, n > 100 AS big FROM g ORDER BY decade
----------------------------------------
1 | None +/- nan | 52.5796 +/- 125.5 | False
2 | 1354.63 +/- 309.4 | 1459.79 +/- 286 | True
3 | 12.7146 +/- 432.3 | 2879.72 +/- 327.3 | True
4 | -54.8651 +/- 340.3 | 4244.78 +/- 354.6 | True
5 | -378.427 +/- 242.4 | 5231.41 +/- 368.2 | True
note: no error bar for big: a comparison of estimates

SELECT a.state, a.n / b.n AS young FROM (SELECT state, COUNT(*) AS n FROM app WHERE age < 38 GROUP BY state) a JOIN (SELECT state, COUNT(*) AS n FROM app GROUP BY state) b USING (state)
----------------------------------------
CA | 0.261105 +/- 0.1406
NY | 0.519571 +/- 0.1761
WA | 0.57859 +/- 0.2817

SELECT VAR_POP(age // 2), STDDEV(age // 2), VAR_POP(age) FILTER (WHERE state = 'NY') FROM app
----------------------------------------
refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; compare age with the edges of its bins

SELECT STDDEV(age // 2), REGR_SLOPE(pay, age // 2), CORR(age // 2, length(state)) FROM app
----------------------------------------
5.92006 +/- 0.3293 | -0.284145 +/- 0.5838 | None +/- nan
note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT state, COVAR_SAMP(age // 2, age // 4) FROM app GROUP BY state
----------------------------------------
CA | -0.589067 +/- 10.89
NY | 17.7303 +/- 8.437
WA | -1.56629 +/- 13.21
None | -24.0333 +/- 28.08

SELECT MEDIAN(age), QUANTILE_DISC(age, 0.9) FILTER (WHERE state = 'NY'), MODE(age) FROM app
----------------------------------------
36 +/- 1.786 | 52 +/- 6.888 | 48 +/- 9.949
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one

SELECT state, QUANTILE_CONT(age, [0.25, 0.75]) AS q FROM app GROUP BY state
----------------------------------------
CA | 30 +/- 3.813 | 48 +/- 4.262
NY | 28 +/- 5.61 | 46 +/- 6.508
WA | 28 +/- 8.754 | 46 +/- 6.509
None | 30 +/- 8.299 | 48 +/- 7.85
note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level

SELECT HISTOGRAM(state) FROM app
----------------------------------------
CA | 1889.81 +/- 148.5
NY | 1566.54 +/- 141.9
WA | 963.091 +/- 126.5

SELECT CDF(age, 27), MAX(age) FROM app
----------------------------------------
refused: MAX depends on single people, whom reports do not reveal at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize

SELECT CDF(age, 27) FROM app
----------------------------------------
0.243443 +/- 0.03697
