"""Questions for the keys that occur, where nobody has listed them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prdp.declare.exact import Exact
from prdp.declare.groups import GroupKey
from prdp.declare.key_search import FALSE_KEYS, KeySearch, read_keys
from prdp.engines._origins import Origin, origin_of
from prdp.errors import InvalidRequest, KeysOutOfReach
from prdp.plan.explain import Whose
from prdp.plan.key_planner import keys_plan
from prdp.plan.key_queries import MOST_KEYS_OF_OWNERS, FindKeys, Measured
from prdp.plan.keys_plan import KeysPlan, never_found
from prdp.plan.planner import Planner
from prdp.release.table import ReleaseTable
from prdp.run.answer import answer
from prdp.tables.opened import Opened
from prdp.tables.roles import common_source


class KeyQuestions(Opened):
    """Finds keys of an open table or join; ``Queried`` says how plans are answered."""

    @property
    @abstractmethod
    def planner(self) -> Planner:
        """What refuses a question, or says what will be done."""

    @property
    @abstractmethod
    def _whose(self) -> Whose:
        """Whom questions are charged to."""

    @property
    @abstractmethod
    def _origins(self) -> Sequence[Origin]:
        """Where the records are from."""

    def find_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        *,
        share: Exact,
        pattern: object = None,
        among: object = None,
        between: object = None,
        alphabet: object = None,
        longest: object = None,
        false_keys: Exact = FALSE_KEYS,
        most_keys: int = MOST_KEYS_OF_OWNERS,
        fresh: bool = False,
    ) -> ReleaseTable:
        """Find the keys that a column has, with nothing known but what they may look like: docs/keys.md.

        The answer is a table of the keys found, each with its noisy budget mass; ``group_by`` takes it as
        ``keys=``, and using it costs nothing more. Rare keys are missing by design. NULL is no key, and a
        text is its bytes: capitals, blanks and accents matter.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"] * 400 + ["94110"] * 300)}, policy="1")
        >>> found = homes.find_keys("zip", pattern="[0-9]{5}", share=0.5)
        >>> found.top(2).keys, homes.left  # now and then, one that nobody has comes after them
        ((('94103',), ('94110',)), Fraction(1, 2))

        Args:
            columns: A column, several as a list, or ``prdp.date_trunc("month", "opened")``. Of several, the
                arguments below are dicts by column.
            share: The part of every record's budget to use.
            pattern: The form of texts, of characters, sets and counts: ``"[A-Z]{2}-[0-9]{3,5}"``.
            among: A public list of possible keys. With one of the others, keys beside the list are found too,
                but need more.
            between: The least and the greatest whole number, or the first and the last day. By default, the
                bounds that the table was opened with.
            alphabet: The characters that texts are made of, all alike. Texts of which nothing is said are
                weighted by how likely their characters are in English words, titles and codes.
            longest: How many characters a text has at most.
            false_keys: How many keys that nobody has may be expected to be shown.
            most_keys: With ``protect``, how many keys of one owner count, each with its part of the budget.
            fresh: Pay for a new answer although this question has been answered before.

        Warns:
            KeysOutOfReach: Hardly any key can be found with this share, by public facts.
        """
        search = KeySearch(
            pattern=pattern,
            among=among,
            between=between,
            alphabet=alphabet,
            longest=longest,
            false_keys=false_keys,
        )
        return self._keys(columns, search, share, fresh=fresh, most_keys=most_keys)

    def top_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        k: int,
        *,
        share: Exact,
        by: Measured = "mass",
        pattern: object = None,
        among: object = None,
        between: object = None,
        alphabet: object = None,
        longest: object = None,
        false_keys: Exact = FALSE_KEYS,
        most_keys: int = MOST_KEYS_OF_OWNERS,
        fresh: bool = False,
    ) -> ReleaseTable:
        """Find the k keys with the largest budget mass, or with the most records; as ``find_keys``.

        There are fewer where fewer reach what a key needs. All masses together cost what one of them costs,
        so that nothing is divided by k.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"] * 900 + ["94110"] * 300)}, policy="1")
        >>> homes.top_keys("zip", 1, pattern="[0-9]{5}", share=0.5).keys
        (('94103',),)

        Args:
            columns: As in ``find_keys``, and so are the others.
            k: How many keys to show at most.
            share: The part of every record's budget to use.
            by: ``"mass"``, the sum of budgets; or ``"count"``, for which every record counts 1 and the noise
                goes by the least budget within the bounds.
            pattern: As in ``find_keys``.
            among: As in ``find_keys``.
            between: As in ``find_keys``.
            alphabet: As in ``find_keys``.
            longest: As in ``find_keys``.
            false_keys: As in ``find_keys``.
            most_keys: As in ``find_keys``.
            fresh: As in ``find_keys``.
        """
        search = KeySearch(
            pattern=pattern,
            among=among,
            between=between,
            alphabet=alphabet,
            longest=longest,
            false_keys=false_keys,
        )
        return self._keys(columns, search, share, fresh=fresh, size=k, per=by, most_keys=most_keys)

    def explain_keys(
        self, columns: str | GroupKey | Sequence[str | GroupKey], *, share: Exact, **said: Any
    ) -> str:
        """Return what ``find_keys`` would charge, read, draw and need, with the same arguments.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"])}, policy="1")
        >>> print(homes.explain_keys("zip", pattern="[0-9]{5}", share=0.5).splitlines()[-2])
        note     of 100,000 possible keys, 0.01 that nobody has may be expected among those shown
        """
        known = {name: said.pop(name) for name in ("size", "per", "most_keys") if name in said}
        plan = self.plan_keys(columns, KeySearch(**said), share=share, **known)
        *lines, ledger = self._explained(plan, self._whose).splitlines()
        notes = [*never_found(plan.query.domain.columns), *plan.notes()[:2]]
        return "\n".join([*lines, *(f"note     {note}" for note in notes), ledger])

    def plan_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        search: KeySearch,
        *,
        share: Exact,
        size: int | None = None,
        per: Measured = "mass",
        most_keys: int = MOST_KEYS_OF_OWNERS,
    ) -> KeysPlan:
        """Return what would be done to find keys, or refuse; reads and charges nothing.

        Args:
            columns: As in ``find_keys``.
            search: What is said of the keys.
            share: The part of every record's budget to use.
            size: How many of the largest to show; by default all that are found.
            per: What is added up for a key.
            most_keys: How many keys of one owner count.
        """
        planner = self.planner
        listed = columns if isinstance(columns, list | tuple) else [columns]
        planner.refuse_elsewhere(*(getattr(column, "column", column) for column in listed))
        if not hasattr(self._reader.source, "key_masses"):
            raise InvalidRequest(
                "the engine that reads this table cannot look for keys: list them, keys=[...]."
            )
        by = read_keys(columns, planner.schema)
        domain = search.domain(by, planner.schema, planner.bounds)
        return keys_plan(planner, FindKeys(by, domain, size, per, most_keys), share)

    def _keys(
        self, columns: Any, search: KeySearch, share: Exact, *, fresh: bool, **said: Any
    ) -> ReleaseTable:
        self._refuse_shared(search.among, "among=")
        plan = self.plan_keys(columns, search, share=share, **said)
        standing = None if fresh else plan.standing(self.ledger)
        if standing is None and (words := plan.out_of_reach()):
            warnings.warn(words, KeysOutOfReach, stacklevel=3)
        return plan.tabled(answer(self.ledger, plan, self._reader, fresh=fresh))

    def _refuse_shared(self, keys: object, what: str) -> None:
        """Refuse keys that come from the records themselves."""
        if keys is None or isinstance(keys, str | Path | list | tuple | ReleaseTable):
            return
        self._refuse_source(keys, what, "List the keys that are public knowledge: keys=['clerk', 'chef'].")

    def _refuse_private(self, keys: object, tables: object) -> None:
        """Refuse the records themselves as keys, or as a public table, of a statement."""
        for column, listed in keys.items() if isinstance(keys, Mapping) else ():
            self._refuse_shared(listed, f"keys={{{column!r}: ...}}")
        for name, table in tables.items() if isinstance(tables, Mapping) else ():
            if not isinstance(table, str | Path | list | tuple):  # which are no tables in memory
                instead = (
                    "Give a table that anybody may know; what the records hold is asked in the statement."
                )
                self._refuse_source(table, f"tables={{{name!r}: ...}}", instead)

    def _refuse_source(self, given: object, what: str, instead: str) -> None:
        if shared := common_source(self._origins, origin_of(given)):
            raise InvalidRequest(
                f"{what} and the table have one source ({shared}), but which values occur may give a "
                f"record away. {instead}"
            )
