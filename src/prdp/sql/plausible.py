"""Conditions that cannot be meant: no declared key, bound or type lets any record satisfy them.

They are refused before anything is charged, with what may have been meant. What is public decides alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from prdp.declare.exact import spelled
from prdp.expressions.evaluate import evaluate, value_of
from prdp.expressions.intervals import can_be_true
from prdp.expressions.nodes import (
    And,
    Call,
    Case,
    Column,
    Compare,
    InList,
    Literals,
    Node,
    Null,
    Number,
    Or,
    Text,
    columns,
    walk,
)
from prdp.expressions.tokens import shown_name, text_literal
from prdp.policy import ranges_of
from prdp.release.table import ReleaseTable
from prdp.schema import Bounds

_SHOWN_KEYS = 8
_POSITIVE = (Column, Literals, Call, Compare, InList, And, Or)
"""Parts of conditions that say what a text is, not what it is not."""

Refuse = Callable[[str, str], Any]
"""Refuses a condition, with a reason and an advice."""


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What is public of the columns that a filter is about.

    Attributes:
        columns: The names of the columns.
        bounds: The public bounds of numbers.
        keys: The declared keys of columns.
        public: Lists the values of a column of a public table that is joined; None of any other.
    """

    columns: Sequence[str]
    bounds: Bounds
    keys: Mapping[str, Any] = field(default_factory=dict)
    public: Callable[[str], list[Any] | None] = field(default=lambda _: None, compare=False)

    def check(self, condition: Node, refuse: Refuse) -> list[str]:
        """Return notes on a condition that has to hold, or refuse one that cannot."""
        for part in walk(condition):
            self._refuse_constants(part, refuse)
        self._refuse_unlisted(condition, refuse)
        self._refuse_unmet(condition, refuse)
        self._refuse_out_of_bounds(condition, refuse)
        return list(self.notes(condition))

    def _refuse_constants(self, node: Node, refuse: Refuse) -> None:
        """Refuse a comparison of two constants of which one is a text: a column was meant."""
        sides = (
            [node.left, node.right]
            if isinstance(node, Compare)
            else [node.operand, *node.items]
            if isinstance(node, InList)
            else []
        )
        if not sides or not all(isinstance(side, Literals) for side in sides):
            return
        texts = [side.value for side in sides if isinstance(side, Text)]
        if not texts:
            return
        named = next((name for text in texts for name in self.columns if name.lower() == text.lower()), "")
        near = named or next(iter(get_close_matches(texts[0], self.columns, n=1)), "")
        quoted = shown_name(near) if near else ""
        advice = f"Did you mean the column {quoted}? " if near else ""
        refuse(
            "this compares constants, and is the same for every record",
            f'{advice}Texts are written in single quotes, names of columns in double ones: "first name".',
        )

    def _listed(self, name: str) -> list[Any] | None:
        """Return the declared keys of a column, as values; None where they are not a list."""
        found = next((one for called, one in self.keys.items() if str(called).lower() == name.lower()), None)
        if isinstance(found, ReleaseTable) or not isinstance(found, list | tuple):
            return None
        return [value_of(key) for key in found]

    def _values(self, operand: Node) -> tuple[str, list[Any]] | None:
        """Return the values that are public of what is compared, and what they are; None where none are.

        A column has declared keys, or is of a public table; a CASE may be between constants, as a column of a
        public table beside the statement is.
        """
        match operand:
            case Column(name):
                listed = self._listed(name)
                if listed:
                    return f"the declared keys of {name}", listed
                listed = self.public(name)
                return (f"the values of {name}", [value_of(one) for one in listed]) if listed else None
            case Case():
                results = [*(then for _, then in operand.branches), operand.default]
                values = [one.value for one in results if isinstance(one, Literals)]
                constant = all(isinstance(one, Literals | Null) for one in results)
                return ("the possible values", list(dict.fromkeys(values))) if constant else None
            case _:
                return None

    def _unlisted(self, node: Node) -> tuple[str, list[Any], list[Any], bool] | None:
        """Return what is public, its values, the constants that are none of them, and if all are none."""
        match node:
            case Compare(op="=" | "<>", left=operand, right=constant) if isinstance(constant, Literals):
                constants = [constant.value]
            case Compare(op="=" | "<>", left=constant, right=operand) if isinstance(constant, Literals):
                constants = [constant.value]
            case InList(operand=operand):
                constants = [item.value for item in node.items]
            case _:
                return None
        found = self._values(operand)
        if found is None:
            return None
        named, listed = found
        same_kind = [one for one in constants if any(type(key) is type(one) for key in listed)]
        others = [one for one in same_kind if one not in listed]
        return (named, listed, others, len(others) == len(constants)) if others else None

    def _refuse_unlisted(self, node: Node, refuse: Refuse) -> None:
        found = self._unlisted(node)
        if found is None or not found[3] or (isinstance(node, Compare) and node.op == "<>"):
            return
        named, listed, others, _ = found
        refuse(f"{_constant(others[0])} is none of {named}", _meant(others[0], listed))

    def _refuse_unmet(self, node: Node, refuse: Refuse) -> None:
        """Refuse what no declared text meets: a pattern, or a constant that a function of it is to equal.

        What denies something is about texts that are not declared as well, and is not refused.
        """
        names = columns(node)
        listed = self._listed(next(iter(names))) if len(names) == 1 else None
        positive = all(isinstance(part, _POSITIVE) for part in walk(node)) and not any(
            isinstance(part, Compare) and part.op != "=" for part in walk(node)
        )
        if not listed or not positive or not all(isinstance(key, str) for key in listed):
            return
        (name,) = names
        if any(evaluate(node, {name: key}) is True for key in (*listed, None)):
            return
        texts = [part.value for part in walk(node) if isinstance(part, Text)]
        refuse(
            f"none of the declared keys of {name} satisfies this",
            _meant((texts[-1] if texts else "").strip("%_"), listed),
        )

    def _refuse_out_of_bounds(self, node: Node, refuse: Refuse) -> None:
        names = columns(node)
        if len(names) != 1:
            return
        (name,) = names
        ends = self.bounds.get(name)
        if ends is None or can_be_true(node, ranges_of({name: ends})):
            return
        refuse(
            f"{name} lies between {spelled(ends[0])} and {spelled(ends[1])}, its public bounds, so that no "
            "record satisfies this",
            "Nothing was charged. Correct the number, or the bounds that the table is opened with.",
        )

    def notes(self, condition: Node) -> Iterator[str]:
        """Yield warnings of constants that no declared key or bound allows, beside others that some do."""
        for part in walk(condition):
            if isinstance(part, InList) and all(item.span is None for item in part.items):
                continue  # made from a public table, not written
            found = self._unlisted(part)
            for other in found[2] if found is not None else ():
                assert found is not None  # noqa: S101  (for the type checker)
                meant = _meant(other, found[1])
                yield f"{_constant(other)} is none of {found[0]}. {meant}"
            if isinstance(part, InList) and isinstance(part.operand, Column):
                yield from self._outside(part)

    def _outside(self, part: InList) -> Iterator[str]:
        assert isinstance(part.operand, Column)  # noqa: S101  (asked so)
        ends = self.bounds.get(part.operand.name)
        for item in part.items if ends is not None else ():
            if isinstance(item, Number) and ends is not None and not ends[0] <= item.value <= ends[1]:
                yield (
                    f"{_constant(item.value)} is beyond the public bounds of {part.operand.name}, "
                    f"{spelled(ends[0])} to {spelled(ends[1])}"
                )


def _meant(constant: Any, listed: Sequence[Any]) -> str:
    """Return which key may have been meant, or which there are."""
    texts = {str(key): key for key in listed}
    lower = {text.lower(): text for text in texts}
    near = (
        get_close_matches(str(constant).lower(), lower, n=1, cutoff=0.5) if isinstance(constant, str) else []
    )
    if near:
        return f"Did you mean {_constant(texts[lower[near[0]]])}?"
    shown = ", ".join(map(_constant, listed[:_SHOWN_KEYS]))
    return f"They are {shown}{' and more' if len(listed) > _SHOWN_KEYS else ''}."


def _constant(value: Any) -> str:
    if isinstance(value, str):
        return text_literal(value)
    return f"{value:.15g}" if isinstance(value, float) else str(value)
