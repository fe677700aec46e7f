"""Expressions over a row: one small function a construct, each writes the row language's own text.

What a condition means is what the row language says (NULL, NaN, texts by code point), because that is what is
asked: no part of the user's text reaches an engine. The same functions write what is computed from answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from prdp.expressions.spelling import moment_literal, number_text, text_literal
from prdp.sql.constants import moment_in, number_in
from prdp.sql.construct import Construct
from prdp.sql.written import AND, ATOM, COMPARE, CONCAT, NOT, OR, PRODUCT, SIGN, SUM, Written, joined, listed


class RowWriter(Protocol):
    """Writes parts of a statement in the row language."""

    def write(self, node: Any, tightest: int = OR) -> Written:
        """Return a part's text, in parentheses if it binds less tightly than its place asks."""

    def refuse(self, node: Any, reason: str, advice: str = "") -> Any:
        """Refuse a part of the statement, underlined."""


Rule = Callable[[RowWriter, Any], Written]


def two(sign: str, binds: int) -> Rule:
    """Return the rule of an operation between two values, read from left to right."""

    def rule(writer: RowWriter, node: Any) -> Written:
        constant = _constant(writer, node)
        if constant is not None:
            return constant
        left, right = writer.write(node.this, binds), writer.write(node.expression, binds + 1)
        return joined([left, f" {sign} ", right], binds)

    return rule


def _constant(writer: RowWriter, node: Any) -> Written | None:
    """Return what an operation between constants gives: a decimal, or a moment moved by an interval."""
    number = number_in(node)
    if number is not None:
        return Written(number_text(float(number)), SIGN if number < 0 else ATOM)
    if type(node.expression).__name__ != "Interval":
        return None
    moment = moment_in(node)
    if moment is not None:
        return Written(moment_literal(moment))
    sign = "-" if type(node).__name__ == "Sub" else "+"
    return joined([writer.write(node.this, SUM), f" {sign} {_interval(writer, node.expression)}"], SUM)


def _interval(writer: RowWriter, node: Any) -> str:
    """Return an interval of one unit, such as INTERVAL '3 month'."""
    count, unit = str(getattr(node.this, "this", "")), node.args.get("unit")
    if not count.lstrip("-").isdigit() or unit is None or not str(unit.name).isalpha():
        writer.refuse(node, "an interval has a whole number and one unit", "Write INTERVAL 90 DAY.")
    return f"INTERVAL '{count} {str(unit.name).lower()}'"


def _compared(sign: str) -> Rule:
    def rule(writer: RowWriter, node: Any) -> Written:
        for side in (node.this, node.expression):
            if type(side).__name__ in _COMPARED:
                writer.refuse(
                    node,
                    "a comparison of a comparison can be read in two ways",
                    "Put the first in parentheses, or write a < b AND b < c.",
                )
        sides = writer.write(node.this, CONCAT), writer.write(node.expression, CONCAT)
        return joined([sides[0], f" {sign} ", sides[1]], COMPARE)

    return rule


def _connected(word: str, binds: int) -> Rule:
    """Return the rule of AND or OR, of which there may be thousands in a row."""

    def rule(writer: RowWriter, node: Any) -> Written:
        parts, waiting = [], [node]
        while waiting:
            current = waiting.pop()
            if type(current) is type(node):
                waiting += [current.expression, current.this]
            else:
                parts.append(writer.write(current, binds + 1))
        return joined(listed(parts, f" {word} "), binds)

    return rule


def function(name: str, *parts: str) -> Rule:
    """Return the rule of a function of the row language; ``parts`` name its arguments in order."""

    def rule(writer: RowWriter, node: Any) -> Written:
        given = [node.args.get(part) for part in parts]
        arguments: list[Any] = []
        for argument in given:
            arguments += argument if isinstance(argument, list) else [argument] * (argument is not None)
        return joined([f"{name}(", *listed(map(writer.write, arguments)), ")"])

    return rule


def _number(node: Any) -> str | None:
    return None if type(node).__name__ != "Literal" or node.is_string else str(node.this)


def write_literal(_writer: RowWriter, node: Any) -> Written:
    """Write a number or a text."""
    return Written(text_literal(node.this) if node.is_string else str(node.this))


def write_boolean(_writer: RowWriter, node: Any) -> Written:
    """Write TRUE or FALSE."""
    return Written("TRUE" if node.this else "FALSE")


def write_null(_writer: RowWriter, _node: Any) -> Written:
    """Write NULL."""
    return Written("NULL")


def write_parenthesis(writer: RowWriter, node: Any) -> Written:
    """Write what stands in parentheses; they are put again where they are needed."""
    return writer.write(node.this)


def write_negative(writer: RowWriter, node: Any) -> Written:
    """Write a number with its sign turned."""
    return joined(["-", writer.write(node.this, ATOM)], SIGN)


def write_not(writer: RowWriter, node: Any) -> Written:
    """Write a denied condition; NOT IN, NOT BETWEEN and NOT LIKE are read as this."""
    return joined(["NOT ", writer.write(node.this, COMPARE)], NOT)


def write_is(writer: RowWriter, node: Any) -> Written:
    """Write IS NULL; IS TRUE and IS FALSE."""
    kind = type(node.expression).__name__
    if kind not in {"Null", "Boolean"}:
        writer.refuse(node, "IS is read before NULL, TRUE and FALSE alone", "Write a = b.")
    word = "NULL" if kind == "Null" else "TRUE" if node.expression.this else "FALSE"
    return joined([writer.write(node.this, CONCAT), f" IS {word}"], COMPARE)


def write_between(writer: RowWriter, node: Any) -> Written:
    """Write BETWEEN, both ends included."""
    if node.args.get("symmetric"):
        writer.refuse(node, "SYMMETRIC is not read", "Write the lower end first.")
    parts = (writer.write(node.args[part], CONCAT) for part in ("this", "low", "high"))
    value, low, high = parts
    return joined([value, " BETWEEN ", low, " AND ", high], COMPARE)


def write_in(writer: RowWriter, node: Any) -> Written:
    """Write IN with a list of constants; one over a public table is read before."""
    items = [writer.write(item, CONCAT) for item in node.expressions]
    return joined([writer.write(node.this, CONCAT), " IN (", *listed(items), ")"], COMPARE)


def write_case(writer: RowWriter, node: Any) -> Written:
    """Write CASE, with a subject or without: as in SQL, a branch is taken where its condition is true."""
    default = node.args.get("default")
    pieces: list[str | Written] = ["CASE"]
    for place, branch in enumerate(node.args["ifs"]):
        last = place + 1 == len(node.args["ifs"]) and type(default).__name__ in _NOTHING
        pieces += [" WHEN ", _branch(writer, branch.this, node.this, last=last)]
        pieces += [" THEN ", writer.write(branch.args["true"])]
    if default is not None:
        pieces += [" ELSE ", writer.write(default)]
    return joined([*pieces, " END"])


def _branch(writer: RowWriter, condition: Any, subject: Any, *, last: bool) -> Written:
    """Write a condition that fails where it is unknown; the row language's own CASE would be unknown there.

    ``last``: nothing comes after it, so that a record for which it fails has no value anyway.
    """
    if subject is not None:
        sides = writer.write(subject, CONCAT), writer.write(condition, CONCAT)
        held = joined([sides[0], " = ", sides[1]], COMPARE)
    else:
        held = writer.write(condition)
    if last or (subject is None and _is_decided(condition)):
        return held
    return joined([held.within(CONCAT), " IS TRUE"], COMPARE)


def _is_decided(node: Any) -> bool:
    """Say whether a condition is never unknown, as its form shows."""
    match type(node).__name__:
        case "Is" | "Boolean":
            return True
        case "Not" | "Paren":
            return _is_decided(node.this)
        case "And" | "Or":
            return _is_decided(node.this) and _is_decided(node.expression)
        case _:
            return False


def write_if(writer: RowWriter, node: Any) -> Written:
    """Write IF(condition, a, b) as the CASE that it is."""
    default = node.args.get("false")
    condition = _branch(writer, node.this, None, last=type(default).__name__ in _NOTHING)
    pieces: list[str | Written] = ["CASE WHEN ", condition, " THEN ", writer.write(node.args["true"])]
    if default is not None:
        pieces += [" ELSE ", writer.write(default)]
    return joined([*pieces, " END"])


def write_logarithm(writer: RowWriter, node: Any) -> Written:
    """Write log2 and log10; the base of log alone differs between databases."""
    base = _number(node.this)
    if node.expression is None or base not in {"2", "10"}:
        writer.refuse(node, "databases disagree about the base of log", "Write ln(x), log2(x) or log10(x).")
    return joined([f"log{base}(", writer.write(node.expression), ")"])


_COMPARED = frozenset({"EQ", "NEQ", "LT", "LTE", "GT", "GTE", "Is", "In", "Between", "Like", "ILike"})
_BINARY = ("this", "expression")
_NOTHING = frozenset({"NoneType", "Null"})
"""What stands behind the last branch of a CASE that has no value otherwise."""


def of_row(  # noqa: PLR0917  (one a column of the table)
    node: str, rule: Rule, reads: tuple[str, ...], shown: str, sample: str, note: str = ""
) -> Construct:
    """Return a construct whose example computes one value of a row."""
    return Construct(node, rule, reads, shown, f"SELECT {sample} FROM accounts", note)


ROWS: tuple[Construct, ...] = (
    of_row("Literal", write_literal, ("this",), "`30`, `0.5`, `'clerk'`", "SUM(age) + 0.5"),
    of_row("Boolean", write_boolean, ("this",), "`TRUE`, `FALSE`", "COUNT(*) FILTER (WHERE vip = TRUE)"),
    of_row("Null", write_null, (), "`NULL`", "AVG(CASE WHEN vip THEN age ELSE NULL END)"),
    of_row("Paren", write_parenthesis, ("this",), "`(...)`", "SUM((age + 1) * 2)"),
    of_row("Neg", write_negative, ("this",), "`-x`", "SUM(-age)"),
    of_row("Add", two("+", SUM), _BINARY, "`a + b`", "SUM(age + 1)"),
    of_row("Sub", two("-", SUM), _BINARY, "`a - b`", "SUM(age - 1)"),
    of_row("Mul", two("*", PRODUCT), _BINARY, "`a * b`", "SUM(age * 2)"),
    of_row(
        "Div",
        two("/", PRODUCT),
        ("this", "expression", "typed", "safe"),
        "`a / b`",
        "SUM(age / 2)",
        "the exact quotient; where b is 0 an infinity, and 0 / 0 unknown",
    ),
    of_row("EQ", _compared("="), _BINARY, "`a = b`", "COUNT(*) FILTER (WHERE job = 'clerk')"),
    of_row("NEQ", _compared("<>"), _BINARY, "`a <> b`, `a != b`", "COUNT(*) FILTER (WHERE job <> 'clerk')"),
    of_row("LT", _compared("<"), _BINARY, "`a < b`", "COUNT(*) FILTER (WHERE age < 30)"),
    of_row("LTE", _compared("<="), _BINARY, "`a <= b`", "COUNT(*) FILTER (WHERE age <= 30)"),
    of_row("GT", _compared(">"), _BINARY, "`a > b`", "COUNT(*) FILTER (WHERE age > 30)"),
    of_row("GTE", _compared(">="), _BINARY, "`a >= b`", "COUNT(*) FILTER (WHERE age >= 30)"),
    of_row("And", _connected("AND", AND), _BINARY, "`a AND b`", "COUNT(*) FILTER (WHERE vip AND age > 30)"),
    of_row("Or", _connected("OR", OR), _BINARY, "`a OR b`", "COUNT(*) FILTER (WHERE vip OR age > 30)"),
    of_row("Not", write_not, ("this",), "`NOT a`", "COUNT(*) FILTER (WHERE NOT vip)"),
    of_row("Is", write_is, _BINARY, "`x IS NULL`, `x IS NOT NULL`", "COUNT(*) FILTER (WHERE age IS NULL)"),
    of_row(
        "Between",
        write_between,
        ("this", "low", "high", "symmetric"),
        "`x BETWEEN a AND b`",
        "COUNT(*) FILTER (WHERE age BETWEEN 30 AND 39)",
    ),
    of_row(
        "In",
        write_in,
        ("this", "expressions"),
        "`x IN (1, 2)`",
        "COUNT(*) FILTER (WHERE job IN ('clerk', 'chef'))",
    ),
    of_row(
        "Case",
        write_case,
        ("this", "ifs", "default"),
        "`CASE WHEN ... THEN ... ELSE ... END`",
        "SUM(CASE WHEN vip THEN 1 ELSE 0 END)",
        "a condition that is unknown does not hold",
    ),
    of_row("If", write_if, ("this", "true", "false"), "`IF(a, b, c)`", "SUM(IF(vip, 1, 0))"),
    of_row("Abs", function("abs", "this"), ("this",), "`abs(x)`", "SUM(abs(age))"),
    of_row(
        "Sqrt",
        function("sqrt", "this"),
        ("this",),
        "`sqrt(x)`",
        "SUM(round(sqrt(age), 2))",
        "an aggregate of it needs a grain: `round(sqrt(x), 2)`",
    ),
    of_row("Ln", function("ln", "this"), ("this",), "`ln(x)`", "COUNT(*) FILTER (WHERE ln(age) > 3)"),
    of_row("Exp", function("exp", "this"), ("this",), "`exp(x)`", "COUNT(*) FILTER (WHERE exp(age) > 3)"),
    of_row("Log", write_logarithm, _BINARY, "`log2(x)`, `log10(x)`", "COUNT(*) FILTER (WHERE log2(age) > 3)"),
    of_row("Pow", function("power", "this", "expression"), _BINARY, "`power(x, 2)`", "SUM(power(age, 2))"),
    of_row(
        "Least",
        function("least", "this", "expressions"),
        ("this", "expressions", "ignore_nulls"),
        "`least(a, b)`",
        "SUM(least(age, 65))",
        "unknown where one is unknown",
    ),
    of_row(
        "Greatest",
        function("greatest", "this", "expressions"),
        ("this", "expressions", "ignore_nulls"),
        "`greatest(a, b)`",
        "SUM(greatest(age, 18))",
        "unknown where one is unknown",
    ),
)
"""What may be computed from a row, and from answers."""
