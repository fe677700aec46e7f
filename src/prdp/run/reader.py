"""Read an open table and keep what was read, so that no record is read twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from prdp.errors import EngineFailure, PrdpError
from prdp.plan.reads import Read


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads what plans ask for, and keeps it.

    Attributes:
        source: Who reads the records: an engine, or what an entry point has in its place.
        synthetic: Whether the records are public or made up; all releases are marked then.
        refuse_more: Refuses what else would make an answer wrong, by public facts.
        kept: What was found so far; it shows nothing of itself.
    """

    source: Any
    synthetic: bool
    refuse_more: Callable[[], None] = lambda: None
    kept: dict[Read, Any] = field(default_factory=dict, repr=False)

    def ensure_there(self, reads: Iterable[Read] = ()) -> None:
        """Refuse, by public facts and before any charge, a source that is gone or has changed.

        Where an engine's SQL does not have words for all that can be asked, reads are refused as well.
        """
        self.source.ensure_there()
        self.refuse_more()
        if hasattr(self.source, "ensure_written"):
            for read in reads:
                self.source.ensure_written(read)

    @property
    def facts(self) -> str | None:
        """Public facts of the source that may change under one ledger, as JSON: its columns, number of files.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.array([31, 58])}, policy="1", synthetic=True)
        >>> people._reader.facts
        '{"columns": ["age"]}'
        """
        engine = getattr(self.source, "engine", self.source)
        schemas = getattr(engine, "schemas", None)
        if schemas is None:
            return None
        columns = {"columns": sorted({name for schema in schemas.values() for name in schema})}
        files = engine.number_of_files
        return json.dumps(columns | ({"files": files} if files else {}), ensure_ascii=True)

    def one_snapshot(self) -> AbstractContextManager[None]:
        """Have all statements of one question read the same state of the source, where an engine can."""
        engine = getattr(self.source, "engine", self.source)
        held: AbstractContextManager[None] = getattr(engine, "one_snapshot", nullcontext)()
        return held

    def read(self, read: Read) -> Any:
        """Return what a read finds, reading the records only if they were not read for this before.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), synthetic=True)
        >>> wanted = people.plan(prdp.count(), share="1/4").queries[0].read
        >>> reader = Reader(people._engine, synthetic=True)
        >>> reader.read(wanted) is reader.read(wanted)
        True
        """
        for kept, found in tuple(self.kept.items()):
            if kept.serves(read):
                return found
        return self.kept.setdefault(read, self.read_anew(read))

    def read_anew(self, read: Read) -> Any:
        """Return what a read finds, and keep nothing of it.

        Raises:
            EngineFailure: Whatever went wrong; an engine's own words may be about a record.
        """
        try:
            return read.find(self)
        except PrdpError:
            raise EngineFailure from None

    def forget_beyond(self, most: int) -> None:
        """Forget what was found first, so that ``most`` reads are kept: a server runs for weeks."""
        for read in [*self.kept][: max(0, len(self.kept) - most)]:
            self.kept.pop(read, None)

    def let_go(self) -> None:
        """Have the source drop what it holds for the question that is being answered."""
        if hasattr(self.source, "let_go"):
            self.source.let_go()
