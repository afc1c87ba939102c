SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1610.54 +/- 250.8 | 79808.2 +/- 1.459e+04 | 49.5536 +/- 4.605

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
26 | 359.774 +/- 92.66
42 | 333.691 +/- 92.14
34 | 323.257 +/- 91.93
24 | 307.607 +/- 91.61

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 473.214 +/- 142.3
2026-03-02 | 659.622 +/- 147.4
2026-03-03 | 476.498 +/- 144.8

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: oue-ms, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 253.6
    standard error of these reports: 250.8
    marginal of age (20 nodes, oue): nodes 4..11
  SUM(pay), public
    predicted standard error: 253.6 per unit of the public column
    standard error of these reports: 1.459e+04
    marginal of age (20 nodes, oue): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
