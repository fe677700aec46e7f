"""PostgreSQL as an engine: its catalog, sessions and dialect."""
