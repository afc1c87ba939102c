"""The suite, whole. Classes whose tables alone are too much require what `Requirements` closes."""

from sqlalchemy.testing.suite import *  # noqa: F403
from sqlalchemy.testing.suite import (
    ComponentReflectionTest,
    IdentityAutoincrementTest,
    QuotedNameArgumentTest,
    ReturningGuardsTest,
)

QuotedNameArgumentTest.__requires__ = ("quoted_names",)
ComponentReflectionTest.__requires__ = ("foreign_key_constraint_reflection",)
for kind in (IdentityAutoincrementTest, ReturningGuardsTest):
    kind.__requires__ = ("insert_returning",)
