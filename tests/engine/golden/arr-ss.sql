SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2638.72 +/- 188.2 | 129982 +/- 1.093e+04 | 49.2594 +/- 2.088

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
28 | 391.722 +/- 80.67
38 | 380.209 +/- 80.29
34 | 362.94 +/- 79.72
32 | 339.914 +/- 78.95

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 867.256 +/- 107.6
2026-03-02 | 850.422 +/- 109.8
2026-03-03 | 921.047 +/- 108.8

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: arr-ss, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 184.1
    standard error of these reports: 188.2
    24 cells of 2 marginals, grr: nodes 4..11
  SUM(pay), public
    predicted standard error: 184.1 per unit of the public column
    standard error of these reports: 1.093e+04
    24 cells of 2 marginals, grr: nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
