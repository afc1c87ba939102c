SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2133.07 +/- 132.4
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
44 | 615.29 +/- 202.3
34 | 305.995 +/- 187.6
50 | 289.489 +/- 258.5
54 | 269.701 +/- 65.28
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3339.93 +/- 170.6
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: ahead, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 131.8
    standard error of these reports: 132.4
    adaptive grids of 38 leaves, round 5 of 5
    biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias
