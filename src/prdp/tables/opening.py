"""Read the arguments that ``open``, ``open_join`` and others share: policy, name, account, filters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

from prdp.declare.columns import known_column
from prdp.declare.exact import told
from prdp.errors import InvalidRequest, NoLedgerFile, RecordsLeftOut
from prdp.expressions.check import check
from prdp.expressions.nodes import Node, conjunction
from prdp.expressions.parse import parse
from prdp.expressions.spelling import is_writable
from prdp.ledger import Binding, DurableLedger, Ledger, MemoryLedger, NoAccount
from prdp.policy import Policy
from prdp.schema import Bounds, Kind, Schema


def read_policy(policy: Policy | str) -> Policy:
    """Return a policy, also from its text alone; refuse what is none, with what to write instead.

    >>> read_policy("1 / visits")
    Policy('1 / visits')
    """
    if isinstance(policy, str):
        return Policy(policy)
    if not isinstance(policy, Policy):
        raise InvalidRequest(
            f"policy={told(policy)} is not a policy. Write a record's budget as SQL over its columns, such "
            "as policy='least(10000 / greatest(abs(balance), 100), 100)', or policy='1' for the same for all."
        )
    return policy


def fitted_policy(policy: Policy | str, schema: Schema, bounds: Bounds) -> Policy:
    """Return a policy fitted to a table, with a warning where the bounds allow records that it leaves out."""
    fitted = read_policy(policy).within(schema, bounds)
    left_out = fitted.left_out(bounds, [column for column, kind in schema.items() if kind.integer])
    if left_out:
        warnings.warn(left_out, RecordsLeftOut, stacklevel=3)
    return fitted


def name_of(given: str | None, default: str) -> str:
    """Return what the caller calls what is opened, or a default."""
    name = default if given is None else given
    if not isinstance(name, str) or not is_writable(name):
        raise InvalidRequest(f"name={given!r} is no name: write a text.")
    return name


def read_fixed(fixed: Iterable[str] | None, schema: Schema) -> tuple[str, ...] | None:
    """Return the columns that narrow whom a question is charged to; None where nothing is said of them."""
    if fixed is None:
        return None
    if isinstance(fixed, str | bytes) or not isinstance(fixed, Iterable):
        raise InvalidRequest(f"fixed={told(fixed)} lists no columns: write fixed=['week'].")
    known = tuple(known_column(column, schema, "fixed") for column in fixed)
    for column in known:
        if schema[column].kind is Kind.OTHER:
            raise InvalidRequest(
                f"fixed= names {column!r}, which holds {schema[column].native}: filters do not read it."
            )
    return tuple(sorted(set(known))) or None


def read_one_row_each(one_row_each: bool, owned: str | None) -> bool:
    """Return whether owners with more than one row are left out; only where there are owners."""
    if not isinstance(one_row_each, bool):
        raise InvalidRequest(
            f"one_row_each={told(one_row_each)} is True or False: whether an owner has one row, for ever."
        )
    if one_row_each and owned is None:
        raise InvalidRequest(
            "one_row_each=True is for protect=: it says that whoever is protected has one row. Without "
            "protect=, a row is a record, and fixed= is enough."
        )
    return one_row_each


def read_edition(edition: str | None) -> str:
    """Return which edition of a table is opened; empty where there is one only."""
    if edition is None:
        return ""
    if not isinstance(edition, str) or not edition or not is_writable(edition):
        raise InvalidRequest(f"edition={edition!r} is no edition: write a text, such as '2026-W46'.")
    return edition


def account_of(
    ledger: Ledger | Path | str | None, facts: Binding, who: str | None, *sources: object, stand_in: bool
) -> Ledger:
    """Return the ledger that was asked for, attached to the public facts of what is opened.

    A stand-in has none. An account in memory is forgotten, which is warned of where a source may outlive it:
    a file, a frame, a database; not arrays, which whoever opens them has made in the same process.
    """
    if not isinstance(stand_in, bool):
        raise InvalidRequest(
            f"stand_in={stand_in!r} is True or False: whether all of the records are public or made up."
        )
    if stand_in:
        _refuse_an_account(ledger=ledger, who=who)
        return NoAccount()
    if ledger is None and not all(isinstance(source, dict) for source in sources):
        _warn_of_no_ledger(str(facts.facts.get("name", "table")))
    if isinstance(ledger, str | Path):
        ledger = DurableLedger.opened(ledger, facts, who=who)
    account: Ledger = MemoryLedger() if ledger is None else ledger
    if isinstance(account, type | NoAccount) or not hasattr(account, "attach"):
        raise InvalidRequest(f"ledger={ledger!r} is no ledger. Give a file name, such as 'accounts.ledger'.")
    account.attach(facts)
    return account


def _warn_of_no_ledger(name: str) -> None:
    """Say, once a process, that an account in memory is forgotten: a cell that runs again begins anew."""
    if not _SAID:
        _SAID.append(name)
        warnings.warn(
            f"the account of {name!r} is in memory: whoever opens the table again begins from nothing, and a "
            f"record can lose more than its budget. Keep it: ledger='{name}.ledger'. Made-up records "
            "need none: stand_in=True.",
            NoLedgerFile,
            stacklevel=4,
        )


_SAID: list[str] = []


def _refuse_an_account(**given: object) -> None:
    """Refuse what only an account has use for."""
    for option, value in given.items():
        if value is not None:
            raise InvalidRequest(
                f"stand_in=True keeps no account, so that {option}={value!r} is not for it. Leave it away, "
                "or leave stand_in away if the records are real: every answer is charged then."
            )


def narrowed(old: Node | None, condition: str, schema: Schema) -> Node:
    """Return the filter that lets through what an old one does and for which a condition holds."""
    if not isinstance(condition, str):  # its own words may show records
        raise InvalidRequest(
            f"where() takes a condition as a text, such as where('age >= 18'), and this is a "
            f"{type(condition).__name__}."
        )
    return both(old, check(parse(condition), schema, Kind.BOOLEAN, condition))


def both(old: Node | None, new: Node) -> Node:
    """Return what holds where an old condition, if there is one, and a new one do."""
    return new if old is None else conjunction((old, new))
