"""Policies and filters read from SQL text; whatever is not known to be safe is refused.

Three steps, each refusing with the place underlined: the words are looked at one by one
(``screen``), sqlglot settles what binds to what, and its tree is copied, class by class, into
ours. Nothing but ``ExpressionError`` comes out, whatever the text.
"""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from prdp.errors import ExpressionError
from prdp.expressions.nodes import (
    MOST_LEVELS,
    Among,
    Arithmetic,
    ArithmeticOp,
    Boolean,
    Call,
    Case,
    Column,
    Compare,
    CompareOp,
    FunctionName,
    IsNull,
    Literals,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Span,
    Text,
    conjunction,
    disjunction,
    too_large,
)
from prdp.expressions.screen import MOST_CHARACTERS, MOST_NESTING, Token, screen
from prdp.expressions.spelling import UNWRITABLE, moment_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlglot.tokenizer_core import Token as _RawToken

_DIALECT = Dialect.get_or_raise("duckdb")
_SMALL_NESTING = 8
_SMALL_LENGTH = 100
_FINISHED_QUOTES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")

_ARITHMETIC: dict[type[exp.Expression], ArithmeticOp] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/",
}  # fmt: skip
_COMPARE: dict[type[exp.Expression], CompareOp] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_ONE_ARGUMENT: dict[type[exp.Expression], FunctionName] = {
    exp.Abs: "abs", exp.Sqrt: "sqrt", exp.Ln: "ln", exp.Exp: "exp",
}  # fmt: skip


def parse(text: str) -> Node:
    """Return the tree of an expression, or refuse it with the place underlined.

    Raises:
        ExpressionError: The text is not one expression of the language.
    """
    if not isinstance(text, str):
        raise ExpressionError(repr(text), (0, 0), "an expression is given as text")
    if len(text) > MOST_CHARACTERS:
        reason = f"the expression has more than {MOST_CHARACTERS:,} characters"
        raise ExpressionError(text, (MOST_CHARACTERS, MOST_CHARACTERS + 1), reason)
    if forbidden := UNWRITABLE.search(text):
        # Shown as a question mark, because such a character cannot be printed everywhere.
        shown = UNWRITABLE.sub("?", text)
        raise ExpressionError(shown, forbidden.span(), "this character cannot be part of a text")
    raw = _tokens(text)
    nesting = screen(text, [Token(text[t.start : t.end + 1], t.start, t.end + 1) for t in raw])
    if nesting <= _SMALL_NESTING and len(raw) <= _SMALL_LENGTH:
        return _read(text, raw)
    # sqlglot takes some 25 frames a level. A thread starts with an empty stack, so that what is
    # read does not depend on how deep the caller already is.
    with ThreadPoolExecutor(max_workers=1) as fresh:
        return fresh.submit(_read, text, raw).result()


def _read(text: str, raw: list[_RawToken]) -> Node:
    tree = _bind(text, raw)
    reader = _Reader(text)
    return reader.small(reader.read(tree), tree)


def _tokens(text: str) -> list[_RawToken]:
    try:
        return _DIALECT.tokenize(text)
    except TokenError:
        without = _FINISHED_QUOTES.sub(lambda quoted: " " * len(quoted[0]), text)
        opened = re.search("['\"]|/\\*|$", without)
        start = opened.start() if opened else 0
        raise ExpressionError(text, (start, len(text)), "what begins here does not end") from None


def _bind(text: str, raw: list[_RawToken]) -> exp.Expression:
    """Let sqlglot build its tree of the whole text, as one condition or value."""
    parser = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE, error_message_context=2 * MOST_CHARACTERS)
    try:
        (tree,) = parser.parse_into(exp.Condition, raw, text)
    except ParseError as error:
        raise _explained(text, error) from None
    except RecursionError:
        reason = f"this nests more than {MOST_NESTING} levels deep"
        raise ExpressionError(text, (0, len(text)), reason, "Write it flatter.") from None
    except Exception:  # whatever a foreign parser meets, the caller sees one kind of error
        raise ExpressionError(text, (0, len(text)), "this cannot be read") from None
    if not isinstance(tree, exp.Expression):
        raise ExpressionError(text, (0, len(text)), "this cannot be read")
    return tree


def _explained(text: str, error: ParseError) -> ExpressionError:
    """Return the refusal that says what sqlglot found, in the words of this language."""
    first = error.errors[0] if error.errors else {}
    said = str(first.get("description") or "")
    start = len(str(first.get("start_context") or ""))
    end = start + len(str(first.get("highlight") or ""))
    if "number of provided arguments" in said:
        return ExpressionError(text, (start, end), "this function has too many arguments")
    if said.startswith("Required keyword"):
        return ExpressionError(text, (start, end), "something is missing here")
    if said.startswith("Expect"):
        return ExpressionError(text, (start, end), "what was opened before here is not closed")
    return ExpressionError(text, (start, end), "this does not fit after what stands before it")


class _Reader:
    """Copies sqlglot's tree into ours; a class or an argument that is not listed is refused."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._level = 0

    def read(self, tree: exp.Expression) -> Node:
        """Return our tree of a sqlglot tree."""
        reader = _READERS.get(type(tree))
        if reader is None:
            self.refuse(tree, "this is not part of the language of policies and filters")
        if self._level >= MOST_LEVELS:
            reason = f"this is a chain of more than {MOST_LEVELS} operations"
            self.refuse(tree, reason, "Only AND and OR can be longer.")
        self._level += 1
        node = reader(self, tree)
        self._level -= 1
        return node

    def refuse(self, tree: exp.Expression, reason: str, advice: str = "") -> NoReturn:
        """Raise the refusal of a part of the text."""
        span = _hull(_own_span(part) for part in tree.walk()) or (0, len(self._text))
        raise ExpressionError(self._text, span, reason, advice)

    def only(self, tree: exp.Expression, *names: str) -> None:
        """Refuse a node that says more than the arguments named."""
        for name, value in tree.args.items():
            if name not in names and value not in (None, False, []):
                self.refuse(tree, "this is not part of the language of policies and filters")

    def child(self, tree: exp.Expression, name: str = "this") -> Node:
        """Return our tree of one argument."""
        value = tree.args.get(name)
        if not isinstance(value, exp.Expression):
            self.refuse(tree, "something is missing here")
        return self.read(value)

    def small(self, node: Node, tree: exp.Expression) -> Node:
        """Return a node that repeats some part of the text, unless that makes it too large."""
        if too_large(node):
            self.refuse(tree, "this says too much, or nests too deep", "Write it shorter.")
        return node


def _own_span(tree: exp.Expr) -> Span | None:
    start, end = tree.meta.get("start"), tree.meta.get("end")
    return (start, end + 1) if isinstance(start, int) and isinstance(end, int) else None


def _hull(spans: Iterable[Span | None]) -> Span | None:
    known = [span for span in spans if span]
    return (min(s for s, _ in known), max(e for _, e in known)) if known else None


def _paren(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this")
    return reader.child(tree)


def _literal(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "is_string")
    written, span = str(tree.this), _own_span(tree)
    if tree.args.get("is_string"):
        return Text(written, span=span)
    value = float(written)
    if math.isinf(value) or (value == 0 and re.search("[1-9]", written.lower().split("e")[0])):
        reader.refuse(tree, "this number is outside the range of a double")
    return Number(value, span=span)


def _boolean(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this")
    return Boolean(bool(tree.this))


def _null(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree)
    return Null()


def _column(reader: _Reader, tree: exp.Expression) -> Node:
    name = tree.this
    if tree.args.get("table"):
        reader.refuse(tree, "columns are named without their table", "Write the name alone.")
    reader.only(tree, "this")
    if not isinstance(name, exp.Identifier):
        reader.refuse(tree, "this is not a column")
    return Column(str(name.this), span=_own_span(name))


def _moment(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "to")
    kind = getattr(getattr(tree.args.get("to"), "this", None), "name", "")
    literal = tree.this
    is_text = isinstance(literal, exp.Literal) and literal.is_string
    if kind not in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ") or not is_text:
        reader.refuse(tree, "conversions are not read")
    value = moment_from(literal.name)
    if value is None or (kind == "DATE" and len(literal.name) > len("2020-01-31")):
        reader.refuse(
            tree,
            "this is not a date or time",
            "Write DATE '2020-01-31' or TIMESTAMP '2020-01-31 10:00:00', without a zone.",
        )
    return Moment(value, span=_own_span(literal))


def _negate(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this")
    operand = reader.child(tree)
    if isinstance(operand, Number):
        return Number(-operand.value or 0.0, span=operand.span)
    return Negate(operand, span=operand.span)


def _arithmetic(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "expression")
    left, right = reader.child(tree), reader.child(tree, "expression")
    return Arithmetic(_ARITHMETIC[type(tree)], left, right, span=_hull((left.span, right.span)))


def _compare(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "expression")
    left, right = reader.child(tree), reader.child(tree, "expression")
    return Compare(_COMPARE[type(tree)], left, right, span=_hull((left.span, right.span)))


def _call(reader: _Reader, tree: exp.Expression, name: FunctionName, *parts: exp.Expression) -> Node:
    args = tuple(reader.read(part) for part in parts)
    return Call(name, args, span=_hull((_own_span(tree), *(arg.span for arg in args))))


def _one_argument(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this")
    return _call(reader, tree, _ONE_ARGUMENT[type(tree)], tree.this)


def _power(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "expression")
    return _call(reader, tree, "power", tree.this, tree.expression)


def _logarithm(reader: _Reader, tree: exp.Expression) -> Node:
    """Read log2 and log10, which sqlglot gives as log(2, x) and log(10, x)."""
    reader.only(tree, "this", "expression")
    names: dict[str, FunctionName] = {"2": "log2", "10": "log10"}
    name = names.get(tree.this.name)
    if name is None or not isinstance(tree.args.get("expression"), exp.Expression):
        reader.refuse(tree, "this logarithm cannot be read", "Write ln(x), log2(x) or log10(x).")
    return _call(reader, tree, name, tree.expression)


def _extremum(reader: _Reader, tree: exp.Expression) -> Node:
    # sqlglot notes with ignore_nulls how DuckDB treats NULL; here an unknown argument is never
    # passed over, and the engines are told so explicitly.
    reader.only(tree, "this", "expressions", "ignore_nulls")
    name: FunctionName = "least" if isinstance(tree, exp.Least) else "greatest"
    if not tree.expressions:
        reader.refuse(tree, f"{name} needs two or more arguments")
    return _call(reader, tree, name, tree.this, *tree.expressions)


def _among(reader: _Reader, tree: exp.Expression) -> Node:
    if not tree.expressions:
        reader.refuse(tree, "IN needs a list of constants", "Write such as x IN (1, 2).")
    reader.only(tree, "this", "expressions")
    operand = reader.child(tree)
    items: list[Literals] = []
    for part in tree.expressions:
        item = reader.read(part)
        if not isinstance(item, Literals):
            reader.refuse(part, "IN needs a list of constants", "Write x = a OR x = b instead.")
        items.append(item)
    span = _hull((operand.span, *(item.span for item in items)))
    return Among(operand, tuple(items), span=span)


def _between(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "low", "high")
    operand, low, high = (reader.child(tree, name) for name in ("this", "low", "high"))
    span = _hull((operand.span, high.span))
    above = Compare(">=", operand, low, span=_hull((operand.span, low.span)))
    below = Compare("<=", operand, high, span=span)
    return reader.small(conjunction((above, below), span), tree)


def _is(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "expression")
    if not isinstance(tree.args.get("expression"), exp.Null):
        reader.refuse(tree, "only IS NULL and IS NOT NULL are read", "Write such as x = TRUE.")
    operand = reader.child(tree)
    return IsNull(operand, span=operand.span)


def _not(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this")
    operand = reader.child(tree)
    return Not(operand, span=operand.span)


def _connective(reader: _Reader, tree: exp.Expression) -> Node:
    """Read a chain of AND or of OR without descending into it, so that it may be long."""
    parts: list[Node] = []
    kind, rest = type(tree), tree
    while type(rest) is kind:
        reader.only(rest, "this", "expression")
        parts.append(reader.child(rest, "expression"))
        rest = rest.this
    if not isinstance(rest, exp.Expression):
        reader.refuse(tree, "something is missing here")
    parts.append(reader.read(rest))
    join = conjunction if kind is exp.And else disjunction
    return join(reversed(parts), _hull(part.span for part in parts))


def _case(reader: _Reader, tree: exp.Expression) -> Node:
    reader.only(tree, "this", "ifs", "default")
    subject = reader.child(tree) if tree.args.get("this") else None
    branches: list[tuple[Node, Node]] = []
    for branch in tree.args.get("ifs") or ():
        reader.only(branch, "this", "true")
        condition = reader.child(branch)
        if subject is not None:
            condition = Compare("=", subject, condition, span=condition.span)
        branches.append((condition, reader.child(branch, "true")))
    if not branches:
        reader.refuse(tree, "CASE needs a WHEN", "Write CASE WHEN ... THEN ... ELSE ... END.")
    default = reader.child(tree, "default") if tree.args.get("default") else Null()
    inner = [part.span for branch in branches for part in branch]
    span = _hull((subject.span if subject else None, *inner, default.span))
    return reader.small(Case(tuple(branches), default, span=span), tree)


_READERS: dict[type[exp.Expression], Callable[[_Reader, exp.Expression], Node]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_COMPARE, _compare),
    **dict.fromkeys(_ONE_ARGUMENT, _one_argument),
    exp.Paren: _paren,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Column: _column,
    exp.Cast: _moment,
    exp.Neg: _negate,
    exp.Pow: _power,
    exp.Log: _logarithm,
    exp.Least: _extremum,
    exp.Greatest: _extremum,
    exp.In: _among,
    exp.Between: _between,
    exp.Is: _is,
    exp.Not: _not,
    exp.And: _connective,
    exp.Or: _connective,
    exp.Case: _case,
}
