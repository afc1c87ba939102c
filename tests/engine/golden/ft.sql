SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
1643.9 +/- 44.82 | 81802.2 +/- 2624 | 49.761 +/- 0.8176

SELECT member, COUNT(*) AS n FROM app GROUP BY member ORDER BY n DESC LIMIT 4
----------------------------------------
False | 3356.1 +/- 44.82
True | 1643.9 +/- 44.82

SELECT day, COUNT(*) FROM app WHERE member GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 548.61 +/- 25.68
2026-03-02 | 554.689 +/- 26.2
2026-03-03 | 540.602 +/- 25.77

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
survey app: ft, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: member in {True}
  COUNT(*)
    predicted standard error: 46.42
    standard error of these reports: 44.82
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
  SUM(pay), public
    predicted standard error: 46.42 per unit of the public column
    standard error of these reports: 2624
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
