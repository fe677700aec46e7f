"""Mechanisms: cells to answers; one file, one proof, one exact test, one name."""
