"""The tree that a policy or a filter is read into: small, frozen, and all that others look at.

Every node may carry the place in the text that it was read from. The place serves messages only:
two trees are equal when they mean the same operations, wherever they were written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, assert_never, get_args

from prdp.expressions.functions import FUNCTIONS, MAX_ARGUMENTS, CastTarget, FunctionName, arity
from prdp.expressions.tokens import moment_literal, number_text, shown_name, text_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime


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

OR, AND, NOT, COMPARE, CONCAT, SUM, PRODUCT, SIGN, ATOM = range(9)
"""Precedence of operations, from the loosest to the tightest."""


__all__ = [
    "ARITHMETIC", "COMPARISONS", "FUNCTIONS", "MIRRORED", "OPPOSITE", "ArithmeticOp", "CompareOp",
    "FunctionName", "arity",
]  # fmt: skip
"""Names that are defined elsewhere and exported here, beside all that is defined here."""

MAX_LEVELS = 128
"""Maximum number of levels of a tree, so that walking it never runs out of stack."""

MAX_NODES = MAX_ARGUMENTS
"""Maximum number of nodes of a tree, not counting constants."""

MAX_CONSTANTS = 5_000
"""Maximum number of constants of a tree: about what the longest text has room for."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Placed:
    """Something with a place in the text: start and end, the end not included."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Number(_Placed):
    """A number written in the text, as the nearest double; finite, and never minus zero."""

    value: float


@dataclass(frozen=True, slots=True)
class Text(_Placed):
    """A text written in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Boolean(_Placed):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class Moment(_Placed):
    """A date or time without a zone; a date is its own midnight."""

    value: datetime


@dataclass(frozen=True, slots=True)
class Null(_Placed):
    """The unknown value."""


@dataclass(frozen=True, slots=True)
class Column(_Placed):
    """The record's value in one column; ``required`` where every record is known to have one."""

    name: str
    required: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Negate(_Placed):
    """A number with its sign turned."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Arithmetic(_Placed):
    """A sum, difference, product, quotient or remainder; of two dates, the days between them.

    ``of_moments`` is set once the types are checked.
    """

    op: ArithmeticOp
    left: Node
    right: Node
    of_moments: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Call(_Placed):
    """A function of numbers, texts or moments; ``functions`` says of which, and what it gives."""

    name: FunctionName
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast(_Placed):
    """A value as one of another type, unknown where there is none; ``of_boolean`` once that is checked."""

    target: CastTarget
    operand: Node
    of_boolean: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Compare(_Placed):
    """A comparison of two values of one kind."""

    op: CompareOp
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class InList(_Placed):
    """Test that a value is one of a list of constants (IN)."""

    operand: Node
    items: tuple[Number | Text | Moment | Boolean, ...]

    @property
    def numbers(self) -> list[float]:
        """The numbers of the list."""
        return [item.value for item in self.items if isinstance(item, Number)]


@dataclass(frozen=True, slots=True)
class And(_Placed):
    """Conjunction of parts; no part is itself an And."""

    parts: tuple[Node, ...]

    every: ClassVar[bool] = True
    """True: every part must hold."""


@dataclass(frozen=True, slots=True)
class Or(_Placed):
    """Disjunction of parts; no part is itself an Or."""

    parts: tuple[Node, ...]

    every: ClassVar[bool] = False
    """False: one part is enough."""


@dataclass(frozen=True, slots=True)
class Not(_Placed):
    """Negation of a condition."""

    operand: Node


@dataclass(frozen=True, slots=True)
class IsNull(_Placed):
    """Test that a value is unknown."""

    operand: Node


@dataclass(frozen=True, slots=True)
class IsTrue(_Placed):
    """Test that a condition holds; it does not where it is unknown."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Case(_Placed):
    """The value of the first branch whose condition holds, else the default.

    Strict: when a condition met on the way is unknown, so is the whole.
    """

    branches: tuple[tuple[Node, Node], ...]
    default: Node


Literals = Number | Text | Boolean | Moment
Node = (
    Literals | Null | Column | Negate | Arithmetic | Call | Cast | Compare | InList | And | Or | Not
    | IsNull | IsTrue | Case
)  # fmt: skip


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911  (one return a class)
    """Return the nodes right below one, in the order of the text.

    >>> children(Compare("<", Column("age"), Number(18.0)))
    (Column(name='age'), Number(value=18.0))
    """
    match node:
        case Negate() | Not() | IsNull() | IsTrue() | Cast():
            return (node.operand,)
        case Arithmetic() | Compare():
            return (node.left, node.right)
        case Call():
            return node.args
        case And() | Or():
            return node.parts
        case InList():
            return (node.operand, *node.items)
        case Case():
            inner = [part for branch in node.branches for part in branch]
            return (*inner, node.default)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it.

    >>> quotient = Arithmetic("/", Number(1.0), Column("balance"))
    >>> sum(1 for _ in walk(quotient))  # itself, the number and the column
    3
    """
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(children(current))


def too_large(node: Node, levels: int = MAX_LEVELS) -> bool:
    """Return whether a tree has more levels, nodes or constants than are walked without trouble.

    >>> from prdp.expressions.parse import parse
    >>> too_large(parse("1 / balance")), too_large(And((Column("vip"),) * MAX_NODES))
    (False, True)
    """
    waiting, nodes, constants = [(node, 1)], 0, 0
    while waiting:
        current, level = waiting.pop()
        constants += isinstance(current, Literals)
        nodes += not isinstance(current, Literals)
        if nodes > MAX_NODES or constants > MAX_CONSTANTS or level > levels:
            return True
        waiting.extend((child, level + 1) for child in children(current))
    return False


def columns(node: Node) -> frozenset[str]:
    """Return the names of the columns that an expression reads.

    >>> sorted(columns(Call("least", (Column("balance"), Column("age"), Number(100.0)))))
    ['age', 'balance']
    """
    return frozenset(part.name for part in walk(node) if isinstance(part, Column))


def conjunction(parts: Iterable[Node], span: Span | None = None) -> And:
    """Return the And of parts, with no And inside another.

    >>> a, b, c = Column("a"), Column("b"), Column("c")
    >>> conjunction([And((a, b)), c]) == And((a, b, c))
    True
    """
    return And(_flat(parts, And), span=span)


def conjuncts(where: Node | None) -> tuple[Node, ...]:
    """Return all that holds where a condition does; nothing for no condition."""
    return where.parts if isinstance(where, And) else () if where is None else (where,)


def disjunction(parts: Iterable[Node], span: Span | None = None) -> Or:
    """Return the Or of parts, with no Or inside another."""
    return Or(_flat(parts, Or), span=span)


def _flat(parts: Iterable[Node], kind: type[And | Or]) -> tuple[Node, ...]:
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else (part,))
    return tuple(flat)


def ones(condition: Node) -> Node:
    """Return 1 where a condition holds, and else 0."""
    return Case(((condition, Number(1.0)),), Number(0.0))


def ones_unless(condition: Node) -> Node:
    """Return 0 where a condition holds, and else 1."""
    return Case(((condition, Number(0.0)),), Number(1.0))


def negated(operand: Node, span: Span | None = None) -> Number | Negate:
    """Return an operand with its sign turned; of a constant that is a constant, and zero has no sign.

    >>> negated(Number(3.0)), negated(Number(0.0)), negated(Column("age"))
    (Number(value=-3.0), Number(value=0.0), Negate(operand=Column(name='age')))
    """
    if isinstance(operand, Number):
        return Number(-operand.value or 0.0, span=span)
    return Negate(operand, span=span)


def canonical(node: Node) -> str:
    """Return the text of an expression, the same however it was spaced or capitalised.

    >>> from prdp.expressions.parse import parse
    >>> canonical(parse("LEAST( 1e4/balance,(100) )"))
    'least(10000 / balance, 100)'
    >>> canonical(parse("a - (b - c)")), canonical(parse("(a - b) - c"))
    ('a - (b - c)', 'a - b - c')
    """
    return _written(node)[0]


def _written(node: Node) -> tuple[str, int]:  # noqa: C901, PLR0911  (one return a class)
    """Return the text of a node and how tightly it binds."""
    match node:
        case Number():
            return number_text(node.value), SIGN if node.value < 0 else ATOM
        case Text():
            return text_literal(node.value), ATOM
        case Boolean():
            return str(node.value).upper(), ATOM
        case Moment():
            return moment_literal(node.value), ATOM
        case Null():
            return "NULL", ATOM
        case Column():
            return shown_name(node.name), ATOM
        case Call():
            return _call(node)
        case Cast():
            return f"CAST({canonical(node.operand)} AS {node.target})", ATOM
        case Negate():
            return f"-{_within(node.operand, ATOM)}", SIGN
        case Arithmetic():
            return _arithmetic(node)
        case _:
            return _condition(node)


def _arithmetic(node: Arithmetic) -> tuple[str, int]:
    level = SUM if node.op in "+-" else PRODUCT
    return f"{_within(node.left, level)} {node.op} {_within(node.right, level + 1)}", level


def _call(node: Call) -> tuple[str, int]:
    """Return the text of a function; some are written as operators."""
    match node.name, node.args:
        case "concat", parts:
            return " || ".join(_within(part, SUM) for part in parts), CONCAT
        case "like" | "ilike", _:
            return _like(node, node.name.upper()), COMPARE
        case "date_add", (Text() as unit, Number() as number, moment):
            sign = "-" if number.value < 0 else "+"
            interval = text_literal(f"{number_text(abs(number.value))} {unit.value}")
            return f"{_within(moment, SUM)} {sign} INTERVAL {interval}", SUM
        case _:
            return f"{node.name}({', '.join(canonical(arg) for arg in node.args)})", ATOM


def _like(node: Call, word: str) -> str:
    written = f"{_within(node.args[0], CONCAT)} {word} {canonical(node.args[1])}"
    return f"{written} ESCAPE {canonical(node.args[2])}" if len(node.args) > 2 else written


def _condition(  # noqa: C901, PLR0911  (one return a class)
    node: Compare | InList | And | Or | Not | IsNull | IsTrue | Case,
) -> tuple[str, int]:
    match node:
        case Compare():
            return f"{_within(node.left, CONCAT)} {node.op} {_within(node.right, CONCAT)}", COMPARE
        case InList():
            return _in_list(node, "IN"), COMPARE
        case IsNull() | IsTrue():
            return _is(node, "IS"), COMPARE
        case Not(operand=IsNull() | IsTrue() as inner):
            return _is(inner, "IS NOT"), COMPARE
        case Not(operand=Call(name="like" | "ilike") as inner):
            return _like(inner, f"NOT {inner.name.upper()}"), COMPARE
        case Not(operand=InList() as inner):
            return _in_list(inner, "NOT IN"), COMPARE
        case Not():
            return f"NOT {_within(node.operand, COMPARE)}", NOT
        case And():
            return " AND ".join(_within(part, NOT) for part in node.parts), AND
        case Or():
            return " OR ".join(_within(part, AND) for part in node.parts), OR
        case Case():
            return _case(node), ATOM
        case _:
            assert_never(node)


def _is(node: IsNull | IsTrue, word: str) -> str:
    match node:
        case IsNull():
            return f"{_within(node.operand, CONCAT)} {word} NULL"
        case IsTrue(operand=Not() as denied):
            return f"{_within(denied.operand, CONCAT)} {word} FALSE"
        case _:
            return f"{_within(node.operand, CONCAT)} {word} TRUE"


def _in_list(node: InList, word: str) -> str:
    items = ", ".join(canonical(item) for item in node.items)
    return f"{_within(node.operand, CONCAT)} {word} ({items})"


def _case(node: Case) -> str:
    whens = " ".join(f"WHEN {canonical(when)} THEN {canonical(then)}" for when, then in node.branches)
    default = "" if isinstance(node.default, Null) else f" ELSE {canonical(node.default)}"
    return f"CASE {whens}{default} END"


def _within(node: Node, tightest: int) -> str:
    """Return the text of a node, in parentheses if it binds less tightly than its place asks."""
    text, level = _written(node)
    return text if level >= tightest else f"({text})"
