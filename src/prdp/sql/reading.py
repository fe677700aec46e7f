"""Read one SQL statement into sqlglot's tree, after a first look that keeps odd texts from it.

Comments become blanks, every sign outside of quotes is one that the language has, and nesting is bounded:
what sqlglot is given is short and tame, and whatever it raises is a refusal.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from prdp.errors import ExpressionError, SqlError, Words
from prdp.expressions.tokens import UNWRITABLE, Token, tokens_of
from prdp.safety.silent_logs import can_be_silent, silent

can_be_silent(logging.getLogger("sqlglot"))

MAX_CHARACTERS = 20_000
MAX_TOKENS = 6_000
MAX_NESTING = 24

ONLY_SELECT = "only SELECT is answered: nothing is ever written"
ONLY_SELECT_INSTEAD = "For example: SELECT COUNT(*) FROM accounts."
_PIVOT_INSTEAD = "Write a column for each value: COUNT(*) FILTER (WHERE region = 'north') AS north."

_SIGNS = {
    *("(", ")", ",", "+", "-", "*", "/", "%", "=", "==", "<>", "!=", "<", "<=", ">", ">=", ".", ";"),
    *("||", "::"),
}
_NOT_SIGNS = {
    "?": "Values are given to a connection of prdp.connect: cursor.execute(text, [30]).",
    "`": 'Names are quoted "so".',
    "[": "Lists and subscripts are not available. Write one quantile a column: QUANTILE_CONT(x, 0.1) AS q10.",
    "^": "Write power(a, b).",
    "**": "Write power(a, b).",
    "//": "Write floor(a / b).",
    "~": "Regular expressions are not read: write LIKE.",
    "!~": "Regular expressions are not read: write NOT LIKE.",
    "~*": "Regular expressions are not read: write ILIKE.",
    "!": "Write NOT, or <>.",
}
_TOP = re.compile(r"\bselect\s+(?:distinct\s+)?top\s*\(?\s*(\d+)", re.IGNORECASE)
_NO_BREAK = re.compile("[^\n]")
_CLAUSES = ("select", "from", "where", "group", "order", "having", "limit", "join", "between")
_DESCRIBING = ("describe", "desc", "summarize")
_CALLED = re.compile(r"[A-Za-z_]\w*\s*\(\s*(?:DISTINCT\s+)?\Z", re.IGNORECASE)
"""The name of a function, right before what it is called with."""


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement: its text, and sqlglot's tree of it."""

    text: str
    tree: Any

    def refuse(self, node: Any, reason: Words, advice: Words = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        raise SqlError(self.text, span_of(node, self.text), reason, advice)


def read_statement(text: object) -> SqlStatement:
    """Return the tree of one statement, or refuse the text.

    >>> read_statement("SELECT COUNT(*) FROM accounts -- all of them").tree.key
    'select'
    >>> read_statement("SELECT 1; DROP TABLE accounts")
    Traceback (most recent call last):
    ...
    prdp.errors.SqlError: one statement is read at a time
    <BLANKLINE>
        SELECT 1; DROP TABLE accounts
                  ^^^^
    <BLANKLINE>
    Leave out what follows the semicolon.
    """
    if not isinstance(text, str):
        raise SqlError(repr(text)[:100], (0, 1), "a statement is given as text")
    tamed = _tamed(text)
    import sqlglot  # noqa: PLC0415  (loaded with the first statement)

    try:
        with silent():  # its log would repeat the statement
            trees = [tree for tree in sqlglot.parse(tamed, read="duckdb") if tree is not None]
    except sqlglot.errors.ParseError as wrong:
        raise _misread(text, wrong) from None
    except RecursionError:
        raise SqlError(text, (0, 1), "this nests too deep", "Write it flatter.") from None
    except Exception:  # a tree that the library cannot make, for whatever reason of its own
        raise SqlError(text, (0, len(text)), "this is no SQL that can be read") from None
    if len(trees) != 1:
        raise SqlError(
            text, (0, len(text)), "this is not a statement", "For example: SELECT COUNT(*) FROM t."
        )
    return SqlStatement(text, _respelled(trees[0]))


def _respelled(tree: Any) -> Any:
    """Return a tree with functions of other databases as the ones that they are: LEFT and date_part."""
    from sqlglot import exp  # noqa: PLC0415  (loaded with the first statement)

    for node in list(tree.find_all(exp.Left, exp.Anonymous)):
        if isinstance(node, exp.Left):
            first = exp.Literal.number(1)
            node.replace(exp.Substring(this=node.this, start=first, length=node.expression))
        elif node.name.lower() in {"date_part", "datepart"} and len(node.expressions) == 2:
            part, moment = node.expressions
            node.replace(exp.Extract(this=exp.Var(this=part.name), expression=moment))
    return tree


def span_of(node: Any, text: str) -> tuple[int, int]:
    """Return where a part of the statement is: from its first word to its last."""
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return 0, len(text)
    start = min(place["start"] for place in places)
    end = max(place["end"] for place in places) + 1
    nameless = hasattr(node, "sql_names") and "start" not in node.meta
    called = _CALLED.search(text, max(0, start - 80), start) if nameless else None
    start = called.start() if called else start  # releases of sqlglot differ in which functions have a place
    opened = text.count("(", start, end) - text.count(")", start, end)
    while opened > 0 and text[end : end + 1].strip() in {"", ")"} and end < len(text):
        opened -= text[end] == ")"
        end += 1
    return start, max(start + 1, len(text[:end].rstrip()))


def sql_of(node: Any, *, comments: bool = True) -> str:
    """Return a part of a statement as SQL, for names and messages; nothing is logged of what is odd in it."""
    from sqlglot import ErrorLevel, exp  # noqa: PLC0415  (loaded with the first statement)

    level = ErrorLevel.IGNORE
    shown = node.transform(_within_group) if node.find(exp.WithinGroup) else node
    return str(shown.sql(dialect="duckdb", comments=comments, unsupported_level=level))


def _within_group(node: Any) -> Any:
    """Return PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) as it is written, which DuckDB's dialect is not."""
    from sqlglot import exp  # noqa: PLC0415  (loaded with the first statement)

    part, order_by = node.this, node.args.get("expression")
    named = isinstance(part, exp.PercentileCont | exp.PercentileDisc)
    if not isinstance(node, exp.WithinGroup) or not isinstance(order_by, exp.Order) or not named:
        return node
    order = ", ".join(sql_of(one.this) + " DESC" * bool(one.args.get("desc")) for one in order_by.expressions)
    return exp.Var(this=f"{part.sql_name()}({sql_of(part.this)}) WITHIN GROUP (ORDER BY {order})")


def _tamed(text: str) -> str:
    """Return a text with blanks for comments, or refuse what no statement of the language has."""
    if len(text) > MAX_CHARACTERS:
        reason = f"the statement has more than {MAX_CHARACTERS:,} characters"
        raise SqlError(text, (MAX_CHARACTERS, MAX_CHARACTERS + 1), reason, "Ask less at once.")
    if forbidden := UNWRITABLE.search(text):
        shown = UNWRITABLE.sub("?", text)
        raise SqlError(shown, forbidden.span(), "this character cannot be part of a text")
    try:
        tokens = tokens_of(text)
    except ExpressionError as wrong:
        raise SqlError(text, wrong.span, wrong.reason, wrong.advice) from None
    if not tokens:
        raise SqlError(text, (0, len(text)), "the statement is empty", "For example: SELECT COUNT(*) FROM t.")
    if tokens[0].lower == "pivot":
        raise SqlError(text, tokens[0].span, "PIVOT is not available", _PIVOT_INSTEAD)
    if tokens[0].lower not in {"select", "with", ";"}:
        raise SqlError(text, tokens[0].span, ONLY_SELECT, _instead_of(tokens[0].lower))
    if len(tokens) > MAX_TOKENS:
        reason = f"the statement has more than {MAX_TOKENS:,} words"
        raise SqlError(text, tokens[MAX_TOKENS].span, reason, "Ask less at once.")
    for before, token in zip((None, *tokens[:-1]), tokens, strict=True):
        _screen(text, before, token)
    _screen_nesting(text, tokens)
    _screen_end(text, tokens)
    return _without_comments(text, tokens)


def _instead_of(word: str) -> str:
    """Return what to write in place of a first word that begins no question."""
    if word == "explain":
        return "The plan is shown by table.explain_sql(...), without EXPLAIN."
    if word in _DESCRIBING:
        return "Columns are summarised by table.describe(...), or prdp describe in the shell, for a share."
    if word in {"show", "pragma"}:
        return "Tables and columns are listed by table.schema, or prdp check in the shell."
    near = get_close_matches(word, ["select"], cutoff=0.7)
    return f"Did you mean SELECT? {ONLY_SELECT_INSTEAD}" if near else ONLY_SELECT_INSTEAD


def _screen(text: str, before: Token | None, token: Token) -> None:
    """Refuse a word, sign or text that the language does not have."""
    touching = before is not None and before.end == token.start
    if token.is_text:
        if before is not None and before.is_text:
            raise SqlError(text, token.span, "two texts in a row", "Write 'a' || 'b'.")
        if touching and before is not None and before.is_name:
            raise SqlError(text, before.span, "texts have no prefix here", "Leave it out.")
    elif token.written[0] != '"' and token.is_name:
        word = token.written
        if not word.isascii() and (word.upper().isascii() or word.lower().isascii()):
            raise SqlError(text, token.span, "a letter of this word only looks like one of ASCII's")
    elif token.is_number:
        if not token.written.replace("_", "").replace(".", "", 1).isascii() or "__" in token.written:
            raise SqlError(text, token.span, "this is not a number")
    elif not token.is_name and token.written not in _SIGNS:
        advice = _NOT_SIGNS.get(token.written, "")
        raise SqlError(text, token.span, "this sign is not supported in SQL here", advice)


def _screen_nesting(text: str, tokens: Sequence[Token]) -> None:
    depth = prefixes = 0
    for token in tokens:
        word = token.lower
        depth += (word in {"(", "case"}) - (word in {")", "end"})
        prefixes = prefixes + 1 if word in {"not", "-", "+"} else 0
        if depth > MAX_NESTING or prefixes > MAX_NESTING:
            reason = f"this nests more than {MAX_NESTING} levels deep"
            raise SqlError(text, token.span, reason, "Write it flatter.")


def _screen_end(text: str, tokens: Sequence[Token]) -> None:
    """Refuse a second statement; semicolons at the end are no statement."""
    ends = [place for place, token in enumerate(tokens) if token.written == ";"]
    if ends and any(token.written != ";" for token in tokens[ends[0] :]):
        after = next(token for token in tokens[ends[0] :] if token.written != ";")
        raise SqlError(
            text, after.span, "one statement is read at a time", "Leave out what follows the semicolon."
        )


def _without_comments(text: str, tokens: Sequence[Token]) -> str:
    """Return the text with blanks for all that is no token, so that places stay the same."""
    pieces, at = [], 0
    for token in tokens:
        gap = text[at : token.start]
        if any(opening in gap for opening in ("/*+", "/*!", "{#")):
            begin = at + len(gap) - len(gap.lstrip())
            span = (begin, begin + len(gap.strip()))
            raise SqlError(text, span, "hints and templates are not read", "Leave it out.")
        pieces += [_NO_BREAK.sub(" ", gap), token.written]
        at = token.end
    return "".join(pieces) + " " * (len(text) - at)


def _misread(text: str, wrong: Any) -> SqlError:
    """Return the refusal of a text that sqlglot cannot read, underlined where it says."""
    misspelled = _misspelled(text)
    if misspelled is not None:
        token, meant = misspelled
        return SqlError(text, token.span, "this is no SQL that can be read", f"Did you mean {meant.upper()}?")
    found = (wrong.errors or [{}])[0]
    line, column, word = found.get("line") or 1, found.get("col") or 1, found.get("highlight") or " "
    begins = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n")]
    end = min(begins[min(line, len(begins)) - 1] + column, len(text))
    start = max(0, end - len(word))
    return SqlError(text, (start, max(end, start + 1)), "this is no SQL that can be read", _meant(text))


def _misspelled(text: str) -> tuple[Token, str] | None:
    """Return the first word that is nearly one of SQL's clauses, and which; None where there is none."""
    for token in tokens_of(text)[1:]:
        if token.is_name and token.lower not in _CLAUSES and token.written.isalpha():
            near = get_close_matches(token.lower, _CLAUSES, n=1, cutoff=0.75)
            if near:
                return token, near[0]
    return None


def _meant(text: str) -> str:
    if "select" not in text.lower():
        return "For example: SELECT job, COUNT(*) FROM accounts WHERE age >= 30 GROUP BY job."
    if top := _TOP.search(text):
        return f"Write LIMIT {top[1]} at the end, in place of TOP."
    return 'Names that are words of SQL, or hold blanks, are quoted: "order".'
