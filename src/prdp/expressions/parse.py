"""Policies and filters read from SQL text; whatever is not known to be safe is refused.

Three steps, each refusing with the place underlined: the text is cut into words (``tokens``), the words
are looked at one by one (``screen``), and what binds to what is settled here. Nothing but
``ExpressionError`` comes out, whatever the text.

The grammar is small and has one reading a text, so it is read here and by no SQL library: these differ
from release to release, silently, in what ``a = b IS NULL`` means. A comparison of a comparison, on which
databases differ too, is refused unless it has parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from prdp.errors import ExpressionError
from prdp.expressions.check import NO_INTERVAL, NO_PART, joined_texts, miscounted, misuse
from prdp.expressions.functions import ADDED, PARTS_SPELLED, SPELLED, TYPES_SPELLED, FunctionName
from prdp.expressions.nodes import (
    AND,
    COMPARE,
    CONCAT,
    MAX_LEVELS,
    NOT,
    OR,
    PRODUCT,
    SIGN,
    SUM,
    Arithmetic,
    ArithmeticOp,
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    CompareOp,
    InList,
    IsNull,
    IsTrue,
    Literals,
    Moment,
    Node,
    Not,
    Null,
    Number,
    Span,
    Text,
    conjunction,
    disjunction,
    negated,
    too_large,
)
from prdp.expressions.tokens import (
    HOW_TO_WRITE_MOMENTS,
    OUT_OF_RANGE,
    UNWRITABLE,
    Token,
    double_from,
    moment_from,
    refusal_of,
    screen,
    tokens_of,
)

MISSING = "something is missing here"


def hull(spans: Iterable[Span | None]) -> Span | None:
    """Return the place from the first to the last of several."""
    known = [span for span in spans if span]
    return (min(s for s, _ in known), max(e for _, e in known)) if known else None


class Cursor:
    """Steps through tokens from left to right."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    # The position in the tokens.

    def _sees(self, *words: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].lower in words

    def _take(self, *words: str) -> Token | None:
        """Return the next token and step over it, if it is one of these words."""
        if not self._sees(*words):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _close(self, word: str) -> Token:
        """Step over the word that must come here."""
        if self._at == len(self._tokens):
            self._refuse(self._tokens[-1].span, "what was opened before here is not closed")
        return self._take(word) or self._does_not_fit()

    def _here(self) -> Span:
        """Return the place of the next token, or of the last if none is left."""
        return self._tokens[min(self._at, len(self._tokens) - 1)].span

    # Refusals.

    def _refuse(self, span: Span | None, reason: str, advice: str = "") -> NoReturn:
        raise ExpressionError(self._text, span or (0, len(self._text)), reason, advice)

    def _does_not_fit(self) -> NoReturn:
        if self._at == len(self._tokens):
            self._refuse(self._here(), MISSING)
        before, token = self._tokens[self._at - 1], self._tokens[self._at]
        for word in (token, before):
            if word.is_name and (known := refusal_of(word.lower)):
                self._refuse(word.span, *known)
        if token.is_text and before.is_name:
            self._refuse(self._here(), "conversions are written as CAST here", "Write CAST('text' AS DATE).")
        self._refuse(self._here(), "this does not fit after the text before it")

    def _small(self, node: Node) -> Node:
        """Return a node, unless it is too large; one that repeats a part of the text may be."""
        if too_large(node):
            self._refuse(node.span, "this says too much, or nests too deep", "Write it shorter.")
        return node


READ_APART = ("cast", "try_cast", "extract", "date_part", "datepart", "left", "right", "mod", "fmod")
_WITH_UNITS = ("date_trunc", "date_diff")
_TYPES_ADVICE = (
    "Write DOUBLE, INTEGER, BIGINT, VARCHAR, DATE or TIMESTAMP. "
    "For decimals, write round(CAST(x AS DOUBLE), 2); for a time zone, add an INTERVAL: times are in UTC."
)
_INTERVAL = re.compile(r" *([+-]?[0-9]{1,10}) *([A-Za-z]*) *", re.ASCII)


class FunctionReader(Cursor):
    """Reads functions; their arguments are read by the class that has the grammar."""

    def _whole_expression(self) -> Node:
        raise NotImplementedError

    def _list(self, *between: str, end: str = ")") -> list[Node]:
        """Read expressions between commas, or such words, and the bracket that ends them."""
        parts = [self._whole_expression()]
        while self._take(",", *between):
            parts.append(self._whole_expression())
        self._close(end)
        return parts

    def _call(self, token: Token, name: FunctionName) -> Node:
        args = [] if self._take(")") else self._list(*(("from", "for") if name == "substring" else ()))
        if wrong := miscounted(name, len(args)):
            self._refuse(self._since(token), wrong)
        if name in _WITH_UNITS and isinstance(args[0], Text):
            args[0] = Text(args[0].value.lower(), span=args[0].span)
        return self._well_used(Call(name, tuple(args), span=self._since(token)))

    def _since(self, token: Token) -> Span:
        return token.start, self._tokens[self._at - 1].end

    def _well_used(self, call: Call) -> Node:
        if wrong := misuse(call):
            self._refuse(wrong[0].span, *wrong[1:])
        return call

    # Functions that are not written like the others.

    def _apart(self, token: Token) -> Node:
        match token.lower:
            case "cast" | "try_cast":
                return self._cast(token)
            case "extract":
                return self._extract(token)
            case "date_part" | "datepart":
                args = self._list()
                part = args[0].value if isinstance(args[0], Text) else ""
                return self._part(token, part, args[0].span, args[1:])
            case "mod" | "fmod":
                return self._remainder(token, self._list())
            case _:
                return self._end_of_text(token, self._list())

    def _remainder(self, token: Token, args: list[Node]) -> Node:
        if len(args) != 2:
            self._refuse(self._since(token), f"{token.lower} takes two arguments")
        return Arithmetic("%", *args, span=self._since(token))

    def _cast(self, token: Token) -> Node:
        operand = self._whole_expression()
        self._close("as")
        first = self._at
        while self._at < len(self._tokens) and self._tokens[self._at].is_name:
            self._at += 1
        words = self._tokens[first : self._at]
        target = TYPES_SPELLED.get(" ".join(word.lower for word in words))
        if target is None:
            place = hull(word.span for word in words) or self._here()
            self._refuse(place, "CAST does not make this type", _TYPES_ADVICE)
        if self._sees("("):
            self._refuse(self._here(), "types are written without lengths", _TYPES_ADVICE)
        self._close(")")
        return Cast(target, operand, span=self._since(token))

    def _extract(self, token: Token) -> Node:
        part = self._tokens[self._at] if self._at < len(self._tokens) else self._does_not_fit()
        self._at += 1
        self._close("from")
        moment = self._whole_expression()
        self._close(")")
        return self._part(token, part.content, part.span, [moment])

    def _part(self, token: Token, part: str, span: Span | None, args: list[Node]) -> Node:
        name = PARTS_SPELLED.get(part.lower())
        if name is None:
            self._refuse(span, *NO_PART)
        if len(args) != 1:
            self._refuse(self._since(token), f"{token.lower} takes a part and a date")
        return Call(name, tuple(args), span=self._since(token))

    def _end_of_text(self, token: Token, args: list[Node]) -> Node:
        """Read left(x, n) and right(x, n), which are substrings."""
        if len(args) != 2 or not isinstance(args[1], Number) or args[1].value < 1:
            advice = f"For example: {token.lower}(x, 3), or substring(x, start, length)."
            self._refuse(self._since(token), f"{token.lower} takes a text and a number of characters", advice)
        count = args[1].value
        places = [1.0, count] if token.lower == "left" else [-count]
        numbers = (Number(place, span=args[1].span) for place in places)
        return Call("substring", (args[0], *numbers), span=self._since(token))

    def _is_interval(self) -> bool:
        """Return whether INTERVAL and its number or text come next; alone it may be a column's name."""
        after = self._tokens[self._at + 1 : self._at + 2]
        return self._sees("interval") and any(one.is_text or one.is_number for one in after)

    def _moved(self, moment: Node, sign: Token) -> Node:
        """Read an INTERVAL that is added to a moment, or taken from it."""
        opened, token = self._tokens[self._at : self._at + 2]
        self._at += 2
        found = _INTERVAL.fullmatch(token.content)
        unit = found[2].lower() if found else ""
        if not unit and self._at < len(self._tokens) and self._tokens[self._at].is_name:
            unit = self._tokens[self._at].lower
            self._at += 1
        span = self._since(opened)
        unit = unit if unit in ADDED else unit.removesuffix("s")
        if found is None or unit not in ADDED:
            self._refuse(span, *NO_INTERVAL)
        number = float(found[1]) * (-1 if sign.written == "-" else 1) or 0.0
        args = (Text(unit, span=span), Number(number, span=span), moment)
        return self._well_used(Call("date_add", args, span=hull((moment.span, span))))


MAX_CHARACTERS = 10_000

_ARITHMETIC: dict[str, ArithmeticOp] = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_COMPARISONS: dict[str, CompareOp] = {
    "=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_BINDING = {
    "or": OR,
    "and": AND,
    **dict.fromkeys((*_COMPARISONS, "is", "in", "between", "like", "ilike", "not"), COMPARE),
    "||": CONCAT,
    **dict.fromkeys("+-", SUM),
    **dict.fromkeys("*/%", PRODUCT),
}
_NEVER_VALUES = ("and", "or", "is", "in", "between", "like", "ilike", "when", "then", "else", "end")

IN_NEEDS = "IN needs a list of constants"


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
    For example: a < b AND b < c, or put the comparison before it in parentheses.

    Raises:
        ExpressionError: The text is not one expression of the language.
    """
    if not isinstance(text, str):
        raise ExpressionError(repr(text), (0, 0), "an expression is given as text")
    if len(text) > MAX_CHARACTERS:
        reason = f"the expression has more than {MAX_CHARACTERS:,} characters"
        raise ExpressionError(text, (MAX_CHARACTERS, MAX_CHARACTERS + 1), reason)
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
        return self._expression(OR)

    # What binds to what.

    def _expression(self, loosest: int) -> Node:
        """Return the longest expression from here whose operations bind at least so tightly."""
        node = self._operand(loosest)
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            binding = _BINDING.get(token.lower, -1)
            if binding < loosest:
                break
            if binding <= AND:
                node = self._connective(node, token.lower)
            elif binding == COMPARE:
                node = self._comparison(node)
            elif binding == CONCAT:
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
            if length > MAX_LEVELS:
                reason = f"this is a chain of more than {MAX_LEVELS} operations"
                self._refuse(hull((node.span, token.span)), reason, "Only AND, OR and || can be longer.")
            if binding == SUM and self._is_interval():
                node = self._moved(node, token)
                continue
            right = self._expression(binding + 1)
            span = hull((node.span, right.span))
            node = Arithmetic(_ARITHMETIC[token.lower], node, right, span=span)
        return node

    def _texts(self, first: Node) -> Node:
        parts = [first]
        while self._take("||"):
            parts.append(self._expression(CONCAT + 1))
        return self._small(joined_texts(parts, hull(part.span for part in parts)))

    def _comparison(self, left: Node) -> Node:
        if sign := self._take(*_COMPARISONS):
            right = self._expression(CONCAT)
            span = hull((left.span, right.span))
            node: Node = Compare(_COMPARISONS[sign.lower], left, right, span=span)
        elif self._take("is"):
            node = self._is(left)
        else:
            negated = self._take("not")
            if word := self._take("like", "ilike"):
                node = self._like(left, word)
            else:
                node = self._in_list(left) if self._take("in") else self._between(left)
            node = Not(node, span=node.span) if negated else node
        if self._at < len(self._tokens) and _BINDING.get(self._tokens[self._at].lower, -1) >= COMPARE:
            advice = "For example: a < b AND b < c, or put the comparison before it in parentheses."
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
        args = [operand, self._expression(CONCAT)]
        if self._take("escape"):
            args.append(self._expression(CONCAT))
        name: FunctionName = "like" if word.lower == "like" else "ilike"
        return self._well_used(Call(name, tuple(args), span=hull((operand.span, args[-1].span))))

    def _in_list(self, operand: Node) -> Node:
        if not (opened := self._take("(", "[")) or self._sees(")", "]"):
            place = hull((operand.span, self._here()))
            self._refuse(place, IN_NEEDS, "For example: x IN (1, 2).")
        items: list[Literals] = []
        for item in self._list(end=")" if opened.written == "(" else "]"):
            if not isinstance(item, Literals):
                self._refuse(item.span, IN_NEEDS, "Write x = a OR x = b instead.")
            items.append(item)
        return InList(operand, tuple(items), span=hull((operand.span, items[-1].span)))

    def _between(self, operand: Node) -> Node:
        if not self._take("between"):
            self._does_not_fit()
        low = self._expression(CONCAT)
        self._close("and")
        high = self._expression(CONCAT)
        span = hull((operand.span, high.span))
        above = Compare(">=", operand, low, span=hull((operand.span, low.span)))
        return self._small(conjunction((above, Compare("<=", operand, high, span=span)), span))

    # Operands.

    def _operand(self, loosest: int) -> Node:
        if sign := self._take("+", "-"):
            return self._signed(sign)
        if self._sees("not"):
            if loosest > NOT:
                advice = "Put it and what it denies in parentheses."
                self._refuse(self._here(), "NOT is not allowed here", advice)
            self._at += 1
            operand = self._expression(NOT)
            return Not(operand, span=operand.span)
        if self._take("("):
            node = self._whole_expression()
            self._close(")")
            return node
        return self._case() if self._take("case") else self._value()

    def _signed(self, sign: Token) -> Node:
        operand = self._operand(SIGN)
        if sign.written == "+":
            return operand
        return negated(operand, operand.span)

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
        value = double_from(token.written)
        if value is None:
            self._refuse(token.span, OUT_OF_RANGE)
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
