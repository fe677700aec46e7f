"""Functions of texts in ClickHouse, whose texts are bytes."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.dialects.clickhouse_words import call, said, text
from prdp.engines.dialects.translate import Rule
from prdp.expressions.letters import CAPITALS, SMALL_LETTERS

_ALL_OF_UTF_8 = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"


def _fits(node: exp.Expression) -> exp.Expression:
    pattern = node.expression.name
    if pattern == _ALL_OF_UTF_8:
        return call("isValidUTF8", node.this)
    return call("match", node.this, text(f"^(?:{pattern})$"))


def _letters(table: Mapping[int, int]) -> Rule:
    """Return a rule that writes letters one by one, by the table that every engine has to follow."""
    given, taken = ("".join(map(chr, places)) for places in (table.keys(), table.values()))
    return lambda node: call("translateUTF8", node.this, text(given), text(taken))


def _trimmed(node: exp.Expression) -> exp.Expression:
    """Cut off characters, not bytes."""
    cut = node.expression.name
    if not cut:
        operand: exp.Expression = node.this
        return operand.copy()
    every = "[" + "".join(f"\\x{{{ord(one):x}}}" for one in cut) + "]+"
    position = node.args.get("position")
    found: exp.Expression = node.this
    if position != "TRAILING":
        found = call("replaceRegexpOne", found, text(f"^{every}"), text(""))
    if position != "LEADING":
        found = call("replaceRegexpOne", found, text(f"{every}$"), text(""))
    return found


_LENGTH = "toInt64(lengthUTF8(t))"
_PLACE = f"multiIf(p > 0, p, p = 0, 1, p + {_LENGTH} >= 0, p + {_LENGTH} + 1, p < 0, 1, NULL)"
_FROM = f"substringUTF8(t, {_PLACE})"


def _part(node: exp.Expression) -> exp.Expression:
    """Return a part of a text: from a place on, counted from its end if negative, or its first characters."""
    length = node.args.get("length")
    if length is None:
        return said(_FROM, t=node.this, p=node.args["start"])
    return said("substringUTF8(t, 1, n)", t=node.this, n=length)


TEXT_RULES: Mapping[str, Rule] = {
    "RegexpFullMatch": _fits,
    "StartsWith": lambda node: call("startsWith", node.this, node.expression),
    "EndsWith": lambda node: call("endsWith", node.this, node.expression),
    "Contains": lambda node: said("position(t, p) > 0", t=node.this, p=node.expression),
    "Lower": _letters(SMALL_LETTERS),
    "Upper": _letters(CAPITALS),
    "Trim": _trimmed,
    "Substring": _part,
    "DPipe": lambda node: call("concat", node.this, node.expression),
    "Length": lambda node: said("toInt64(lengthUTF8(t))", t=node.this),
    "strlen": lambda node: said("toInt64(length(t))", t=node.expressions[0]),
    "ConcatWs": lambda node: call("concatWithSeparator", *node.expressions),
    "MD5": lambda node: said("lower(hex(MD5(t)))", t=node.this),
}
"""Functions of texts."""
