SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2046.02 +/- 133.9
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
30 | 607.246 +/- 194.2
36 | 541.98 +/- 191
44 | 371.238 +/- 190
54 | 359.196 +/- 194.7
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3142.09 +/- 248.2
note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: ahead, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 133.7
    standard error of these reports: 133.9
    adaptive grids of 41 leaves, round 5 of 5
    biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias
