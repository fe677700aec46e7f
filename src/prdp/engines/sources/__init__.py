"""Sources that DuckDB reads for us: files, frames, lakes, database files."""
