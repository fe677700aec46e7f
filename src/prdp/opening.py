"""What every door to several tables checks in the same way: the policy, the name and the number of rows."""

from __future__ import annotations

import warnings

from prdp.errors import InvalidRequest, RecordsLeftOut
from prdp.expressions.spelling import is_writable
from prdp.policy import Policy
from prdp.schema import Bounds, Schema

_MOST_ROWS = 2**40


def fitted_policy(policy: Policy, schema: Schema, bounds: Bounds) -> Policy:
    """Return a policy fitted to a table, with a warning where the bounds allow records that it leaves out."""
    if not isinstance(policy, Policy):
        raise InvalidRequest(f"policy={policy!r} is not a policy. Write policy=prdp.Policy('100 / weight').")
    fitted = policy.within(schema, bounds)
    left_out = fitted.left_out(bounds, [column for column, kind in schema.items() if kind.integer])
    if left_out:
        warnings.warn(left_out, RecordsLeftOut, stacklevel=3)
    return fitted


def name_of(given: str | None, default: str) -> str:
    """Return what the caller calls the tables, or a default."""
    name = default if given is None else given
    if not isinstance(name, str) or not is_writable(name):
        raise InvalidRequest(f"name={given!r} is no name: write a text.")
    return name


def refuse_unless_rows(most_rows: int) -> None:
    """Refuse what is no bound of a record's results."""
    if not isinstance(most_rows, int) or isinstance(most_rows, bool) or not 1 <= most_rows <= _MOST_ROWS:
        raise InvalidRequest(f"most_rows={most_rows!r} is no number of rows: a whole number, 1 to 2^40.")
