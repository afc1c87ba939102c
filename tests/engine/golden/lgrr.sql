SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
1984 +/- 122.9 | 91200 +/- 8453 | 45.9677 +/- 5.206
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
42 | 298
44 | 298
46 | 298
48 | 298
note: no error bar for n: it has a bias of which reports do not tell the size
note: age is collected in bins, each shown by its lower end: 18 is 18..19
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 672 +/- 71.52
2026-03-02 | 736 +/- 74.76
2026-03-03 | 576 +/- 66.51
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
3440
note: no error bar for COUNT(*): it has a bias of which reports do not tell the size
note: app: estimator by_share is biased: leaves are answered as even shares of their parents
note: app: not differentially private (lgrr)

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: lgrr, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 123.3 (95 % interval: ± 241.6)
    standard error of these reports: 122.9 (95 % interval: ± 240.9)
    one forged report can add up to 8 people
    group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
    leaves answered from parents, by their share of codes
  SUM(pay)
    predicted standard error: 8832 (95 % interval: ± 1.731e+04)
    standard error of these reports: 8453 (95 % interval: ± 1.657e+04)
    one forged report can add up to 800
    group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7
    leaves answered from parents, by their share of codes
COUNT(*): one forged report can add up to 8
SUM(pay): one forged report can add up to 800
AVG(pay): one forged report can add up to 0.403, or take away up to 0.185

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: lgrr, no epsilon holds (nominal 2)
guarantee: not differentially private
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    no error: leaves are answered as even shares of their parents
    one forged report can add up to 8 people
    group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
    group 6 (age level 1, state level 1; 10 nodes): nodes 3, 5
    leaves answered from parents, by their share of codes
