"""Policies and filters read from SQL text; whatever is not known to be safe is refused.

Three steps, each refusing with the place underlined: the text is cut into words (``tokens``), the words
are looked at one by one (``screen``), and what binds to what is settled here. Nothing but
``ExpressionError`` comes out, whatever the text.

The grammar is small and has one reading a text, so it is read here and by no SQL library: these differ
from release to release, silently, in what ``a = b IS NULL`` means. A comparison of a comparison, on which
databases differ too, is refused unless it has parentheses.
"""

from __future__ import annotations

import math
import re

from prdp.errors import ExpressionError
from prdp.expressions.calls import joined_texts
from prdp.expressions.cursor import MISSING, hull
from prdp.expressions.functions import SPELLED
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
    IsTrue,
    Literals,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Text,
    conjunction,
    disjunction,
)
from prdp.expressions.read_functions import READ_APART, FunctionReader
from prdp.expressions.screen import screen
from prdp.expressions.spelling import HOW_TO_WRITE_MOMENTS, UNWRITABLE, moment_from
from prdp.expressions.tokens import Token, tokens_of

MOST_CHARACTERS = 10_000

_OR, _AND, _NOT, _COMPARE, _CONCAT, _SUM, _PRODUCT, _SIGN = range(8)
"""How tightly an operation binds, from the loosest to the tightest."""

_ARITHMETIC: dict[str, ArithmeticOp] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_COMPARISONS: dict[str, CompareOp] = {
    "=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_BINDING = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys((*_COMPARISONS, "is", "in", "between", "like", "ilike", "not"), _COMPARE),
    "||": _CONCAT,
    **dict.fromkeys("+-", _SUM),
    **dict.fromkeys("*/%", _PRODUCT),
}
_NEVER_VALUES = ("and", "or", "is", "in", "between", "like", "ilike", "when", "then", "else", "end")

_IN_NEEDS = "IN needs a list of constants"


def parse(text: str) -> Node:
    """Return the tree of an expression, or refuse it with the place underlined.

    >>> parse("age >= 40")
    Compare(op='>=', left=Column(name='age'), right=Number(value=40.0))
    >>> parse("a + b * c") == parse("a + (b * c)")
    True
    >>> parse("20 <= age < 30")
    Traceback (most recent call last):
    ...
    prdp.errors.ExpressionError: after a comparison this can be read in two ways
    <BLANKLINE>
        20 <= age < 30
                  ^
    <BLANKLINE>
    Write such as a < b AND b < c, or put the comparison before it in parentheses.

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
    tokens = tokens_of(text)
    screen(text, tokens)
    return _Reader(text, tokens).whole()


class _Reader(FunctionReader):
    """Reads tokens from left to right; the deepest call is bounded, because ``screen`` bounds nesting."""

    def whole(self) -> Node:
        """Return the tree of all tokens."""
        node = self._whole_expression()
        if self._at < len(self._tokens):
            self._does_not_fit()
        return self._small(node)

    def _whole_expression(self) -> Node:
        return self._expression(_OR)

    # What binds to what.

    def _expression(self, loosest: int) -> Node:
        """Return the longest expression from here whose operations bind at least so tightly."""
        node = self._operand(loosest)
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            binding = _BINDING.get(token.lower, -1)
            if binding < loosest:
                break
            if binding <= _AND:
                node = self._connective(node, token.lower)
            elif binding == _COMPARE:
                node = self._comparison(node)
            elif binding == _CONCAT:
                node = self._texts(node)
            else:
                node = self._chain(node, binding)
        return node

    def _connective(self, first: Node, word: str) -> Node:
        parts = [first]
        while self._take(word):
            parts.append(self._expression(_BINDING[word] + 1))
        join = conjunction if word == "and" else disjunction
        return join(parts, hull(part.span for part in parts))

    def _chain(self, node: Node, binding: int) -> Node:
        """Read sums or products, from left to right."""
        length = 1
        while token := self._take(*(sign for sign in _ARITHMETIC if _BINDING[sign] == binding)):
            length += 1
            if length > MOST_LEVELS:
                reason = f"this is a chain of more than {MOST_LEVELS} operations"
                self._refuse(hull((node.span, token.span)), reason, "Only AND, OR and || can be longer.")
            if binding == _SUM and self._is_interval():
                node = self._moved(node, token)
                continue
            right = self._expression(binding + 1)
            span = hull((node.span, right.span))
            node = Arithmetic(_ARITHMETIC[token.lower], node, right, span=span)
        return node

    def _texts(self, first: Node) -> Node:
        parts = [first]
        while self._take("||"):
            parts.append(self._expression(_CONCAT + 1))
        return self._small(joined_texts(parts, hull(part.span for part in parts)))

    def _comparison(self, left: Node) -> Node:
        if sign := self._take(*_COMPARISONS):
            right = self._expression(_CONCAT)
            span = hull((left.span, right.span))
            node: Node = Compare(_COMPARISONS[sign.lower], left, right, span=span)
        elif self._take("is"):
            node = self._is(left)
        else:
            negated = self._take("not")
            if word := self._take("like", "ilike"):
                node = self._like(left, word)
            else:
                node = self._among(left) if self._take("in") else self._between(left)
            node = Not(node, span=node.span) if negated else node
        if self._at < len(self._tokens) and _BINDING.get(self._tokens[self._at].lower, -1) >= _COMPARE:
            advice = "Write such as a < b AND b < c, or put the comparison before it in parentheses."
            if any(token.lower == "||" for token in self._tokens[: self._at]):
                advice = "|| joins texts. Write OR between conditions."
            self._refuse(self._here(), "after a comparison this can be read in two ways", advice)
        return node

    def _is(self, operand: Node) -> Node:
        negated = self._take("not")
        if self._take("null", "unknown"):
            node: Node = IsNull(operand, span=operand.span)
        elif word := self._take("true", "false"):
            held = operand if word.lower == "true" else Not(operand, span=operand.span)
            node = IsTrue(held, span=operand.span)
        else:
            advice = (
                "Write IS NULL, IS TRUE or IS FALSE, with or without NOT; values are compared by = and <>."
            )
            self._refuse(self._here(), "only NULL, TRUE and FALSE are read after IS", advice)
        return Not(node, span=node.span) if negated else node

    def _like(self, operand: Node, word: Token) -> Node:
        args = [operand, self._expression(_CONCAT)]
        if self._take("escape"):
            args.append(self._expression(_CONCAT))
        name: FunctionName = "like" if word.lower == "like" else "ilike"
        return self._well_used(Call(name, tuple(args), span=hull((operand.span, args[-1].span))))

    def _among(self, operand: Node) -> Node:
        if not self._take("(") or self._sees(")"):
            place = hull((operand.span, self._here()))
            self._refuse(place, _IN_NEEDS, "Write such as x IN (1, 2).")
        items: list[Literals] = []
        for item in self._list():
            if not isinstance(item, Literals):
                self._refuse(item.span, _IN_NEEDS, "Write x = a OR x = b instead.")
            items.append(item)
        return Among(operand, tuple(items), span=hull((operand.span, items[-1].span)))

    def _between(self, operand: Node) -> Node:
        if not self._take("between"):
            self._does_not_fit()
        low = self._expression(_CONCAT)
        self._close("and")
        high = self._expression(_CONCAT)
        span = hull((operand.span, high.span))
        above = Compare(">=", operand, low, span=hull((operand.span, low.span)))
        return self._small(conjunction((above, Compare("<=", operand, high, span=span)), span))

    # What stands alone.

    def _operand(self, loosest: int) -> Node:
        if sign := self._take("+", "-"):
            return self._signed(sign)
        if self._sees("not"):
            if loosest > _NOT:
                advice = "Put it and what it denies in parentheses."
                self._refuse(self._here(), "NOT cannot stand here", advice)
            self._at += 1
            operand = self._expression(_NOT)
            return Not(operand, span=operand.span)
        if self._take("("):
            node = self._whole_expression()
            self._close(")")
            return node
        return self._case() if self._take("case") else self._value()

    def _signed(self, sign: Token) -> Node:
        operand = self._operand(_SIGN)
        if sign.written == "+":
            return operand
        if isinstance(operand, Number):
            return Number(-operand.value or 0.0, span=operand.span)
        return Negate(operand, span=operand.span)

    def _case(self) -> Node:
        opened = self._tokens[self._at - 1].span
        subject = None if self._sees("when", "else", "end") else self._whole_expression()
        branches: list[tuple[Node, Node]] = []
        while self._take("when"):
            condition = self._whole_expression()
            if subject is not None:
                condition = Compare("=", subject, condition, span=condition.span)
            self._close("then")
            branches.append((condition, self._whole_expression()))
        if not branches:
            self._refuse(opened, "CASE needs a WHEN", "Write CASE WHEN ... THEN ... ELSE ... END.")
        default = self._whole_expression() if self._take("else") else Null()
        closed = self._close("end").span
        return self._small(Case(tuple(branches), default, span=hull((opened, closed))))

    def _value(self) -> Node:
        if self._at == len(self._tokens) or self._sees(*_NEVER_VALUES):
            self._refuse(self._here(), MISSING)
        token = self._tokens[self._at]
        self._at += 1
        if token.is_number:
            return self._number(token)
        if token.is_text:
            return Text(token.content, span=token.span)
        if not token.is_name:
            is_star = token.written == "*"
            reason = "this is not part of the language of policies and filters" if is_star else MISSING
            self._refuse(token.span, reason)
        return self._named(token)

    def _number(self, token: Token) -> Node:
        value = float(token.written)
        if math.isinf(value) or (value == 0 and re.search("[1-9]", token.lower.split("e")[0])):
            self._refuse(token.span, "this number is outside the range of a double")
        return Number(value, span=token.span)

    def _named(self, token: Token) -> Node:
        """Read a constant, a function or a column; only a word without quotes can be more than a column."""
        word = token.lower
        if self._sees("(") and (word in SPELLED or word in READ_APART):
            self._at += 1
            return self._apart(token) if word in READ_APART else self._call(token, SPELLED[word])
        if word in ("true", "false"):
            return Boolean(word == "true", span=token.span)
        if word == "null":
            return Null(span=token.span)
        if word in ("date", "timestamp") and self._at < len(self._tokens) and self._tokens[self._at].is_text:
            self._at += 1
            return self._moment(word, self._tokens[self._at - 1])
        return Column(token.content, span=token.span)

    def _moment(self, word: str, literal: Token) -> Node:
        value = moment_from(literal.content)
        if value is None or (word == "date" and len(literal.content) > len("2020-01-31")):
            self._refuse(literal.span, "this is not a date or time", HOW_TO_WRITE_MOMENTS)
        return Moment(value, span=literal.span)
