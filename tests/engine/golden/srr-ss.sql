SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1904.14 +/- 202.1 | 96784.1 +/- 1.171e+04 | 50.8283 +/- 3.146

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 390.901 +/- 95.81
54 | 366.109 +/- 94.86
56 | 357.845 +/- 94.54
48 | 316.525 +/- 92.91

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 661.543 +/- 115.9
2026-03-02 | 705.141 +/- 120.7
2026-03-03 | 542.075 +/- 113.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism srr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: srr-ss, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 202.3
    standard error of these reports: 202.1
    marginal of age (20 nodes, grr): nodes 4..11
  SUM(pay), public
    predicted standard error: 202.3 per unit of the public column
    standard error of these reports: 1.171e+04
    marginal of age (20 nodes, grr): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism srr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
