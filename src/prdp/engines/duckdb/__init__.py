"""DuckDB, the embedded engine."""
