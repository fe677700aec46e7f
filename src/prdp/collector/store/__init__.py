"""Where reports are kept before they are acknowledged: SQLite by default, PostgreSQL for more."""
