"""Read the arguments that ``open``, ``open_join`` and others share: policy, name, account, filters, roles."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from numbers import Real
from pathlib import Path
from typing import Protocol

from prdp.declare.columns import known_column
from prdp.declare.exact import Exact, short_repr
from prdp.declare.references import Tree, by_links
from prdp.engines.origins import Origins
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest, LedgerBegun, NoLedgerFile, RecordsLeftOut
from prdp.expressions.check import check
from prdp.expressions.nodes import Node, conjunction
from prdp.expressions.parse import parse
from prdp.expressions.tokens import is_writable
from prdp.ledger import Binding, DurableLedger, Ledger, MemoryLedger, NoAccount
from prdp.policy import Policy
from prdp.schema import Bounds, Kind, Schema
from prdp.tables.column import text_of
from prdp.tables.source_registry import (
    OpenedSource,
    count_in_memory,
    refuse_second_account,
    refuse_to_begin_another,
    remember_source,
)


def read_policy(policy: Policy | Exact) -> Policy:
    """Return a policy, also from its text or from the one budget of all; refuse what is none.

    >>> read_policy("1 / visits"), read_policy(0.5)
    (Policy('1 / visits'), Policy('0.5', at_least='1/2', at_most='1/2'))
    """
    if isinstance(policy, str):
        return Policy(policy)
    if isinstance(policy, Real | Decimal) and not isinstance(policy, bool):
        return Policy.constant(policy)
    if not isinstance(policy, Policy):
        raise InvalidRequest(
            f"policy={short_repr(policy)} is not a policy. Write a record's budget as SQL over its columns, "
            "such "
            "as policy='least(10000 / greatest(abs(balance), 1000), 10)', or policy=1 for the same for all."
        )
    return policy


def fitted_policy(policy: Policy | Exact, schema: Schema, bounds: Bounds) -> Policy:
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


def read_immutable(immutable: Iterable[str] | None, schema: Schema) -> tuple[str, ...] | None:
    """Return the columns that narrow the charged region; None where nothing is declared of them."""
    if immutable is None:
        return None
    if isinstance(immutable, str | bytes) or not isinstance(immutable, Iterable):
        raise InvalidRequest(f"immutable={short_repr(immutable)} lists no columns: write immutable=['week'].")
    known = tuple(known_column(column, schema, "immutable") for column in immutable)
    for column in known:
        if schema[column].kind is Kind.OTHER:
            raise InvalidRequest(
                f"immutable= names {column!r}, which holds {schema[column].native}: filters do not read it."
            )
    return tuple(sorted(set(known))) or None


def read_one_row_per_unit(one_row_per_unit: bool, owned: str | None) -> bool:
    """Return whether units with more than one row are left out; only where there are units."""
    if not isinstance(one_row_per_unit, bool):
        raise InvalidRequest(
            f"one_row_per_unit={short_repr(one_row_per_unit)} is True or False: whether a unit has one row, "
            "for ever."
        )
    if one_row_per_unit and owned is None:
        raise InvalidRequest(
            "one_row_per_unit=True is for privacy_unit=: it says that whoever is protected has one row. "
            "Without "
            "privacy_unit=, a row is a record, and immutable= is enough."
        )
    return one_row_per_unit


def read_declaration(declared: bool) -> None:
    """Refuse a declaration that is neither made nor not made."""
    if not isinstance(declared, bool):
        raise InvalidRequest(
            f"public_by_declaration={short_repr(declared)} is True or False: whether you declare that the "
            "tables "
            "in public= show no private rows, where that cannot be traced."
        )


def read_snapshot(snapshot: str | None) -> str:
    """Return which snapshot of a table is opened; empty where there is one only."""
    if snapshot is None:
        return ""
    if not isinstance(snapshot, str) or not snapshot or not is_writable(snapshot):
        raise InvalidRequest(f"snapshot={snapshot!r} is not a snapshot: write a text, such as '2026-W46'.")
    return snapshot


@dataclass(frozen=True, slots=True)
class AccountOptions:
    """The arguments of the entry points that say which account is kept.

    Attributes:
        ledger: The file or database that keeps the account, or a ledger object; None for one in memory.
        who: Who asks.
        must_exist: Whether the ledger must exist; None begins one where there is none, and warns of it.
        synthetic: Whether all of the records are public or made up.
        separate_account: Whether the source may be under another ledger in this process.
    """

    ledger: Ledger | Path | str | None
    who: str | None
    must_exist: bool | None
    synthetic: bool
    separate_account: bool


def account_of(
    options: AccountOptions, facts: Binding, *opened: OpenedSource, sources: Iterable[object] | None = None
) -> Ledger:
    """Return the ledger that was asked for, attached to the public facts of what is opened.

    A synthetic table has none. An account in memory is forgotten, which is warned of where a source may
    outlive it:
    a file, a frame, a database; not arrays, which whoever opens them has made in the same process, unless
    they are opened again.
    """
    given = list(sources) if sources is not None else [one.source for one in opened]
    _refuse_bad_options(options)
    if not options.separate_account:
        refuse_to_begin_another(opened, options.ledger)
    account = _account(options, facts)
    if not options.separate_account:
        refuse_second_account(opened, account)
    if isinstance(account, NoAccount):
        return account
    account.attach(facts)
    if options.ledger is None:
        _warn_of_no_ledger(
            str(facts.facts.get("name", "table")),
            count_in_memory(opened),
            only_arrays=all(isinstance(one, dict) for one in given),
        )
    elif options.must_exist is None and isinstance(account, DurableLedger) and account.begun:
        warnings.warn(
            f"the new ledger {account.shown} is created, with the whole budget to spend. If this data was "
            "queried before, the name or the folder is mistyped. Pass must_exist=True where the ledger must "
            "be there, and must_exist=False to create one without this warning.",
            LedgerBegun,
            stacklevel=3,
        )
    remember_source(opened, account)
    return account


def _account(options: AccountOptions, facts: Binding) -> Ledger:
    ledger = options.ledger
    if options.synthetic:
        _refuse_an_account(ledger=ledger, who=options.who, must_exist=options.must_exist)
        return NoAccount()
    if isinstance(ledger, str | Path):
        return DurableLedger.opened(ledger, facts, who=options.who, must_exist=options.must_exist is True)
    account: Ledger = MemoryLedger() if ledger is None else ledger
    if isinstance(account, type | NoAccount) or not hasattr(account, "attach"):
        raise InvalidRequest(f"ledger={ledger!r} is no ledger. Give a file name, such as 'accounts.ledger'.")
    return account


def _refuse_bad_options(options: AccountOptions) -> None:
    if not isinstance(options.synthetic, bool):
        raise InvalidRequest(
            f"synthetic={options.synthetic!r} is True or False: whether all of the records are public or "
            "made "
            "up."
        )
    if not isinstance(options.separate_account, bool):
        raise InvalidRequest(f"separate_account={short_repr(options.separate_account)} is True or False.")
    if options.must_exist is not None and not isinstance(options.must_exist, bool):
        raise InvalidRequest(f"must_exist={short_repr(options.must_exist)} is True or False.")
    if options.must_exist and options.ledger is None:
        raise InvalidRequest("must_exist=True needs ledger=: an account in memory begins anew each time.")


def _warn_of_no_ledger(name: str, before: int, *, only_arrays: bool) -> None:
    """Warn that an account in memory is forgotten: once per process, and when a source is opened again."""
    if before:
        first_sentence = (
            f"this is account number {before + 1} in memory for the data of {name!r}: each starts at zero"
        )
    elif only_arrays or _WARNED:
        return
    else:
        first_sentence = f"the account of {name!r} is in memory only: opening the table again starts at zero"
    _WARNED.append(name)
    warnings.warn(
        f"{first_sentence}, so that a record can lose more than its budget. To keep the account, pass "
        f"ledger='{name}.ledger'; for made-up records, synthetic=True.",
        NoLedgerFile,
        stacklevel=4,
    )


_WARNED: list[str] = []


def _refuse_an_account(**given: object) -> None:
    """Refuse what only an account has use for."""
    for option, value in given.items():
        if value is not None:
            raise InvalidRequest(
                f"synthetic=True keeps no account, so that {option}={value!r} cannot be combined with it. "
                "Remove one, "
                "or leave synthetic away if the records are real: every answer is charged then."
            )


def read_condition(condition: object, schema: Schema) -> Node:
    """Return the condition that a text or an expression says about a table's columns, or refuse it."""
    condition = text_of(condition)
    if not isinstance(condition, str):  # its own words may show records
        raise InvalidRequest(
            "filter takes a condition as a text, such as filter('age >= 18'), or on columns, such as "
            f"filter(table['age'] >= 18), and this is a {type(condition).__name__}."
        )
    return check(parse(condition), schema, Kind.BOOLEAN, condition)


def narrowed(old: Node | None, condition: object, schema: Schema) -> Node:
    """Return the filter that lets through what an old one does and for which a condition holds."""
    return both(old, read_condition(condition, schema))


def both(old: Node | None, new: Node) -> Node:
    """Return what holds where an old condition, if there is one, and a new one do."""
    return new if old is None else conjunction((old, new))


class Declared(Protocol):
    """A private table, as ``prdp.graphs.Records`` declares it."""

    @property
    def source(self) -> object:
        """The source of its records."""

    @property
    def key(self) -> str:
        """The column that names them."""


def common_source(private: Iterable[Origins], given: Origins) -> str:
    """Return in words what a source has in common with private ones; empty if nothing is known to be."""
    return next(filter(None, (origins.shared(given) for origins in private)), "")


def untraced_reason(private: Iterable[Origins], given: Origins) -> str:
    """Return why a source may have more in common with private ones than is known; empty if it cannot.

    Plain values are read from nowhere: whoever lists them says that they are public.
    """
    if not (given.places or given.spans or given.untraced):
        return ""
    return given.untraced or next((origins.untraced for origins in private if origins.untraced), "")


def refuse_two_names(origins: Mapping[str, Origins], tree: Tree, *, declared: bool) -> None:
    """Refuse tables of a join that have a common source, unless both are public.

    Args:
        origins: The origins of the tables.
        tree: How they are joined, and which are public.
        declared: Whether the unit declares those to be public whose origins cannot be traced.
    """
    for one, other in combinations(origins, 2):
        shared = origins[one].shared(origins[other])
        if not shared or {one, other} <= tree.public:
            continue
        same_source = f"the tables {one!r} and {other!r} have one source ({shared})"
        public = [name for name in (one, other) if name in tree.public]
        if public:
            raise InvalidRequest(
                f"{same_source}, and {public[0]!r} is declared public: what is read there would be "
                "protected by no "
                f"budget. Leave {public[0]!r} out. {_instead(tree, one, other)}"
            )
        raise InvalidRequest(
            f"{same_source}: a record's own row would be there twice, and once be protected by another "
            "record's "
            f"budget. {_instead(tree, one, other)}"
        )
    private = [origin for name, origin in origins.items() if name not in tree.public]
    for name in () if declared else sorted(tree.public):
        if reason := untraced_reason(private, origins[name]):
            raise InvalidRequest(
                f"whether the public table {name!r} shows private rows cannot be traced ({reason}). Give a "
                "table or a file of its own. If you know that it shows none, declare it: "
                "public_by_declaration=True, which the ledger records."
            )


def refuse_two_records(tables: Sequence[Declared]) -> None:
    """Refuse two declarations of one table: a record would be two, each with the whole budget."""
    origins = [source_origins(table.source) for table in tables]
    for one, other in combinations(origins, 2):
        shared = one.shared(other)
        if shared:
            raise InvalidRequest(
                f"two prdp.graphs.Records have one source ({shared}), so its records would count twice. "
                "Write persons = prdp.graphs.Records(...) once, and "
                "records={'sender': persons, 'receiver': persons}."
            )


def refuse_others_rows(rows: object, records: Mapping[str, Declared]) -> None:
    """Refuse rows that are a private table's own, unless each names its own record by that table's key."""
    origins = source_origins(rows)
    for column, table in records.items():
        shared = origins.shared(source_origins(table.source))
        if not shared:
            continue
        as_it_is = rows is table.source or (_is_path(rows) and _is_path(table.source))
        own = [other for name, other in records.items() if name.lower() == table.key.lower()]
        if as_it_is and own and own[0] is table:
            continue
        first = (
            ""
            if as_it_is
            else "Give the very same source as rows and in prdp.graphs.Records; .where filters. "
        )
        raise InvalidRequest(
            f"the rows and the records that {column!r} names have one source ({shared}), so that each row is "
            f"some record's own, and has to name that one by its key {table.key!r} as well. {first}"
            f"To count them, {by_links(table.key, column)}"
        )


def refuse_private_nodes(edges: object, nodes: object) -> None:
    """Refuse nodes that are read from the edges."""
    private, public = source_origins(edges), source_origins(nodes)
    shared = private.shared(public)
    if shared:
        raise InvalidRequest(
            f"nodes= and the edges have one source ({shared}), but who has an edge is private, and the nodes "
            "are public. Write nodes=range(1000), or a list that does not come from the edges."
        )
    if reason := untraced_reason([private], public):
        raise InvalidRequest(
            f"whether nodes= come from the edges cannot be traced ({reason}), and who has an edge is "
            "private. Write nodes=range(1000), or a list."
        )


def _instead(tree: Tree, one: str, other: str) -> str:
    """Return what to write for two tables that are one."""
    if tree.private in {one, other}:
        reference = tree.joined_by[other if one == tree.private else one]
        return f"A table that refers to itself can be counted: {by_links(tree.key, reference.column)}"
    return (
        "Rows that name records in several columns can be counted: write "
        "prdp.graphs.open_links(rows, records={'buyer': persons, 'seller': persons})."
    )


def _is_path(source: object) -> bool:
    return isinstance(source, str | Path | list | tuple)
