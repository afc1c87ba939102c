-- What DuckDB takes, read by `test_spellings.py`: a statement begins with a line that starts with SELECT behind --;
-- what follows several of these is written behind each. Behind a spelling that is refused stands what is said of it;
-- all others are answered.

-- SELECT COUNT(*) FROM app WHERE
sex = 'Male'
sex = $$Male$$
sex = $t$Male$t$
sex = E'Male'
sex = e'M\x61le'
sex = E'it\'s'
sex = E'\115ale'
sex = E'\u004Dale'  -- sex has no value 'u004Dale'
sex = N'Male'
sex = n'Male'
sex = 'it''s'
sex = 'Ma' || 'le'
sex = VARCHAR 'Male'
sex = 'Male'::VARCHAR
sex = CAST('Male' AS TEXT)
sex = 'Male'::STRING
sex = 'Male'::CHAR
sex = 'Male'::BPCHAR
sex = 'Male'::VARCHAR(10)
sex == 'Male'
sex != 'Male'
sex <> 'Male'
sex IS NULL
sex ISNULL
sex NOTNULL
sex NOT NULL
sex IS NOT DISTINCT FROM 'Male'
sex ^@ 'Ma'
sex LIKE 'M%'
sex ~~ 'M%'
sex !~~ 'M%'
sex ~~* 'm%'
sex !~~* 'm%'
sex ILIKE 'm%'
sex GLOB 'M*'
sex ~~~ 'M*'
sex ~ 'M.*'
sex !~ 'M.*'
sex SIMILAR TO 'M.*'
sex NOT SIMILAR TO 'M.*'
sex IN ('Male')
sex IN ['Male']
sex = ANY(['Male'])  -- ANY is not supported over columns
sex = ANY(VALUES ('Male'))  -- ANY is not supported over columns
sex NOT IN ('Male')
list_contains(['Male'], sex)  -- the function LIST_CONTAINS is not supported over columns
age = 5
age = 5.0
age = 5e0
age = 0x5  -- syntax error near 'x5'
age = 0X0f  -- syntax error near 'X0f'
age = 0b101  -- syntax error near 'b101'
age = 0o5  -- syntax error near 'o5'
age < 1_0
age < 1_0.0_0
age < .5
age < 5.
age < 5.e0
age < 1E+1
age < 0.5e1
age = +5
age = - -5
age = -(-5)
age = '5'
age = '0x5'
age = ' 5 '
age = '5.0'
age < '5.5'
age < '1e1'
age < '1_0'
age = 5::INT
age = 5::INTEGER
age = 5::INT4
age = 5::INT8
age = 5::INT2
age = 5::INT1
age = 5::SHORT
age = 5::LONG
age = 5::SIGNED
age = 5::BIGINT
age = 5::HUGEINT
age = 5::UHUGEINT
age = 5::UBIGINT
age = 5::UINTEGER
age = 5::USMALLINT
age = 5::UTINYINT
age = 5::TINYINT
age = 5::DOUBLE
age = 5::FLOAT
age = 5::FLOAT4
age = 5::FLOAT8
age = 5::REAL
age = 5::NUMERIC
age = 5::DECIMAL(10,2)
age = 5::DEC
age = 5.4::INT
age = 5.5::INT
age = 4.5::INT
age = 6.5::DOUBLE::INT
age = '5'::INT
age = '5.4'::INT
age = CAST('5' AS BIGINT)
age = TRY_CAST('5' AS INT)
age = TRY_CAST('x' AS INT)
age = INT '5'
age = INTEGER '5'
age = BIGINT '5'
age = DOUBLE '5'
age = DECIMAL '5'
age = true::INT
age = 5 // 1
age = 15 % 10
age = 2 ** 2
age = 2 ^ 2
age = @(-5)
age = 5 & 7
age = 1 << 2
age = abs(-5)
age = (SELECT 5)
age BETWEEN 2 AND 5
age NOT BETWEEN 2 AND 5
age BETWEEN '2' AND '5'
age IN (1, 2, 3)
age IN (1, '2', 3.0)
age IN [1, 2]
age in range(1, 4)  -- IN takes a list of constants
age < 1e400  -- this number is too large
age < 'infinity'  -- a column of type int cannot be compared with 'infinity'
age < 'inf'::DOUBLE  -- this number is too large
age < 'nan'::DOUBLE  -- this number is too large
age = NULL
age IS NOT NULL
day = '2024-01-05'
day = DATE '2024-01-05'
day = DATE'2024-01-05'
day = date('2024-01-05')
day = '2024-01-05'::DATE
day = CAST('2024-01-05' AS DATE)
day = TRY_CAST('2024-01-05' AS DATE)
day = '2024-1-5'
day = '2024/01/05'
day = '2024/1/5'
day = '2024 01 05'
day = '2024\01\05'
day = '20240105'  -- '20240105' is not a date
day = '2024-W01-5'  -- '2024-W01-5' is not a date
day = '2024-01-05 (AD)'  -- '2024-01-05 (AD)' is not a date
day = '2024-01-05 00:00:00'
day = ' 2024-01-05 '
day = '05.01.2024'  -- '05.01.2024' is not a date
day = 'epoch'
day > 'epoch'
day < 'infinity'  -- 'infinity' is not a date
day > '-infinity'  -- '-infinity' is not a date
day < '10000-01-01'  -- '10000-01-01' is not a date
day > '0044-03-15 (BC)'  -- '0044-03-15 (BC)' is not a date
day > '-0044-03-15'  -- '-0044-03-15' is not a date
day < DATE '2024-01-01' + 4
day < DATE '2024-01-01' + INTERVAL 4 DAY
day < DATE '2024-01-01' + INTERVAL '4 days'
day < DATE '2024-01-01' + INTERVAL (4) DAY
day < make_date(2024, 1, 5)
day < strptime('05.01.2024', '%d.%m.%Y')
day < to_timestamp(1704412800)  -- the function TO_TIMESTAMP is not supported over columns
day < TIMESTAMP '2024-01-05 00:00:00'
day < TIMESTAMP_S '2024-01-05 00:00:00'
day < TIMESTAMPTZ '2024-01-05 00:00:00+00'  -- this is of type TIMESTAMP WITH TIME ZONE
day BETWEEN '2024-01-02' AND '2024-01-05'
day IN ('2024-01-02', DATE '2024-01-05')
seen < '2024-01-02'
seen < TIMESTAMP '2024-01-02'
seen < TIMESTAMP '2024-01-02 00:00:00'
seen < '2024-01-02T00:00:00'
seen < '2024-01-02 00:00'
seen < '2024-01-02 00'  -- '2024-01-02 00' is not a timestamp
seen < '2024-01-02 00:00:00.000000'
seen < '2024-01-02 00:00:00.000000000'
seen < '2024-01-02T00:00:00Z'  -- '2024-01-02T00:00:00Z' has a time zone
seen < '2024-01-02 00:00:00+00'  -- '2024-01-02 00:00:00+00' has a time zone
seen < '2024-01-02 00:00:00+00:00'  -- '2024-01-02 00:00:00+00:00' has a time zone
seen < '2024-01-02 00:00:00 UTC'  -- '2024-01-02 00:00:00 UTC' is not a timestamp
seen < '2024-1-2 0:0:0'
seen < '2024-01-02'::TIMESTAMP
seen < '2024-01-02'::DATETIME
seen < '2024-01-02'::TIMESTAMP_S
seen < '2024-01-02'::TIMESTAMP_MS
seen < '2024-01-02'::TIMESTAMP_NS
seen < '2024-01-02'::TIMESTAMPTZ  -- this is of type TIMESTAMP WITH TIME ZONE
seen < '2024-01-02'::TIMESTAMP WITH TIME ZONE  -- this is of type TIMESTAMP WITH TIME ZONE
seen < '2024-01-02'::TIMESTAMP WITHOUT TIME ZONE
seen < DATETIME '2024-01-02'
seen < DATE '2024-01-02'
seen < make_timestamp(2024, 1, 2, 0, 0, 0)
seen < '2024-01-02 24:00:00'
weight < 25
weight < 25.0
weight < '25'
weight < 25::DOUBLE
weight < 2.5e1
member
NOT member
member = true
member = TRUE
member = 't'
member = 'true'
member = 'TRUE'
member = 'yes'
member = '1'
member = 1
member = 0
member = 'f'
member IS TRUE
member IS NOT TRUE
member IS FALSE
member IS UNKNOWN
member = CAST('true' AS BOOL)
member = 'true'::BOOLEAN
member = BOOLEAN 'true'
member = 1::BOOL
member = LOGICAL 'true'
true
FALSE
NULL
1  -- a constant is not a condition
age = 5::INTEGER::BIGINT
sex = 'é'
sex = E'\303\251'
sex = E'\xff'  -- this text is not valid UTF-8
day = '2024-01-05 12:00'
age IS NOT DISTINCT FROM '5'
age NOT IN ('1', 2)
'5' < age
DATE '2024-01-05' = day
seen >= '2024-1-2'
seen < '2024-01-02 00:00:00.000000001'
current_time < '12:00'  -- the function CURRENT_TIME is not supported over columns

-- SELECT age, COUNT(*) FROM app GROUP BY age ORDER BY age
LIMIT (SELECT 2)  -- LIMIT and OFFSET take a constant

-- SELECT * FROM (SELECT age, COUNT(*) AS n FROM app GROUP BY age) ORDER BY age
LIMIT (SELECT 2)

-- SELECT age, COUNT(*) FROM app GROUP BY age ORDER BY age
-- SELECT * FROM (SELECT age, COUNT(*) AS n FROM app GROUP BY age) ORDER BY age
LIMIT 2
LIMIT 2.0
LIMIT 2.6
LIMIT '2'
LIMIT 1 + 1
LIMIT (2)
LIMIT 2::INT
LIMIT CAST('2' AS INT)
LIMIT ALL
LIMIT NULL
LIMIT 0
LIMIT -1  -- LIMIT/OFFSET cannot be negative
LIMIT 50%
LIMIT 50 PERCENT
LIMIT 20.5%
LIMIT 1_0
LIMIT 1e0
LIMIT 2 OFFSET 1
OFFSET 1 LIMIT 2
OFFSET 3
OFFSET 3 ROWS
OFFSET 1 ROW
OFFSET '3'
OFFSET NULL
OFFSET -1  -- LIMIT/OFFSET cannot be negative
FETCH FIRST 1 ROWS ONLY
FETCH FIRST 1 ROW ONLY
FETCH FIRST ROW ONLY
FETCH FIRST ROWS ONLY
FETCH NEXT 2 ROWS ONLY
FETCH NEXT ROW ONLY
OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
OFFSET 1 FETCH FIRST 2 ROWS ONLY
FETCH FIRST (1+1) ROWS ONLY
FETCH FIRST 1+1 ROWS ONLY
FETCH FIRST 2 ROWS WITH TIES  -- syntax error near 'WITH'
FETCH FIRST 20 PERCENT ROWS ONLY  -- syntax error near 'PERCENT'
FETCH FIRST 2 ROWS  -- syntax error near 'ROWS'
FETCH FIRST 0 ROWS ONLY
FETCH FIRST '2' ROWS ONLY
FETCH FIRST -1 ROWS ONLY  -- LIMIT/OFFSET cannot be negative
FETCH FIRST 2.5 ROWS ONLY
FETCH FIRST NULL ROWS ONLY
USING SAMPLE 2  -- sampling is not supported
LIMIT true
LIMIT 99999999999999999999  -- Type INT128 with value 99999999999999999999 can't be cast because the value is out of range for the destination type INT64
LIMIT 1e30  -- Type DOUBLE with value 1e+30 can't be cast because the value is out of range for the destination type INT64
