"""Pieces of ClickHouse's SQL from which its rules are written."""

from __future__ import annotations

from sqlglot import exp

from prdp.engines.statements.translate import form

_LARGEST = 2**63 - 1


def call(name: str, *args: exp.Expression) -> exp.Expression:
    """Return a call of a function."""
    return exp.Anonymous(this=name, expressions=[arg.copy() for arg in args])


def text(value: str) -> exp.Expression:
    """Return a text constant."""
    return exp.Literal.string(value)


def number(value: int) -> exp.Expression:
    """Return a whole number with its type: of 64 bits, or of 128 where it needs them."""
    if abs(value) <= _LARGEST:
        return call("toInt64", exp.Literal.number(value))
    return call("toInt128", text(str(value)))


def from_template(written: str, **parts: exp.Expression) -> exp.Expression:
    """Return ClickHouse's SQL in which names stand for nodes.

    Names of lambdas begin with ``prdp_``; they differ from those inside the nodes, or ClickHouse would take
    one lambda inside another for itself.
    """
    if "->" in written:
        inside = sum(len(list(part.find_all(exp.Lambda))) for part in parts.values())
        written = written.replace("prdp_", f"prdp{inside}_")
    return form(written, "clickhouse", **parts)


def plain(node: exp.Expression) -> str | None:
    """Return the digits of a whole number that ``number`` wrote, with its sign; None for anything else."""
    if isinstance(node, exp.Neg):
        inner = plain(node.this)
        return None if inner is None else f"-{inner}"
    if isinstance(node, exp.Anonymous) and node.name in ("toInt64", "toInt128"):
        (value,) = node.expressions
        if isinstance(value, exp.Literal) and value.name.isdigit():
            return str(value.name)
    return None
