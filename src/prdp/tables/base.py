"""The base of all entry points: an account of what questions cost, and a view of public facts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from prdp.declare.exact import spelled
from prdp.errors import PrdpError
from prdp.ledger import Ledger
from prdp.plan.explain import Explainable, Whose, explained
from prdp.plan.plan import Plan
from prdp.policy import Policy
from prdp.release.html import html_table
from prdp.run.reader import Reader
from prdp.schema import Bounds, Grains, Schema

_SHOWN_COLUMNS = 6
"""How many columns a line names before it counts the rest; a notebook's view lists them all."""


class Opened:
    """Data that is open to questions: with an account of what they cost, or as a stand-in that has none."""

    ledger: Ledger
    _reader: Reader

    @property
    def stand_in(self) -> bool:
        """Whether the records are public or made up: nothing is charged, and all releases are marked."""
        return self._reader.stand_in

    @property
    def left(self) -> Fraction:
        """The part of every record's budget that is left; all of it for a stand-in.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1")
        >>> release = accounts.count(share=0.1)
        >>> accounts.left
        Fraction(9, 10)
        """
        return self.ledger.left

    @property
    def columns(self) -> list[str]:
        """The names of the columns that questions may name, in the table's order.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58]), "job": numpy.array(["clerk", "chef"])}
        >>> prdp.open(people, policy="1").columns
        ['age', 'job']
        """
        return list(self._shown_schema)

    def plot_account(self, ax: Any = None) -> Any:
        """Draw what was left of every budget after each charge, and return matplotlib's axes."""
        from prdp.pictures.account import plot_account  # noqa: PLC0415  (matplotlib is an extra)

        return plot_account(self.ledger, ax)

    def has_answer(self, plan: Explainable) -> bool:
        """Say whether a plan has been answered before, so that asking again costs nothing."""
        return not self.stand_in and plan.standing(self.ledger) is not None

    def _explained(self, plan: Explainable, whose: Whose) -> str:
        """Return what a plan would do; reads no record and charges nothing."""
        left = None if self.stand_in else self.ledger.left_in(plan.region)
        answered = self.has_answer(plan)
        if isinstance(plan, Plan) and not self.stand_in and not answered:
            plan = plan.hinted(plan.hint(self.ledger))
        return explained(plan, self._reader.source, whose, left=left, answered=answered)

    @property
    def _called(self) -> str:
        return "prdp stand-in" if self.stand_in else "prdp"

    @property
    def _title(self) -> str:
        """The kind and the name of the data, with its filter."""
        return self._called

    @property
    def _shown_schema(self) -> Schema:
        return {}

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        """Policies by the column that names their records; that of a single table has no name."""
        return {}

    @property
    def _shown_bounds(self) -> Bounds:
        return {}

    @property
    def _shown_grains(self) -> Grains:
        return {}

    @property
    def _shown_left(self) -> str:
        if self.stand_in:
            return "public or made up: nothing is charged, and no answer is private"
        try:
            left = self.ledger.left
            least = "at least " if self.ledger.fixed and left < 1 else ""
            return f"{least}{'all' if left == 1 else spelled(left)} of every budget left"
        except PrdpError:  # a view must not fail: questions will say what is wrong with the account
            return "account not readable here"

    def __repr__(self) -> str:
        policies = "".join(
            f": {policy!r}" if not name else f"; {name} {policy!r}"
            for name, policy in self._shown_policies.items()
        )
        columns = ", ".join(self.columns[:_SHOWN_COLUMNS])
        more = len(self.columns) - _SHOWN_COLUMNS
        columns += f" and {more} more" if more > 0 else ""
        return f"<{self._title}{policies}; {columns}; {self._shown_left}>"

    def _repr_html_(self) -> str:
        rows = []
        for name, kind in self._shown_schema.items():
            low, high = (spelled(end) for end in self._shown_bounds.get(name, (Fraction(0), Fraction(0))))
            bounds = f"{low} to {high}" if name in self._shown_bounds else ""
            grain = spelled(self._shown_grains[name]) if name in self._shown_grains else ""
            rows.append([name, kind.native or kind.kind.value, bounds, grain])
        policies = [f"{name} {policy!r}".strip() for name, policy in self._shown_policies.items()]
        heads = ["column", "type", "bounds", "grain"]
        return html_table(self._title, heads, rows, [*policies, self._shown_left])


def reader_of(opened: Opened) -> Reader:
    """Return what reads the records of a stand-in, for simulations; refuse real records."""
    if not opened.stand_in:
        raise TypeError("only a stand-in's records may be read without a charge")
    return opened._reader  # noqa: SLF001  (the one way past an account, and it is for stand-ins alone)
