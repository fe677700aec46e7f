"""An expression as plain JSON, for those who evaluate policies without a parser of SQL.

A node is a list that starts with its name: ``["/", ["number", 10000.0], ["column", "balance"]]``.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn, assert_never

from prdp.errors import InvalidRequest
from prdp.expressions.calls import joined_texts, misuse
from prdp.expressions.functions import CAST_TARGETS
from prdp.expressions.nodes import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    MAX_CONSTANTS,
    MAX_LEVELS,
    MAX_NODES,
    And,
    Arithmetic,
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    InList,
    IsNull,
    IsTrue,
    Literals,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    Text,
    arity,
    conjunction,
    disjunction,
    too_large,
)
from prdp.expressions.spelling import is_writable, moment_from

Json = list[Any]


def to_json(node: Node) -> Json:  # noqa: PLR0911  (one return a class)
    """Return an expression as lists, texts, numbers and truth values.

    >>> from prdp.expressions.parse import parse
    >>> to_json(parse("least(10000 / balance, 100)"))
    ['call', 'least', ['/', ['number', 10000.0], ['column', 'balance']], ['number', 100.0]]
    """
    match node:
        case Number() | Text() | Boolean() | Moment() | Null() | Column():
            return _leaf_json(node)
        case Negate() | Not() | IsNull() | IsTrue():
            return [_PREFIXES[type(node)], to_json(node.operand)]
        case Arithmetic() | Compare():
            return [node.op, to_json(node.left), to_json(node.right)]
        case Call():
            return ["call", node.name, *map(to_json, node.args)]
        case Cast():
            return ["cast", node.target, to_json(node.operand)]
        case InList():
            return ["in", to_json(node.operand), *map(to_json, node.items)]
        case And() | Or():
            return [type(node).__name__.lower(), *map(to_json, node.parts)]
        case Case():
            branches = [[to_json(when), to_json(then)] for when, then in node.branches]
            return ["case", branches, to_json(node.default)]
        case _:
            assert_never(node)


def _leaf_json(node: Literals | Null | Column) -> Json:
    match node:
        case Null():
            return ["null"]
        case Column():
            return ["column", node.name]
        case Moment():
            return ["moment", node.value.isoformat()]
        case _:
            return [type(node).__name__.lower(), node.value]


def from_json(tree: object) -> Node:
    """Return the expression that ``to_json`` wrote, refusing everything else.

    Raises:
        InvalidRequest: The tree is not an expression, or it is too large.
    """
    _refuse_endless(tree)
    node = _read(tree, MAX_LEVELS)
    if too_large(node):
        raise _too_large()
    return node


def _refuse_endless(tree: object) -> None:
    """Refuse a tree of far too many parts or levels before any of it is read: reading takes stack and time.

    Every node is a list; a CASE has one more, and one more for each branch, which holds two nodes.
    """
    waiting, lists = [(tree, 1)], 0
    while waiting:
        part, level = waiting.pop()
        if isinstance(part, list):
            lists += 1
            if lists > 2 * MAX_NODES + MAX_CONSTANTS or level > 3 * MAX_LEVELS:
                raise _too_large()
            waiting.extend((inner, level + 1) for inner in part)


def _too_large() -> InvalidRequest:
    return InvalidRequest(
        f"the expression is too large: it may have {MAX_LEVELS} levels, {MAX_CONSTANTS:,} constants and "
        f"{MAX_NODES:,} other parts."
    )


_PREFIXES: dict[type[Negate | Not | IsNull | IsTrue], str] = {
    Negate: "negate",
    Not: "not",
    IsNull: "is null",
    IsTrue: "is true",
}
_LEAVES = ("number", "text", "boolean", "moment", "null", "column")


def _refuse(what: object) -> NoReturn:
    """Refuse a part, of which only texts on the outside are shown: it may be deep, and numbers endless."""
    parts = what[:3] if isinstance(what, list) else [what]
    shown = ", ".join(repr(part[:40]) if isinstance(part, str) else "..." for part in parts)
    listed = f"[{shown}]" if isinstance(what, list) else shown
    raise InvalidRequest(f"{listed} is not part of an expression in JSON form.")


def _read(tree: object, levels: int) -> Node:
    if not levels:
        raise _too_large()
    if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
        _refuse(tree)
    name, rest = tree[0], tree[1:]
    if name in _LEAVES:
        return _leaf(name, rest)
    if name == "case":
        return _case(rest, levels)
    if name == "call":
        return _call(rest, levels)
    if name == "cast":
        return _cast(rest, levels)
    return _operation(name, [_read(part, levels - 1) for part in rest])


def _leaf(name: str, rest: Json) -> Node:
    match name, rest:
        case "null", []:
            return Null()
        case "boolean", [bool(value)]:
            return Boolean(value)
        case "number", [int() | float() as value] if not isinstance(value, bool):
            if abs(value) <= sys.float_info.max:
                return Number(float(value) or 0.0)
        case (("text" | "column"), [str(value)]) if is_writable(value):
            return Text(value) if name == "text" else Column(value)
        case "moment", [str(value)] if (moment := moment_from(value)) is not None:
            return Moment(moment)
    _refuse([name, *rest])


def _call(rest: Json, levels: int) -> Node:
    for name in FUNCTIONS:
        fewest, most = arity(name)
        if rest and rest[0] == name and fewest <= len(rest) - 1 <= most:
            args = [_read(part, levels - 1) for part in rest[1:]]
            call = joined_texts(args) if name == "concat" else Call(name, tuple(args))
            if misuse(call) is None:
                return call
    _refuse(["call", *rest])


def _cast(rest: Json, levels: int) -> Node:
    for target in CAST_TARGETS:
        if len(rest) == 2 and rest[0] == target:
            return Cast(target, _read(rest[1], levels - 1))
    _refuse(["cast", *rest])


def _case(rest: Json, levels: int) -> Node:
    match rest:
        case [[_, *_] as branches, default]:
            pairs = []
            for branch in branches:
                if not isinstance(branch, list) or len(branch) != 2:
                    _refuse(branch)
                pairs.append((_read(branch[0], levels - 1), _read(branch[1], levels - 1)))
            return Case(tuple(pairs), _read(default, levels - 1))
        case _:
            _refuse(["case", *rest])


def _operation(name: str, parts: list[Node]) -> Node:
    for kind, prefix in _PREFIXES.items():
        if name == prefix and len(parts) == 1:
            return kind(parts[0])
    for sign in ARITHMETIC:
        if name == sign and len(parts) == 2:
            return Arithmetic(sign, *parts)
    for comparison in COMPARISONS:
        if name == comparison and len(parts) == 2:
            return Compare(comparison, *parts)
    items = tuple(part for part in parts[1:] if isinstance(part, Literals))
    if name == "in" and items and len(items) == len(parts) - 1:
        return InList(parts[0], items)
    if name in ("and", "or") and len(parts) >= 2:
        return conjunction(parts) if name == "and" else disjunction(parts)
    _refuse([name, "..."])
