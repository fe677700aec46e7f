"""Stores of reports: SQLite by default, PostgreSQL for more."""
