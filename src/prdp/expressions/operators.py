"""The operators of numbers and comparisons, and which comparison says the same or the opposite of another."""

from __future__ import annotations

from typing import Literal, get_args

ArithmeticOp = Literal["+", "-", "*", "/", "%"]
CompareOp = Literal["=", "<>", "<", "<=", ">", ">="]

ARITHMETIC: tuple[ArithmeticOp, ...] = get_args(ArithmeticOp)
COMPARISONS: tuple[CompareOp, ...] = get_args(CompareOp)

OPPOSITE: dict[CompareOp, CompareOp] = {
    "=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
"""The comparison that holds just when the other does not (both sides known)."""

MIRRORED: dict[CompareOp, CompareOp] = {
    "=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=",
}  # fmt: skip
"""The comparison that says the same with its sides exchanged."""
