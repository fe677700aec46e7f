"""``prdp ledger`` by region: what each one has left, charge by charge; filters and quotas."""

from __future__ import annotations

from rich.console import RenderableType

from prdp.cli.messages import complain, plain
from prdp.cli.printing import grid
from prdp.declare.exact import exact, spelled
from prdp.engines._sources import column_type
from prdp.errors import InvalidRequest, shown_part
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.ledger import DurableLedger
from prdp.ledger.by_region import Spent, left_in, whom
from prdp.regions.filters import filter_region
from prdp.regions.form import region_to_json
from prdp.regions.region import EVERYBODY
from prdp.regions.words import region_words
from prdp.schema import Kind

_SHOWN = 20
_BAR = 20


def by_region(account: DurableLedger) -> list[RenderableType]:
    """Return the newest charges as a burn-down: whom each was charged to, and what they had left then."""
    fixed = account.fixed
    quotas = [f"quota of {plain(name)}: {spelled(share)}" for name, share in account.quotas.items()]
    if not fixed:
        return [*quotas, ""] if quotas else []
    charges = [Spent(one.number, one.purpose, one.share, one.notes.region) for one in account.entries]
    table = grid(("", "charged to", "share", "left to them", "", "left to all"), left=(1, 4), wraps=(1,))
    for one in charges[-_SHOWN:]:
        until = charges[: one.number + 1]
        region = whom(one.region, fixed)
        theirs, left = left_in(region, until, fixed), left_in(EVERYBODY, until, fixed)
        bar = "#" * int((1 - theirs) * _BAR) + "." * (_BAR - int((1 - theirs) * _BAR))
        cells = (str(one.number), plain(region_words(region)), str(one.share), shown_part(theirs), bar)
        table.add_row(*cells, shown_part(left))
    return [*quotas, table, ""]


def left_where(account: DurableLedger, condition: str) -> str:
    """Return what the records of a filter have left, in words."""
    schema = {name: column_type(native) for name, native in account.binding.facts.get("schema", {}).items()}
    node = check(parse(condition), schema, Kind.BOOLEAN, condition)
    narrows = account.fixed if not account.binding.facts.get("protect") else ()
    region = filter_region(node, schema, narrows)
    left = account.left_in(None if region == EVERYBODY else region_to_json(region))
    return f"{shown_part(left)} is left to {region_words(region)}"


def set_quota(account: DurableLedger, words: list[str]) -> None:
    """Limit what a name may spend, as the command line says it."""
    if len(words) != 3 or words[0] != "quota":
        raise InvalidRequest(
            f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE quota NAME SHARE."
        )
    _, name, share = words
    account.set_quota(name, exact(share, "share"))
    complain(f"{name} may spend {share} of any record's budget. The promise does not depend on quotas.")
