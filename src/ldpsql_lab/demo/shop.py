"""Made-up shoppers, the survey that asks them, and questions about all of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SEED = 1
STATES = ("CA", "FL", "IL", "NY", "PA", "TX")

SURVEY = """\
[survey]
table = "shop"
epsilon = "2"

[dimension.age]
type = "int"
domain = [18, 81]

[dimension.salary]
type = "int"
domain = [0, 199999]
bin_width = 25000

[dimension.state]
type = "category"
values = ["CA", "FL", "IL", "NY", "PA", "TX"]

[measure.purchase]
bounds = [0, 500]
required = true
"""

QUESTIONS = (
    "SELECT COUNT(*) FROM shop WHERE age BETWEEN 26 AND 49",
    "SELECT AVG(purchase) FROM shop WHERE salary >= 50000",
    "SELECT state, COUNT(*) FROM shop GROUP BY state",
)


def shoppers(people: int, seed: int = SEED) -> pa.Table:
    """Made-up shoppers: age, salary, state, purchase."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(6.0, 5.0, people) + 17, 18, 81).astype(np.int64)
    experience = 1.0 - np.exp(-(age - 16) / 12.0)
    salary = np.clip(random.lognormal(10.9, 0.5, people) * experience, 0, 199_999)
    shares = np.array([0.28, 0.17, 0.1, 0.16, 0.1, 0.19])
    state = random.choice(len(STATES), size=people, p=shares)
    spend = random.gamma(2.0, 0.0011 * salary + 25.0)
    return pa.table(
        {
            "age": age,
            "salary": salary.astype(np.int64),
            "state": pa.array(STATES).take(pa.array(state)),
            "purchase": np.minimum(spend, 500.0),
        }
    )
