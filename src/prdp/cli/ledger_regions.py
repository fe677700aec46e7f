"""``prdp ledger`` by region: what each one has left, and how it got there; filters and quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich.console import RenderableType

from prdp.cli.messages import complain, plain
from prdp.cli.printing import grid
from prdp.declare.exact import spelled
from prdp.engines._sources import column_type
from prdp.errors import InvalidRequest, shown_part
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.ledger import DurableLedger
from prdp.ledger.by_region import Spent, left_in, whom
from prdp.regions.depth import spent_in
from prdp.regions.filters import filter_region
from prdp.regions.form import region_to_json
from prdp.regions.region import EVERYBODY
from prdp.regions.words import region_words
from prdp.schema import Kind

_SHOWN = 20
_BAR = 20


def by_region(account: DurableLedger) -> list[RenderableType]:
    """Return quotas, what each region has left, and the newest charges as a burn-down."""
    fixed = account.fixed
    charges = [
        Spent(one.number, one.purpose, one.share, whom(one.notes.region, fixed), one.notes.quota)
        for one in account.entries
    ]
    quotas: list[RenderableType] = [*_quotas(account, charges)]
    if quotas:
        quotas.append("")
    if not fixed or not charges:
        return quotas
    return [*quotas, *_regions(charges), "", *_burn_down(charges), ""]


def _quotas(account: DurableLedger, charges: Sequence[Spent]) -> Iterator[str]:
    for name, quota in account.quotas.items():
        own = [(one.region, one.share) for one in charges if one.quota == name]
        left = max(Fraction(0), quota - spent_in(EVERYBODY, own))
        yield f"quota of {plain(name)}: {spelled(quota)}, of which {shown_part(left)} is left for all records"


def _regions(charges: Sequence[Spent]) -> Iterator[RenderableType]:
    """Yield the regions that were charged last, with what all of their records have left by now."""
    times = Counter(one.region for one in charges)
    newest = list(dict.fromkeys(one.region for one in reversed(charges)))
    table = grid(("by region", "charges", "left", ""), left=(0, 3), wraps=(0,))
    for region in newest[:_SHOWN]:
        left = left_in(region, charges)
        table.add_row(plain(region_words(region)), f"{times[region]:,}", shown_part(left), _bar(left))
    yield table
    if len(newest) > _SHOWN:
        yield f"... and {len(newest) - _SHOWN:,} regions that were charged before; --where asks about any."


def _burn_down(charges: Sequence[Spent]) -> Iterator[RenderableType]:
    """Yield the newest charges, with what was left after each: to those who were charged, and to all."""
    table = grid(
        ("burn-down", "charged to", "share", "left to them", "left to all", ""), left=(1, 5), wraps=(1,)
    )
    before = charges[:-_SHOWN]
    left = left_in(EVERYBODY, before)
    for one in charges[-_SHOWN:]:
        theirs = left_in(one.region, charges[: one.number + 1])
        left = min(left, theirs)  # nobody else has less than before
        cells = (str(one.number), plain(region_words(one.region)), str(one.share))
        table.add_row(*cells, shown_part(theirs), shown_part(left), _bar(left))
    yield table
    if before:
        yield f"... after {len(before):,} earlier charges"


def _bar(left: Fraction) -> str:
    filled = int((1 - left) * _BAR)
    return "#" * filled + "." * (_BAR - filled)


def left_where(account: DurableLedger, condition: str) -> str:
    """Return what the records of a filter have left, in words."""
    schema = {name: column_type(native) for name, native in account.binding.facts.get("schema", {}).items()}
    node = check(parse(condition), schema, Kind.BOOLEAN, condition)
    region = filter_region(node, schema, account.fixed)
    left = account.left_in(None if region == EVERYBODY else region_to_json(region))
    return f"{'all' if left == 1 else shown_part(left)} is left to {region_words(region)}"


def set_quota(account: DurableLedger, words: list[str]) -> None:
    """Limit what a name may spend, as the command line says it."""
    if len(words) != 3 or words[0] != "quota":
        raise InvalidRequest(
            f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE quota NAME SHARE."
        )
    _, name, share = words
    account.set_quota(name, share)
    complain(f"{name} may spend {share} of any record's budget. The promise does not depend on quotas.")
