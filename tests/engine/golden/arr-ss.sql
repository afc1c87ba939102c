SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1930.68 +/- 183.7 | 106092 +/- 1.079e+04 | 54.9505 +/- 2.77

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
50 | 362.94 +/- 79.72
22 | 357.184 +/- 79.52
54 | 339.914 +/- 78.95
44 | 316.889 +/- 78.17
note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 452.793 +/- 102.7
2026-03-02 | 913.743 +/- 110.4
2026-03-03 | 564.148 +/- 104.9

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
    predicted standard error: 184.1 (95 % interval: ± 360.9)
    standard error of these reports: 183.7 (95 % interval: ± 360.1)
    one forged report can add up to 4.5 people, or take away up to 1.25
    24 cells of 2 marginals, grr: nodes 4..11
  SUM(pay), public
    predicted standard error: 184.1 (95 % interval: ± 360.9) per unit of the public column
    standard error of these reports: 1.079e+04 (95 % interval: ± 2.114e+04)
    one forged report can add up to 4.5, or take away up to 1.25 per unit of the public column
    24 cells of 2 marginals, grr: nodes 4..11
  COUNT(pay), public
    predicted standard error: 184.1 (95 % interval: ± 360.9) per unit of the public column
    standard error of these reports: 183.7 (95 % interval: ± 360.1)
    one forged report can add up to 4.5, or take away up to 1.25 per unit of the public column
    24 cells of 2 marginals, grr: nodes 4..11
COUNT(*): one forged report can add up to 4.5, or take away up to 1.25
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
