"""The tables of a project on disk, as the tools ask them; charges go to their ledgers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeVar

from prdp.agents.backend import NothingCharged, PlannedStatement, ReceivedAnswer, StatementRequest
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, PrdpError
from prdp.projects.project import Facts, Project, named_in
from prdp.release.table import shown_key
from prdp.sql.results import SqlAnswers

Found = TypeVar("Found")

_HIDDEN = ("reads", "ledger", "table")
"""Labels of an explanation that name files and statements of the engine."""
_KEYS = 200
"""Listed keys of a column that are named; the rest is counted."""


@dataclass
class Deadline:
    """The time that each answer takes, whatever the records are; doubled for good when one takes longer.

    Attributes:
        seconds: The time.
        now: A clock that never goes back.
        sleep: What waits.
    """

    seconds: float
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def wait(self, begun: float) -> None:
        """Wait until an answer that was begun may be shown."""
        while self.now() - begun > self.seconds:
            self.seconds *= 2
        self.sleep(max(0.0, begun + self.seconds - self.now()))


@dataclass
class ProjectTables:
    """The tables and joins of a project.

    Attributes:
        project: The project; what is asked is charged in its name.
        deadline: When an answer may be shown.
    """

    project: Project
    deadline: Deadline
    _facts: dict[str, Facts] = field(default_factory=dict)
    _answers: dict[str, ReceivedAnswer] = field(default_factory=dict)

    def tables(self) -> list[dict[str, Any]]:
        """Return the name, the number of columns and the remaining budget of each table."""
        return [
            {"name": name, "columns": len(self._known(name).schema), "left": self._remaining(name)}
            for name in self.project
        ]

    def described(self, table: str) -> dict[str, Any]:
        """Return the public facts of a table."""
        if table not in list(self.project):
            raise InvalidRequest("there is no such table: list_tables names them.")
        facts = self._known(table)
        columns = [
            {
                "name": name,
                "type": kind.native or kind.kind.value,
                "low": _number(facts.bounds.get(name, (None, None))[0]),
                "high": _number(facts.bounds.get(name, (None, None))[1]),
                "keys": _keys(facts.keys.get(name)),
            }
            for name, kind in facts.schema.items()
        ]
        return {
            "name": table,
            "names_in_sql": self.project.tables_of(table),
            "columns": columns,
            "policy": {
                "text": str(facts.policy.shown.text),
                "at_least": _number(facts.policy.shown.at_least),
                "at_most": _number(facts.policy.shown.at_most),
                "notion": facts.policy.notion,
            },
            "privacy_unit": None if facts.unit is None else str(facts.unit.id),
            "deadline": self.deadline.seconds,
            "left": self._remaining(table),
        }

    def planned(self, statement: str, share: Fraction) -> PlannedStatement:
        """Return the dry run of a statement; nothing is charged, and no account is begun."""
        table = named_in(statement, self.project)
        facts = self._known(table)
        lines = self._opened(table).explain_sql(statement, share=share, **self._listed(table)).lines
        shown = tuple((one.label.strip(), one.text) for one in lines if one.label.strip() not in _HIDDEN)
        asked = json.dumps([table, statement, str(share), repr(facts)])
        return PlannedStatement(
            sha256(asked.encode()).hexdigest(),
            table,
            statement,
            share,
            self._cost(table, statement, share),
            self._remaining(table),
            lines=shown,
        )

    def asked(self, plan: PlannedStatement, purpose: str) -> StatementRequest:
        """Charge a plan, wait until its answer may be shown, and return it."""
        del purpose  # nobody approves
        begun = self.deadline.now()
        before = self._charges(plan.table)
        cost = self._cost(plan.table, plan.statement, plan.share)
        if cost > plan.cost:
            raise NothingCharged(InvalidRequest("the plan is old: it costs more now. Call explain again."))
        if cost:
            try:
                answers = self._answered(plan)
            except (InvalidRequest, BudgetExhausted) as refusal:
                if self._charges(plan.table) == before:
                    raise NothingCharged(refusal) from None
                raise
            finally:
                self.deadline.wait(begun)
        else:
            answers = self._answered(plan)
        new = self._charges(plan.table)[len(before) :] if cost else ()
        self._answers[plan.digest] = self._receipt(plan, answers, new)
        return self.request(plan.digest)

    def request(self, name: str) -> StatementRequest:
        """Return an answer of this session."""
        if name not in self._answers:
            raise InvalidRequest("there is no such request in this session: ask again, which is free.")
        return StatementRequest(name, "published", None, self._answers[name])

    def _answered(self, plan: PlannedStatement) -> SqlAnswers:
        """Return the answer to a plan; why its table cannot be read may name places, and is for its owner."""
        opened, listed = self._opened(plan.table, charged=True), self._listed(plan.table)
        try:
            answers: SqlAnswers = opened.sql(plan.statement, share=plan.share, **listed)
        except InvalidRequest:  # the statement was planned: what is wrong now is the source
            raise _unusable(plan.table) from None
        except PrdpError:
            raise
        except Exception:  # what it says may be about the records
            raise EngineFailure from None
        return answers

    def _receipt(
        self, plan: PlannedStatement, answers: SqlAnswers, new: tuple[tuple[int, str, str], ...]
    ) -> ReceivedAnswer:
        """Return an answer with the ledger's head after it, and the numbers of its charges."""
        if not self.project.is_begun(plan.table):  # nothing was asked of any record
            return ReceivedAnswer(answers, f"{plan.table}/public", {})
        ledger = self._opened(plan.table).ledger
        recorded = [one.number for one in ledger.entries if one.release == answers.released is not None]
        numbers = [number for number, _, _ in new] or recorded[-1:]
        place = ",".join(map(str, numbers)) or "public"
        receipt = {"ledger": plan.table, "charges": numbers, "head": ledger.head}
        return ReceivedAnswer(answers, f"{plan.table}/{place}", receipt)

    def _charges(self, table: str) -> tuple[tuple[int, str, str], ...]:
        if not self.project.is_begun(table):
            return ()
        charges: tuple[tuple[int, str, str], ...] = self._opened(table).ledger.charged_by
        return charges

    def _cost(self, table: str, statement: str, share: Fraction) -> Fraction:
        from prdp.sql.execute import cost_of  # noqa: PLC0415  (its parser is loaded with the first statement)

        opened = self._opened(table)
        catalog = opened._catalog  # noqa: SLF001  (what a statement's names mean)
        return cost_of(statement, opened, catalog, share=share, **self._listed(table))

    def _remaining(self, table: str) -> Fraction:
        return self._opened(table).remaining if self.project.is_begun(table) else Fraction(1)

    def _opened(self, table: str, *, charged: bool = False) -> Any:
        """Return a table or a join; unless it is to be charged, no account is begun."""
        return _for_owners(table, lambda: self.project[table] if charged else self.project.to_explain(table))

    def _listed(self, table: str) -> dict[str, Any]:
        """Return a table's listed keys and public tables."""
        return _for_owners(table, lambda: self.project.listed_for(table))

    def _known(self, table: str) -> Facts:
        """Return a table's facts."""
        if table not in self._facts:
            self._facts[table] = _for_owners(table, lambda: self.project.facts(table))
        return self._facts[table]


def _for_owners(table: str, work: Callable[[], Found]) -> Found:
    """Return the result of work on a table's declaration; why it fails names places, and is for its owner."""
    try:
        return work()
    except PrdpError:
        raise _unusable(table) from None


def _unusable(table: str) -> InvalidRequest:
    return InvalidRequest(f"the table {table} cannot be used now. Its owner sees why with: prdp check")


def _number(number: Any) -> float | int | None:
    if number is None:
        return None
    return int(number) if number == int(number) else float(number)


def _keys(keys: Any) -> dict[str, Any] | None:
    """Return the listed keys of a column; None where it has none."""
    if keys is None:
        return None
    if isinstance(keys, str | Mapping):
        return {"found": "privately, which costs budget"}
    return {"listed": [shown_key(key) for key in keys[:_KEYS]], "number": len(keys)}
