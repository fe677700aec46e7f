"""All that a value shows: whoever holds it sees its type, its order and the fields that ``==`` leaves out."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, str, bytes)
_LEAVES = (type(None), bool, int, str, bytes, type)


def content(thing: Any) -> object:
    """Return something that is equal for two values only if nothing in them tells them apart.

    >>> content(1) == content(1.0), content((0.0,)) == content((-0.0,)), content([1]) == content([1])
    (False, False, True)
    """
    return _content(thing, ())


def held(thing: Any) -> dict[str, Any]:
    """Return the attributes that an object holds, in its ``__dict__`` and in its slots, by name."""
    found: dict[str, Any] = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            own = f"_{kind.__name__.lstrip('_')}{name}" if _is_private(name) else name
            if name not in ("__dict__", "__weakref__") and hasattr(thing, own):
                found[own] = getattr(thing, own)
    return found


def undeclared(thing: Any) -> list[str]:
    """Return the names of what a dataclass holds besides its fields."""
    assert is_dataclass(thing)
    return sorted(held(thing).keys() - {field.name for field in fields(thing)})


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _content(thing: Any, within: tuple[int, ...]) -> object:
    kind = type(thing)
    if kind in _LEAVES:
        return kind, thing
    if id(thing) in within:  # something that holds itself: how far up says where
        return kind, within[::-1].index(id(thing))
    inner = (*within, id(thing))
    own = tuple((name, _content(value, inner)) for name, value in sorted(held(thing).items()))
    return kind, _items(thing, inner), own


def _items(thing: Any, within: tuple[int, ...]) -> object:
    """Return what a value holds besides its attributes."""
    for plain in _PLAIN:
        if isinstance(thing, plain):  # NaN equals NaN here, and 0.0 is not -0.0
            return plain.__repr__(thing)
    if isinstance(thing, np.ndarray | np.generic):
        array = np.asarray(thing)
        numbers = _content(array.tolist(), within) if array.dtype.hasobject else array.tobytes()
        return array.dtype.str, array.shape, numbers
    if isinstance(thing, dict):
        return tuple((_content(key, within), _content(value, within)) for key, value in thing.items())
    if isinstance(thing, tuple | list):
        return tuple(_content(item, within) for item in thing)
    if isinstance(thing, set | frozenset):
        return frozenset(_content(item, within) for item in thing)
    return None if held(thing) else thing
