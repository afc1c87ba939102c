"""Runs at the analyst. SQLAlchemy, Superset, tables for BI, pictures, the shell."""
