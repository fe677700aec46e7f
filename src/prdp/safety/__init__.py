"""Transactions, forks and exceptions that hold nothing; the standard library alone."""
