"""A folder of report files that Spark reads and counts, in the place of a database."""
