SELECT COUNT(*), SUM(pay), 100 * AVG(pay) - 3 FROM app WHERE age >= 38
----------------------------------------
2611.81 +/- 360.7 | 127097 +/- 3.874e+04 | 4863.23 +/- 1628

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age >= 38
----------------------------------------
survey app: ahio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {38..57}
  COUNT(*)
    predicted standard error: 363.2 (95 % interval: ± 711.8)
    standard error of these reports: 360.7 (95 % interval: ± 707)
    one forged report can add up to 47.8 people, or take away up to 6.87
    group 1 (age level 1, state level 0; 5 nodes, olh): nodes 3..4
    group 3 (age level 2, state level 0; 20 nodes, olh): nodes 10..11
  SUM(pay)
    predicted standard error: 3.761e+04 (95 % interval: ± 7.371e+04)
    standard error of these reports: 3.874e+04 (95 % interval: ± 7.593e+04)
    one forged report can add up to 5140, or take away up to 714
    group 7 (age level 1, state level 0, sign of pay; 10 nodes, olh): nodes 3..4, 8..9
    group 9 (age level 2, state level 0, sign of pay; 40 nodes, olh): nodes 10..11, 30..31

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app JOIN (VALUES (20, 41), (38, 57)) AS b(low, high) ON age >= low AND age <= high
----------------------------------------
survey app: ahio, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {20..37, 42..57}, match_of_b in {1}
  box: age in {38..41}
  COUNT(*)
    predicted standard error: 665.3 (95 % interval: ± 1304)
    standard error of these reports: 666.7 (95 % interval: ± 1307)
    one forged report can add up to 105 people, or take away up to 31.1
    group 1 (age level 1, state level 0; 5 nodes, olh): nodes 1, 3..4
    group 3 (age level 2, state level 0; 20 nodes, olh): nodes 1..3, 8..11
  SUM(pay)
    predicted standard error: 7.236e+04 (95 % interval: ± 1.418e+05)
    standard error of these reports: 7.514e+04 (95 % interval: ± 1.473e+05)
    one forged report can add up to 11300, or take away up to 3360
    group 7 (age level 1, state level 0, sign of pay; 10 nodes, olh): nodes 1, 3..4, 6, 8..9
    group 9 (age level 2, state level 0, sign of pay; 40 nodes, olh): nodes 1..3, 8..11, 21..23, 28..31

SELECT COUNT(*) FROM app WHERE state IN (SELECT s FROM (VALUES ('CA'), (NULL)) AS v(s)) AND age < 38
----------------------------------------
1078.6 +/- 386.2
