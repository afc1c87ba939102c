SELECT COUNT(*) FROM app
ehio          | 5000 +/- 0
fourier       | 5000 +/- 0

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
arr-ss        | 1930.68 +/- 183.7 | 106092 +/- 1.079e+04 | 54.9505 +/- 2.77
cprr          | 1837.74 +/- 468.1 | 91604.5 +/- 2.724e+04 | 49.8462 +/- 7.333
ehio          | 2113.82 +/- 249.2 | 84202.5 +/- 2.453e+04 | 39.8343 +/- 12.52
ehio          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
fourier       | 1985.46 +/- 197.8 | 88650 +/- 1.553e+04 | 44.6496 +/- 6.057
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
graded        | 1634.92 +/- 467.5 | 66431.6 +/- 2.713e+04 | 40.6329 +/- 8.817
grr           | 2286.47 +/- 903 | 144273 +/- 7.413e+04 | 63.0985 +/- 26.01
grr           | note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
grr           | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
hi            | 2964.8 +/- 906 | -29910.9 +/- 9.64e+04 | 0 +/- 32.66
hi            | note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
hi            | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
hrr           | 336.137 +/- 742.7 | 71429.1 +/- 5.251e+04 | None +/- nan
hrr           | note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports
hrr           | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
jd-grr        | 1837.74 +/- 468.1 | 91604.5 +/- 2.724e+04 | 49.8462 +/- 7.333
jurr          | 2548.71 +/- 386.2 | 137260 +/- 2.266e+04 | 53.8545 +/- 4.123
jurr-g        | 2548.71 +/- 386.2 | 137260 +/- 2.266e+04 | 53.8545 +/- 4.123
lgrr          | 1984 +/- 122.9 | 91200 +/- 8453 | 45.9677 +/- 5.206
lgrr          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
lgrr          | note: app: estimator by_share is biased: leaves are answered as even shares of their parents
lgrr          | note: app: not differentially private (lgrr)
lgrr-fd       | 2188.31 +/- 170.3 | 112031 +/- 1.3e+04 | 51.1952 +/- 7.227
lgrr-fd       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
lgrr-fd       | note: app: not differentially private (lgrr-fd)
lgrr-repaired | 1777.18 +/- 388.5 | 126087 +/- 4.047e+04 | 70.9477 +/- 27.55
lgrr-repaired | note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
lgrr-repaired | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
olh           | 1901.72 +/- 375.7 | 78968.8 +/- 3.045e+04 | 41.5249 +/- 12.73
olh           | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
oue           | 2413.53 +/- 485.1 | 156391 +/- 3.442e+04 | 64.7976 +/- 10.49
oue           | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
oue-ms        | 2205.3 +/- 255.4 | 104124 +/- 1.481e+04 | 47.2153 +/- 3.409
psrr-ss       | 1996.72 +/- 201.6 | 110889 +/- 1.18e+04 | 55.5353 +/- 3.001
solh          | 1924.5 +/- 190.2 | 105020 +/- 1.114e+04 | 54.57 +/- 2.934
srr-ms        | 1996.72 +/- 201.6 | 110889 +/- 1.18e+04 | 55.5353 +/- 3.001
srr-ss        | 1996.72 +/- 201.6 | 110889 +/- 1.18e+04 | 55.5353 +/- 3.001
staircase     | 2007.17 +/- 119.6 | 87857.2 +/- 9867 | 43.7716 +/- 3.967
sue-ms        | 2023.68 +/- 276.7 | 107673 +/- 1.612e+04 | 53.2066 +/- 4.001
tdrr          | 1646.09 +/- 437.3 | 88106.2 +/- 2.546e+04 | 53.5244 +/- 8.083
truthful      | 1634.92 +/- 467.4 | 66431.6 +/- 2.712e+04 | 40.6329 +/- 8.814

SELECT state, COUNT(*) AS n, AVG(pay) FROM app GROUP BY state ORDER BY n DESC
ehio          | CA | 1837.25 +/- 216 | 36.7616 +/- 11.57
ehio          | NY | 1768.31 +/- 214 | 42.4759 +/- 12.45
ehio          | WA | 757.141 +/- 176.1 | 42.5454 +/- 25.75
ehio          | None | 688.198 +/- 172.8 | 79.8074 +/- 34.27
ehio          | note: AVG(pay) (in 2 of 4 rows): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
ehio          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
fourier       | CA | 1966.29 +/- 114 | 50.8624 +/- 3.582
fourier       | NY | 1562.19 +/- 110.5 | 42.5879 +/- 4.336
fourier       | WA | 999.841 +/- 104.9 | 52.0043 +/- 6.329
fourier       | None | 471.676 +/- 98.89 | 52.9387 +/- 12.44
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

SELECT bin(age, 10), COUNT(*) FROM app WHERE state IN ('CA', 'NY') GROUP BY bin(age, 10)
ehio          | 10 | -31.1702 +/- 282.2
ehio          | 20 | 676.186 +/- 609.3
ehio          | 30 | 735.618 +/- 610.2
ehio          | 40 | 568.076 +/- 389.8
ehio          | 50 | 536.795 +/- 267.4
fourier       | 10 | 30.2019 +/- 199.8
fourier       | 20 | 902.149 +/- 265.3
fourier       | 30 | 1012.22 +/- 265.1
fourier       | 40 | 905.667 +/- 264.9
fourier       | 50 | 678.244 +/- 257.3

SELECT day, COUNT(*), SUM(pay) FROM app WHERE age < 40 GROUP BY day ORDER BY day
ehio          | 2026-03-01 | 1133.57 +/- 243.6 | 31581.8 +/- 2.412e+04
ehio          | 2026-03-02 | 1167.48 +/- 249 | 50262.5 +/- 2.4e+04
ehio          | 2026-03-03 | 748.105 +/- 231.3 | 20749.9 +/- 2.311e+04
ehio          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
fourier       | 2026-03-01 | 969.104 +/- 113.8 | 49651.1 +/- 9198
fourier       | 2026-03-02 | 1155.64 +/- 116.3 | 57693.7 +/- 9376
fourier       | 2026-03-03 | 970.629 +/- 114.7 | 54778.2 +/- 9282
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

SELECT STDERR(COUNT(*)), CI_LOW(SUM(pay), 0.9), CI_HIGH(SUM(pay), 0.9) FROM app WHERE state IS NULL
ehio          | 172.784 | 23446 | 86400.5
ehio          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
fourier       | 98.8938 | 12356.9 | 37583
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age BETWEEN 26 AND 41 AND NOT state = 'CA'
ehio          | survey app: ehio, epsilon 2
ehio          | guarantee: 2-LDP
ehio          | reports: all reports (5000)
ehio          |   box: age in {26..41}, state in {NY, WA}
ehio          |   COUNT(*)
ehio          |     predicted standard error: 360.2 (95 % interval: ± 705.9)
ehio          |     standard error of these reports: 356.2 (95 % interval: ± 698.1)
ehio          |     one forged report can add up to 40 people, or take away up to 13.3
ehio          |     group 5 (age level 1, state level 1; 20 nodes, olh): nodes 5..6, 9..10
ehio          |   SUM(pay)
ehio          |     predicted standard error: 3.758e+04 (95 % interval: ± 7.366e+04)
ehio          |     standard error of these reports: 3.856e+04 (95 % interval: ± 7.557e+04)
ehio          |     one forged report can add up to 7430, or take away up to 1440
ehio          |     group 6 (age level 1, state level 1, sign of pay; 40 nodes, olh): nodes 5..6, 9..10, 25..26, 29..30
fourier       | survey app: fourier, epsilon 2
fourier       | guarantee: 2-LDP
fourier       | reports: all reports (5000)
fourier       |   box: age in {26..41}, state in {NY, WA}
fourier       |   COUNT(*)
fourier       |     predicted standard error: 273.2 (95 % interval: ± 535.5)
fourier       |     standard error of these reports: 273.7 (95 % interval: ± 536.5)
fourier       |     one forged report can add up to 36.1 people, or take away up to 34.3
fourier       |     table age x state of 20 x 4 cells, box of 8 x 2
fourier       |   SUM(pay)
fourier       |     predicted standard error: 2.008e+04 (95 % interval: ± 3.935e+04)
fourier       |     standard error of these reports: 2.009e+04 (95 % interval: ± 3.938e+04)
fourier       |     one forged report can add up to 3150, or take away up to 2190
fourier       |     table age x state of 20 x 4 cells, box of 8 x 2
fourier       |     with the sign of pay

EXPLAIN VERBOSE SELECT COUNT(*) FROM app WHERE age < 30 AND state = 'CA' OR age >= 50 AND day > DATE '2026-03-01'
ehio          | after boxes:
ehio          |   reports: ("day" > DATE '2026-03-01')
ehio          |     box: age in {50..57}
ehio          |     box: age in {18..29}, state in {CA}
ehio          |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE
ehio          |     box: age in {18..29}, state in {CA}
ehio          | after disjoin:
ehio          |   reports: ("day" > DATE '2026-03-01')
ehio          |     box: age in {18..29}, state in {CA}
ehio          |     box: age in {50..57}
ehio          |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE
ehio          |     box: age in {18..29}, state in {CA}
ehio          | after cells:
ehio          |   survey app: ehio, epsilon 2
ehio          |   guarantee: 2-LDP
ehio          |   reports: ("day" > DATE '2026-03-01') (3371)
ehio          |     box: age in {18..29}, state in {CA}
ehio          |     box: age in {50..57}
ehio          |     COUNT(*)
ehio          |       predicted standard error: 319.8 (95 % interval: ± 626.8)
ehio          |       standard error of these reports: 339.2 (95 % interval: ± 664.9)
ehio          |       one forged report can add up to 58.5 people, or take away up to 6.7
ehio          |       group 3 (age level 1, state level 0; 5 nodes, olh): nodes 4
ehio          |       group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
ehio          |       group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
ehio          |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
ehio          |     box: age in {18..29}, state in {CA}
ehio          |     COUNT(*)
ehio          |       predicted standard error: 193.2 (95 % interval: ± 378.6)
ehio          |       standard error of these reports: 201.6 (95 % interval: ± 395.2)
ehio          |       one forged report can add up to 41.6 people, or take away up to 8.06
ehio          |       group 5 (age level 1, state level 1; 20 nodes, olh): nodes 0
ehio          |       group 9 (age level 2, state level 1; 80 nodes, olh): nodes 16, 20
fourier       | after boxes:
fourier       |   reports: ("day" > DATE '2026-03-01')
fourier       |     box: age in {50..57}
fourier       |     box: age in {18..29}, state in {CA}
fourier       |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE
fourier       |     box: age in {18..29}, state in {CA}
fourier       | after disjoin:
fourier       |   reports: ("day" > DATE '2026-03-01')
fourier       |     box: age in {18..29}, state in {CA}
fourier       |     box: age in {50..57}
fourier       |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE
fourier       |     box: age in {18..29}, state in {CA}
fourier       | after cells:
fourier       |   survey app: fourier, epsilon 2
fourier       |   guarantee: 2-LDP
fourier       |   reports: ("day" > DATE '2026-03-01') (3371)
fourier       |     box: age in {18..29}, state in {CA}
fourier       |     box: age in {50..57}
fourier       |     COUNT(*)
fourier       |       predicted standard error: 223.6 (95 % interval: ± 438.3)
fourier       |       standard error of these reports: 227.2 (95 % interval: ± 445.4)
fourier       |       one forged report can add up to 25.8 people, or take away up to 21.5
fourier       |       table age x state of 20 x 4 cells, box of 6 x 1
fourier       |       table age of 20 cells, box of 4
fourier       |   reports: ("day" > DATE '2026-03-01') IS NOT TRUE (1629)
fourier       |     box: age in {18..29}, state in {CA}
fourier       |     COUNT(*)
fourier       |       predicted standard error: 125.6 (95 % interval: ± 246.2)
fourier       |       standard error of these reports: 129 (95 % interval: ± 252.8)
fourier       |       one forged report can add up to 25.2 people, or take away up to 20.4
fourier       |       table age x state of 20 x 4 cells, box of 6 x 1

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 40 AND 21
ehio          | survey app: ehio, epsilon 2
ehio          | guarantee: 2-LDP
ehio          | reports: all reports (5000)
ehio          |   no box: nothing can match, an exact 0
fourier       | survey app: fourier, epsilon 2
fourier       | guarantee: 2-LDP
fourier       | reports: all reports (5000)
fourier       |   no box: nothing can match, an exact 0

SELECT AVG(state = 'NY') AS share, SUM(pay * length(state)) AS letters, AVG(age // 10 * 10) AS decade FROM app
fourier       | 0.344983 +/- 0.02307 | 437074 +/- 2.244e+04 | 31.5598 +/- 1.093
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

SELECT COUNT(*), COUNT_IF(state LIKE '%A') AS n FROM app WHERE age % 4 < 2
fourier       | 2848.68 +/- 380 | 995.013 +/- 557.5

SELECT region, COUNT(*), AVG(pay), SUM(big) FROM app LEFT JOIN (VALUES ('CA', 'west', 39), ('WA', 'west', 8), ('NY', 'east', 19)) AS r(state, region, big) USING (state) WHERE age >= 30 GROUP BY region
fourier       | east | 984.161 +/- 234.1 | 51.2449 +/- 12.68 | 18699.1 +/- 4447
fourier       | west | 2333.47 +/- 278.5 | 45.7207 +/- 6.624 | 68638.8 +/- 8930
fourier       | None | -3.90717 +/- 221.5 | None +/- nan | 0 +/- 0
fourier       | note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

SELECT tag, COUNT(*) FROM app, (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) WHERE state = code GROUP BY tag
fourier       | sea | 2966.13 +/- 122
fourier       | sun | 1966.29 +/- 114
fourier       | note: up to 2 rows of t match one person, who counts once for each

EXPLAIN SELECT tag, COUNT(*) FROM app JOIN (VALUES ('CA', 'sun'), ('CA', 'sea'), ('WA', 'sea')) AS t(code, tag) ON state = code GROUP BY tag
fourier       | survey app: fourier, epsilon 2
fourier       | guarantee: 2-LDP
fourier       | private groups: 2 rows; the first is shown
fourier       | reports: all reports (5000)
fourier       |   box: state in {CA}
fourier       |   box: state in {WA}, match_of_t in {1}
fourier       |   group: sea
fourier       |   COUNT(*)
fourier       |     predicted standard error: 122.1 (95 % interval: ± 239.4)
fourier       |     standard error of these reports: 122 (95 % interval: ± 239.1)
fourier       |     one forged report can add up to 3.42 people, or take away up to 2.42
fourier       |     table state of 4 cells, box of 2

SELECT VAR_POP(age // 2), STDDEV(age // 2), VAR_POP(age) FILTER (WHERE state = 'NY') FROM app
fourier       | refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; GROUP BY age, of which the bins are told apart
hio           | refused: this has no exact answer: it is not the same for all values of age in 18..19, which share one code at 1:53; GROUP BY age, of which the bins are told apart

SELECT STDDEV(age // 2), REGR_SLOPE(pay, age // 2), CORR(age // 2, length(state)) FROM app
fourier       | 5.84134 +/- 0.1704 | -0.827222 +/- 0.8434 | None +/- nan
fourier       | note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports
fourier       | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody
hio           | 5.9615 +/- 0.3218 | -0.280208 +/- 0.5757 | None +/- nan
hio           | note: 1 value is NULL: too few reports, or a denominator that cannot be told from zero; ask about more people (a wider range, fewer groups), or collect more reports

SELECT state, COVAR_SAMP(age // 2, age // 4) FROM app GROUP BY state
fourier       | CA | 19.2191 +/- 3.15
fourier       | NY | 17.1894 +/- 3.485
fourier       | WA | 19.2373 +/- 6.506
fourier       | None | -4.73597 +/- 48.04
hio           | CA | 1.19818 +/- 10.58
hio           | NY | 20.3163 +/- 7.648
hio           | WA | 4.95862 +/- 9.445
hio           | None | -6.20121 +/- 25.3

SELECT MEDIAN(age), QUANTILE_DISC(age, 0.9) FILTER (WHERE state = 'NY'), MODE(age) FROM app
fourier       | 36 +/- 1.276 | 48 +/- 4.337 | 28 +/- 9.949
fourier       | note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
hio           | 36 +/- 1.786 | 52 +/- 6.888 | 48 +/- 9.949
hio           | note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one

SELECT state, QUANTILE_CONT(age, [0.25, 0.75]) AS q FROM app GROUP BY state
fourier       | CA | 28 +/- 5.165 | 52 +/- 4.716
fourier       | NY | 28 +/- 4.743 | 46 +/- 5.647
fourier       | WA | 34 +/- 7.451 | 50 +/- 6.547
fourier       | None | 18 +/- 7.857 | 32 +/- 8.755
fourier       | note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
fourier       | note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level
hio           | CA | 30 +/- 3.813 | 48 +/- 4.262
hio           | NY | 28 +/- 5.61 | 46 +/- 6.508
hio           | WA | 28 +/- 8.754 | 46 +/- 6.509
hio           | None | 30 +/- 8.299 | 48 +/- 7.85
hio           | note: age is collected in bins: a quantile or mode of it is the lower end of one, and the interval ends at the upper end of one
hio           | note: the intervals of QUANTILE_CONT(age, [0.25, 0.75]) hold together at their level

SELECT HISTOGRAM(state) FROM app
fourier       | CA | 1966.29 +/- 114
fourier       | NY | 1562.19 +/- 110.5
fourier       | WA | 999.841 +/- 104.9
hio           | CA | 1889.81 +/- 148.5
hio           | NY | 1566.54 +/- 141.9
hio           | WA | 963.091 +/- 126.5

SELECT CDF(age, 27), MAX(age) FROM app
fourier       | refused: MAX depends on single people, whom reports do not reveal at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize
hio           | refused: MAX depends on single people, whom reports do not reveal at 1:22; ask QUANTILE_DISC(age, 0.99), or make a table with ldpsql synthesize

SELECT CDF(age, 27) FROM app
fourier       | 0.220667 +/- 0.03729
hio           | 0.243443 +/- 0.03697

SELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY n DESC LIMIT 4
ahead         | 26 | 516.443 +/- 192.7
ahead         | 28 | 483.843 +/- 191.4
ahead         | 50 | 468.613 +/- 200.4
ahead         | 48 | 438.034 +/- 259.9
ahead         | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
ahead         | note: age is collected in bins, each shown by its lower end: 18 is 18..19
ahead         | note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias
arr-ss        | 50 | 362.94 +/- 79.72
arr-ss        | 22 | 357.184 +/- 79.52
arr-ss        | 54 | 339.914 +/- 78.95
arr-ss        | 44 | 316.889 +/- 78.17
arr-ss        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
arr-ss        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
cprr          | 42 | 601.557 +/- 214.7
cprr          | 36 | 493.385 +/- 213.1
cprr          | 54 | 425.778 +/- 210.8
cprr          | 52 | 371.693 +/- 209.6
cprr          | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
cprr          | note: age is collected in bins, each shown by its lower end: 18 is 18..19
graded        | 42 | 601.557 +/- 215.9
graded        | 52 | 560.992 +/- 215
graded        | 54 | 452.821 +/- 212.5
graded        | 48 | 398.736 +/- 211.9
graded        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
graded        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
grr           | 44 | 1161.5 +/- 427
grr           | 52 | 979.199 +/- 422
grr           | 36 | 588.557 +/- 411.1
grr           | 28 | 484.385 +/- 408.2
grr           | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
grr           | note: age is collected in bins, each shown by its lower end: 18 is 18..19
hi            | 18 | 1815.08 +/- 747.1
hi            | 50 | 1138.55 +/- 747.3
hi            | 34 | 800.292 +/- 747.4
hi            | 30 | 736.868 +/- 747.4
hi            | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
hi            | note: age is collected in bins, each shown by its lower end: 18 is 18..19
hrr           | 48 | 1176.48 +/- 262.1
hrr           | 54 | 819.334 +/- 262.4
hrr           | 28 | 556.727 +/- 262.5
hrr           | 40 | 546.223 +/- 262.5
hrr           | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
hrr           | note: age is collected in bins, each shown by its lower end: 18 is 18..19
jd-grr        | 42 | 601.557 +/- 214.7
jd-grr        | 36 | 493.385 +/- 213.1
jd-grr        | 54 | 425.778 +/- 210.8
jd-grr        | 52 | 371.693 +/- 209.6
jd-grr        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
jd-grr        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
jurr          | 56 | 635.256 +/- 186.8
jurr          | 26 | 565.488 +/- 189.6
jurr          | 40 | 465.421 +/- 179.8
jurr          | 20 | 452.792 +/- 182.5
jurr          | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
jurr          | note: age is collected in bins, each shown by its lower end: 18 is 18..19
jurr-g        | 56 | 635.256 +/- 186.8
jurr-g        | 26 | 565.488 +/- 189.6
jurr-g        | 40 | 465.421 +/- 179.8
jurr-g        | 20 | 452.792 +/- 182.5
jurr-g        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
jurr-g        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
lgrr          | 42 | 298
lgrr          | 44 | 298
lgrr          | 46 | 298
lgrr          | 48 | 298
lgrr          | note: no error bar for n: it has a bias of which reports do not tell the size
lgrr          | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
lgrr          | note: age is collected in bins, each shown by its lower end: 18 is 18..19
lgrr          | note: app: estimator by_share is biased: leaves are answered as even shares of their parents
lgrr          | note: app: not differentially private (lgrr)
lgrr-fd       | 36 | 362.154 +/- 78.64
lgrr-fd       | 46 | 338.154 +/- 76.81
lgrr-fd       | 50 | 338.154 +/- 76.81
lgrr-fd       | 30 | 326.154 +/- 75.88
lgrr-fd       | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
lgrr-fd       | note: age is collected in bins, each shown by its lower end: 18 is 18..19
lgrr-fd       | note: app: not differentially private (lgrr-fd)
lgrr-repaired | 44 | 735.924 +/- 331.1
lgrr-repaired | 30 | 584.073 +/- 315.7
lgrr-repaired | 38 | 584.073 +/- 315.7
lgrr-repaired | 52 | 508.147 +/- 307.7
lgrr-repaired | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
lgrr-repaired | note: age is collected in bins, each shown by its lower end: 18 is 18..19
olh           | 52 | 518.488 +/- 167
olh           | 28 | 487.788 +/- 166.8
olh           | 18 | 446.856 +/- 166.6
olh           | 44 | 439.181 +/- 166.6
olh           | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
olh           | note: age is collected in bins, each shown by its lower end: 18 is 18..19
oue           | 56 | 608.941 +/- 173.5
oue           | 36 | 493.394 +/- 172.9
oue           | 32 | 490.768 +/- 172.9
oue           | 38 | 464.508 +/- 172.8
oue           | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
oue           | note: age is collected in bins, each shown by its lower end: 18 is 18..19
oue-ms        | 34 | 395.919 +/- 93.99
oue-ms        | 40 | 390.633 +/- 93.89
oue-ms        | 20 | 358.917 +/- 93.26
oue-ms        | 22 | 337.773 +/- 92.83
oue-ms        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
oue-ms        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
psrr-ss       | 48 | 438.004 +/- 97.16
psrr-ss       | 56 | 380.661 +/- 95
psrr-ss       | 34 | 356.085 +/- 94.05
psrr-ss       | 52 | 323.317 +/- 92.77
psrr-ss       | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
psrr-ss       | note: age is collected in bins, each shown by its lower end: 18 is 18..19
solh          | 46 | 352.172 +/- 83.44
solh          | 36 | 352.172 +/- 83.44
solh          | 32 | 333.073 +/- 83.05
solh          | 56 | 323.524 +/- 82.85
solh          | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
solh          | note: age is collected in bins, each shown by its lower end: 18 is 18..19
srr-ms        | 48 | 438.004 +/- 97.16
srr-ms        | 56 | 380.661 +/- 95
srr-ms        | 34 | 356.085 +/- 94.05
srr-ms        | 52 | 323.317 +/- 92.77
srr-ms        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
srr-ms        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
srr-ss        | 48 | 438.004 +/- 97.16
srr-ss        | 56 | 380.661 +/- 95
srr-ss        | 34 | 356.085 +/- 94.05
srr-ss        | 52 | 323.317 +/- 92.77
srr-ss        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
srr-ss        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
staircase     | 26 | 1149.33 +/- 108.2
staircase     | 42 | 1089.81 +/- 107.7
staircase     | 18 | 999.044 +/- 97.16
staircase     | 50 | 903.97 +/- 97.09
staircase     | note: estimates chose these rows among 5: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
staircase     | note: age is collected in bins, each shown by its lower end: 18 is 18..25
sue-ms        | 22 | 474.561 +/- 100.7
sue-ms        | 34 | 426.647 +/- 100.3
sue-ms        | 40 | 417.935 +/- 100.2
sue-ms        | 18 | 370.022 +/- 99.82
sue-ms        | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
sue-ms        | note: age is collected in bins, each shown by its lower end: 18 is 18..19
tdrr          | 20 | 730.302 +/- 201.5
tdrr          | 28 | 641.826 +/- 200.9
tdrr          | 52 | 528.07 +/- 203.5
tdrr          | 54 | 401.674 +/- 195.1
tdrr          | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
tdrr          | note: age is collected in bins, each shown by its lower end: 18 is 18..19
truthful      | 42 | 601.557 +/- 215.2
truthful      | 52 | 560.992 +/- 214.3
truthful      | 54 | 452.821 +/- 211.8
truthful      | 48 | 398.736 +/- 211.1
truthful      | note: estimates chose these rows among 20: the intervals of n hold together at 0.95, as such a choice keeps the luckiest estimates, which tend to be too high (too low where the lowest are kept)
truthful      | note: age is collected in bins, each shown by its lower end: 18 is 18..19

SELECT day, COUNT(*) FROM app WHERE age BETWEEN 26 AND 41 GROUP BY day ORDER BY day
arr-ss        | 2026-03-01 | 452.793 +/- 102.7
arr-ss        | 2026-03-02 | 913.743 +/- 110.4
arr-ss        | 2026-03-03 | 564.148 +/- 104.9
cprr          | 2026-03-01 | 765.18 +/- 267.8
cprr          | 2026-03-02 | 451.127 +/- 273.8
cprr          | 2026-03-03 | 621.436 +/- 269.2
graded        | 2026-03-01 | 535.316 +/- 267.6
graded        | 2026-03-02 | 424.085 +/- 274.1
graded        | 2026-03-03 | 675.521 +/- 269.7
grr           | 2026-03-01 | 63.0322 +/- 511.8
grr           | 2026-03-02 | 1222.88 +/- 531
grr           | 2026-03-03 | 1000.56 +/- 520.7
hi            | 2026-03-01 | 1157.47 +/- 518
hi            | 2026-03-02 | 675.97 +/- 529.2
hi            | 2026-03-03 | 1131.36 +/- 522
hrr           | 2026-03-01 | 378.154 +/- 423.9
hrr           | 2026-03-02 | -210.086 +/- 435.1
hrr           | 2026-03-03 | 168.069 +/- 427.3
jd-grr        | 2026-03-01 | 765.18 +/- 267.8
jd-grr        | 2026-03-02 | 451.127 +/- 273.8
jd-grr        | 2026-03-03 | 621.436 +/- 269.2
jurr          | 2026-03-01 | 817.963 +/- 218.3
jurr          | 2026-03-02 | 932.626 +/- 227.2
jurr          | 2026-03-03 | 798.123 +/- 220.7
jurr-g        | 2026-03-01 | 817.963 +/- 218.3
jurr-g        | 2026-03-02 | 932.626 +/- 227.2
jurr-g        | 2026-03-03 | 798.123 +/- 220.7
lgrr          | 2026-03-01 | 672 +/- 71.52
lgrr          | 2026-03-02 | 736 +/- 74.76
lgrr          | 2026-03-03 | 576 +/- 66.51
lgrr          | note: app: estimator by_share is biased: leaves are answered as even shares of their parents
lgrr          | note: app: not differentially private (lgrr)
lgrr-fd       | 2026-03-01 | 643.754 +/- 93.23
lgrr-fd       | 2026-03-02 | 770.4 +/- 100.9
lgrr-fd       | 2026-03-03 | 774.154 +/- 100.8
lgrr-fd       | note: app: not differentially private (lgrr-fd)
lgrr-repaired | 2026-03-01 | 458.011 +/- 207.7
lgrr-repaired | 2026-03-02 | 773.798 +/- 246
lgrr-repaired | 2026-03-03 | 568.836 +/- 245.1
olh           | 2026-03-01 | 564.734 +/- 214.4
olh           | 2026-03-02 | 813.344 +/- 220.2
olh           | 2026-03-03 | 523.644 +/- 216
oue           | 2026-03-01 | 875.48 +/- 277.1
oue           | 2026-03-02 | 889.341 +/- 284.3
oue           | 2026-03-03 | 648.709 +/- 278.8
oue-ms        | 2026-03-01 | 576.179 +/- 148.3
oue-ms        | 2026-03-02 | 788.599 +/- 149
oue-ms        | 2026-03-03 | 829.734 +/- 145.2
psrr-ss       | 2026-03-01 | 567.185 +/- 115.1
psrr-ss       | 2026-03-02 | 799.867 +/- 117.4
psrr-ss       | 2026-03-03 | 625.365 +/- 116.7
solh          | 2026-03-01 | 689.469 +/- 110.1
solh          | 2026-03-02 | 737.227 +/- 112.8
solh          | 2026-03-03 | 505.747 +/- 106.6
srr-ms        | 2026-03-01 | 567.185 +/- 115.1
srr-ms        | 2026-03-02 | 799.867 +/- 117.4
srr-ms        | 2026-03-03 | 625.365 +/- 116.7
srr-ss        | 2026-03-01 | 567.185 +/- 115.1
srr-ss        | 2026-03-02 | 799.867 +/- 117.4
srr-ss        | 2026-03-03 | 625.365 +/- 116.7
staircase     | 2026-03-01 | 698.549 +/- 68.41
staircase     | 2026-03-02 | 652.26 +/- 69.35
staircase     | 2026-03-03 | 656.363 +/- 69.16
sue-ms        | 2026-03-01 | 482.162 +/- 161.6
sue-ms        | 2026-03-02 | 749.676 +/- 161.2
sue-ms        | 2026-03-03 | 778.75 +/- 156.6
tdrr          | 2026-03-01 | 606.098 +/- 249.9
tdrr          | 2026-03-02 | 769.821 +/- 256.8
tdrr          | 2026-03-03 | 270.174 +/- 251.8
truthful      | 2026-03-01 | 535.316 +/- 267.3
truthful      | 2026-03-02 | 424.085 +/- 273.9
truthful      | 2026-03-03 | 675.521 +/- 269.4

SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
ahead         | 3262.64 +/- 169.1
ahead         | note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias
arr-ss        | refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
cprr          | 3216.05 +/- 439.2
graded        | 3540.56 +/- 437.6
grr           | 3395.83 +/- 844.6
hi            | 2071.32 +/- 1375
hrr           | 4359.28 +/- 980.6
jd-grr        | 3216.05 +/- 439.2
jurr          | 2892.21 +/- 362.7
jurr-g        | 2892.21 +/- 362.7
lgrr          | 3440
lgrr          | note: no error bar for COUNT(*): it has a bias of which reports do not tell the size
lgrr          | note: app: estimator by_share is biased: leaves are answered as even shares of their parents
lgrr          | note: app: not differentially private (lgrr)
lgrr-fd       | 3262.77 +/- 214.9
lgrr-fd       | note: app: not differentially private (lgrr-fd)
lgrr-repaired | 3065.72 +/- 500.1
olh           | 3418.83 +/- 360.4
oue           | 2986.8 +/- 640.1
oue-ms        | refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
psrr-ss       | refused: this survey does not collect age and state together; design it with mechanism psrr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
solh          | refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
srr-ms        | refused: this survey does not collect age and state together; design it with mechanism srr-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
srr-ss        | refused: this survey does not collect age and state together; design it with mechanism srr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
staircase     | 3327.5 +/- 175.7
sue-ms        | refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
tdrr          | 3262.49 +/- 576
truthful      | 3540.56 +/- 437.4

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age BETWEEN 26 AND 41
arr-ss        | survey app: arr-ss, epsilon 2
arr-ss        | guarantee: 2-LDP
arr-ss        | reports: all reports (5000)
arr-ss        |   box: age in {26..41}
arr-ss        |   COUNT(*)
arr-ss        |     predicted standard error: 184.1 (95 % interval: ± 360.9)
arr-ss        |     standard error of these reports: 183.7 (95 % interval: ± 360.1)
arr-ss        |     one forged report can add up to 4.5 people, or take away up to 1.25
arr-ss        |     24 cells of 2 marginals, grr: nodes 4..11
arr-ss        |   SUM(pay), public
arr-ss        |     predicted standard error: 184.1 (95 % interval: ± 360.9) per unit of the public column
arr-ss        |     standard error of these reports: 1.079e+04 (95 % interval: ± 2.114e+04)
arr-ss        |     one forged report can add up to 4.5, or take away up to 1.25 per unit of the public column
arr-ss        |     24 cells of 2 marginals, grr: nodes 4..11
arr-ss        |   COUNT(pay), public
arr-ss        |     predicted standard error: 184.1 (95 % interval: ± 360.9) per unit of the public column
arr-ss        |     standard error of these reports: 183.7 (95 % interval: ± 360.1)
arr-ss        |     one forged report can add up to 4.5, or take away up to 1.25 per unit of the public column
arr-ss        |     24 cells of 2 marginals, grr: nodes 4..11
arr-ss        | COUNT(*): one forged report can add up to 4.5, or take away up to 1.25
arr-ss        | SUM(pay): nothing limits what one forged report can do
arr-ss        | AVG(pay): nothing limits what one forged report can do
cprr          | survey app: cprr, epsilon 2
cprr          | guarantee: 2-LDP
cprr          | reports: all reports (5000)
cprr          |   box: age in {26..41}
cprr          |   COUNT(*)
cprr          |     predicted standard error: 468.4 (95 % interval: ± 918)
cprr          |     standard error of these reports: 468.1 (95 % interval: ± 917.5)
cprr          |     one forged report can add up to 8.51 people, or take away up to 5.01
cprr          |     32 of 20 x 4 cells
cprr          |   SUM(pay), public
cprr          |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
cprr          |     standard error of these reports: 2.724e+04 (95 % interval: ± 5.34e+04)
cprr          |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
cprr          |     32 of 20 x 4 cells
cprr          |   COUNT(pay), public
cprr          |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
cprr          |     standard error of these reports: 468.1 (95 % interval: ± 917.5)
cprr          |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
cprr          |     32 of 20 x 4 cells
cprr          | COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
cprr          | SUM(pay): nothing limits what one forged report can do
cprr          | AVG(pay): nothing limits what one forged report can do
graded        | survey app: graded, epsilon 2
graded        | guarantee: 2-LDP
graded        | reports: all reports (5000)
graded        |   box: age in {26..41}
graded        |   COUNT(*)
graded        |     predicted standard error: 468.4 (95 % interval: ± 918)
graded        |     standard error of these reports: 467.5 (95 % interval: ± 916.4)
graded        |     one forged report can add up to 8.51 people, or take away up to 5.01
graded        |     32 of 20 x 4 cells
graded        |   SUM(pay), public
graded        |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
graded        |     standard error of these reports: 2.713e+04 (95 % interval: ± 5.317e+04)
graded        |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
graded        |     32 of 20 x 4 cells
graded        |   COUNT(pay), public
graded        |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
graded        |     standard error of these reports: 467.5 (95 % interval: ± 916.4)
graded        |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
graded        |     32 of 20 x 4 cells
graded        | COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
graded        | SUM(pay): nothing limits what one forged report can do
graded        | AVG(pay): nothing limits what one forged report can do
grr           | survey app: grr, epsilon 2
grr           | guarantee: 2-LDP
grr           | reports: all reports (5000)
grr           |   box: age in {26..41}
grr           |   COUNT(*)
grr           |     predicted standard error: 902.1 (95 % interval: ± 1768)
grr           |     standard error of these reports: 903 (95 % interval: ± 1770)
grr           |     one forged report can add up to 16 people, or take away up to 10
grr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
grr           |   SUM(pay)
grr           |     predicted standard error: 7.366e+04 (95 % interval: ± 1.444e+05)
grr           |     standard error of these reports: 7.413e+04 (95 % interval: ± 1.453e+05)
grr           |     one forged report can add up to 2100, or take away up to 501
grr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 16..47, 96..127
grr           | COUNT(*): one forged report can add up to 16, or take away up to 10
grr           | SUM(pay): one forged report can add up to 2100, or take away up to 501
grr           | AVG(pay): one forged report can add up to 0.48, or take away up to 0.664
hi            | survey app: hi, epsilon 2
hi            | guarantee: 2-LDP
hi            | reports: all reports (5000)
hi            |   box: age in {26..41}
hi            |   COUNT(*)
hi            |     predicted standard error: 903.3 (95 % interval: ± 1770)
hi            |     standard error of these reports: 906 (95 % interval: ± 1776)
hi            |     one forged report can add up to 16 people, or take away up to 10
hi            |     group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 1..2
hi            |   SUM(pay)
hi            |     predicted standard error: 9.641e+04 (95 % interval: ± 1.89e+05)
hi            |     standard error of these reports: 9.64e+04 (95 % interval: ± 1.889e+05)
hi            |     one forged report can add up to 2040, or take away up to 2010
hi            |     group 4 (age level 1, state level 0, sign of pay; 10 nodes, olh at 0.182): nodes 1..2, 6..7
hi            | COUNT(*): one forged report can add up to 16, or take away up to 10
hi            | SUM(pay): one forged report can add up to 2040, or take away up to 2010
hi            | AVG(pay): one forged report can add up to 0.745, or take away up to 0.713
hrr           | survey app: hrr, epsilon 2
hrr           | guarantee: 2-LDP
hrr           | reports: all reports (5000)
hrr           |   box: age in {26..41}
hrr           |   COUNT(*)
hrr           |     predicted standard error: 742.2 (95 % interval: ± 1455)
hrr           |     standard error of these reports: 742.7 (95 % interval: ± 1456)
hrr           |     one forged report can add up to 84 people, or take away up to 84
hrr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 16..47, 96..127
hrr           |   SUM(pay)
hrr           |     predicted standard error: 5.25e+04 (95 % interval: ± 1.029e+05)
hrr           |     standard error of these reports: 5.251e+04 (95 % interval: ± 1.029e+05)
hrr           |     one forged report can add up to 4200, or take away up to 4200
hrr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 16..47, 96..127
hrr           | COUNT(*): one forged report can add up to 84, or take away up to 84
hrr           | SUM(pay): one forged report can add up to 4200, or take away up to 4200
hrr           | AVG(pay): one forged report can add up to 54.2, or take away up to 54.2
jd-grr        | survey app: jd-grr, epsilon 2
jd-grr        | guarantee: 2-LDP
jd-grr        | reports: all reports (5000)
jd-grr        |   box: age in {26..41}
jd-grr        |   COUNT(*)
jd-grr        |     predicted standard error: 468.4 (95 % interval: ± 918)
jd-grr        |     standard error of these reports: 468.1 (95 % interval: ± 917.5)
jd-grr        |     one forged report can add up to 8.51 people, or take away up to 5.01
jd-grr        |     32 of 20 x 4 cells
jd-grr        |   SUM(pay), public
jd-grr        |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
jd-grr        |     standard error of these reports: 2.724e+04 (95 % interval: ± 5.34e+04)
jd-grr        |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
jd-grr        |     32 of 20 x 4 cells
jd-grr        |   COUNT(pay), public
jd-grr        |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
jd-grr        |     standard error of these reports: 468.1 (95 % interval: ± 917.5)
jd-grr        |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
jd-grr        |     32 of 20 x 4 cells
jd-grr        | COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
jd-grr        | SUM(pay): nothing limits what one forged report can do
jd-grr        | AVG(pay): nothing limits what one forged report can do
jurr          | survey app: jurr, epsilon 2
jurr          | guarantee: 2-ULDP per attribute
jurr          | reports: all reports (5000)
jurr          |   box: age in {26..41}
jurr          |   COUNT(*)
jurr          |     predicted standard error: 365 (95 % interval: ± 715.4)
jurr          |     standard error of these reports: 386.2 (95 % interval: ± 757)
jurr          |     one forged report can add up to 18.4 people, or take away up to 11.6
jurr          |     32 of 20 x 4 cells
jurr          |   SUM(pay), public
jurr          |     predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
jurr          |     standard error of these reports: 2.266e+04 (95 % interval: ± 4.442e+04)
jurr          |     one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
jurr          |     32 of 20 x 4 cells
jurr          |   COUNT(pay), public
jurr          |     predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
jurr          |     standard error of these reports: 386.2 (95 % interval: ± 757)
jurr          |     one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
jurr          |     32 of 20 x 4 cells
jurr          | COUNT(*): one forged report can add up to 18.4, or take away up to 11.6
jurr          | SUM(pay): nothing limits what one forged report can do
jurr          | AVG(pay): nothing limits what one forged report can do
jurr-g        | survey app: jurr-g, epsilon 2
jurr-g        | guarantee: 2-ULDP per attribute
jurr-g        | reports: all reports (5000)
jurr-g        |   box: age in {26..41}
jurr-g        |   COUNT(*)
jurr-g        |     predicted standard error: 365 (95 % interval: ± 715.4)
jurr-g        |     standard error of these reports: 386.2 (95 % interval: ± 757)
jurr-g        |     one forged report can add up to 18.4 people, or take away up to 11.6
jurr-g        |     32 of 20 x 4 cells
jurr-g        |   SUM(pay), public
jurr-g        |     predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
jurr-g        |     standard error of these reports: 2.266e+04 (95 % interval: ± 4.442e+04)
jurr-g        |     one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
jurr-g        |     32 of 20 x 4 cells
jurr-g        |   COUNT(pay), public
jurr-g        |     predicted standard error: 365 (95 % interval: ± 715.4) per unit of the public column
jurr-g        |     standard error of these reports: 386.2 (95 % interval: ± 757)
jurr-g        |     one forged report can add up to 18.4, or take away up to 11.6 per unit of the public column
jurr-g        |     32 of 20 x 4 cells
jurr-g        | COUNT(*): one forged report can add up to 18.4, or take away up to 11.6
jurr-g        | SUM(pay): nothing limits what one forged report can do
jurr-g        | AVG(pay): nothing limits what one forged report can do
lgrr          | survey app: lgrr, no epsilon holds (nominal 2)
lgrr          | guarantee: not differentially private
lgrr          | reports: all reports (5000)
lgrr          |   box: age in {26..41}
lgrr          |   COUNT(*)
lgrr          |     predicted standard error: 123.3 (95 % interval: ± 241.6)
lgrr          |     standard error of these reports: 122.9 (95 % interval: ± 240.9)
lgrr          |     one forged report can add up to 8 people
lgrr          |     group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
lgrr          |     leaves answered from parents, by their share of codes
lgrr          |   SUM(pay)
lgrr          |     predicted standard error: 8832 (95 % interval: ± 1.731e+04)
lgrr          |     standard error of these reports: 8453 (95 % interval: ± 1.657e+04)
lgrr          |     one forged report can add up to 800
lgrr          |     group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7
lgrr          |     leaves answered from parents, by their share of codes
lgrr          | COUNT(*): one forged report can add up to 8
lgrr          | SUM(pay): one forged report can add up to 800
lgrr          | AVG(pay): one forged report can add up to 0.403, or take away up to 0.185
lgrr-fd       | survey app: lgrr-fd, no epsilon holds (nominal 2)
lgrr-fd       | guarantee: not differentially private
lgrr-fd       | reports: all reports (5000)
lgrr-fd       |   box: age in {26..41}
lgrr-fd       |   COUNT(*)
lgrr-fd       |     predicted standard error: 163.9 (95 % interval: ± 321.3)
lgrr-fd       |     standard error of these reports: 170.3 (95 % interval: ± 333.8)
lgrr-fd       |     one forged report can add up to 23.9 people, or take away up to 0.0615
lgrr-fd       |     group 4 (age level 1, state level 0; 5 nodes): nodes 1..2
lgrr-fd       |   SUM(pay)
lgrr-fd       |     predicted standard error: 1.244e+04 (95 % interval: ± 2.438e+04)
lgrr-fd       |     standard error of these reports: 1.3e+04 (95 % interval: ± 2.547e+04)
lgrr-fd       |     one forged report can add up to 2390, or take away up to 6.15
lgrr-fd       |     group 5 (age level 1, state level 0, sign of pay; 10 nodes): nodes 1..2, 6..7
lgrr-fd       | COUNT(*): one forged report can add up to 23.9, or take away up to 0.0615
lgrr-fd       | SUM(pay): one forged report can add up to 2390, or take away up to 6.15
lgrr-fd       | AVG(pay): one forged report can add up to 1.1, or take away up to 0.563
lgrr-repaired | survey app: lgrr-repaired, epsilon 2
lgrr-repaired | guarantee: 2-LDP
lgrr-repaired | reports: all reports (5000)
lgrr-repaired |   box: age in {26..41}
lgrr-repaired |   COUNT(*)
lgrr-repaired |     predicted standard error: 395.3 (95 % interval: ± 774.7)
lgrr-repaired |     standard error of these reports: 388.5 (95 % interval: ± 761.4)
lgrr-repaired |     one forged report can add up to 43.5 people, or take away up to 25.6
lgrr-repaired |     group 4 (age level 1, state level 0; 5 nodes, grr): nodes 1..2
lgrr-repaired |   SUM(pay)
lgrr-repaired |     predicted standard error: 3.872e+04 (95 % interval: ± 7.588e+04)
lgrr-repaired |     standard error of these reports: 4.047e+04 (95 % interval: ± 7.931e+04)
lgrr-repaired |     one forged report can add up to 5640, or take away up to 1560
lgrr-repaired |     group 5 (age level 1, state level 0, sign of pay; 10 nodes, grr): nodes 1..2, 6..7
lgrr-repaired | COUNT(*): one forged report can add up to 43.5, or take away up to 25.6
lgrr-repaired | SUM(pay): one forged report can add up to 5640, or take away up to 1560
lgrr-repaired | AVG(pay): one forged report can add up to 3.21, or take away up to 1.75
olh           | survey app: olh, epsilon 2
olh           | guarantee: 2-LDP
olh           | reports: all reports (5000)
olh           |   box: age in {26..41}
olh           |   COUNT(*)
olh           |     predicted standard error: 375.8 (95 % interval: ± 736.5)
olh           |     standard error of these reports: 375.7 (95 % interval: ± 736.4)
olh           |     one forged report can add up to 20.9 people, or take away up to 17.5
olh           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
olh           |   SUM(pay)
olh           |     predicted standard error: 3.049e+04 (95 % interval: ± 5.975e+04)
olh           |     standard error of these reports: 3.045e+04 (95 % interval: ± 5.967e+04)
olh           |     one forged report can add up to 1810, or take away up to 1000
olh           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 16..47, 96..127
olh           | COUNT(*): one forged report can add up to 20.9, or take away up to 17.5
olh           | SUM(pay): one forged report can add up to 1810, or take away up to 1000
olh           | AVG(pay): one forged report can add up to 0.614, or take away up to 0.541
oue           | survey app: oue, epsilon 2
oue           | guarantee: 2-LDP
oue           | reports: all reports (5000)
oue           |   box: age in {26..41}
oue           |   COUNT(*)
oue           |     predicted standard error: 484.7 (95 % interval: ± 949.9)
oue           |     standard error of these reports: 485.1 (95 % interval: ± 950.9)
oue           |     one forged report can add up to 148 people, or take away up to 20
oue           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
oue           |   SUM(pay)
oue           |     predicted standard error: 3.43e+04 (95 % interval: ± 6.723e+04)
oue           |     standard error of these reports: 3.442e+04 (95 % interval: ± 6.747e+04)
oue           |     one forged report can add up to 7400, or take away up to 1000
oue           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 16..47, 96..127
oue           | COUNT(*): one forged report can add up to 148, or take away up to 20
oue           | SUM(pay): one forged report can add up to 7400, or take away up to 1000
oue           | AVG(pay): one forged report can add up to 1.36, or take away up to 2.15
oue-ms        | survey app: oue-ms, epsilon 2
oue-ms        | guarantee: 2-LDP
oue-ms        | reports: all reports (5000)
oue-ms        |   box: age in {26..41}
oue-ms        |   COUNT(*)
oue-ms        |     predicted standard error: 253.6 (95 % interval: ± 497.1)
oue-ms        |     standard error of these reports: 255.4 (95 % interval: ± 500.6)
oue-ms        |     one forged report can add up to 36.8 people, or take away up to 5.49
oue-ms        |     marginal of age (20 nodes, oue): nodes 4..11
oue-ms        |   SUM(pay), public
oue-ms        |     predicted standard error: 253.6 (95 % interval: ± 497.1) per unit of the public column
oue-ms        |     standard error of these reports: 1.481e+04 (95 % interval: ± 2.902e+04)
oue-ms        |     one forged report can add up to 37.2, or take away up to 5.04 per unit of the public column
oue-ms        |     marginal of age (20 nodes, oue): nodes 4..11
oue-ms        |   COUNT(pay), public
oue-ms        |     predicted standard error: 253.6 (95 % interval: ± 497.1) per unit of the public column
oue-ms        |     standard error of these reports: 255.4 (95 % interval: ± 500.6)
oue-ms        |     one forged report can add up to 37.2, or take away up to 5.04 per unit of the public column
oue-ms        |     marginal of age (20 nodes, oue): nodes 4..11
oue-ms        | COUNT(*): one forged report can add up to 36.8, or take away up to 5.49
oue-ms        | SUM(pay): nothing limits what one forged report can do
oue-ms        | AVG(pay): nothing limits what one forged report can do
psrr-ss       | survey app: psrr-ss, epsilon 2
psrr-ss       | guarantee: 2-LDP
psrr-ss       | reports: all reports (5000)
psrr-ss       |   box: age in {26..41}
psrr-ss       |   COUNT(*)
psrr-ss       |     predicted standard error: 202.3 (95 % interval: ± 396.6)
psrr-ss       |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
psrr-ss       |     one forged report can add up to 5.31 people, or take away up to 2.88
psrr-ss       |     marginal of age (20 nodes, padded): nodes 4..11
psrr-ss       |   SUM(pay), public
psrr-ss       |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
psrr-ss       |     standard error of these reports: 1.18e+04 (95 % interval: ± 2.313e+04)
psrr-ss       |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
psrr-ss       |     marginal of age (20 nodes, padded): nodes 4..11
psrr-ss       |   COUNT(pay), public
psrr-ss       |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
psrr-ss       |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
psrr-ss       |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
psrr-ss       |     marginal of age (20 nodes, padded): nodes 4..11
psrr-ss       | COUNT(*): one forged report can add up to 5.31, or take away up to 2.88
psrr-ss       | SUM(pay): nothing limits what one forged report can do
psrr-ss       | AVG(pay): nothing limits what one forged report can do
solh          | survey app: solh, epsilon 2
solh          | guarantee: 2-LDP
solh          | reports: all reports (5000)
solh          |   box: age in {26..41}
solh          |   COUNT(*)
solh          |     predicted standard error: 193.5 (95 % interval: ± 379.2)
solh          |     standard error of these reports: 190.2 (95 % interval: ± 372.8)
solh          |     one forged report can add up to 9.83 people, or take away up to 4.49
solh          |     marginal of age (20 nodes, solh): nodes 4..11
solh          |   SUM(pay), public
solh          |     predicted standard error: 193.5 (95 % interval: ± 379.2) per unit of the public column
solh          |     standard error of these reports: 1.114e+04 (95 % interval: ± 2.184e+04)
solh          |     one forged report can add up to 10.2, or take away up to 4.13 per unit of the public column
solh          |     marginal of age (20 nodes, solh): nodes 4..11
solh          |   COUNT(pay), public
solh          |     predicted standard error: 193.5 (95 % interval: ± 379.2) per unit of the public column
solh          |     standard error of these reports: 190.2 (95 % interval: ± 372.8)
solh          |     one forged report can add up to 10.2, or take away up to 4.13 per unit of the public column
solh          |     marginal of age (20 nodes, solh): nodes 4..11
solh          | COUNT(*): one forged report can add up to 9.83, or take away up to 4.49
solh          | SUM(pay): nothing limits what one forged report can do
solh          | AVG(pay): nothing limits what one forged report can do
srr-ms        | survey app: srr-ms, epsilon 2
srr-ms        | guarantee: 2-LDP
srr-ms        | reports: all reports (5000)
srr-ms        |   box: age in {26..41}
srr-ms        |   COUNT(*)
srr-ms        |     predicted standard error: 202.3 (95 % interval: ± 396.6)
srr-ms        |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
srr-ms        |     one forged report can add up to 5.31 people, or take away up to 2.88
srr-ms        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ms        |   SUM(pay), public
srr-ms        |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
srr-ms        |     standard error of these reports: 1.18e+04 (95 % interval: ± 2.313e+04)
srr-ms        |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
srr-ms        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ms        |   COUNT(pay), public
srr-ms        |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
srr-ms        |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
srr-ms        |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
srr-ms        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ms        | COUNT(*): one forged report can add up to 5.31, or take away up to 2.88
srr-ms        | SUM(pay): nothing limits what one forged report can do
srr-ms        | AVG(pay): nothing limits what one forged report can do
srr-ss        | survey app: srr-ss, epsilon 2
srr-ss        | guarantee: 2-LDP
srr-ss        | reports: all reports (5000)
srr-ss        |   box: age in {26..41}
srr-ss        |   COUNT(*)
srr-ss        |     predicted standard error: 202.3 (95 % interval: ± 396.6)
srr-ss        |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
srr-ss        |     one forged report can add up to 5.31 people, or take away up to 2.88
srr-ss        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ss        |   SUM(pay), public
srr-ss        |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
srr-ss        |     standard error of these reports: 1.18e+04 (95 % interval: ± 2.313e+04)
srr-ss        |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
srr-ss        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ss        |   COUNT(pay), public
srr-ss        |     predicted standard error: 202.3 (95 % interval: ± 396.6) per unit of the public column
srr-ss        |     standard error of these reports: 201.6 (95 % interval: ± 395.1)
srr-ss        |     one forged report can add up to 5.71, or take away up to 2.48 per unit of the public column
srr-ss        |     marginal of age (20 nodes, grr): nodes 4..11
srr-ss        | COUNT(*): one forged report can add up to 5.31, or take away up to 2.88
srr-ss        | SUM(pay): nothing limits what one forged report can do
srr-ss        | AVG(pay): nothing limits what one forged report can do
staircase     | survey app: staircase, epsilon 2
staircase     | guarantee: 2-LDP
staircase     | reports: all reports (5000)
staircase     |   box: age in {26..41}
staircase     |   COUNT(*)
staircase     |     predicted standard error: 119.6 (95 % interval: ± 234.4)
staircase     |     standard error of these reports: 119.6 (95 % interval: ± 234.5)
staircase     |     one forged report can add up to 3.93 people, or take away up to 2.56
staircase     |     16 of 5 x 4 x 2 cells
staircase     |   SUM(pay)
staircase     |     predicted standard error: 9920 (95 % interval: ± 1.944e+04)
staircase     |     standard error of these reports: 9867 (95 % interval: ± 1.934e+04)
staircase     |     one forged report can add up to 502, or take away up to 213
staircase     |     8 of 5 x 4 x 2 cells
staircase     | COUNT(*): one forged report can add up to 3.93, or take away up to 2.56
staircase     | SUM(pay): one forged report can add up to 502, or take away up to 213
staircase     | AVG(pay): one forged report can add up to 0.166, or take away up to 0.142
sue-ms        | survey app: sue-ms, epsilon 2
sue-ms        | guarantee: 2-LDP
sue-ms        | reports: all reports (5000)
sue-ms        |   box: age in {26..41}
sue-ms        |   COUNT(*)
sue-ms        |     predicted standard error: 275.8 (95 % interval: ± 540.5)
sue-ms        |     standard error of these reports: 276.7 (95 % interval: ± 542.3)
sue-ms        |     one forged report can add up to 25.1 people, or take away up to 9.78
sue-ms        |     marginal of age (20 nodes, sue): nodes 4..11
sue-ms        |   SUM(pay), public
sue-ms        |     predicted standard error: 275.8 (95 % interval: ± 540.5) per unit of the public column
sue-ms        |     standard error of these reports: 1.612e+04 (95 % interval: ± 3.159e+04)
sue-ms        |     one forged report can add up to 25.5, or take away up to 9.37 per unit of the public column
sue-ms        |     marginal of age (20 nodes, sue): nodes 4..11
sue-ms        |   COUNT(pay), public
sue-ms        |     predicted standard error: 275.8 (95 % interval: ± 540.5) per unit of the public column
sue-ms        |     standard error of these reports: 276.7 (95 % interval: ± 542.3)
sue-ms        |     one forged report can add up to 25.5, or take away up to 9.37 per unit of the public column
sue-ms        |     marginal of age (20 nodes, sue): nodes 4..11
sue-ms        | COUNT(*): one forged report can add up to 25.1, or take away up to 9.78
sue-ms        | SUM(pay): nothing limits what one forged report can do
sue-ms        | AVG(pay): nothing limits what one forged report can do
tdrr          | survey app: tdrr, epsilon 2
tdrr          | guarantee: 2-ULDP per attribute
tdrr          | reports: all reports (5000)
tdrr          |   box: age in {26..41}
tdrr          |   COUNT(*)
tdrr          |     predicted standard error: 437.8 (95 % interval: ± 858.2)
tdrr          |     standard error of these reports: 437.3 (95 % interval: ± 857.2)
tdrr          |     one forged report can add up to 7.98 people, or take away up to 4.66
tdrr          |     32 of 20 x 4 cells
tdrr          |   SUM(pay), public
tdrr          |     predicted standard error: 437.8 (95 % interval: ± 858.2) per unit of the public column
tdrr          |     standard error of these reports: 2.546e+04 (95 % interval: ± 4.991e+04)
tdrr          |     one forged report can add up to 7.98, or take away up to 4.66 per unit of the public column
tdrr          |     32 of 20 x 4 cells
tdrr          |   COUNT(pay), public
tdrr          |     predicted standard error: 437.8 (95 % interval: ± 858.2) per unit of the public column
tdrr          |     standard error of these reports: 437.3 (95 % interval: ± 857.2)
tdrr          |     one forged report can add up to 7.98, or take away up to 4.66 per unit of the public column
tdrr          |     32 of 20 x 4 cells
tdrr          | COUNT(*): one forged report can add up to 7.98, or take away up to 4.66
tdrr          | SUM(pay): nothing limits what one forged report can do
tdrr          | AVG(pay): nothing limits what one forged report can do
truthful      | survey app: truthful, epsilon 2
truthful      | guarantee: 2-LDP
truthful      | reports: all reports (5000)
truthful      |   box: age in {26..41}
truthful      |   COUNT(*)
truthful      |     predicted standard error: 468.4 (95 % interval: ± 918)
truthful      |     standard error of these reports: 467.4 (95 % interval: ± 916.1)
truthful      |     one forged report can add up to 8.51 people, or take away up to 5.01
truthful      |     32 of 20 x 4 cells
truthful      |   SUM(pay), public
truthful      |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
truthful      |     standard error of these reports: 2.712e+04 (95 % interval: ± 5.316e+04)
truthful      |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
truthful      |     32 of 20 x 4 cells
truthful      |   COUNT(pay), public
truthful      |     predicted standard error: 468.4 (95 % interval: ± 918) per unit of the public column
truthful      |     standard error of these reports: 467.4 (95 % interval: ± 916.1)
truthful      |     one forged report can add up to 8.51, or take away up to 5.01 per unit of the public column
truthful      |     32 of 20 x 4 cells
truthful      | COUNT(*): one forged report can add up to 8.51, or take away up to 5.01
truthful      | SUM(pay): nothing limits what one forged report can do
truthful      | AVG(pay): nothing limits what one forged report can do

EXPLAIN SELECT COUNT(*) FROM app WHERE NOT (age BETWEEN 26 AND 41) OR state IS NULL
arr-ss        | refused: this survey does not collect age and state together; design it with mechanism arr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
cprr          | survey app: cprr, epsilon 2
cprr          | guarantee: 2-LDP
cprr          | reports: all reports (5000)
cprr          |   box: age in {18..25, 42..57}
cprr          |   box: age in {26..41}, state in {NULL}
cprr          |   COUNT(*)
cprr          |     predicted standard error: 438.1 (95 % interval: ± 858.7)
cprr          |     standard error of these reports: 439.2 (95 % interval: ± 860.8)
cprr          |     one forged report can add up to 4.76 people, or take away up to 8.76
cprr          |     56 of 20 x 4 cells
graded        | survey app: graded, epsilon 2
graded        | guarantee: 2-LDP
graded        | reports: all reports (5000)
graded        |   box: age in {18..25, 42..57}
graded        |   box: age in {26..41}, state in {NULL}
graded        |   COUNT(*)
graded        |     predicted standard error: 438.1 (95 % interval: ± 858.7)
graded        |     standard error of these reports: 437.6 (95 % interval: ± 857.6)
graded        |     one forged report can add up to 4.76 people, or take away up to 8.76
graded        |     56 of 20 x 4 cells
grr           | survey app: grr, epsilon 2
grr           | guarantee: 2-LDP
grr           | reports: all reports (5000)
grr           |   box: age in {18..25, 42..57}
grr           |   box: age in {26..41}, state in {NULL}
grr           |   COUNT(*)
grr           |     predicted standard error: 843.9 (95 % interval: ± 1654)
grr           |     standard error of these reports: 844.6 (95 % interval: ± 1655)
grr           |     one forged report can add up to 8.51 people, or take away up to 17.5
grr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, grr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
hi            | survey app: hi, epsilon 2
hi            | guarantee: 2-LDP
hi            | reports: all reports (5000)
hi            |   box: age in {18..25, 42..57}
hi            |   box: age in {26..41}, state in {NULL}
hi            |   COUNT(*)
hi            |     predicted standard error: 1373 (95 % interval: ± 2690)
hi            |     standard error of these reports: 1375 (95 % interval: ± 2694)
hi            |     one forged report can add up to 32.3 people, or take away up to 36.1
hi            |     group 3 (age level 1, state level 0; 5 nodes, grr at 0.182): nodes 0, 3..4
hi            |     group 5 (age level 1, state level 1; 20 nodes, olh at 0.182): nodes 7, 11
hrr           | survey app: hrr, epsilon 2
hrr           | guarantee: 2-LDP
hrr           | reports: all reports (5000)
hrr           |   box: age in {18..25, 42..57}
hrr           |   box: age in {26..41}, state in {NULL}
hrr           |   COUNT(*)
hrr           |     predicted standard error: 981.3 (95 % interval: ± 1923)
hrr           |     standard error of these reports: 980.6 (95 % interval: ± 1922)
hrr           |     one forged report can add up to 147 people, or take away up to 147
hrr           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, hrr): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
jd-grr        | survey app: jd-grr, epsilon 2
jd-grr        | guarantee: 2-LDP
jd-grr        | reports: all reports (5000)
jd-grr        |   box: age in {18..25, 42..57}
jd-grr        |   box: age in {26..41}, state in {NULL}
jd-grr        |   COUNT(*)
jd-grr        |     predicted standard error: 438.1 (95 % interval: ± 858.7)
jd-grr        |     standard error of these reports: 439.2 (95 % interval: ± 860.8)
jd-grr        |     one forged report can add up to 4.76 people, or take away up to 8.76
jd-grr        |     56 of 20 x 4 cells
jurr          | survey app: jurr, epsilon 2
jurr          | guarantee: 2-ULDP per attribute
jurr          | reports: all reports (5000)
jurr          |   box: age in {18..25, 42..57}
jurr          |   box: age in {26..41}, state in {NULL}
jurr          |   COUNT(*)
jurr          |     predicted standard error: 338 (95 % interval: ± 662.5)
jurr          |     standard error of these reports: 362.7 (95 % interval: ± 710.8)
jurr          |     one forged report can add up to 11.3 people, or take away up to 18.6
jurr          |     56 of 20 x 4 cells
jurr-g        | survey app: jurr-g, epsilon 2
jurr-g        | guarantee: 2-ULDP per attribute
jurr-g        | reports: all reports (5000)
jurr-g        |   box: age in {18..25, 42..57}
jurr-g        |   box: age in {26..41}, state in {NULL}
jurr-g        |   COUNT(*)
jurr-g        |     predicted standard error: 338 (95 % interval: ± 662.5)
jurr-g        |     standard error of these reports: 362.7 (95 % interval: ± 710.8)
jurr-g        |     one forged report can add up to 11.3 people, or take away up to 18.6
jurr-g        |     56 of 20 x 4 cells
lgrr          | survey app: lgrr, no epsilon holds (nominal 2)
lgrr          | guarantee: not differentially private
lgrr          | reports: all reports (5000)
lgrr          |   box: age in {18..25, 42..57}
lgrr          |   box: age in {26..41}, state in {NULL}
lgrr          |   COUNT(*)
lgrr          |     no error: leaves are answered as even shares of their parents
lgrr          |     one forged report can add up to 8 people
lgrr          |     group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
lgrr          |     group 6 (age level 1, state level 1; 10 nodes): nodes 3, 5
lgrr          |     leaves answered from parents, by their share of codes
lgrr-fd       | survey app: lgrr-fd, no epsilon holds (nominal 2)
lgrr-fd       | guarantee: not differentially private
lgrr-fd       | reports: all reports (5000)
lgrr-fd       |   box: age in {18..25, 42..57}
lgrr-fd       |   box: age in {26..41}, state in {NULL}
lgrr-fd       |   COUNT(*)
lgrr-fd       |     predicted standard error: 220.6 (95 % interval: ± 432.4)
lgrr-fd       |     standard error of these reports: 214.9 (95 % interval: ± 421.1)
lgrr-fd       |     one forged report can add up to 23.8 people, or take away up to 0.154
lgrr-fd       |     group 4 (age level 1, state level 0; 5 nodes): nodes 0, 3..4
lgrr-fd       |     group 6 (age level 1, state level 1; 20 nodes): nodes 7, 11
lgrr-repaired | survey app: lgrr-repaired, epsilon 2
lgrr-repaired | guarantee: 2-LDP
lgrr-repaired | reports: all reports (5000)
lgrr-repaired |   box: age in {18..25, 42..57}
lgrr-repaired |   box: age in {26..41}, state in {NULL}
lgrr-repaired |   COUNT(*)
lgrr-repaired |     predicted standard error: 540.4 (95 % interval: ± 1059)
lgrr-repaired |     standard error of these reports: 500.1 (95 % interval: ± 980.1)
lgrr-repaired |     one forged report can add up to 62.9 people, or take away up to 42.6
lgrr-repaired |     group 4 (age level 1, state level 0; 5 nodes, grr): nodes 0, 3..4
lgrr-repaired |     group 6 (age level 1, state level 1; 20 nodes, grr): nodes 7, 11
olh           | survey app: olh, epsilon 2
olh           | guarantee: 2-LDP
olh           | reports: all reports (5000)
olh           |   box: age in {18..25, 42..57}
olh           |   box: age in {26..41}, state in {NULL}
olh           |   COUNT(*)
olh           |     predicted standard error: 360.3 (95 % interval: ± 706.2)
olh           |     standard error of these reports: 360.4 (95 % interval: ± 706.3)
olh           |     one forged report can add up to 18.6 people, or take away up to 19.8
olh           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, olh): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
oue           | survey app: oue, epsilon 2
oue           | guarantee: 2-LDP
oue           | reports: all reports (5000)
oue           |   box: age in {18..25, 42..57}
oue           |   box: age in {26..41}, state in {NULL}
oue           |   COUNT(*)
oue           |     predicted standard error: 640.3 (95 % interval: ± 1255)
oue           |     standard error of these reports: 640.1 (95 % interval: ± 1254)
oue           |     one forged report can add up to 259 people, or take away up to 35.1
oue           |     group 0 (age level 0, state level 0, sign of pay; 160 nodes, oue): nodes 0..15, 19, 23, 27, 31, 35, 39, 43, 47..95, 99, 103, 107, ... (5 more runs)
oue-ms        | refused: this survey does not collect age and state together; design it with mechanism oue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
psrr-ss       | refused: this survey does not collect age and state together; design it with mechanism psrr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
solh          | refused: this survey does not collect age and state together; design it with mechanism solh and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
srr-ms        | refused: this survey does not collect age and state together; design it with mechanism srr-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
srr-ss        | refused: this survey does not collect age and state together; design it with mechanism srr-ss and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
staircase     | survey app: staircase, epsilon 2
staircase     | guarantee: 2-LDP
staircase     | reports: all reports (5000)
staircase     |   box: age in {18..25, 42..57}
staircase     |   box: age in {26..41}, state in {NULL}
staircase     |   COUNT(*)
staircase     |     predicted standard error: 176.3 (95 % interval: ± 345.6)
staircase     |     standard error of these reports: 175.7 (95 % interval: ± 344.3)
staircase     |     one forged report can add up to 16.6 people, or take away up to 10.3
staircase     |     28 of 5 x 4 x 2 cells
sue-ms        | refused: this survey does not collect age and state together; design it with mechanism sue-ms and the option ways = 2, or ways = 0 and a [workload] whose queries ask about age and state; where fewer at once will do, say so by max_predicates under [workload]
tdrr          | survey app: tdrr, epsilon 2
tdrr          | guarantee: 2-ULDP per attribute
tdrr          | reports: all reports (5000)
tdrr          |   box: age in {18..25, 42..57}
tdrr          |   box: age in {26..41}, state in {NULL}
tdrr          |   COUNT(*)
tdrr          |     predicted standard error: 566.7 (95 % interval: ± 1111)
tdrr          |     standard error of these reports: 576 (95 % interval: ± 1129)
tdrr          |     one forged report can add up to 8.37 people, or take away up to 11.6
tdrr          |     56 of 20 x 4 cells
truthful      | survey app: truthful, epsilon 2
truthful      | guarantee: 2-LDP
truthful      | reports: all reports (5000)
truthful      |   box: age in {18..25, 42..57}
truthful      |   box: age in {26..41}, state in {NULL}
truthful      |   COUNT(*)
truthful      |     predicted standard error: 438.1 (95 % interval: ± 858.7)
truthful      |     standard error of these reports: 437.4 (95 % interval: ± 857.3)
truthful      |     one forged report can add up to 4.76 people, or take away up to 8.76
truthful      |     56 of 20 x 4 cells

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38 AND pay > 20
hio           | 1992.98 +/- 220.5 | 124192 +/- 1.454e+04 | 62.3149 +/- 2.734

WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT COUNT(*), SUM(n) FROM t
hio           | 4 | 5005.37 +/- 157.3

EXPLAIN SELECT SUM(pay) FROM app WHERE age >= 38 OR day = DATE '2026-03-02'
hio           | survey app: hio, epsilon 2
hio           | guarantee: 2-LDP
hio           | reports: ("day" = DATE '2026-03-02') (1716)
hio           |   box: everything
hio           |   SUM(pay), public
hio           |     predicted standard error: 0 (95 % interval: ± 0) per unit of the public column
hio           |     standard error of these reports: 0 (95 % interval: ± 0)
hio           |     one forged report can add up to 1 per unit of the public column
hio           |     known exactly: 1 x all reports
hio           | reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
hio           |   box: age in {38..57}
hio           |   SUM(pay), public
hio           |     predicted standard error: 198.4 (95 % interval: ± 388.9) per unit of the public column
hio           |     standard error of these reports: 1.204e+04 (95 % interval: ± 2.361e+04)
hio           |     one forged report can add up to 23.9, or take away up to 2.89 per unit of the public column
hio           |     group 1 (age level 1, state level 0; 5 nodes, olh): nodes 3..4
hio           |     group 3 (age level 2, state level 0; 20 nodes, olh): nodes 10..11

SELECT COUNT(*) FILTER (WHERE state = 'NY') AS ny, COUNT_IF(age % 4 < 2) AS some, AVG(pay) FILTER (WHERE state = 'NY') - AVG(pay) FILTER (WHERE state <> 'NY') AS gap FROM app
hio           | 1566.54 +/- 141.9 | 2458.41 +/- 324.1 | -3.21663 +/- 3.844

EXPLAIN SELECT SUM(CASE WHEN age < 38 THEN 2 WHEN state = 'NY' THEN 1 END) FROM app WHERE state IS NOT NULL
hio           | survey app: hio, epsilon 2
hio           | guarantee: 2-LDP
hio           | reports: all reports (5000)
hio           |   box: state in {CA, NY, WA}
hio           |   SUM(CASE WHEN "age" < 38 THEN 2 WHEN "state" = 'NY' THEN 1 END)
hio           |     predicted standard error: 859.3 (95 % interval: ± 1684)
hio           |     standard error of these reports: 867.1 (95 % interval: ± 1699)
hio           |     one forged report can add up to 83.5, or take away up to 22.3
hio           |     group 2 (age level 1, state level 1; 20 nodes, olh): nodes 0..2, 4..6, 13, 17
hio           |     group 4 (age level 2, state level 1; 80 nodes, olh): nodes 32..34, 36..38, 41, 45

EXPLAIN SELECT COUNT(*) FILTER (WHERE age < 38 OR day = DATE '2026-03-02') FROM app WHERE state LIKE '%A'
hio           | survey app: hio, epsilon 2
hio           | guarantee: 2-LDP
hio           | reports: ("day" = DATE '2026-03-02') (1716)
hio           |   box: state in {CA, WA}
hio           |   filter 1:
hio           |     box: state in {CA, WA}
hio           |   COUNT(*) under filter 1
hio           |     predicted standard error: 100.2 (95 % interval: ± 196.4)
hio           |     standard error of these reports: 102.5 (95 % interval: ± 200.9)
hio           |     one forged report can add up to 7.49 people, or take away up to 3.82
hio           |     group 0 (age level 0, state level 1; 4 nodes, olh): nodes 0, 2
hio           | reports: ("day" = DATE '2026-03-02') IS NOT TRUE (3284)
hio           |   box: state in {CA, WA}
hio           |   filter 1:
hio           |     box: age in {18..37}, state in {CA, WA}
hio           |   COUNT(*) under filter 1
hio           |     predicted standard error: 289.2 (95 % interval: ± 566.8)
hio           |     standard error of these reports: 287.1 (95 % interval: ± 562.7)
hio           |     one forged report can add up to 32.7 people, or take away up to 6.05
hio           |     group 2 (age level 1, state level 1; 20 nodes, olh): nodes 0, 2, 4, 6
hio           |     group 4 (age level 2, state level 1; 80 nodes, olh): nodes 32, 34, 36, 38

WITH g AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) SELECT state, ROUND(n) AS n, n / SUM(n) OVER () AS share, MAX(n) OVER () AS top FROM g UNION ALL SELECT 'all', SUM(n), 1, MAX(n) FROM g
hio           | CA | 1890 +/- 148.5 | 0.377556 +/- 0.02788 | 1889.81
hio           | NY | 1567 +/- 141.9 | 0.312971 +/- 0.02688 | 1889.81
hio           | WA | 963 +/- 126.5 | 0.192411 +/- 0.02436 | 1889.81
hio           | None | 586 +/- 114.3 | 0.117062 +/- 0.02226 | 1889.81
hio           | all | 5005.37 +/- 157.3 | 1 +/- 0 | 1889.81
hio           | note: no error bar for top: MAX of several estimates

WITH g AS (SELECT age // 10 AS decade, COUNT(*) AS n FROM app GROUP BY decade) SELECT decade, n - LAG(n) OVER (ORDER BY decade) AS step, SUM(n) OVER (ORDER BY decade) AS until, n > 100 AS big FROM g ORDER BY decade
hio           | 1 | None +/- nan | 52.5796 +/- 125.5 | False
hio           | 2 | 1354.63 +/- 309.4 | 1459.79 +/- 286 | True
hio           | 3 | 12.7146 +/- 432.3 | 2879.72 +/- 327.3 | True
hio           | 4 | -54.8651 +/- 340.3 | 4244.78 +/- 354.6 | True
hio           | 5 | -378.427 +/- 242.4 | 5231.41 +/- 368.2 | True
hio           | note: no error bar for big: a comparison of estimates

SELECT a.state, a.n / b.n AS young FROM (SELECT state, COUNT(*) AS n FROM app WHERE age < 38 GROUP BY state) a JOIN (SELECT state, COUNT(*) AS n FROM app GROUP BY state) b USING (state)
hio           | CA | 0.261105 +/- 0.1406
hio           | NY | 0.519571 +/- 0.1761
hio           | WA | 0.57859 +/- 0.2817

SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
ahead         | 1887.49 +/- 133
ahead         | note: app: estimator adaptive is biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

EXPLAIN SELECT COUNT(*) FROM app WHERE age BETWEEN 26 AND 41
ahead         | survey app: ahead, epsilon 2
ahead         | guarantee: 2-LDP
ahead         | reports: all reports (5000)
ahead         |   box: age in {26..41}
ahead         |   COUNT(*)
ahead         |     standard error of these reports: 133 (95 % interval: ± 260.6)
ahead         |     one forged report can add up to 2.7 people, or take away up to 1.25
ahead         |     adaptive grids of 47 leaves, round 5 of 5
ahead         |     biased: frequencies are made non-negative and leaves that were not split are spread evenly; the errors hold noise, sampling and what the grid lets expect of this bias

SELECT COUNT(*), SUM(pay), 100 * AVG(pay) - 3 FROM app WHERE age >= 38
ahio          | 2611.81 +/- 360.7 | 127097 +/- 3.874e+04 | 4863.23 +/- 1628
ahio          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app WHERE age >= 38
ahio          | survey app: ahio, epsilon 2
ahio          | guarantee: 2-LDP
ahio          | reports: all reports (5000)
ahio          |   box: age in {38..57}
ahio          |   COUNT(*)
ahio          |     predicted standard error: 363.2 (95 % interval: ± 711.8)
ahio          |     standard error of these reports: 360.7 (95 % interval: ± 707)
ahio          |     one forged report can add up to 47.8 people, or take away up to 6.87
ahio          |     group 1 (age level 1, state level 0; 5 nodes, olh): nodes 3..4
ahio          |     group 3 (age level 2, state level 0; 20 nodes, olh): nodes 10..11
ahio          |   SUM(pay)
ahio          |     predicted standard error: 3.761e+04 (95 % interval: ± 7.371e+04)
ahio          |     standard error of these reports: 3.874e+04 (95 % interval: ± 7.593e+04)
ahio          |     one forged report can add up to 5140, or take away up to 714
ahio          |     group 7 (age level 1, state level 0, sign of pay; 10 nodes, olh): nodes 3..4, 8..9
ahio          |     group 9 (age level 2, state level 0, sign of pay; 40 nodes, olh): nodes 10..11, 30..31

EXPLAIN SELECT COUNT(*), SUM(pay) FROM app JOIN (VALUES (20, 41), (38, 57)) AS b(low, high) ON age >= low AND age <= high
ahio          | survey app: ahio, epsilon 2
ahio          | guarantee: 2-LDP
ahio          | reports: all reports (5000)
ahio          |   box: age in {20..37, 42..57}, match_of_b in {1}
ahio          |   box: age in {38..41}
ahio          |   COUNT(*)
ahio          |     predicted standard error: 665.3 (95 % interval: ± 1304)
ahio          |     standard error of these reports: 666.7 (95 % interval: ± 1307)
ahio          |     one forged report can add up to 105 people, or take away up to 31.1
ahio          |     group 1 (age level 1, state level 0; 5 nodes, olh): nodes 1, 3..4
ahio          |     group 3 (age level 2, state level 0; 20 nodes, olh): nodes 1..3, 8..11
ahio          |   SUM(pay)
ahio          |     predicted standard error: 7.236e+04 (95 % interval: ± 1.418e+05)
ahio          |     standard error of these reports: 7.514e+04 (95 % interval: ± 1.473e+05)
ahio          |     one forged report can add up to 11300, or take away up to 3360
ahio          |     group 7 (age level 1, state level 0, sign of pay; 10 nodes, olh): nodes 1, 3..4, 6, 8..9
ahio          |     group 9 (age level 2, state level 0, sign of pay; 40 nodes, olh): nodes 1..3, 8..11, 21..23, 28..31

SELECT COUNT(*) FROM app WHERE state IN (SELECT s FROM (VALUES ('CA'), (NULL)) AS v(s)) AND age < 38
ahio          | 1078.6 +/- 386.2

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
ft            | 1590.07 +/- 44.61 | 80400.3 +/- 2620 | 50.5641 +/- 0.8452

SELECT member, COUNT(*) AS n FROM app GROUP BY member ORDER BY n DESC LIMIT 4
ft            | False | 3409.93 +/- 44.61
ft            | True | 1590.07 +/- 44.61

SELECT day, COUNT(*) FROM app WHERE member GROUP BY day ORDER BY day
ft            | 2026-03-01 | 527.602 +/- 25.54
ft            | 2026-03-02 | 569.132 +/- 26.3
ft            | 2026-03-03 | 493.333 +/- 25.43

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE member
ft            | survey app: ft, epsilon 2
ft            | guarantee: 2-LDP
ft            | reports: all reports (5000)
ft            |   box: member in {True}
ft            |   COUNT(*)
ft            |     predicted standard error: 46.42 (95 % interval: ± 90.99)
ft            |     standard error of these reports: 44.61 (95 % interval: ± 87.44)
ft            |     one forged report can add up to 1.16 people, or take away up to 0.157
ft            |     known exactly: 0.5 x all reports
ft            |     parity of member (2 nodes, grr): nodes 0..1
ft            |   SUM(pay), public
ft            |     predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
ft            |     standard error of these reports: 2620 (95 % interval: ± 5134)
ft            |     one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
ft            |     known exactly: 0.5 x all reports
ft            |     parity of member (2 nodes, grr): nodes 0..1
ft            |   COUNT(pay), public
ft            |     predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
ft            |     standard error of these reports: 44.61 (95 % interval: ± 87.44)
ft            |     one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
ft            |     known exactly: 0.5 x all reports
ft            |     parity of member (2 nodes, grr): nodes 0..1
ft            | COUNT(*): one forged report can add up to 1.16, or take away up to 0.157
ft            | SUM(pay): nothing limits what one forged report can do
ft            | AVG(pay): nothing limits what one forged report can do

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
haarhrr       | 2513.21 +/- 93.13 | 125494 +/- 5398 | 49.9336 +/- 1.073
hh            | 2589.23 +/- 105.3 | 128839 +/- 6182 | 49.7597 +/- 1.241
urap          | 2496.32 +/- 80.85 | 127041 +/- 4807 | 50.8913 +/- 1.019
urr           | 2549.9 +/- 46.45 | 128453 +/- 2889 | 50.3758 +/- 0.6648

SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 4
haarhrr       | CA | 1811.8 +/- 72.93
haarhrr       | NY | 1608.37 +/- 72.93
haarhrr       | WA | 904.839 +/- 72.92
haarhrr       | None | 674.992 +/- 72.92
hh            | CA | 1895.98 +/- 81.84
hh            | NY | 1578.23 +/- 79.26
hh            | WA | 1011 +/- 73.77
hh            | None | 512.045 +/- 67.79
urap          | CA | 1949 +/- 48.26
urap          | NY | 1498.09 +/- 75.84
urap          | WA | 998.227 +/- 37.22
urap          | None | 660.64 +/- 72.64
urr           | CA | 1944.61 +/- 42.43
urr           | NY | 1582.19 +/- 44.59
urr           | WA | 967.707 +/- 32.97
urr           | None | 505.499 +/- 36.9

SELECT day, COUNT(*) FROM app WHERE state <> 'CA' GROUP BY day ORDER BY day
haarhrr       | 2026-03-01 | 876.573 +/- 52.55
haarhrr       | 2026-03-02 | 802.853 +/- 54.36
haarhrr       | 2026-03-03 | 832.933 +/- 54.33
hh            | 2026-03-01 | 784.242 +/- 59.61
hh            | 2026-03-02 | 866.329 +/- 61.52
hh            | 2026-03-03 | 938.658 +/- 61.2
urap          | 2026-03-01 | 830.442 +/- 45.84
urap          | 2026-03-02 | 843.581 +/- 47.58
urap          | 2026-03-03 | 822.294 +/- 46.71
urr           | 2026-03-01 | 837.478 +/- 26.54
urr           | 2026-03-02 | 860.626 +/- 27.25
urr           | 2026-03-03 | 851.791 +/- 26.75

EXPLAIN SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE state <> 'CA'
haarhrr       | survey app: haarhrr, epsilon 2
haarhrr       | guarantee: 2-LDP
haarhrr       | reports: all reports (5000)
haarhrr       |   box: state in {NY, WA}
haarhrr       |   COUNT(*)
haarhrr       |     predicted standard error: 92.85 (95 % interval: ± 182)
haarhrr       |     standard error of these reports: 93.13 (95 % interval: ± 182.5)
haarhrr       |     one forged report can add up to 3.14 people, or take away up to 2.14
haarhrr       |     group 0 (nodes of 2 codes): 2 of 2 coefficients
haarhrr       |   SUM(pay), public
haarhrr       |     predicted standard error: 92.85 (95 % interval: ± 182) per unit of the public column
haarhrr       |     standard error of these reports: 5398 (95 % interval: ± 1.058e+04)
haarhrr       |     one forged report can add up to 3.14, or take away up to 2.14 per unit of the public column
haarhrr       |     group 0 (nodes of 2 codes): 2 of 2 coefficients
haarhrr       |   COUNT(pay), public
haarhrr       |     predicted standard error: 92.85 (95 % interval: ± 182) per unit of the public column
haarhrr       |     standard error of these reports: 93.13 (95 % interval: ± 182.5)
haarhrr       |     one forged report can add up to 3.14, or take away up to 2.14 per unit of the public column
haarhrr       |     group 0 (nodes of 2 codes): 2 of 2 coefficients
haarhrr       | COUNT(*): one forged report can add up to 3.14, or take away up to 2.14
haarhrr       | SUM(pay): nothing limits what one forged report can do
haarhrr       | AVG(pay): nothing limits what one forged report can do
hh            | survey app: hh, epsilon 2
hh            | guarantee: 2-LDP
hh            | reports: all reports (5000)
hh            |   box: state in {NY, WA}
hh            |   COUNT(*)
hh            |     predicted standard error: 104.8 (95 % interval: ± 205.5)
hh            |     standard error of these reports: 105.3 (95 % interval: ± 206.3)
hh            |     one forged report can add up to 4.63 people, or take away up to 0.626
hh            |     group 0 (state level 1; 4 nodes, oue): nodes 1..2
hh            |   SUM(pay), public
hh            |     predicted standard error: 104.8 (95 % interval: ± 205.5) per unit of the public column
hh            |     standard error of these reports: 6182 (95 % interval: ± 1.212e+04)
hh            |     one forged report can add up to 4.63, or take away up to 0.626 per unit of the public column
hh            |     group 0 (state level 1; 4 nodes, oue): nodes 1..2
hh            |   COUNT(pay), public
hh            |     predicted standard error: 104.8 (95 % interval: ± 205.5) per unit of the public column
hh            |     standard error of these reports: 105.3 (95 % interval: ± 206.3)
hh            |     one forged report can add up to 4.63, or take away up to 0.626 per unit of the public column
hh            |     group 0 (state level 1; 4 nodes, oue): nodes 1..2
hh            | COUNT(*): one forged report can add up to 4.63, or take away up to 0.626
hh            | SUM(pay): nothing limits what one forged report can do
hh            | AVG(pay): nothing limits what one forged report can do
urap          | survey app: urap, epsilon 2
urap          | guarantee: 2-ULDP
urap          | reports: all reports (5000)
urap          |   box: state in {NY, WA}
urap          |   COUNT(*)
urap          |     predicted standard error: 81.12 (95 % interval: ± 159)
urap          |     standard error of these reports: 80.85 (95 % interval: ± 158.5)
urap          |     one forged report can add up to 3.16 people, or take away up to 0.582
urap          |     2 of 4 cells
urap          |   SUM(pay), public
urap          |     predicted standard error: 81.12 (95 % interval: ± 159) per unit of the public column
urap          |     standard error of these reports: 4807 (95 % interval: ± 9422)
urap          |     one forged report can add up to 3.16, or take away up to 0.582 per unit of the public column
urap          |     2 of 4 cells
urap          |   COUNT(pay), public
urap          |     predicted standard error: 81.12 (95 % interval: ± 159) per unit of the public column
urap          |     standard error of these reports: 80.85 (95 % interval: ± 158.5)
urap          |     one forged report can add up to 3.16, or take away up to 0.582 per unit of the public column
urap          |     2 of 4 cells
urap          | COUNT(*): one forged report can add up to 3.16, or take away up to 0.582
urap          | SUM(pay): nothing limits what one forged report can do
urap          | AVG(pay): nothing limits what one forged report can do
urr           | survey app: urr, epsilon 2
urr           | guarantee: 2-ULDP
urr           | reports: all reports (5000)
urr           |   box: state in {NY, WA}
urr           |   COUNT(*)
urr           |     predicted standard error: 46.42 (95 % interval: ± 90.99)
urr           |     standard error of these reports: 46.45 (95 % interval: ± 91.03)
urr           |     one forged report can add up to 1.16 people, or take away up to 0.157
urr           |     2 of 4 cells
urr           |   SUM(pay), public
urr           |     predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
urr           |     standard error of these reports: 2889 (95 % interval: ± 5663)
urr           |     one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
urr           |     2 of 4 cells
urr           |   COUNT(pay), public
urr           |     predicted standard error: 46.42 (95 % interval: ± 90.99) per unit of the public column
urr           |     standard error of these reports: 46.45 (95 % interval: ± 91.03)
urr           |     one forged report can add up to 1.16, or take away up to 0.157 per unit of the public column
urr           |     2 of 4 cells
urr           | COUNT(*): one forged report can add up to 1.16, or take away up to 0.157
urr           | SUM(pay): nothing limits what one forged report can do
urr           | AVG(pay): nothing limits what one forged report can do

SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age >= 38
hgrr          | 2409.83 +/- 343.8 | 143700 +/- 4.496e+04 | 59.6308 +/- 20.51
hgrr          | note: AVG(pay) (in 1 of 1 row): shown with its interval within the declared bounds of what is averaged; what is computed from it uses the plain estimate
hgrr          | note: values of pay outside of [0, 100] count as the nearer bound; reports cannot tell how many there are. A missing one counts as 0 (required = true), and COUNT(pay) counts everybody

EXPLAIN SELECT AVG(pay) FROM app WHERE state = 'NY' GROUP BY age
hgrr          | survey app: hgrr, epsilon 2
hgrr          | guarantee: 2-LDP
hgrr          | private groups: 20 rows; the first is shown
hgrr          | reports: all reports (5000)
hgrr          |   box: state in {NY}
hgrr          |   group: 18
hgrr          |   SUM(pay)
hgrr          |     predicted standard error: 4.813e+04 (95 % interval: ± 9.434e+04)
hgrr          |     standard error of these reports: 4.705e+04 (95 % interval: ± 9.222e+04)
hgrr          |     one forged report can add up to 27500, or take away up to 122
hgrr          |     group 10 (age level 2, state level 1, sign of pay; 160 nodes, grr): nodes 1, 81
hgrr          |   COUNT(*)
hgrr          |     predicted standard error: 352.3 (95 % interval: ± 690.5)
hgrr          |     standard error of these reports: 484.9 (95 % interval: ± 950.4)
hgrr          |     one forged report can add up to 168 people, or take away up to 3.36
hgrr          |     group 9 (age level 2, state level 1; 80 nodes, grr): nodes 1
hgrr          | AVG(pay): nothing limits what one forged report can do

SELECT AVG(age // 10 * 10) AS decade, COUNT_IF(age % 4 < 2) / COUNT(*) AS share FROM app
hgrr          | 33.3547 +/- 3.323 | 0.562003 +/- 0.09942
