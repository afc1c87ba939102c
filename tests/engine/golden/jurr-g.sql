SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
2154.55 +/- 376.2 | 130462 +/- 2.209e+04 | 60.5519 +/- 5.438

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
----------------------------------------
32 | 451.78 +/- 185.6
36 | 446.101 +/- 175.1
20 | 445.155 +/- 173.6
48 | 418.005 +/- 176.2

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
----------------------------------------
2026-03-01 | 731.781 +/- 213.8
2026-03-02 | 813.366 +/- 225
2026-03-03 | 609.407 +/- 216.2

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
2807.16 +/- 352.3

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
----------------------------------------
survey app: jurr-g, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {26..41}
  COUNT(*)
    predicted standard error: 365
    standard error of these reports: 376.2
    32 of 20 x 4 cells
  SUM(pay), public
    predicted standard error: 365 per unit of the public column
    standard error of these reports: 2.209e+04
    32 of 20 x 4 cells

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
----------------------------------------
survey app: jurr-g, epsilon 2
guarantee: 2-ULDP per attribute
reports: all reports (5000)
  box: age in {18..25, 42..57}
  box: age in {26..41}, state in {NULL}
  COUNT(*)
    predicted standard error: 338
    standard error of these reports: 352.3
    56 of 20 x 4 cells
