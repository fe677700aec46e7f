"""Engines read the records: each turns a read into exact totals per cell."""
