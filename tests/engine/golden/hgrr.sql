SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38
----------------------------------------
2409.83 +/- 343.8 | 143700 +/- 4.496e+04 | 59.6308 +/- 20.51
note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate

EXPLAIN SELECT AVG(pay) FROM app WHERE state = 'NY' GROUP BY age
----------------------------------------
survey app: hgrr, epsilon 2
guarantee: 2-LDP
private groups: 20 rows; the first is shown
reports: all reports (5000)
  box: state in {NY}
  group: 18
  SUM(pay)
    predicted standard error: 4.813e+04 (95 % interval: ± 9.434e+04)
    standard error of these reports: 4.705e+04 (95 % interval: ± 9.222e+04)
    one forged report can add up to 27500, or take away up to 122
    group 10 (age level 2, state level 1, sign of pay; 160 nodes, grr): nodes 1, 81
  COUNT(*)
    predicted standard error: 352.3 (95 % interval: ± 690.5)
    standard error of these reports: 484.9 (95 % interval: ± 950.4)
    one forged report can add up to 168 people, or take away up to 3.36
    group 9 (age level 2, state level 1; 80 nodes, grr): nodes 1
AVG(pay): nothing limits what one forged report can do

SELECT AVG(age // 10 * 10) AS decade, COUNT_IF(age % 4 < 2) / COUNT(*) AS share FROM app
----------------------------------------
33.3547 +/- 3.323 | 0.562003 +/- 0.09942
