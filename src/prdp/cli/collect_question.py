"""What ``prdp collect init`` asks, from its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prdp.cli.declarations import declared_columns, with_options
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.policy import Policy

if TYPE_CHECKING:
    from prdp.collector.plan import StudyPlan

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def plan_of(
    name: str, expression: str, bounds: list[str], ends: tuple[str | None, str | None], *, ask: str,
    column: str | None, values: str | None, reports: int | None, within: str | None, **more: Any,
) -> StudyPlan:  # fmt: skip
    """Return the plan that the options describe."""
    from prdp.collector.plan import Closing, StudyPlan  # noqa: PLC0415  (the other commands start without it)

    given = Policy(expression, at_least=ends[0], at_most=ends[1])
    declared = declared_columns(given, bounds, [], [])
    try:
        policy = given.within(declared.schema, declared.bounds)
    except InvalidRequest as error:
        raise with_options(error, given, declared) from None
    own: Any = declared.bounds.get(column) if column else None
    parts = [part.strip() for part in (values or "").split(",") if part.strip()]
    binned = ask == "quantiles" or (column in declared.bounds and ask == "frequencies")
    if ask in ("sum", "mean") and column and own is None:
        raise InvalidRequest(f"--ask {ask} needs bounds: add --bounds {column}=LOW:HIGH")
    kind: Any = ask
    return StudyPlan(
        name, kind, policy, column=column, bounds=own if ask in ("sum", "mean") else None,
        edges=tuple(exact(part, "--values") for part in parts) if binned else (),
        categories=() if binned else tuple(parts), closing=Closing(reports, _seconds(within)), **more,
    )  # fmt: skip


def _seconds(text: str | None) -> int | None:
    """Return a time such as 90s, 30m, 24h or 7d in seconds.

    >>> _seconds("24h"), _seconds("7d"), _seconds(None)
    (86400, 604800, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise InvalidRequest(f"--within {text} is no time: write 90s, 30m, 24h or 7d.")
    return int(found[1]) * _SECONDS[found[2]]
