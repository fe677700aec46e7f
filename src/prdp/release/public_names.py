"""Completion that lists public names alone: internals stay reachable for prdp's own modules."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable
from typing import ClassVar


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
        """Return the names of the class without its internals."""
        return shown(cls, type.__dir__(cls))


class Completed(metaclass=PublicNames):
    """Base of classes whose instances hide ``internals`` in ``dir``, too."""

    __slots__ = ()
    internals: ClassVar[frozenset[str]] = frozenset()

    def __dir__(self) -> Iterable[str]:
        """Return the names of the instance without its internals."""
        return shown(type(self), object.__dir__(self))


def shown(kind: type, names: Iterable[str]) -> list[str]:
    """Return the names that no class of ``kind``'s bases lists as internal."""
    hidden = {"internals"}.union(*(vars(base).get("internals", ()) for base in kind.__mro__))
    return sorted(set(names) - hidden)
