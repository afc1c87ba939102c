SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1924.5 +/- 190.2 | 105020 +/- 1.114e+04 | 54.57 +/- 2.934

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
46 | 352.172 +/- 83.44
36 | 352.172 +/- 83.44
32 | 333.073 +/- 83.05
56 | 323.524 +/- 82.85
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 689.469 +/- 110.1
2026-03-02 | 737.227 +/- 112.8
2026-03-03 | 505.747 +/- 106.6

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
    predicted standard error: 193.5 (95 % interval: ± 379.2)
    standard error of these reports: 190.2 (95 % interval: ± 372.8)
    one forged report can add up to 9.83 people, or take away up to 4.49
    marginal of age (20 nodes, solh): nodes 4..11
  SUM(pay), public
    predicted standard error: 193.5 (95 % interval: ± 379.2) per unit of the public column
    standard error of these reports: 1.114e+04 (95 % interval: ± 2.184e+04)
    one forged report can add up to 10.2, or take away up to 4.13 per unit of the public column
    marginal of age (20 nodes, solh): nodes 4..11
  COUNT(pay), public
    predicted standard error: 193.5 (95 % interval: ± 379.2) per unit of the public column
    standard error of these reports: 190.2 (95 % interval: ± 372.8)
    one forged report can add up to 10.2, or take away up to 4.13 per unit of the public column
    marginal of age (20 nodes, solh): nodes 4..11
COUNT(*): one forged report can add up to 9.83, or take away up to 4.49
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
