SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2354.45 +/- 203.1 | 115622 +/- 1.18e+04 | 49.108 +/- 2.557

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
20 | 374.304 +/- 94.83
34 | 374.304 +/- 94.83
30 | 357.895 +/- 94.2
52 | 349.69 +/- 93.88

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 749.467 +/- 115.5
2026-03-02 | 914.509 +/- 119.2
2026-03-03 | 688.611 +/- 117.1

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism psrr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: psrr-ss, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 202.3
    standard error of these reports: 203.1
    marginal of age (20 nodes, padded): nodes 4..11
  SUM(pay), public
    predicted standard error: 202.3 per unit of the public column
    standard error of these reports: 1.18e+04
    marginal of age (20 nodes, padded): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism psrr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
