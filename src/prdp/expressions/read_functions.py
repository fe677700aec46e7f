"""Functions read from tokens: those written like functions, and CAST, extract and INTERVAL, which are not."""

from __future__ import annotations

import re

from prdp.expressions.calls import misuse
from prdp.expressions.cursor import Cursor, hull
from prdp.expressions.functions import ADDED, PARTS_SPELLED, TYPES_SPELLED, FunctionName, arity
from prdp.expressions.nodes import Arithmetic, Call, Cast, Node, Number, Span, Text
from prdp.expressions.tokens import Token

READ_APART = ("cast", "try_cast", "extract", "date_part", "datepart", "left", "right", "mod", "fmod")
_WITH_UNITS = ("date_trunc", "date_diff")
_TYPES_ADVICE = (
    "Write DOUBLE, INTEGER, BIGINT, VARCHAR, DATE or TIMESTAMP. "
    "For decimals, write round(CAST(x AS DOUBLE), 2); for a time zone, add an INTERVAL: times are in UTC."
)
_COUNTED = {
    (1, 1): "takes one argument",
    (2, 2): "takes two arguments",
    (3, 3): "takes three arguments",
    (1, 2): "takes one or two arguments",
    (2, 3): "takes two or three arguments",
}
_INTERVAL = re.compile(r" *([+-]?[0-9]{1,10}) *([A-Za-z]*) *", re.ASCII)


class FunctionReader(Cursor):
    """Reads functions; what stands in them is read by the class that has the grammar."""

    def _whole_expression(self) -> Node:
        raise NotImplementedError

    def _list(self, *between: str) -> list[Node]:
        """Read expressions between commas, or such words, and the parenthesis that ends them."""
        parts = [self._whole_expression()]
        while self._take(",", *between):
            parts.append(self._whole_expression())
        self._close(")")
        return parts

    def _call(self, token: Token, name: FunctionName) -> Node:
        args = [] if self._take(")") else self._list(*(("from", "for") if name == "substring" else ()))
        fewest, most = arity(name)
        if not fewest <= len(args) <= most:
            place = (token.start, self._tokens[self._at - 1].end)
            counted = _COUNTED.get((fewest, most), "needs two or more arguments")
            self._refuse(place, f"{name} {counted}")
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
            self._refuse(self._since(token), f"{token.lower} {_COUNTED[2, 2]}")
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
            known = f"The parts are {', '.join(sorted(set(PARTS_SPELLED.values())))}."
            self._refuse(span, "this is no part of a date or time", known)
        if len(args) != 1:
            self._refuse(self._since(token), f"{token.lower} takes a part and a date")
        return Call(name, tuple(args), span=self._since(token))

    def _end_of_text(self, token: Token, args: list[Node]) -> Node:
        """Read left(x, n) and right(x, n), which are substrings."""
        if len(args) != 2 or not isinstance(args[1], Number) or args[1].value < 1:
            advice = f"Write such as {token.lower}(x, 3), or substring(x, start, length)."
            self._refuse(self._since(token), f"{token.lower} takes a text and a number of characters", advice)
        count = args[1].value
        places = [1.0, count] if token.lower == "left" else [-count]
        numbers = (Number(place, span=args[1].span) for place in places)
        return Call("substring", (args[0], *numbers), span=self._since(token))

    def _is_interval(self) -> bool:
        """Say whether INTERVAL and its number or text come next; alone it may be a column's name."""
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
            advice = f"Write such as INTERVAL '90 days'. The units are {', '.join(ADDED)}."
            self._refuse(span, "an INTERVAL is a whole number of one unit", advice)
        number = float(found[1]) * (-1 if sign.written == "-" else 1) or 0.0
        args = (Text(unit, span=span), Number(number, span=span), moment)
        return self._well_used(Call("date_add", args, span=hull((moment.span, span))))
