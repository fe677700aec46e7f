"""Expressions over a row: one small function a construct, each gives a node of the row language.

What a condition means is what the row language says (NULL, NaN, texts by code point), because that is what is
asked: no part of the user's text reaches an engine. The same functions read what is computed from answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from prdp.expressions.check import NO_INTERVAL, NO_PART, joined_texts, miscounted
from prdp.expressions.functions import (
    ADDED,
    MOMENT_PARTS,
    NUMBER_FUNCTIONS,
    PARTS_SPELLED,
    CastTarget,
    FunctionName,
    MomentPart,
    NumberFunction,
    arity,
)
from prdp.expressions.nodes import (
    Arithmetic,
    ArithmeticOp,
    Boolean,
    Call,
    Case,
    Cast,
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
)
from prdp.expressions.parse import IN_NEEDS
from prdp.expressions.tokens import HOW_TO_WRITE_MOMENTS, OUT_OF_RANGE, double_from, moment_from
from prdp.sql.constants import MOMENTS, moment_in, number_in
from prdp.sql.reading import sql_of
from prdp.sql.refused import Construct


class RowReader(Protocol):
    """Reads parts of a statement as nodes of the row language."""

    def read(self, part: Any) -> Node:
        """Return the node of a part, or refuse it."""

    def span(self, part: Any) -> Span | None:
        """Return where a part is in the statement; None where that is not known without a walk."""

    def refuse(self, part: Any, reason: str, advice: str = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""


Rule = Callable[[RowReader, Any], Node]


def arithmetic(op: ArithmeticOp) -> Rule:
    """Return the rule of an operation between two numbers, or between a moment and an interval."""

    def rule(reader: RowReader, part: Any) -> Node:
        number = number_in(part)
        if number is not None:
            return Number(float(number))
        if type(part.expression).__name__ == "Interval":
            moment = moment_in(part)
            return _added(reader, part, op) if moment is None else Moment(moment)
        return Arithmetic(op, reader.read(part.this), reader.read(part.expression))

    return rule


def _added(reader: RowReader, part: Any, op: ArithmeticOp) -> Node:
    """Return a moment to which an interval of one unit, such as INTERVAL 3 MONTH, is added."""
    moment, interval = reader.read(part.this), part.expression
    count, unit = str(getattr(interval.this, "this", "")), interval.args.get("unit")
    if not count.lstrip("-").isdigit() or unit is None or not str(unit.name).isalpha():
        reader.refuse(interval, "an interval has a whole number and one unit", "Write INTERVAL 90 DAY.")
    word = str(unit.name).lower()
    word = word if word in ADDED else word.removesuffix("s")
    if word not in ADDED or len(count.lstrip("-")) > _MAX_DIGITS or op not in "+-":
        reader.refuse(interval, *NO_INTERVAL)
    number = float(count) * (-1 if op == "-" else 1) or 0.0
    span = reader.span(interval)
    return Call("date_add", (Text(word, span=span), Number(number, span=span), moment))


def _compared(op: CompareOp) -> Rule:
    def rule(reader: RowReader, part: Any) -> Node:
        for side in (part.this, part.expression):
            if type(side).__name__ in _COMPARED:
                reader.refuse(
                    part,
                    "a comparison of a comparison can be read in two ways",
                    "Put the first in parentheses, or write a < b AND b < c.",
                )
        return Compare(op, reader.read(part.this), reader.read(part.expression))

    return rule


def _flat(reader: RowReader, part: Any) -> list[Node]:
    """Return what AND or OR connects, of which there may be thousands in a row."""
    parts, waiting = [], [part]
    while waiting:
        current = waiting.pop()
        if type(current) is type(part):
            waiting += [current.expression, current.this]
        else:
            parts.append(reader.read(current))
    return parts


def read_and(reader: RowReader, part: Any) -> Node:
    """Read AND."""
    return conjunction(_flat(reader, part))


def read_or(reader: RowReader, part: Any) -> Node:
    """Read OR."""
    return disjunction(_flat(reader, part))


def function(name: FunctionName, *parts: str) -> Rule:
    """Return the rule of a function of the row language; ``parts`` name its arguments in order."""

    def rule(reader: RowReader, part: Any) -> Node:
        arguments: list[Any] = []
        for argument in map(part.args.get, parts):
            arguments += argument if isinstance(argument, list) else [argument] * (argument is not None)
        if wrong := miscounted(name, len(arguments)):
            reader.refuse(part, wrong)
        return Call(name, tuple(map(reader.read, arguments)))

    return rule


def read_literal(reader: RowReader, part: Any) -> Node:
    """Read a number or a text."""
    if part.is_string:
        return Text(part.this)
    value = double_from(str(part.this))
    if value is None:
        reader.refuse(part, OUT_OF_RANGE)
    return Number(value)


def read_boolean(_reader: RowReader, part: Any) -> Node:
    """Read TRUE or FALSE."""
    return Boolean(bool(part.this))


def read_null(_reader: RowReader, _part: Any) -> Node:
    """Read NULL."""
    return Null()


def read_parenthesis(reader: RowReader, part: Any) -> Node:
    """Read an expression in parentheses."""
    return reader.read(part.this)


def read_negative(reader: RowReader, part: Any) -> Node:
    """Read a number with its sign turned."""
    return negated(reader.read(part.this))


def read_not(reader: RowReader, part: Any) -> Node:
    """Read a denied condition; NOT IN, NOT BETWEEN and NOT LIKE are read as this."""
    return Not(reader.read(part.this))


def read_is(reader: RowReader, part: Any) -> Node:
    """Read IS NULL; IS TRUE and IS FALSE."""
    kind = type(part.expression).__name__
    if kind not in {"Null", "Boolean"}:
        reader.refuse(part, "IS is read before NULL, TRUE and FALSE alone", "Write a = b.")
    operand = reader.read(part.this)
    if kind == "Null":
        return IsNull(operand)
    return IsTrue(operand if part.expression.this else Not(operand, span=operand.span))


def read_between(reader: RowReader, part: Any) -> Node:
    """Read BETWEEN, both ends included."""
    if part.args.get("symmetric"):
        reader.refuse(part, "SYMMETRIC is not read", "Write the lower end first.")
    value, low, high = (reader.read(part.args[name]) for name in ("this", "low", "high"))
    span = reader.span(part)
    return conjunction((Compare(">=", value, low, span=span), Compare("<=", value, high, span=span)))


def read_in(reader: RowReader, part: Any) -> Node:
    """Read IN with a list of constants; one over a public table is read before."""
    items: list[Literals] = []
    for item in part.expressions:
        node = reader.read(item)
        if isinstance(node, Null):
            reader.refuse(
                part, "no comparison with NULL is true, and IN has one", "Write x IN (...) OR x IS NULL."
            )
        if not isinstance(node, Literals):
            reader.refuse(item if reader.span(item) else part, IN_NEEDS, "Write x = a OR x = b instead.")
        items.append(node)
    if not items:
        reader.refuse(part, IN_NEEDS, "For example: x IN (1, 2).")
    return InList(reader.read(part.this), tuple(items))


def read_case(reader: RowReader, part: Any) -> Node:
    """Read CASE, with a subject or without: as in SQL, a branch is taken where its condition is true."""
    default = part.args.get("default")
    subject = None if part.this is None else reader.read(part.this)
    branches: list[tuple[Node, Node]] = []
    for place, branch in enumerate(part.args["ifs"]):
        last = place + 1 == len(part.args["ifs"]) and type(default).__name__ in _NOTHING
        held = _branch(reader, branch.this, subject, last=last)
        branches.append((held, reader.read(branch.args["true"])))
    return Case(tuple(branches), Null() if default is None else reader.read(default))


def _branch(reader: RowReader, condition: Any, subject: Node | None, *, last: bool) -> Node:
    """Read a condition that fails where it is unknown; the row language's own CASE would be unknown there.

    ``last``: nothing comes after it, so that a record for which it fails has no value anyway.
    """
    held = reader.read(condition)
    if subject is not None:
        held = Compare("=", subject, held, span=held.span)
    if last or (subject is None and _is_decided(condition)):
        return held
    return IsTrue(held, span=held.span)


def _is_decided(part: Any) -> bool:
    """Return whether a condition is never unknown, as its form shows."""
    match type(part).__name__:
        case "Is" | "Boolean":
            return True
        case "Not" | "Paren":
            return _is_decided(part.this)
        case "And" | "Or":
            return _is_decided(part.this) and _is_decided(part.expression)
        case _:
            return False


def read_if(reader: RowReader, part: Any) -> Node:
    """Read IF(condition, a, b) as the CASE that it is."""
    default = part.args.get("false")
    condition = _branch(reader, part.this, None, last=type(default).__name__ in _NOTHING)
    branch = condition, reader.read(part.args["true"])
    return Case((branch,), Null() if default is None else reader.read(default))


def read_logarithm(reader: RowReader, part: Any) -> Node:
    """Read log2 and log10; the base of log alone differs between databases."""
    base = part.this.this if type(part.this).__name__ == "Literal" and not part.this.is_string else ""
    name = _LOGARITHMS.get(str(base))
    if part.expression is None or name is None:
        reader.refuse(part, "databases disagree about the base of log", "Write ln(x), log2(x) or log10(x).")
    return Call(name, (reader.read(part.expression),))


def read_texts(reader: RowReader, part: Any) -> Node:
    """Read texts that are put together by ``||``."""
    return joined_texts((reader.read(part.this), reader.read(part.expression)))


_TYPES: dict[str, CastTarget] = {
    "DOUBLE": "DOUBLE",
    "INT": "INTEGER",
    "BIGINT": "BIGINT",
    "TEXT": "VARCHAR",
    "VARCHAR": "VARCHAR",
    "CHAR": "VARCHAR",
    **MOMENTS,
}


def read_cast(reader: RowReader, part: Any) -> Node:
    """Read CAST, TRY_CAST and ``::``, which never fail; DATE '...' is read as one of a text."""
    word = part.to.this.value
    if word not in _TYPES or part.to.expressions:
        reader.refuse(
            part,
            f"a cast to {sql_of(part.to)} is not read",
            "Write DOUBLE, INTEGER, BIGINT, VARCHAR, DATE or TIMESTAMP; round(x, 2) for decimals.",
        )
    if word in MOMENTS and type(part.this).__name__ == "Literal" and part.this.is_string:
        return _moment(reader, part, MOMENTS[word])
    return Cast(_TYPES[word], reader.read(part.this))


def _moment(reader: RowReader, part: Any, target: CastTarget) -> Node:
    """Read a date or time that is written as a constant."""
    written = part.this.this
    value = moment_from(written)
    if value is None or (target == "DATE" and len(written) > len("2020-01-31")):
        reader.refuse(part.this, "this is not a date or time", HOW_TO_WRITE_MOMENTS)
    return Moment(value)


def read_like(reader: RowReader, part: Any, escape: Any = None) -> Node:
    """Read LIKE and ILIKE, also denied."""
    arguments = [part.this, part.expression, *([] if escape is None else [escape])]
    name: FunctionName = "ilike" if type(part).__name__ == "ILike" else "like"
    like = Call(name, tuple(map(reader.read, arguments)))
    return Not(like) if part.args.get("negate") else like


def read_escape(reader: RowReader, part: Any) -> Node:
    """Read LIKE ... ESCAPE."""
    if type(part.this).__name__ not in {"Like", "ILike"}:
        reader.refuse(part, "ESCAPE is read after LIKE and ILIKE alone")
    return read_like(reader, part.this, part.expression)


def read_trim(reader: RowReader, part: Any) -> Node:
    """Read trim, ltrim and rtrim."""
    name = _TRIMMED.get(str(part.args.get("position") or "BOTH").upper())
    if name is None:
        reader.refuse(part, "this side is not trimmed")
    return function(name, "this", "expression")(reader, part)


def read_concat(reader: RowReader, part: Any) -> Node:
    """Read concat, which passes over what is unknown, by ``||``, which does not."""
    texts = [Call("coalesce", (reader.read(text), Text(""))) for text in part.expressions]
    return texts[0] if len(texts) == 1 else joined_texts(texts)


def read_extract(reader: RowReader, part: Any) -> Node:
    """Read EXTRACT(year FROM x)."""
    name = PARTS_SPELLED.get(_word(reader, part.this))
    if name is None:
        reader.refuse(part, *NO_PART)
    return Call(name, (reader.read(part.expression),))


def read_date_trunc(reader: RowReader, part: Any) -> Node:
    """Read date_trunc('month', x)."""
    unit = Text(_word(reader, part.args["unit"]), span=reader.span(part))
    return Call("date_trunc", (unit, reader.read(part.this)))


def read_date_diff(reader: RowReader, part: Any) -> Node:
    """Read date_diff('day', a, b): how often a day begins from a to b."""
    unit = Text(_word(reader, part.args.get("unit")), span=reader.span(part))
    return Call("date_diff", (unit, reader.read(part.expression), reader.read(part.this)))


def _word(reader: RowReader, part: Any) -> str:
    word = str(getattr(part, "name", "")).lower()
    if not word.isalpha():
        reader.refuse(part, "this part of a moment is not read", "For example: year, month or day.")
    return word


_TRIMMED: dict[str, FunctionName] = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}


_LOGARITHMS: dict[str, FunctionName] = {"2": "log2", "10": "log10"}
_MAX_DIGITS = 10
"""Largest number of digits of an INTERVAL."""

_COMPARED = frozenset({"EQ", "NEQ", "LT", "LTE", "GT", "GTE", "Is", "In", "Between", "Like", "ILike"})
_BINARY = ("this", "expression")
_NOTHING = frozenset({"NoneType", "Null"})
"""Text after the last branch of a CASE without ELSE."""


def of_row(  # noqa: PLR0917  (one a column of the table)
    node: str, rule: Rule, reads: tuple[str, ...], shown: str, sample: str, note: str = ""
) -> Construct:
    """Return a construct whose example computes one value of a row."""
    return Construct(node, rule, reads, shown, f"SELECT {sample} FROM accounts", note)


def _counted(sample: str) -> str:
    return f"COUNT(*) FILTER (WHERE {sample})"


def _of_number(name: NumberFunction) -> Construct:
    """Return the construct of a function of one number, for which sqlglot has a class of the same name."""
    return of_row(
        name.title(), function(name, "this"), ("this",), f"`{name}(x)`", _counted(f"{name}(age) > 0")
    )


_OF_ONE_NUMBER = tuple(
    name for name in NUMBER_FUNCTIONS if arity(name) == (1, 1) and name not in _LOGARITHMS.values()
)

ROWS: tuple[Construct, ...] = (
    of_row("Literal", read_literal, ("this",), "`30`, `0.5`, `'clerk'`", "SUM(age) + 0.5"),
    of_row("Boolean", read_boolean, ("this",), "`TRUE`, `FALSE`", "COUNT(*) FILTER (WHERE vip = TRUE)"),
    of_row("Null", read_null, (), "`NULL`", "AVG(CASE WHEN vip THEN age ELSE NULL END)"),
    of_row("Paren", read_parenthesis, ("this",), "`(...)`", "SUM((age + 1) * 2)"),
    of_row("Neg", read_negative, ("this",), "`-x`", "SUM(-age)"),
    of_row("Add", arithmetic("+"), _BINARY, "`a + b`", "SUM(age + 1)"),
    of_row("Sub", arithmetic("-"), _BINARY, "`a - b`", "SUM(age - 1)"),
    of_row("Mul", arithmetic("*"), _BINARY, "`a * b`", "SUM(age * 2)"),
    of_row(
        "Div",
        arithmetic("/"),
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
    of_row("And", read_and, _BINARY, "`a AND b`", "COUNT(*) FILTER (WHERE vip AND age > 30)"),
    of_row("Or", read_or, _BINARY, "`a OR b`", "COUNT(*) FILTER (WHERE vip OR age > 30)"),
    of_row("Not", read_not, ("this",), "`NOT a`", "COUNT(*) FILTER (WHERE NOT vip)"),
    of_row("Is", read_is, _BINARY, "`x IS NULL`, `x IS NOT NULL`", "COUNT(*) FILTER (WHERE age IS NULL)"),
    of_row(
        "Between",
        read_between,
        ("this", "low", "high", "symmetric"),
        "`x BETWEEN a AND b`",
        "COUNT(*) FILTER (WHERE age BETWEEN 30 AND 39)",
    ),
    of_row(
        "In",
        read_in,
        ("this", "expressions"),
        "`x IN (1, 2)`",
        "COUNT(*) FILTER (WHERE job IN ('clerk', 'chef'))",
    ),
    of_row(
        "Case",
        read_case,
        ("this", "ifs", "default"),
        "`CASE WHEN ... THEN ... ELSE ... END`",
        "SUM(CASE WHEN vip THEN 1 ELSE 0 END)",
        "a condition that is unknown does not hold",
    ),
    of_row("If", read_if, ("this", "true", "false"), "`IF(a, b, c)`", "SUM(IF(vip, 1, 0))"),
    *map(_of_number, _OF_ONE_NUMBER),
    of_row("Log", read_logarithm, _BINARY, "`log2(x)`, `log10(x)`", "COUNT(*) FILTER (WHERE log2(age) > 3)"),
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
"""Expressions of rows, and of answers."""


def _part(node: str, name: MomentPart) -> Construct:
    """Return the construct of a part of a moment."""
    return of_row(node, function(name, "this"), ("this",), f"`{name}(d)`", _counted(f"{name}(opened) > 2"))


_PARTS: dict[str, MomentPart] = {
    "DayOfWeek": "dayofweek",
    "DayOfWeekIso": "isodow",
    "DayOfYear": "dayofyear",
    "DayOfMonth": "day",
}
_PARTS |= {name.title(): name for name in MOMENT_PARTS if not name.startswith(("dayof", "isodow"))}

ROW_FUNCTIONS: tuple[Construct, ...] = (
    of_row(
        "Cast",
        read_cast,
        ("this", "to"),
        "`DATE '2020-01-31'`, `CAST(x AS DOUBLE)`, `x::INTEGER`",
        "SUM(CAST(price AS INTEGER))",
        "unknown where it cannot be",
    ),
    of_row(
        "TryCast",
        read_cast,
        ("this", "to", "safe"),
        "`TRY_CAST(x AS DOUBLE)`",
        _counted("TRY_CAST(job AS DOUBLE) > 3"),
    ),
    of_row("Like", read_like, (*_BINARY, "negate"), "`x LIKE 'c%'`", _counted("job LIKE 'c%'")),
    of_row("ILike", read_like, (*_BINARY, "negate"), "`x ILIKE 'c%'`", _counted("job ILIKE 'C%'")),
    of_row("Escape", read_escape, _BINARY, "`x LIKE '!%' ESCAPE '!'`", _counted("job LIKE '!%%' ESCAPE '!'")),
    of_row("Lower", function("lower", "this"), ("this",), "`lower(x)`", _counted("lower(job) = 'chef'")),
    of_row("Upper", function("upper", "this"), ("this",), "`upper(x)`", _counted("upper(job) = 'CHEF'")),
    of_row(
        "Trim",
        read_trim,
        (*_BINARY, "position"),
        "`trim(x)`, `ltrim(x)`, `rtrim(x)`",
        _counted("trim(job) = 'chef'"),
    ),
    of_row(
        "Substring",
        function("substring", "this", "start", "length"),
        ("this", "start", "length"),
        "`substring(x, 1, 2)`",
        _counted("substring(job, 1, 2) = 'ch'"),
    ),
    of_row("Length", function("length", "this"), ("this",), "`length(x)`", _counted("length(job) > 4")),
    of_row("DPipe", read_texts, (*_BINARY, "safe"), "`a || b`", _counted("job || '!' = 'chef!'")),
    of_row(
        "Concat",
        read_concat,
        ("expressions", "safe", "coalesce"),
        "`concat(a, b)`",
        _counted("concat(job, '!') = 'chef!'"),
        "passes over what is unknown",
    ),
    of_row(
        "StartsWith",
        function("starts_with", *_BINARY),
        _BINARY,
        "`starts_with(x, 'c')`",
        _counted("starts_with(job, 'c')"),
    ),
    of_row(
        "EndsWith",
        function("ends_with", *_BINARY),
        _BINARY,
        "`ends_with(x, 'f')`",
        _counted("ends_with(job, 'f')"),
    ),
    of_row(
        "Contains",
        function("contains", *_BINARY),
        _BINARY,
        "`contains(x, 'e')`",
        _counted("contains(job, 'he')"),
    ),
    of_row(
        "Coalesce",
        function("coalesce", "this", "expressions"),
        ("this", "expressions"),
        "`coalesce(a, b)`",
        "SUM(coalesce(bonus, 0))",
    ),
    of_row("Nullif", function("nullif", *_BINARY), _BINARY, "`nullif(a, b)`", "COUNT(nullif(age, 30))"),
    of_row(
        "Round",
        function("round", "this", "decimals"),
        ("this", "decimals"),
        "`round(x)`, `round(x, 2)`",
        "SUM(round(price))",
    ),
    of_row("Mod", arithmetic("%"), _BINARY, "`a % b`", _counted("age % 2 = 0")),
    of_row(
        "Extract",
        read_extract,
        _BINARY,
        "`EXTRACT(year FROM d)`",
        _counted("EXTRACT(month FROM opened) = 2"),
    ),
    of_row(
        "TimestampTrunc",
        read_date_trunc,
        ("this", "unit"),
        "`date_trunc('month', d)`",
        _counted("date_trunc('month', opened) = DATE '2025-02-01'"),
    ),
    of_row(
        "DateTrunc",
        read_date_trunc,
        ("this", "unit"),
        "`date_trunc('month', d)`",
        _counted("date_trunc('month', CAST(opened AS DATE)) = DATE '2025-02-01'"),
    ),
    of_row(
        "DateDiff",
        read_date_diff,
        ("this", "expression", "unit", "date_part_boundary"),
        "`date_diff('day', a, b)`",
        _counted("date_diff('day', DATE '2025-01-01', opened) > 30"),
    ),
    *(_part(node, name) for node, name in _PARTS.items()),
)
"""Expressions of texts and datetimes, beside ``ROWS``."""
