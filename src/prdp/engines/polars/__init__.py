"""Polars as an engine: statements as steps of lazy frames."""
