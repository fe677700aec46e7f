"""Groups of a statement whose keys nobody has listed: a part of its share finds them first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest, SqlError
from prdp.sql.compiled import Compiled
from prdp.sql.grouping import SearchedKeys, crossed
from prdp.sql.reading import span_of, sql_of

KEYS_PART = Fraction(1, 4)
"""What of a statement's share finds keys, where ``shares`` does not leave another part for it."""


def searched(
    asked: Compiled, keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None, *, fresh: bool
) -> tuple[Compiled, Fraction]:
    """Find the keys of all groups that are to be found; return the statement with them, and the share left.

    What is found is a release of its own, charged and recorded before the aggregates are asked.
    """
    each, rest = _split(keys, share, parts)
    lists: list[Any] = []
    for item, listed in zip(asked.groups, keys.lists, strict=True):
        if isinstance(listed, Mapping):
            lists.append([key for (key,) in _found(asked, item, listed, each, fresh=fresh).keys])
        else:
            lists.append(listed)
    return replace(asked, keys=crossed(asked.groups, lists) if all(lists) else []), rest


def _found(asked: Compiled, item: Any, search: Mapping[str, Any], share: Fraction, *, fresh: bool) -> Any:
    door: Any = asked.door
    try:
        return door.find_keys(item.key, share=share, fresh=fresh, **search)
    except InvalidRequest as wrong:
        text = asked.statement.text
        raise SqlError(text, span_of(item.checked.source, text), str(wrong)) from None


def _split(keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None) -> tuple[Fraction, Fraction]:
    """Return the share of each search, and what is left for the aggregates."""
    searches = sum(isinstance(listed, Mapping) for listed in keys.lists)
    rest = share * (1 - KEYS_PART) if parts is None else sum((Fraction(part) for part in parts), Fraction(0))
    if rest >= share:
        raise InvalidRequest(f"shares= leaves nothing of share={share} to find keys with: lower one of them.")
    return (share - rest) / searches, rest


def explained_search(
    asked: Compiled, keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None
) -> str:
    """Return what a statement with searches would cost and do; reads no record and charges nothing."""
    each, rest = _split(keys, share, parts)
    door: Any = asked.door
    lines = [
        f"costs    {share} of every record's budget: {share - rest} to find keys, {rest} for what is asked"
    ]
    for item, listed in zip(asked.groups, keys.lists, strict=True):
        if isinstance(listed, Mapping):
            lines.append(f"finds    keys of {item.text}, share {each}")
            lines.append(str(door.explain_keys(item.key, share=each, **listed)))
    lines += [f"asks     {sql_of(source)}, for each key that is found" for source in asked.sources]
    return "\n".join(lines)
