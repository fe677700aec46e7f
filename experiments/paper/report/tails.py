"""How measured errors stand in tables."""

from __future__ import annotations

from experiments.paper.report.parts import Kind, Row, number
from experiments.paper.results import Measures

HEADER = ("", "trimmed", "median", "p90", "p99", "mean")


def with_error(measures: Measures) -> str:
    """Write a trimmed mean with its standard error."""
    return f"{number(measures.trimmed)} ± {number(measures.standard_error, 1)}"


def tail_row(name: str, measures: Measures, kind: Kind) -> Row:
    """Return a row under ``HEADER``: what the trimmed mean hides stands beside it."""
    m = measures
    return Row((name, *(number(x) for x in (m.trimmed, m.median, m.p90, m.p99, m.mean))), kind)
