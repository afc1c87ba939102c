SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1887.49 +/- 133
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
26 | 516.443 +/- 192.7
28 | 483.843 +/- 191.4
50 | 468.613 +/- 200.4
48 | 438.034 +/- 259.9
note: age is collected in bins, each shown by its lower end: 18 is 18..19
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3262.64 +/- 169.1
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: ahead, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    standard error of these reports: 133 (95 % interval: ± 260.6)
    one forged report can add up to 2.7 people, or take away up to 1.25
    adaptive grids of 47 leaves, round 5 of 5
    biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias
