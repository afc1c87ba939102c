SELECT COUNT(*) FROM app WHERE age = 20 OR hours = 3;
-- where anybody
--   age 0..1 3..72, hours 3..3
--   age 2..2

SELECT COUNT(*) FROM app WHERE hours = 3 OR age = 20 OR (hours = 3 AND age = 20);
-- where anybody
--   age 0..1 3..72, hours 3..3
--   age 2..2

SELECT COUNT(*) FROM app WHERE NOT (age = 20 AND hours = 3);
-- where anybody
--   age 0..1 3..72
--   age 2..2, hours 0..2 4..99

SELECT COUNT(*) FROM app WHERE age < 30 OR age < 40 AND active OR state IS NULL;
-- where anybody
--   age 0..11
--   age 12..21, state 0..2, active 1..1
--   age 12..72, state 3..3

SELECT COUNT(*) FROM app WHERE (age = 20 AND active) OR (age = 20 AND NOT active);
-- where anybody
--   age 2..2

SELECT COUNT(*) FROM app WHERE (age = 20 AND hours = 1) OR (age = 20 AND hours = 2) OR (age = 21 AND hours = 1) OR (age = 21 AND hours = 2);
-- where anybody
--   age 2..3, hours 1..2

SELECT COUNT(*) FROM app WHERE active OR NOT active;
-- where anybody
--   everybody

SELECT COUNT(*) FROM app WHERE (age < 50 OR hours < 50) AND (age >= 50 OR hours >= 50);
-- where anybody
--   age 0..31, hours 50..99
--   age 32..72, hours 0..49

SELECT COUNT(*) FROM app WHERE beta AND (age = 20 OR hours = 3) OR build > 7 AND state = 'NY';
-- where ("beta" = TRUE) AND ("build" > 7)
--   age 0..1 3..72, state 0..0 2..3, hours 3..3
--   age 0..1 3..72, state 1..1
--   age 2..2
-- where ("beta" = TRUE) AND ("build" > 7) IS NOT TRUE
--   age 0..1 3..72, hours 3..3
--   age 2..2
-- where ("beta" = TRUE) IS NOT TRUE AND ("build" > 7)
--   state 1..1

SELECT COUNT(*) FROM app WHERE age > 3 AND age < 2;
-- where anybody
--   nobody

SELECT COUNT(*) FROM app WHERE (age < 40) = active OR lower(state) = 'ny';
-- where anybody
--   state 1..1
--   age 0..21, state 0..0 2..3, active 1..1
--   age 22..72, state 0..0 2..3, active 0..0
