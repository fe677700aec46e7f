"""Statements that any SQL engine is asked: cells, groups, units, keys; none fails for any row."""
