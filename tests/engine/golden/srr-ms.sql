SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1996.72 +/- 201.6 | 110889 +/- 1.18e+04 | 55.5353 +/- 3.001

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
48 | 438.004 +/- 97.16
56 | 380.661 +/- 95
34 | 356.085 +/- 94.05
52 | 323.317 +/- 92.77
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 567.185 +/- 115.1
2026-03-02 | 799.867 +/- 117.4
2026-03-03 | 625.365 +/- 116.7

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism srr-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: srr-ms, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 202.3 (95 % interval: ± 396.6)
    standard error of these reports: 201.6 (95 % interval: ± 395.1)
    one forged report can add up to 5.31 people, or take away up to 2.88
    marginal of age (20 nodes, grr): nodes 4..11
  SUM(pay), public
    predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
    standard error of these reports: 1.18e+04 (95 % interval: ± 2.313e+04)
    one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
    marginal of age (20 nodes, grr): nodes 4..11
  COUNT(pay), public
    predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
    standard error of these reports: 201.6 (95 % interval: ± 395.1)
    one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
    marginal of age (20 nodes, grr): nodes 4..11
COUNT(*): one forged report can add up to 5.31, or take away up to 2.88
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism srr-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
