"""Propose policies that have a range, in place of one that has none: for messages that can be pasted."""

from __future__ import annotations

from collections.abc import Iterator

from prdp.expressions.nodes import Arithmetic, Column, Node, Number, canonical
from prdp.expressions.spelling import shown_name

_FLOOR = "0.000001"
"""Small enough to hide almost any record, and large enough that levels down to it cost no time."""

_CAP = 100.0
"""The largest budget that is proposed where the caller names none: it hides nothing, and is finite."""


def bounded_texts(expression: Node, at_most: float | None = None) -> Iterator[str]:
    """Yield expressions that mean the same where it has a budget, the simplest first.

    >>> from prdp.expressions.parse import parse
    >>> next(bounded_texts(parse("10000 / balance")))
    'least(10000 / greatest(abs(balance), 100), 100)'
    >>> list(bounded_texts(parse("100 - age")))
    ['least(greatest(100 - age, 0.000001), 100)']

    Args:
        expression: The policy's expression.
        at_most: The largest budget that the caller allows.
    """
    cap = _CAP if at_most is None else at_most
    most = _number(cap)
    match expression:
        case Arithmetic("/", Number(above), Column(name)) if above > 0:
            size = f"abs({shown_name(name)})"
            inverse = f"least({_number(above)} / greatest({size}, {_number(above / cap)}), {most})"
            yield inverse
            yield f"greatest({inverse}, {_FLOOR})"
        case _:
            yield f"least(greatest({canonical(expression)}, {_FLOOR}), {most})"


def _number(value: float) -> str:
    return f"{value:.12g}"
