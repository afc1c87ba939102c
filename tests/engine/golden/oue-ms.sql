SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2061.96 +/- 255.6 | 99284.4 +/- 1.485e+04 | 48.1506 +/- 3.671

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
54 | 537.17 +/- 97.03
38 | 425.4 +/- 94.89
44 | 393.466 +/- 94.27
20 | 345.564 +/- 93.31

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 611.032 +/- 144.1
2026-03-02 | 735.917 +/- 152.3
2026-03-03 | 716.581 +/- 146.5

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
    standard error of these reports: 255.6
    marginal of age (20 nodes, oue): nodes 4..11
  SUM(pay), public
    predicted standard error: 253.6 per unit of the public column
    standard error of these reports: 1.485e+04
    marginal of age (20 nodes, oue): nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
