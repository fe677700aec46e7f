"""A table or a join, as far as SQL asks it: the same methods that Python's callers use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, Self

from prdp.declare.exact import Exact
from prdp.expressions.nodes import Node
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner
from prdp.plan.queries import Query
from prdp.plan.shares import Shares
from prdp.release.table import ReleaseTable


class Questioned(Protocol):
    """What answers queries: a table, a join, or groups of either."""

    @property
    def remaining(self) -> Fraction:
        """The part of their budgets that the records have left."""

    def plan(self, *queries: Query, share: Exact, shares: Shares | None = None) -> Plan:
        """Return what would be done to answer queries, or refuse."""

    def answer_plan(self, plan: Plan, *, redraw: bool = False) -> ReleaseTable:
        """Answer all queries of a plan from one charge."""

    def explain_plan(self, plan: Plan) -> str:
        """Return what would be charged, read and drawn."""


class Queryable(Questioned, Protocol):
    """A table or a join."""

    @property
    def planner(self) -> Planner:
        """What is public about it, and the plans that it allows."""

    def has_answer(self, plan: Plan) -> bool:
        """Say whether a plan has been answered before."""

    def filtered(self, condition: Node) -> Self:
        """Return those rows alone for which a checked condition holds."""

    def group_by(self, *columns: Any, keys: object = None) -> Questioned:
        """Tell records apart by public keys."""
