"""Bind a ledger to public facts of a table, never to anything computed from records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.declare.exact import spelled
from prdp.declare.strict_json import strict_json
from prdp.expressions.nodes import canonical
from prdp.policy import Policy
from prdp.schema import Bounds, Rounding, Schema

_ROUNDING = "units"  # what files call the rounding steps of columns, from their first format on
_MAY_GROW = {"bounds", _ROUNDING}
_IMMUTABLE = "immutable"  # declared once, when a ledger is created; optional when it is opened later
_ONE_ROW = "one_row_per_unit"  # there only where it is so
_SOURCE = "source"  # what a relation makes of its table: immutable columns are those of one relation


_NOTION = "notion"  # of a concentrated policy: its ends and its text are then about P(r)
_PURE = "pure"  # what ledgers without a notion are about


_SCHEMA = "schema"
_WHOLE = re.compile(r"u?(?:tiny|small|medium|big|huge)?int(?:eger|[0-9]+)?|long|short|byte", re.IGNORECASE)
"""The types of whole numbers, of whatever width and engine: which of them a column has changes no value."""

_TEXTS = {"ENUM": "VARCHAR"}
"""One name for all types of texts: a categorical of pandas, of Polars, a Parquet file."""


def bound_types(schema: Schema) -> dict[str, str]:
    """Return the types of a table's columns as a ledger keeps them.

    >>> from prdp.schema import ColumnType, Kind
    >>> bound_types({"segment": ColumnType(Kind.TEXT, native="ENUM")})
    {'segment': 'VARCHAR'}
    """
    return {column: _TEXTS.get(kind.native, kind.native) for column, kind in schema.items()}


@dataclass(frozen=True, slots=True)
class Binding:
    """The public facts under which a ledger's charges mean what they say.

    A row count, a file's date or a checksum would be facts about the records: whoever sees the ledger
    could confirm a guess with them. So new rows under the same facts share the old ledger, and a new
    data set is given a new name by whoever publishes it.
    """

    facts: Mapping[str, Any]

    @classmethod
    def of(  # noqa: PLR0917  (each is a fact)
        cls,
        name: str,
        schema: Schema,
        policy: Policy,
        bounds: Bounds,
        rounding: Rounding,
        privacy_unit: str | None = None,
        immutable: Sequence[str] | None = None,
        *,
        one_row_per_unit: bool = False,
        source: str = "",
    ) -> Binding:
        """Collect the facts of an opened table.

        >>> one = Policy.constant(1)
        >>> Binding.of("accounts", {}, one, {"age": (Fraction(0), Fraction(120))}, {}).facts["bounds"]
        {'age': ['0', '120']}
        """
        declared: dict[str, Any] = {} if immutable is None else {_IMMUTABLE: sorted(immutable)}
        declared |= {_ONE_ROW: True} if one_row_per_unit else {}
        declared |= {_SOURCE: _settled(source)} if source else {}
        declared |= {_NOTION: policy.notion} if policy.notion != _PURE else {}
        policy = policy.shown
        return cls(
            {
                "name": name,
                _SCHEMA: bound_types(schema),
                "policy": canonical(policy.expression),
                "at_least": _end(policy.at_least),
                "at_most": _end(policy.at_most),
                "bounds": {
                    column: [spelled(low), spelled(high)] for column, (low, high) in sorted(bounds.items())
                },
                _ROUNDING: {column: spelled(round_to) for column, round_to in sorted(rounding.items())},
                "privacy_unit": privacy_unit,
            }
            | declared
        )

    @property
    def immutable(self) -> tuple[str, ...]:
        """The columns that narrow the charged region: none where units may have several rows.

        >>> Binding({"name": "visits", "immutable": ["week"]}).immutable, Binding({"name": "v"}).immutable
        (('week',), ())
        >>> owned = {"name": "visits", "immutable": ["week"], "privacy_unit": "id"}
        >>> Binding(owned).immutable, Binding(owned | {"one_row_per_unit": True}).immutable
        ((), ('week',))
        """
        unit = self.facts.get("privacy_unit") is not None or "private" in self.facts
        if unit and self.facts.get(_ONE_ROW) is not True:
            return ()
        return tuple(self.facts.get(_IMMUTABLE) or ())

    @classmethod
    def from_json(cls, text: str) -> Binding:
        """Read what ``to_json`` wrote."""
        return cls(strict_json(text))

    def to_json(self) -> str:
        """Return the facts as one line of text; a source is kept only with immutable columns."""
        facts = {
            name: fact for name, fact in self.facts.items() if name != _SOURCE or _IMMUTABLE in self.facts
        }
        return json.dumps(facts, ensure_ascii=False, sort_keys=True)

    def differences(self, other: Binding) -> list[str]:
        """Return, in words, each fact in which another binding differs from this one.

        Bounds and rounding steps of a column that had none may be added: a question about the column states
        them itself, and if the policy read it, its range would differ as well. So may columns, and those that
        neither the policy nor the bounds read may be missing; whole numbers may be wider. Immutable ones need
        not be declared again, and are never changed; where there are any, nor is the relation that they are
        columns of.

        >>> before = Binding({"name": "accounts", "bounds": {"age": ["0", "120"]}})
        >>> before.differences(Binding({"name": "accounts", "bounds": {"age": ["0", "99"]}}))
        ['bounds of age: 0 to 120 -> 0 to 99']
        >>> Binding({"bounds": {}}).differences(Binding({"bounds": {"age": ["0", "120"]}}))  # may be added
        []
        >>> grown = Binding({"schema": {"n": "BIGINT", "x": "DATE"}})
        >>> Binding({"schema": {"n": "INTEGER"}}).differences(grown)
        []
        """
        columns = other.facts.get(_SCHEMA, {})
        immutable = self.facts.get(_IMMUTABLE) or ()
        gone = [
            f"immutable: {name} -> none"
            for name in immutable
            if _SCHEMA in other.facts and name not in columns
        ]
        return gone + [
            line
            for fact in sorted(self.facts.keys() | other.facts.keys())
            if fact not in {_IMMUTABLE, _SOURCE}
            or (fact == _IMMUTABLE and fact in other.facts)
            or (fact == _SOURCE and self.facts.get(_IMMUTABLE))
            for line in _difference(fact, self.facts.get(fact), other.facts.get(fact))
        ]


def _settled(source: str) -> str:
    """Return a relation's transformation of its table, without a name that is local to one process."""
    return source.partition(", ")[0] if source.startswith("rows in memory, ") else source


def _end(end: Fraction | None) -> str:
    return str(end) if end is None else spelled(end)


def shown_fact(fact: str) -> str:
    """Return the display name of a fact.

    >>> shown_fact("units"), shown_fact("privacy_unit")
    ('round_to', 'privacy_unit')
    """
    return "round_to" if fact == _ROUNDING else fact


def _difference(fact: str, kept: Any, given: Any) -> list[str]:
    if kept == given:
        return []
    shown = shown_fact(fact)
    if fact == _IMMUTABLE:
        return [f"{shown}: {', '.join(kept or ()) or 'none'} -> {', '.join(given or ()) or 'none'}"]
    if isinstance(kept, dict) and isinstance(given, dict):
        if fact == _SCHEMA:
            compared = {
                column for column in kept.keys() & given.keys() if not _both_whole(kept, given, column)
            }
        else:
            compared = set(kept) if fact in _MAY_GROW else kept.keys() | given.keys()
        changed = sorted(key for key in compared if kept.get(key) != given.get(key))
        return [f"{shown} of {key}: {_shown(kept.get(key))} -> {_shown(given.get(key))}" for key in changed]
    if fact == _NOTION:
        kept, given = kept or _PURE, given or _PURE
    return [f"{shown}: {_shown(kept)} -> {_shown(given)}"]


def _both_whole(kept: Mapping[str, Any], given: Mapping[str, Any], column: str) -> bool:
    return all(_WHOLE.fullmatch(str(types[column])) is not None for types in (kept, given))


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return " to ".join(value) if isinstance(value, list) else str(value)
