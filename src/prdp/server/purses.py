"""Purses: how much of a table's budget a person may spend, alone and with a steward's approval.

A limit for people; the promise comes from the one ledger that all share. What is spent is written in the
transaction of the ledger's charge, and the table refuses more than was granted.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from prdp.server import audit
from prdp.server.accounts import ANALYST, Person, known
from prdp.server.refusals import RequestRefused
from prdp.server.store import PARTS, StoreRows

KINDS = ("alone", "approved")
SHARE = r"^(0\.[0-9]{1,12}|0|1)$"


def parts_of(share: str) -> int:
    """Return a share in whole parts of a budget.

    >>> parts_of("0.01"), share_of(parts_of("0.01")), share_of(0), share_of(10**12)
    (10000000000, '0.01', '0', '1')
    """
    return int(Decimal(share) * PARTS)


def share_of(parts: int) -> str:
    """Return parts of a budget as a decimal text."""
    return f"{Decimal(parts) / PARTS:f}"


def granted(rows: StoreRows, person: int) -> list[str]:
    """Return the tables that a person has a purse for: those that they may ask about."""
    found = rows.all("SELECT DISTINCT dataset FROM {}purses WHERE person = ? ORDER BY dataset", person)
    return [name for (name,) in found]


def left(rows: StoreRows, person: int, dataset: str, kind: str) -> int:
    """Return the parts that may still be promised: neither spent nor held for a request in the queue."""
    purse = rows.one(
        "SELECT granted - spent FROM {}purses WHERE person = ? AND dataset = ? AND kind = ?",
        person,
        dataset,
        kind,
    )
    if purse is None:
        return 0
    return int(purse[0]) - _held(rows, "person = ? AND dataset = ? AND kind = ?", person, dataset, kind)


def left_of_table(rows: StoreRows, dataset: str) -> int:
    """Return the parts of a table's budget that are neither spent nor held, as far as the store knows."""
    found = rows.one("SELECT left_parts FROM {}datasets WHERE name = ?", dataset)
    return 0 if found is None else int(found[0]) - _held(rows, "dataset = ?", dataset)


def _held(rows: StoreRows, condition: str, *values: Any) -> int:
    """Return the parts that requests in the queue will take.

    What is spent and what is held are shown as one: when a charge is made within its slot shows nowhere.
    """
    (held,) = rows.one(
        f"SELECT coalesce(sum(parts), 0) FROM {{}}requests r WHERE {condition} AND state = 'queued' "
        "AND NOT EXISTS (SELECT 1 FROM {}spends s WHERE s.request = r.id)",
        *values,
    )
    return int(held)


def left_of_token(rows: StoreRows, token: str) -> int | None:
    """Return the parts that may still be asked for by a token; None where it has no cap."""
    found = rows.one("SELECT cap FROM {}tokens WHERE id = ?", token)
    if found is None or found[0] is None:
        return None
    (used,) = rows.one(
        "SELECT coalesce(sum(parts), 0) FROM {}requests r WHERE token = ? "
        "AND (state IN ('waiting', 'queued') OR EXISTS (SELECT 1 FROM {}spends s WHERE s.request = r.id))",
        token,
    )
    return max(0, int(found[0]) - int(used))


def purse(rows: StoreRows, person: int, dataset: str) -> dict[str, Any]:
    """Return a person's purses for a table, as JSON has them."""
    found = dict(
        rows.all("SELECT kind, granted FROM {}purses WHERE person = ? AND dataset = ?", person, dataset)
    )
    shown: dict[str, Any] = {"table": dataset}
    for kind in KINDS:
        total, free = int(found.get(kind, 0)), left(rows, person, dataset, kind)
        spent = {"spent": share_of(total - free), "left": share_of(max(0, free))}
        shown[kind] = {"granted": share_of(total), **spent}
    return shown


def grant(
    rows: StoreRows, person: int, dataset: str, wanted: dict[str, str], *, actor: Person | None, now: int
) -> None:
    """Set what an analyst may spend of a table's budget in all, what was spent included."""
    _, _, role, _ = known(rows, person)
    if actor is not None and actor.id == person:
        raise RequestRefused("own")
    if role != ANALYST:
        raise RequestRefused("role")
    for kind in KINDS:
        parts = parts_of(wanted[kind])
        purse_of = "person = ? AND dataset = ? AND kind = ?"
        before = rows.one(f"SELECT granted FROM {{}}purses WHERE {purse_of}", person, dataset, kind)
        if before is None:
            rows.insert("purses", person=person, dataset=dataset, kind=kind, granted=parts)
        elif before[0] - left(rows, person, dataset, kind) > parts:
            raise RequestRefused("below_spent")
        else:
            rows.run(f"UPDATE {{}}purses SET granted = ? WHERE {purse_of}", parts, person, dataset, kind)
    body = {"person": person, "table": dataset, **{kind: wanted[kind] for kind in KINDS}}
    audit.append(rows, now, actor.id if actor else audit.SERVER, "purse", body)
