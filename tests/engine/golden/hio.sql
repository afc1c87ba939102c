SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38 AND pay > 20
----------------------------------------
1992.98 +/- 220.5 | 124192 +/- 1.454e+04 | 62.3149 +/- 2.734

WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COUNT(*), SUM(n) FROM t
----------------------------------------
4 | 5005.37
note: numbers that further SQL computes from estimates have no error bar; select STDERR(...), CI_LOW(...) or CI_HIGH(...) of the aggregate beside them

EXPLAIN SELECT SUM(pay) FROM app WHERE age >= 38 OR day = DATE '2026-03-02'
----------------------------------------
survey app: hio, epsilon 2
guarantee: 2-LDP
reports: ("day" = DATE '2026-03-02') (1716)
  box: everything
  SUM(pay), public
    predicted standard error: 0 (95 % interval: ± 0) per unit of the public column
    standard error of these reports: 0 (95 % interval: ± 0)
    known exactly: 1 x all reports
reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
  box: age in {38..57}
  SUM(pay), public
    predicted standard error: 198.4 (95 % interval: ± 388.9) per unit of the public column
    standard error of these reports: 1.204e+04 (95 % interval: ± 2.361e+04)
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
    group 0 (age level 0, state level 1; 4 nodes, olh): nodes 0, 2
reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
  box: state in {CA, WA}
  filter 1:
    box: age in {18..37}, state in {CA, WA}
  COUNT(*) under filter 1
    predicted standard error: 289.2 (95 % interval: ± 566.8)
    standard error of these reports: 287.1 (95 % interval: ± 562.7)
    group 2 (age level 1, state level 1; 20 nodes, olh): nodes 0, 2, 4, 6
    group 4 (age level 2, state level 1; 80 nodes, olh): nodes 32, 34, 36, 38
