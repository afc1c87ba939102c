SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2074.6 +/- 184.7 | 113121 +/- 1.088e+04 | 54.5267 +/- 2.632

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
34 | 420.504 +/- 81.6
28 | 385.966 +/- 80.48
44 | 380.209 +/- 80.29
20 | 305.376 +/- 77.78

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 671.538 +/- 105.4
2026-03-02 | 718.025 +/- 108.3
2026-03-03 | 685.033 +/- 106.3

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
    standard error of these reports: 184.7
    24 cells of 2 marginals, grr: nodes 4..11
  SUM(pay), public
    predicted standard error: 184.1 per unit of the public column
    standard error of these reports: 1.088e+04
    24 cells of 2 marginals, grr: nodes 4..11

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
