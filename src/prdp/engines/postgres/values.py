"""Texts, moments and casts in PostgreSQL, which fails where it has no value for something: guarded too."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.postgres.doubles import NAME, doubles, guarded, once
from prdp.engines.statements.translate import Rule, form
from prdp.expressions.case_mapping import CAPITALS, SMALL_LETTERS

_ANY_TEXT = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"
"""How statements ask whether a text is UTF-8, which every text of a UTF-8 database is."""

_ANY_CHARACTER = "(?s)"
"""How RE2 is told that a point stands for the end of a line too, as it does in PostgreSQL unless told."""

_LONGEST_NUMBER = 1_000
"""So many characters may a text have that is a number: a double holds no more, and NUMERIC not many more."""

_DAY = 86_400_000_000
"""Microseconds."""


def rule_from(template: str) -> Rule:
    """Return the rule that says a function of one operand, ``a``, by a template."""
    return lambda node: form(template, NAME, a=node.this)


def call(node: exp.Expression, name: str, *args: str) -> exp.Expression:
    """Return a call of a function with some of a node's operands."""
    return exp.Anonymous(this=name, expressions=[node.args[arg].copy() for arg in args])


def operand(node: exp.Expression, place: int = 0) -> exp.Expression:
    """Return an operand of a function that sqlglot does not know."""
    found: exp.Expression = node.expressions[place]
    return found


def collated(node: exp.Expression) -> exp.Expression:
    """Say that texts are compared by code point."""
    return exp.Collate(this=node.this.copy(), expression=exp.to_identifier("C", quoted=True))


def as_bytes(node: exp.Expression) -> exp.Expression:
    """Say the bytes of a text: the text itself, which the collation C distinguishes and sorts by its bytes.

    BYTEA would have neither min() nor max() before PostgreSQL 18.
    """
    return form('(CAST(a AS TEXT)) COLLATE "C"', NAME, a=node.this)


def _cased(function: str, table: Mapping[int, int]) -> Rule:
    """Return the rule for upper or lower case: PostgreSQL's own for ASCII, else by prdp's table."""
    from_, to = "".join(map(chr, table)), "".join(map(chr, table.values()))
    template = (
        f'CASE WHEN octet_length(a) = length(a) THEN {function}((a) COLLATE "C") '
        f"ELSE translate(a, '{from_}', '{to}') END"
    )
    return lambda node: once(template, a=node.this)


lower, upper = _cased("lower", SMALL_LETTERS), _cased("upper", CAPITALS)


def trim(node: exp.Expression) -> exp.Expression:
    """Say which characters are cut off, and where."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "btrim")
    return call(node, name, "this", "expression")


def substring(node: exp.Expression) -> exp.Expression:
    """Say a part of a text; a place below zero counts from its end."""
    length = node.args.get("length")
    if length is not None:  # always from the first character
        return form("left(a, CAST(n AS INT))", NAME, a=node.this, n=length)
    return once(
        "CASE WHEN p < 0 THEN right(t, CAST(- p AS INT)) ELSE substr(t, CAST(p AS INT)) END",
        t=node.this,
        p=node.args["start"],
    )


def full_match(node: exp.Expression) -> exp.Expression:
    """Say whether the whole of a text fits a pattern."""
    pattern = node.expression.name
    if pattern == _ANY_TEXT:
        return form("a IS NOT NULL", NAME, a=node.this)
    whole = exp.Literal.string(f"^(?:{pattern.removeprefix(_ANY_CHARACTER)})$")
    return exp.RegexpLike(this=exp.Paren(this=node.this.copy()), expression=whole)


def number_text(node: exp.Expression) -> exp.Expression:
    """Say a number as its shortest text; PostgreSQL's has an exponent from 1e15 on, ours from 1e16."""
    return once(_NUMBER_TEXT, a=node.this.this)


_NUMBER_TEXT = doubles(
    "CASE WHEN a = inf THEN 'inf' WHEN a = - inf THEN '-inf' "
    "WHEN abs(a) >= 1000000000000000 AND abs(a) < 10000000000000000 "
    "THEN CAST(CAST(CAST(a AS TEXT) AS DECIMAL) AS TEXT) ELSE CAST(a AS TEXT) END"
)


def epoch_us(node: exp.Expression) -> exp.Expression:
    """Say microseconds since 1970; unknown where they are no BIGINT, as of infinity."""
    template = (
        "CASE WHEN a BETWEEN TIMESTAMP '4713-01-01 BC' AND TIMESTAMP '294246-12-31' "
        "THEN CAST(extract(epoch FROM a) * 1000000 AS BIGINT) END"
    )
    found = once(template, a=operand(node))
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def from_microseconds(node: exp.Expression) -> exp.Expression:
    """Say a moment by its microseconds since 1970: days apart, for intervals count in doubles."""
    template = (
        f"TIMESTAMP '1970-01-01' + (a / {_DAY}) * INTERVAL '1 day' + (a % {_DAY}) * INTERVAL '1 microsecond'"
    )
    return exp.Paren(this=once(template, a=node.this))


def whole_quotient(node: exp.Expression) -> exp.Expression:
    """Say a whole quotient, of numbers of any size."""
    found = form("div(CAST(a AS DECIMAL), CAST(b AS DECIMAL))", NAME, a=node.this, b=node.expression)
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def cast(node: exp.Expression) -> exp.Expression:
    """Say a cast; around an operation on doubles it marks that the result may leave them."""
    inner = node.this
    arithmetic = isinstance(inner, exp.Add | exp.Sub | exp.Mul | exp.Div)
    if not (node.to.this == exp.DType.DOUBLE and arithmetic and not _is_whole(inner)):
        return node
    return exp.Paren(this=guarded(inner))


def _is_whole(operation: exp.Expression) -> bool:
    kinds = (side.unnest().type for side in (operation.this, operation.expression))
    return all(kind is not None and kind.this == exp.DType.BIGINT for kind in kinds)


def try_cast(node: exp.Expression) -> exp.Expression:
    """Say a cast that gives NULL where there is no such value."""
    if node.to.this == exp.DType.BIGINT:
        return once(_WHOLE, a=node.this)
    is_text = isinstance(node.this, exp.Anonymous)  # spaces were cut off
    if node.to.this == exp.DType.DOUBLE:
        return once(_NUMBER, a=node.this)
    return once(_MOMENT if is_text else _DATE, a=node.this)


_WHOLE = f"CASE WHEN a >= {-(2**63)} THEN CASE WHEN a < {2**63} THEN CAST(a AS BIGINT) END END"
_DATE = (
    "CASE WHEN a = CAST('infinity' AS DATE) THEN CAST('infinity' AS TIMESTAMP) "
    "WHEN a <= CAST('294246-12-31' AS DATE) THEN CAST(a AS TIMESTAMP) END"
)
_MONTH, _DAY_OF = "CAST(substr(a, 6, 2) AS INT)", "CAST(substr(a, 9, 2) AS INT)"
_YEAR = "CAST(substr(a, 1, 4) AS INT)"
_MOMENT = (
    f"CASE WHEN {_MONTH} BETWEEN 1 AND 12 THEN CASE WHEN {_DAY_OF} BETWEEN 1 AND CASE {_MONTH} "
    "WHEN 4 THEN 30 WHEN 6 THEN 30 WHEN 9 THEN 30 WHEN 11 THEN 30 WHEN 2 THEN 28 + "
    f"CASE WHEN {_YEAR} % 4 = 0 AND ({_YEAR} % 100 <> 0 OR {_YEAR} % 400 = 0) THEN 1 ELSE 0 END "
    "ELSE 31 END THEN CAST(a AS TIMESTAMP) END END"
)
"""A text of the right form is a moment if its month has that day."""

_EXPONENT = "coalesce(substring(a from '[eE][+-]?0*([0-9]*)$'), '')"
_DOWN = "a LIKE '%e-%' OR a LIKE '%E-%'"
_SIGN = "a LIKE '-%'"
_DECIMAL = "CAST(a AS DECIMAL)"
_BEYOND, _NOTHING = str(2**1024 - 2**970), f"{5**1075}e-1075"
_NUMBER = doubles(
    f"CASE WHEN length(a) > {_LONGEST_NUMBER} THEN NULL "
    f"WHEN NOT split_part(lower(a), 'e', 1) ~ '[1-9]' THEN 0 "
    f"WHEN length({_EXPONENT}) > 4 THEN CASE WHEN {_DOWN} THEN 0 WHEN {_SIGN} THEN - inf ELSE inf END "
    f"WHEN abs({_DECIMAL}) >= CAST('{_BEYOND}' AS DECIMAL) THEN CASE WHEN {_SIGN} THEN - inf ELSE inf END "
    f"WHEN abs({_DECIMAL}) <= CAST('{_NOTHING}' AS DECIMAL) THEN 0 "
    f"ELSE CAST({_DECIMAL} AS DOUBLE PRECISION) END"
)
"""A text of the right form is a number; one that no NUMERIC can be has an exponent of five digits or more."""
