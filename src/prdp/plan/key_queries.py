"""The questions for keys that nobody has listed: all that can be found, or the largest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from prdp.declare.exact import told
from prdp.declare.groups import GroupKey
from prdp.declare.key_domains import KeyDomain
from prdp.declare.keys import MOST_KEYS
from prdp.errors import InvalidRequest
from prdp.mechanisms.keys import KeyFinder
from prdp.plan.asked import Asked, said
from prdp.plan.methods import Method, MethodTerms
from prdp.plan.reads import KeyMassRead

Measured = Literal["mass", "count"]
"""What the largest keys have most of: budget, or records."""

MOST_KEYS_OF_OWNERS = 64
"""How many keys of an owner count by default.

A key's expected mass is the same whatever this number is, and varies the less the larger it is.
"""


def _finder(terms: MethodTerms) -> Any:
    """Return the mechanism; its answers are keys with masses, which ``KeysPlan`` labels."""
    return KeyFinder(terms.query.domain, terms.query.size or MOST_KEYS)


def _masses(terms: MethodTerms) -> KeyMassRead:
    query, levels = terms.query, terms.levels
    most = levels.quanta(levels.usual) if query.per == "count" else None
    return KeyMassRead(
        terms.policy, levels, query.by, terms.where, terms.entry, most=most, most_keys=query.most_keys or 1
    )


@dataclass(frozen=True, slots=True)
class FindKeys(Asked):
    """The keys that records have, found privately in a public domain.

    Attributes:
        by: What keys are made of.
        domain: The possible keys.
        size: How many of the largest are shown; None for all that are found.
        per: What is added up for a key: the budgets of its records, or 1 for each record.
        most_keys: How many keys of an owner count; None where a row is a record.
    """

    by: tuple[GroupKey, ...]
    domain: KeyDomain = field(repr=False)
    size: int | None = None
    per: Measured = "mass"
    most_keys: int | None = MOST_KEYS_OF_OWNERS

    methods: ClassVar[tuple[Method, ...]] = (Method("keys", _finder, reads=_masses, owners=True, deep=True),)

    def __post_init__(self) -> None:
        """Refuse numbers that are none, and what cannot be added up."""
        if self.size is not None and not _is_number(self.size, MOST_KEYS):
            raise InvalidRequest(f"k={told(self.size)} is no number of keys: write 1 to {MOST_KEYS:,}.")
        if self.most_keys is not None and not _is_number(self.most_keys, MOST_KEYS):
            raise InvalidRequest(
                f"most_keys={told(self.most_keys)} is no number of keys: 1 to {MOST_KEYS:,}."
            )
        if self.per not in get_args(Measured):
            raise InvalidRequest(f"by={told(self.per)} is neither 'mass' nor 'count'.")

    def __str__(self) -> str:
        keys = f"keys of {' and '.join(map(str, self.by))}"
        return keys if self.size is None else f"the {self.size:,} largest {keys} by {self.per}"

    @property
    def word(self) -> str:
        """The name of the query, as in its method on tables."""
        return "find_keys" if self.size is None else "top_keys"

    @property
    def labels(self) -> tuple[str, ...]:
        """The column of what was added up."""
        return (self.per,)

    @property
    def facts(self) -> dict[str, Any]:
        """The domain and its weights, and what is shown of the keys found."""
        facts = said(self) | {"domain": [column.facts for column in self.domain.columns]}
        facts |= {"false_keys": str(self.domain.false_keys), "size": self.size}
        return facts | {"per": self.per if self.per != "mass" else None, "most_keys": self.most_keys}


def _is_number(number: object, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number <= most
