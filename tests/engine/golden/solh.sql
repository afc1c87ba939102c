SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2039.06 +/- 193 | 96037 +/- 1.121e+04 | 47.0986 +/- 2.833

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
40 | 366.969 +/- 84.84
42 | 332.669 +/- 84.12
18 | 332.669 +/- 84.12
30 | 308.17 +/- 83.6

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 518.648 +/- 109.1
2026-03-02 | 703.361 +/- 112.7
2026-03-03 | 819.845 +/- 112.4

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
    standard error of these reports: 193
    marginal of age (20 nodes, solh): nodes 4..11
  SUM(pay), public
    predicted standard error: 193.5 per unit of the public column
    standard error of these reports: 1.121e+04
    marginal of age (20 nodes, solh): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
