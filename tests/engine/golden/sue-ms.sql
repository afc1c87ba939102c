SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1734.93 +/- 274.6 | 81537.5 +/- 1.595e+04 | 46.9977 +/- 4.685

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 382.902 +/- 99.27
26 | 378.603 +/- 99.24
42 | 309.825 +/- 98.64
56 | 296.929 +/- 98.53

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 504.136 +/- 156.2
2026-03-02 | 440.342 +/- 159.9
2026-03-03 | 794.872 +/- 159.3

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
    standard error of these reports: 274.6
    marginal of age (20 nodes, sue): nodes 4..11
  SUM(pay), public
    predicted standard error: 275.8 per unit of the public column
    standard error of these reports: 1.595e+04
    marginal of age (20 nodes, sue): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
