"""Remember which sources this process has opened, and under which ledger: one source has one account.

What cannot be recognised is not refused: a copy of the data, a file that was renamed, another process.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prdp.engines.origins import SAME_MEMORY, Origins, Place, file_place
from prdp.engines.sources.memory_origins import memory_origins
from prdp.errors import InvalidRequest
from prdp.ledger import DurableLedger, Ledger, NoAccount, is_begun, shown_place
from prdp.ledger.layout import Head, newest_seen
from prdp.ledger.storage import storage_of
from prdp.safety.process_guard import operation


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source that an account is kept for.

    Attributes:
        source: What the caller gave; None where an engine was given in its place.
        traced: Traces it to its origins; a database is asked once at most, when it is opened.
    """

    source: object
    traced: Callable[[], Origins]


@dataclass(slots=True)
class _Known:
    """A source that was opened.

    Attributes:
        traced: Returns its origins as found when it was opened, or of a frame what is still its own; asks no
            database, and keeps no records in memory.
        alive: What the origins' memory belongs to; the source is forgotten once any of it is gone.
        ledger: The place and identity of the ledger that it was opened under; None for an account in memory.
        times: How many accounts in memory were begun for it.
        unused: The file of a ledger without a charge, and its head; None for any other account.
    """

    traced: Callable[[], Origins]
    alive: tuple[weakref.ref[object], ...]
    ledger: tuple[str, str] | None = None
    times: int = 0
    unused: tuple[Path, Head] | None = None

    @property
    def is_void(self) -> bool:
        """True if its ledger was removed before anything was charged: it may be begun anew."""
        if self.unused is None or self.ledger is None:
            return False
        file, head = self.unused
        return not file.exists() and newest_seen(*self.ledger) == head

    def is_there(self) -> bool:
        """Return whether the source is still what it was: its memory is held, or a file is in place."""
        if self.is_void or not all(one() is not None for one in self.alive):
            return False
        files = _origins(self).files
        return not files or any(_is_file(path, place) for place, path in files.items())


_IN_MEMORY = {("duckdb", "memory"), ("duckdb", "temp")}
"""Prefix of DuckDB's tables in memory, the same in every database of the process."""

_KNOWN: list[_Known] = []


def refuse_to_begin_another(sources: Iterable[OpenedSource], ledger: object) -> None:
    """Refuse a place without a ledger for a source that this process has under one; begins none.

    Raises:
        InvalidRequest: With the ledger that the source is under, and what to do.
    """
    if not isinstance(ledger, str | Path):
        return
    for known, shared in _sharing(sources):
        if known.ledger is not None and not is_begun(ledger):
            shown = known.ledger[0]
            if storage_of(ledger).shown == shown:
                raise _gone(shown, shared, "which is not there any more")
            raise _refusal(shown, shared, f"there is no ledger {shown_place(ledger)} yet")


def refuse_second_account(sources: Iterable[OpenedSource], account: Ledger) -> None:
    """Refuse another account, or none, for a source that this process has under a ledger.

    Raises:
        InvalidRequest: With the ledger that the source is under, and what to do.
    """
    mine = _ledger_of(account)
    for known, shared in _sharing(sources):
        if known.ledger is None or known.ledger == mine:
            continue
        shown, identity = known.ledger
        if isinstance(account, DurableLedger) and account.shown == shown:
            raise _gone(shown, shared, "in whose place is another one now")
        if not _is_moved(account, shown, identity):
            raise _refusal(shown, shared, _what(account, identity))


def count_in_memory(sources: Sequence[OpenedSource]) -> int:
    """Return how many accounts in memory this process has begun for a source before, and count one more."""
    found = [known for known, _ in _sharing(sources)]
    before = max((known.times for known in found), default=0)
    for known in found:
        known.times = before + 1
    return before


def remember_source(sources: Iterable[OpenedSource], account: Ledger) -> None:
    """Keep that a source was opened, and under which ledger; synthetic tables are not kept."""
    if isinstance(account, NoAccount):
        return
    ledger = _ledger_of(account)
    with operation("sources"):
        for opened in sources:
            known = _known(opened, ledger)
            others = [one for one in _KNOWN if one.ledger == ledger and one.is_there()]
            if known:
                known.unused = _unused(account)
            if known and not any(_origins(known).shared(_origins(one)) for one in others):
                _KNOWN.append(known)


def _sharing(sources: Iterable[OpenedSource]) -> list[tuple[_Known, str]]:
    """Return the known sources that one of these is, each with what they have in common, in words."""
    with operation("sources"):
        _KNOWN[:] = [known for known in _KNOWN if known.is_there()]
        pairs = [(known, _origins(one).shared(_origins(known))) for known in _KNOWN for one in sources]
    return [(known, shared) for known, shared in pairs if shared]


def _known(opened: OpenedSource, ledger: tuple[str, str] | None) -> _Known | None:
    """Return what is kept of a source; None where it could not be recognised again."""
    times = int(ledger is None)
    found = _origins(opened)  # now, while its server answers: later openings of others must not wait for it
    if isinstance(opened.source, str):  # an address, or a path: nothing of it is in memory
        return _Known(_kept(found, found.places), (), ledger, times) if found.places else None
    places = {place: words for place, words in found.places.items() if place[:2] not in _IN_MEMORY}
    if not places and not found.spans:
        return None
    if found.files:
        return _Known(_kept(found, places), (), ledger, times)
    with suppress(TypeError):
        source = weakref.ref(opened.source)
        whole = ("object", id(opened.source)) in places
        traced = _in_memory(source, found, places) if whole else _kept(found, places)
        return _Known(traced, (source,), ledger, times)
    # a dict cannot be referred to weakly, and its identity says nothing once it is gone: its arrays remain
    lasting = {place: words for place, words in places.items() if place[0] != "object"}
    alive = tuple(ref for one in found.kept if one is not opened.source for ref in _weak(one))
    return _Known(_kept(found, lasting), alive, ledger, times) if alive else None


def _kept(found: Origins, places: Mapping[Place, str]) -> Callable[[], Origins]:
    """Return the origins without what would hold records in memory."""
    return found_before(replace(found, places=places, kept=()))


def _in_memory(
    source: weakref.ref[object], found: Origins, places: Mapping[Place, str]
) -> Callable[[], Origins]:
    """Return the origins of a frame, as far as they are still its own whenever they are looked at.

    A column that was replaced, and a copy that was made to find a column's memory, leave theirs to others.
    """
    spans, rows = set(found.spans), {place for place in places if place[0] == "rows"}

    def traced() -> Origins:
        frame = source()
        if frame is None:
            return Origins()
        now = memory_origins(frame)
        gone = rows - now.places.keys()
        return replace(
            found,
            places={place: words for place, words in places.items() if place not in gone},
            spans=tuple(span for span in now.spans if span in spans),
            kept=now.kept,
        )

    return traced


def _weak(one: object) -> Iterator[weakref.ref[object]]:
    with suppress(TypeError):
        yield weakref.ref(one)


def _origins(source: OpenedSource | _Known) -> Origins:
    """Return what a source is traced to; nothing where its table is gone, which engines tell in many ways."""
    with suppress(Exception):
        return source.traced()
    return Origins()


def found_before(origins: Origins) -> Callable[[], Origins]:
    """Return what says that a source has these origins, without tracing it again."""
    return lambda: origins


def _unused(account: Ledger) -> tuple[Path, Head] | None:
    """Return the file and the head of a ledger in which nothing is charged yet."""
    if not isinstance(account, DurableLedger) or account.path is None or account.remaining != 1:
        return None
    head = newest_seen(account.shown, account.identity)
    return None if head is None else (account.path, head)


def _ledger_of(account: Ledger) -> tuple[str, str] | None:
    return (account.shown, account.identity) if isinstance(account, DurableLedger) else None


def _refusal(shown: str, shared: str, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"the same data ({_in_words(shared)}) is already open under the ledger {shown}, and {what}. Open it "
        f"with ledger={shown!r}. If two accounts are meant, as for a table that is also in a join, pass "
        "separate_account=True: what a record loses under each adds up."
    )


def _gone(shown: str, shared: str, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"the same data ({_in_words(shared)}) is open under the ledger {shown}, {why}: what was spent is not "
        "known here. Put it back. If a new account is meant, pass separate_account=True: what a record loses "
        "under each adds up."
    )


def _in_words(shared: str) -> str:
    return "in the same memory" if shared == SAME_MEMORY else shared.partition(";")[0]


def _is_moved(account: Ledger, shown: str, identity: str) -> bool:
    """Return whether an account is that of a file which is elsewhere now, with all that was seen of it."""
    if not isinstance(account, DurableLedger) or account.identity != identity:
        return False
    return os.path.isabs(shown) and not Path(shown).exists() and account.continues(shown)


def _what(account: Ledger, identity: str) -> str:
    """Return in words what a second account is."""
    if isinstance(account, NoAccount):
        return "synthetic=True would answer about the same records for nothing"
    if not isinstance(account, DurableLedger):
        return "an account in memory would be a second one, with the whole budget to spend"
    copy = "a copy of it" if account.identity == identity else "another ledger"
    return f"{account.shown} is {copy}, whose budget would be spent besides"


def _is_file(path: str, place: Place) -> bool:
    with suppress(OSError):
        return file_place(path) == place[:3]
    return False
