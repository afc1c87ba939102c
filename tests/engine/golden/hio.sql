SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38 AND pay > 20
----------------------------------------
1967.9 +/- 219.2 | 111067 +/- 1.386e+04 | 56.4393 +/- 2.597

WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COUNT(*), SUM(n) FROM t
----------------------------------------
4 | 4979.57
note: numbers that further SQL computes from estimates have no error bar; select STDERR(...), CI_LOW(...) or CI_HIGH(...) of the aggregate beside them

EXPLAIN SELECT SUM(pay) FROM app WHERE age >= 38 OR day = DATE '2026-03-02'
----------------------------------------
survey app: hio, epsilon 2
guarantee: 2-LDP
reports: ("day" = DATE '2026-03-02') (1716)
  box: everything
  SUM(pay), public
    predicted standard error: 0 per unit of the public column
    standard error of these reports: 0
    known exactly: 1 x all reports
reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
  box: age in {38..57}
  SUM(pay), public
    predicted standard error: 198.4 per unit of the public column
    standard error of these reports: 1.135e+04
    group 1 (age level 1, state level 0; 5 nodes, olh): nodes 3..4
    group 3 (age level 2, state level 0; 20 nodes, olh): nodes 10..11
