SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1834.02 +/- 277.5 | 91670.1 +/- 1.617e+04 | 49.9832 +/- 4.468

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
54 | 568.055 +/- 101.8
20 | 432.096 +/- 100.7
38 | 401.395 +/- 100.4
46 | 375.08 +/- 100.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 576.305 +/- 156.9
2026-03-02 | 626.848 +/- 165.1
2026-03-03 | 630.886 +/- 158.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: sue-ms, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 275.8
    standard error of these reports: 277.5
    marginal of age (20 nodes, sue): nodes 4..11
  SUM(pay), public
    predicted standard error: 275.8 per unit of the public column
    standard error of these reports: 1.617e+04
    marginal of age (20 nodes, sue): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
