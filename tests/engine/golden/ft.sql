SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
1587.44 +/- 44.6 | 80499.2 +/- 2620 | 50.71 +/- 0.8466

SELECT member, COUNT(*) AS n FROM app GROUP BY member ORDER BY n DESC LIMIT 4
----------------------------------------
False | 3412.56 +/- 44.6
True | 1587.44 +/- 44.6

SELECT day, COUNT(*) FROM app WHERE member GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 565.68 +/- 25.78
2026-03-02 | 521.863 +/- 25.97
2026-03-03 | 499.898 +/- 25.48

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
survey app: ft, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: member in {True}
  COUNT(*)
    predicted standard error: 46.42
    standard error of these reports: 44.6
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
  SUM(pay), public
    predicted standard error: 46.42 per unit of the public column
    standard error of these reports: 2620
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
