"""Answer a plan: check, charge, read, draw, record."""
