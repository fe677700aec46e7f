"""How measured errors are in tables."""

from __future__ import annotations

from experiments.paper.report.parts import Kind, Row, number
from experiments.paper.results import Measures, OverSeeds

HEADER = ("", "trimmed", "median", "p90", "p99", "mean")
SPREAD = "in brackets, the least and the greatest of {} seeds"


def with_error(measures: Measures) -> str:
    """Write a trimmed mean with its standard error."""
    return f"{number(measures.trimmed)} ± {number(measures.standard_error, 1)}"


def with_spread(figure: OverSeeds, digits: int = 3) -> str:
    """Write a figure with its least and greatest over the seeds, unless they are written the same."""
    value, least, greatest = (number(x, digits) for x in (figure.value, figure.least, figure.greatest))
    return value if least == greatest else f"{value} ({least}–{greatest})"


def tail_row(name: str, measures: Measures, kind: Kind) -> Row:
    """Return a row under ``HEADER``: what the trimmed mean hides is beside it."""
    m = measures
    tail = (with_spread(figure) for figure in (m.p90, m.p99, m.mean))
    return Row((name, number(m.trimmed), number(m.median), *tail), kind)
