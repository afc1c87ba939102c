SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
1590.07 +/- 44.61 | 80400.3 +/- 2620 | 50.5641 +/- 0.8452

SELECT member, COUNT(*) AS n FROM app GROUP BY member ORDER BY n DESC LIMIT 4
----------------------------------------
False | 3409.93 +/- 44.61
True | 1590.07 +/- 44.61

SELECT day, COUNT(*) FROM app WHERE member GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 527.602 +/- 25.54
2026-03-02 | 569.132 +/- 26.3
2026-03-03 | 493.333 +/- 25.43

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
----------------------------------------
survey app: ft, epsilon 2
guarantee: 2-LDP
reports: all reports (5000)
  box: member in {True}
  COUNT(*)
    predicted standard error: 46.42 (95 % interval: ± 90.99)
    standard error of these reports: 44.61 (95 % interval: ± 87.44)
    one forged report can add up to 1.16 people, or take away up to 0.157
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
  SUM(pay), public
    predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
    standard error of these reports: 2620 (95 % interval: ± 5134)
    one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
  COUNT(pay), public
    predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
    standard error of these reports: 44.61 (95 % interval: ± 87.44)
    one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
    known exactly: 0.5 x all reports
    parity of member (2 nodes, grr): nodes 0..1
COUNT(*): one forged report can add up to 1.16, or take away up to 0.157
SUM(pay): nothing limits what one forged report can do
AVG(pay): nothing limits what one forged report can do
