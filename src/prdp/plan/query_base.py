"""The base of all queries: words, names of columns, facts for the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from prdp.declare.exact import short_repr
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import is_writable
from prdp.plan.methods import Method


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to any entry point; subclasses name it and list the methods that answer it.

    Attributes:
        named: The name of its column in a table of answers, where the caller gives one; it is no part of the
            question, so that the same question under another name is not charged again.

    Class attributes:
        methods: The rows of the table of methods that answer it, the default first.
    """

    named: str | None = field(default=None, kw_only=True, compare=False, repr=False)

    methods: ClassVar[tuple[Method, ...]] = ()

    def alias(self, name: str) -> Self:
        """Return the query with a name for its column in a table of answers, as in Polars.

        >>> from prdp.plan.queries import Count
        >>> Count().alias("share").headings  # agg(share=...) is the budget, so this name needs an alias
        ('share',)
        """
        if not isinstance(name, str) or not name or not is_writable(name):
            raise InvalidRequest(f"alias({short_repr(name)}): a column's name is a text that is not empty.")
        return replace(self, named=name)

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of its columns in a table of answers: the caller's, or its own."""
        if self.named is None or len(self.labels) == 1:
            return self.labels if self.named is None else (self.named,)
        return tuple(f"{self.named}_{label}" for label in self.labels)

    @property
    def word(self) -> str:
        """The name of the query, as in its method on tables."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return self.word

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its answers in words."""
        return (str(self),)

    @property
    def labels(self) -> tuple[str, ...]:
        """The default names of its columns in a table of answers."""
        return (self.word,)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that a ledger's question text has of it."""
        return arguments(self)


_APART = {"named", "expression"}
"""Fields of a query that are no part of what it says: a column's name, and what its text was read as."""


def arguments(query: Asked, name: str = "") -> dict[str, Any]:
    """Return a query's name; of one from outside the package, where it is from and all that it says.

    Raises:
        InvalidRequest: It says more than its text can hold, so that another could be taken for it.
    """
    kind = type(query)
    if kind.__module__.startswith("prdp."):
        return {"query": name or query.word}
    values = {part.name: getattr(query, part.name) for part in fields(query) if part.name not in _APART}
    hidden = getattr(query, "__dict__", {}).keys() - values.keys() - _APART
    if "<locals>" in kind.__qualname__ or hidden or not all(map(_is_plain, values.values())):
        raise InvalidRequest(
            "a query from outside prdp is found again by its class and its fields, but "
            f"{kind.__qualname__!r} is defined inside a function, or says something that is no text, whole "
            "number, Fraction, truth value or tuple of these. Define it at the top of a module, as a frozen "
            "dataclass of such fields."
        )
    named = [f"{name}={value!r}" for name, value in values.items()]
    return {"query": f"{kind.__module__}.{kind.__qualname__}", "with": named}


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, bool, Fraction)
