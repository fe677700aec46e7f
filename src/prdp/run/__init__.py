"""From a plan to an answer: check, charge, read, draw, record."""
