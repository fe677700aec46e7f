"""Completion that lists public names alone, and hints at the right name for one that is not there."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar


class PublicNames(ABCMeta):
    """Metaclass whose classes hide ``internals`` in ``dir``.

    >>> class Answer(metaclass=PublicNames):
    ...     internals = frozenset({"steps"})
    ...     value, steps = 2.5, 250
    >>> [name for name in dir(Answer) if not name.startswith("_")], Answer.steps
    (['value'], 250)
    """

    internals: ClassVar[frozenset[str]]

    def __dir__(cls) -> Iterable[str]:
        """Return the names of the class and of its fields, without its internals."""
        public = (name for name in getattr(cls, "__dataclass_fields__", ()) if not name.startswith("_"))
        return shown(cls, {*type.__dir__(cls), *public})


class Completed(metaclass=PublicNames):
    """Base of classes whose instances hide ``internals`` in ``dir``, too, and know ``hints`` at other names.

    A name of pandas or Polars for exactly the same thing works too: it is one of ``synonyms``.

    >>> class Answer(Completed):
    ...     hints, synonyms, low = renamed("low", "lower", "lower_bound"), {"smallest": "low"}, 2
    >>> Answer().smallest
    2
    >>> Answer().lower
    Traceback (most recent call last):
    ...
    AttributeError: Answer has no attribute 'lower'. Write low.
    """

    __slots__ = ()
    internals: ClassVar[frozenset[str]] = frozenset()
    hints: ClassVar[Mapping[str, str]] = {}
    synonyms: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # with it, a type checker would believe in every name

        def __getattr__(self, name: str) -> Any:
            for base in type(self).__mro__:
                if same := vars(base).get("synonyms", {}).get(name):
                    return getattr(self, same)
                if hint := vars(base).get("hints", {}).get(name):
                    raise AttributeError(f"{type(self).__name__} has no attribute {name!r}. Write {hint}.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> Iterable[str]:
        """Return the names of the instance without its internals."""
        return shown(type(self), object.__dir__(self))


def shown(kind: type, names: Iterable[str]) -> list[str]:
    """Return the names that no class of ``kind``'s bases lists as internal."""
    hidden = {"internals", "hints", "synonyms"}.union(
        *(vars(base).get("internals", ()) for base in kind.__mro__)
    )
    return sorted(set(names) - hidden)


def renamed(right: str, *names: str) -> dict[str, str]:
    """Return a hint at ``right`` for each of several names that other libraries use.

    >>> renamed("filter", "where", "query")
    {'where': 'filter', 'query': 'filter'}
    """
    return dict.fromkeys(names, right)
