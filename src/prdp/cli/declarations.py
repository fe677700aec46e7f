"""Columns, bounds and records as they are written on the command line."""

from __future__ import annotations

import re
from difflib import get_close_matches
from fractions import Fraction

import typer

from prdp.cli.policy_facts import DeclaredColumns
from prdp.declare.exact import exact
from prdp.errors import ExpressionError, InvalidRequest, PolicyError, PrdpError
from prdp.expressions.spelling import shown_name
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind

_NUMBER = ColumnType(Kind.NUMBER, native="DOUBLE")
_WHOLE = ColumnType(Kind.NUMBER, integer=True, native="BIGINT")
_TEXT = ColumnType(Kind.TEXT, native="VARCHAR")
_OPTIONS = {"at_most": "--at-most 10", "at_least": "--at-least 1e-6"}


def declared_columns(policy: Policy, bounds: list[str], text: list[str], whole: list[str]) -> DeclaredColumns:
    """Return the columns that the options name, and those of the policy that none of them does.

    A name that is close to a declared one is taken for a slip and not added: the check of the policy
    then says which one was meant.
    """
    ends = dict(_bounds_of(part) for option in bounds for part in _parts(option))
    numbers = dict.fromkeys(ends, _NUMBER) | dict.fromkeys(whole, _WHOLE)
    both = [name for name in text if name in numbers]
    if both:
        raise InvalidRequest(f"{both[0]} cannot be text (--text) and a number (--bounds, --whole) at once.")
    named = numbers | dict.fromkeys(text, _TEXT)
    known = {name.lower() for name in named}
    assumed = tuple(
        name
        for name in sorted(policy.columns)
        if name.lower() not in known and not get_close_matches(name.lower(), known, n=1)
    )
    return DeclaredColumns(named | dict.fromkeys(assumed, _NUMBER), ends, assumed)


def _bounds_of(option: str) -> tuple[str, tuple[Fraction, Fraction]]:
    name, _, ends = option.rpartition("=")
    low, colon, high = ends.partition(":")
    if not name or not colon:
        raise InvalidRequest(f"--bounds {option} is not of the form COLUMN=LOW:HIGH, such as balance=0:1e12.")
    least, most = (exact(end, f"--bounds {name}") for end in (low, high))
    if least > most:
        raise InvalidRequest(
            f"--bounds {option} is reversed: the least value comes first. Write {name}={high}:{low}."
        )
    return name, (least, most)


def _parts(option: str) -> list[str]:
    """Return the NAME=... parts of an option in which commas part them."""
    return re.split(r",(?=[^,=]+=)", option)


def record_of(options: list[str], policy: Policy, declared: DeclaredColumns) -> dict[str, object]:
    """Return the record that ``--record`` options say, holding every column that the policy reads."""
    record: dict[str, object] = {}
    for part in (part for option in options for part in _parts(option)):
        name, equals, value = part.partition("=")
        if not name or not equals:
            raise InvalidRequest(f"--record {part} is not of the form COLUMN=VALUE, such as balance=5000.")
        spelled = {column.lower(): column for column in declared.schema}.get(name.strip().lower(), name)
        if spelled not in declared.schema or spelled in record:
            what = "twice" if spelled in record else "but neither the policy nor an option does"
            raise InvalidRequest(f"--record names {name.strip()} {what}.")
        record[spelled] = _value(spelled, value.strip(), declared)
    missing = sorted(policy.columns - record.keys())
    if missing:
        example = ",".join(f"{name}=..." for name in missing)
        raise InvalidRequest(
            f"--record says nothing about {missing[0]}, which the policy reads: add {example}"
        )
    return record


def _value(name: str, value: str, declared: DeclaredColumns) -> object:
    if not value:
        return None
    kind = declared.schema.get(name, _TEXT).kind
    return exact(value, f"--record {name}") if kind is Kind.NUMBER else value


def with_options(error: InvalidRequest, policy: Policy, declared: DeclaredColumns) -> InvalidRequest:
    """Return an error with the command line's spelling of what it asks for."""
    unbounded = [name for name in declared.schema if name in policy.columns and name not in declared.bounds]
    if isinstance(error, ExpressionError) and declared.assumed:
        name = declared.assumed[0]
        return InvalidRequest(
            *error.parts,
            f"\n\n{shown_name(name)} is taken for a number, because no option names it. If it holds "
            f"text, add --text {name}",
        )
    if not isinstance(error, PolicyError):
        return error
    options = [f"--bounds {name}=LOW:HIGH" for name in unbounded if "bounds" in error.arguments]
    options += [spelled for name, spelled in _OPTIONS.items() if name in error.arguments]
    return PolicyError(*error.parts, f"\nHere that is {' or '.join(options)}") if options else error


def column_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the policy's columns that a half-typed name may mean, for completion in a shell."""
    try:
        names = Policy(str(ctx.params.get("expression") or "")).columns
    except PrdpError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))
