SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2023.68 +/- 276.7 | 107673 +/- 1.612e+04 | 53.2066 +/- 4.001

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
22 | 474.561 +/- 100.7
34 | 426.647 +/- 100.3
40 | 417.935 +/- 100.2
18 | 370.022 +/- 99.82
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 482.162 +/- 161.6
2026-03-02 | 749.676 +/- 161.2
2026-03-03 | 778.75 +/- 156.6

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
    predicted standard error: 275.8 (95 % interval: ± 540.5)
    standard error of these reports: 276.7 (95 % interval: ± 542.3)
    one forged report can add up to 25.1 people, or take away up to 9.78
    marginal of age (20 nodes, sue): nodes 4..11
  SUM(pay), public
    predicted standard error: 275.8 (95 % interval: ± 540.5) per unit of the public column
    standard error of these reports: 1.612e+04 (95 % interval: ± 3.159e+04)
    one forged report can add up to 25.5, or take away up to 9.37 per unit of the public column
    marginal of age (20 nodes, sue): nodes 4..11
  COUNT(pay), public
    predicted standard error: 275.8 (95 % interval: ± 540.5) per unit of the public column
    standard error of these reports: 276.7 (95 % interval: ± 542.3)
    one forged report can add up to 25.5, or take away up to 9.37 per unit of the public column
    marginal of age (20 nodes, sue): nodes 4..11
COUNT(*): one forged report can add up to 25.1, or take away up to 9.78
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
