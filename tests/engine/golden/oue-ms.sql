SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2205.3 +/- 255.4 | 104124 +/- 1.481e+04 | 47.2153 +/- 3.409

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
34 | 395.919 +/- 93.99
40 | 390.633 +/- 93.89
20 | 358.917 +/- 93.26
22 | 337.773 +/- 92.83
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 576.179 +/- 148.3
2026-03-02 | 788.599 +/- 149
2026-03-03 | 829.734 +/- 145.2

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
    predicted standard error: 253.6 (95 % interval: ± 497.1)
    standard error of these reports: 255.4 (95 % interval: ± 500.6)
    one forged report can add up to 36.8 people, or take away up to 5.49
    marginal of age (20 nodes, oue): nodes 4..11
  SUM(pay), public
    predicted standard error: 253.6 (95 % interval: ± 497.1) per unit of the public column
    standard error of these reports: 1.481e+04 (95 % interval: ± 2.902e+04)
    one forged report can add up to 37.2, or take away up to 5.04 per unit of the public column
    marginal of age (20 nodes, oue): nodes 4..11
  COUNT(pay), public
    predicted standard error: 253.6 (95 % interval: ± 497.1) per unit of the public column
    standard error of these reports: 255.4 (95 % interval: ± 500.6)
    one forged report can add up to 37.2, or take away up to 5.04 per unit of the public column
    marginal of age (20 nodes, oue): nodes 4..11
COUNT(*): one forged report can add up to 36.8, or take away up to 5.49
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
