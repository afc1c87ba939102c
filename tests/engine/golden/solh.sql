SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1975.96 +/- 191.5 | 105256 +/- 1.127e+04 | 53.2684 +/- 2.895

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 406.476 +/- 85.07
34 | 353.316 +/- 83.98
40 | 329.152 +/- 83.47
44 | 314.654 +/- 83.16

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 997.139 +/- 111.6
2026-03-02 | 399.235 +/- 110.1
2026-03-03 | 589.819 +/- 109.1

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: solh, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 193.5
    standard error of these reports: 191.5
    marginal of age (20 nodes, solh): nodes 4..11
  SUM(pay), public
    predicted standard error: 193.5 per unit of the public column
    standard error of these reports: 1.127e+04
    marginal of age (20 nodes, solh): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
