"""``prdp ledger``: charges to a table's budgets, with author, time and query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding

from prdp.cli.messages import complain, plain, write
from prdp.cli.printing import grid, number, show
from prdp.declare.exact import fraction_of, spelled
from prdp.engines.sources.checks import column_type
from prdp.errors import InvalidRequest, shown_part
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.ledger import DurableLedger, Entry, shown_place
from prdp.ledger.account import Spent, charged_region, remaining_in
from prdp.ledger.binding import shown_fact
from prdp.ledger.export import clock_went_back
from prdp.pictures import plot_account
from prdp.plan.question_key import in_words
from prdp.projects.project import project
from prdp.projects.toml_file import from_environment
from prdp.regions.max_overlap import spent_in
from prdp.regions.query_region import filter_region
from prdp.regions.region import EVERYBODY, region_to_json, region_words
from prdp.release.release import Release
from prdp.release.style import save
from prdp.release.table import CustomRelease, Released
from prdp.safety.plain_text import printable, safe_json
from prdp.schema import Kind

_SHOWN = 20
_REGION_BAR = 20


class Export(StrEnum):
    """Output formats of an account."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def by_region(account: DurableLedger) -> list[RenderableType]:
    """Return quotas, what each region has left, and the newest charges as a burn-down."""
    immutable = account.immutable
    charges = [
        Spent(
            one.number, one.purpose, one.share, charged_region(one.notes.region, immutable), one.notes.quota
        )
        for one in account.entries
    ]
    quotas: list[RenderableType] = [*_quotas(account, charges)]
    if quotas:
        quotas.append("")
    if not immutable or not charges:
        return quotas
    return [*quotas, *_regions(charges), "", *_burn_down(charges), ""]


def _quotas(account: DurableLedger, charges: Sequence[Spent]) -> Iterator[str]:
    for name, quota in account.quotas.items():
        own = [(one.region, one.share) for one in charges if one.quota == name]
        remaining = max(Fraction(0), quota - spent_in(EVERYBODY, own))
        yield f"quota of {plain(name)}: {spelled(quota)}, {shown_part(remaining)} of it left for all records"


def _regions(charges: Sequence[Spent]) -> Iterator[RenderableType]:
    """Yield the regions that were charged last, with what all of their records have left by now."""
    times = Counter(one.region for one in charges)
    newest = list(dict.fromkeys(one.region for one in reversed(charges)))
    table = grid(("by region", "charges", "remaining", ""), left=(0, 3), wraps=(0,))
    for region in newest[:_SHOWN]:
        remaining = remaining_in(region, charges)
        table.add_row(
            plain(region_words(region)), f"{times[region]:,}", shown_part(remaining), _region_bar(remaining)
        )
    yield table
    if len(newest) > _SHOWN:
        yield f"... and {len(newest) - _SHOWN:,} regions that were charged before; --where asks about any."


def _burn_down(charges: Sequence[Spent]) -> Iterator[RenderableType]:
    """Yield the newest charges, with what was left after each: to those who were charged, and to all."""
    table = grid(
        ("burn-down", "charged to", "share", "left to them", "left to all", ""), left=(1, 5), wraps=(1,)
    )
    before = charges[:-_SHOWN]
    remaining = remaining_in(EVERYBODY, before)
    for one in charges[-_SHOWN:]:
        theirs = remaining_in(one.region, charges[: one.number + 1])
        remaining = min(remaining, theirs)  # nobody else has less than before
        cells = (str(one.number), plain(region_words(one.region)), str(one.share))
        table.add_row(*cells, shown_part(theirs), shown_part(remaining), _region_bar(remaining))
    yield table
    if before:
        yield f"... after {len(before):,} earlier charges"


def _region_bar(remaining: Fraction) -> str:
    filled = int((1 - remaining) * _REGION_BAR)
    return "#" * filled + "." * (_REGION_BAR - filled)


def remaining_where(account: DurableLedger, condition: str) -> str:
    """Return what the records of a filter have left, in words."""
    schema = {name: column_type(native) for name, native in account.binding.facts.get("schema", {}).items()}
    node = check(parse(condition), schema, Kind.BOOLEAN, condition)
    region = filter_region(node, schema, account.immutable)
    remaining = account.remaining_in(None if region == EVERYBODY else region_to_json(region))
    whose = region_words(region)
    known = whose if not region.boxes or region == EVERYBODY else f"records with {whose}"
    return f"{'all' if remaining == 1 else shown_part(remaining)} of the budget remains for {known}"


def set_quota(account: DurableLedger, words: list[str]) -> None:
    """Limit what a name may spend, as the command line says it."""
    if len(words) != 3 or words[0] != "quota":
        raise InvalidRequest(
            f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE quota NAME SHARE."
        )
    _, name, share = words
    account.set_quota(name, share)
    complain(f"{name} may spend {share} of any record's budget. The promise does not depend on quotas.")


_FORMAT = typer.Option("--format", help="How to print it; by default a table.", show_default=False)
_PLOT = typer.Option(help="Draw the burn-down into a file (.png, .svg, .pdf, .html).", show_default=False)
_WHERE = typer.Option(
    help="Print what remains for the records of a filter, such as 'week = 46'.", show_default=False
)
_BACKUP = typer.Option(help="Copy the ledger to a file that is not there yet.", show_default=False)
_HEAD = typer.Option(
    help="With verify: a head that was kept elsewhere, whose rows must be there.", show_default=False
)
_WORDS = typer.Argument(
    help="verify: check every row; head: print the newest row's hash; quota NAME SHARE: a limit for a "
    "person; copy TO: to a file or database without one yet.",
    metavar="[verify | head | quota NAME SHARE | copy TO]",
)
_BAR = 50
_MAX_ROWS = 12
_INDENT = 5
_FACTS = ("name", "privacy_unit", "notion", "policy", "at_least", "at_most", "bounds", "units", "schema")


def _ledgers_here(incomplete: str) -> list[str]:
    """Return the ledgers and folders that a half-typed path may mean."""
    folder = incomplete[: incomplete.rfind("/") + 1]
    found = [path for path in sorted(Path(folder).glob("*")) if path.is_dir() or path.suffix == ".ledger"]
    shown = [path for path in found if not path.name.startswith(".")]
    names = [f"{folder}{path.name}" + ("/" if path.is_dir() else "") for path in shown]
    return [name for name in names if name.startswith(incomplete)]


def ledger(  # noqa: PLR0917  (each is an option)
    file: Annotated[
        str | None,
        typer.Argument(
            help="The ledger, a file or postgresql://...; by default, the folder's or the project's.",
            metavar="FILE",
            autocompletion=_ledgers_here,
            show_default=False,
        ),
    ] = None,
    words: Annotated[list[str] | None, _WORDS] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the charges as CSV.")] = False,
    form: Annotated[Export | None, _FORMAT] = None,
    backup: Annotated[Path | None, _BACKUP] = None,
    plot: Annotated[Path | None, _PLOT] = None,
    where: Annotated[str | None, _WHERE] = None,
    head: Annotated[str | None, _HEAD] = None,
) -> None:
    """Show what was spent of a table's budgets and what remains, with author, time and query.

    prdp ledger FILE verify checks every row of the hash chain; with --head HASH, also that the ledger has
    the row of a head that was printed before by prdp ledger FILE head and kept elsewhere.
    prdp ledger FILE quota NAME SHARE limits what a name may spend of any record's budget.
    prdp ledger FILE copy TO copies a ledger exactly, from and to files and PostgreSQL.
    """
    as_json, as_csv = as_json or form is Export.JSON, as_csv or form is Export.CSV
    if as_json and as_csv:
        raise InvalidRequest("--json and --csv are two exports: ask for one at a time.")
    file, words = _meant(file, list(words or []))
    to_read = not any((words, as_json, as_csv, backup, plot, where))
    if head is not None and words != ["verify"]:
        raise InvalidRequest("--head is for verify: prdp ledger FILE verify --head HASH.")
    place = _only_ledger_here(to_read=to_read) if file is None else from_environment(file)
    account = DurableLedger(place, expected_head=head)
    if (words or where is not None) and (as_json or as_csv or backup is not None or (words and where)):
        raise InvalidRequest(
            "verify, head, quota, copy and --where cannot be combined: remove the other options."
        )
    if words:
        _ACTS.get(words[0], set_quota)(account, words)
        return
    if where is not None:
        write(remaining_where(account, where))
        return
    if plot is not None:
        save(plot_account(account), plot)
    if backup is not None:
        account.backup(backup)
        complain(f"{account.shown} is copied to {backup}.")
    if as_csv:
        write(printable(account.export("csv").rstrip("\n"), "\n\t"))
    elif as_json:
        write(safe_json(account.export("json")))
    else:
        _show(account)


def _meant(file: str | None, words: list[str]) -> tuple[str | None, list[str]]:
    """Return the ledger and what is to be done with it, where the ledger is omitted or given second."""
    if file == "copy" and len(words) == 2:  # as cp has it
        return words[0], ["copy", words[1]]
    if file in {"verify", "head"} and len(words) == 1:
        return words[0], [file]
    if file is not None and file in {"quota", "copy", "verify", "head"}:
        return None, [file, *words]
    return file, words


def _verify(account: DurableLedger, words: list[str]) -> None:
    """Report that every row was verified, as opening the ledger does."""
    _refuse_more_than_one(words)
    answered = sum(entry.release is not None for entry in account.entries)
    write(f"{account.shown}: every row follows from the one before it.")
    write(f"{len(account.entries):,} charges, {answered:,} answers, {shown_part(account.remaining)} left")
    write(f"head {account.head}")


def _head(account: DurableLedger, words: list[str]) -> None:
    """Print the newest row's hash alone, to be kept elsewhere."""
    _refuse_more_than_one(words)
    write(account.head)


def _refuse_more_than_one(words: list[str]) -> None:
    if len(words) > 1:
        raise InvalidRequest(f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE {words[0]}.")


def _copy(account: DurableLedger, words: list[str]) -> None:
    """Copy a ledger to where there is none yet, as the command line says it."""
    if len(words) != 2:
        raise InvalidRequest(f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE copy TO.")
    to = from_environment(words[1])
    account.backup(to)
    complain(
        f"{account.shown} is copied to {shown_place(to)}, {len(account.entries):,} charges. They are two "
        "accounts from now on, and neither knows what is spent under the other: ask under one of them only."
    )


_ACTS = {"verify": _verify, "head": _head, "copy": _copy}
"""The words that are followed by less than a quota's name and share."""


def _only_ledger_here(*, to_read: bool) -> Path | str:
    """Return the only ledger of this folder, or of the project around it; to a reader, none is no mistake."""
    found: list[Path | str] = [*sorted(Path().glob("*.ledger"))]
    if len(found) != 1:
        with suppress(InvalidRequest):  # there is no project, or it cannot be read
            opened = project()
            begun = [opened.ledger_of(name) for name in opened if opened.is_begun(name)]
            if not begun and not found and to_read:
                write("Nothing has been asked yet. The first prdp ask begins the ledger.")
                raise typer.Exit
            found = begun or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidRequest(
            "there is no *.ledger file in this folder. Say which ledger you mean: prdp ledger FILE."
        )
    listed = "\n".join(f"  {shown_place(place)}" for place in found)
    raise InvalidRequest(
        f"there are {len(found)} ledgers here:\n{listed}\nSay which one you mean: prdp ledger FILE."
    )


def _show(account: DurableLedger) -> None:
    facts = grid(("bound to", ""), left=(0, 1), wraps=(1,))
    for name, words in _facts(account.binding.facts):
        facts.add_row(f"  {plain(name)}", plain(words))
    dated = zip(account.entries, clock_went_back(account.entries), strict=True)
    entries = [part for entry, back in dated for part in _entry(entry, back)] or [
        "Nothing has been asked yet."
    ]
    unanswered = sum(entry.release is None for entry in account.entries)
    if unanswered:
        entries += ["", f"{unanswered} unanswered: ask the same question again, it costs nothing more."]
    here, shown = Path.cwd(), account.path or account.shown
    if account.path and account.path.is_relative_to(here):
        shown = account.path.relative_to(here)
    bar = _bar(account.remaining, by_region=bool(account.immutable))
    show(plain(str(shown)), "", facts, "", *bar, "", *by_region(account), *entries)


def _bar(remaining: Fraction, *, by_region: bool) -> list[str]:
    spent = 1 - remaining
    room = min(_BAR, Console().width - 2)
    filled = int(spent * room)
    if spent and not filled:
        filled = 1
    words = [
        f"{least}{shown_part(part)} {what} ({float(100 * part):.3g} %)"
        for part, what, least in (
            (spent, "spent", "at most " if by_region else ""),
            (remaining, "left", "at least " if by_region else ""),
        )
    ]
    return [f"[{'#' * filled}{'.' * (room - filled)}]", f"{', '.join(words)} of every budget"]


def _entry(entry: Entry, clock_went_back: bool) -> list[RenderableType]:
    when = entry.at.replace("T", " ").removesuffix("+00:00")
    mark = "  (! the clock went back)" if clock_went_back else ""
    first = f"{entry.number:>3}  {when}  {plain(entry.who)}  share {entry.share}{mark}"
    texts = [in_words(entry.purpose), *_answer(entry.release)]
    return [first, *(Padding(plain(text), (0, 0, 0, _INDENT)) for text in texts)]


def _answer(release: Released | None) -> list[str]:
    """Return an answer in words, a short table row by row."""
    if release is None:
        return ["! unanswered"]
    if isinstance(release, CustomRelease):
        return ["! the mechanism failed" if release.failed else f"{release.value}"]
    if isinstance(release, Release):
        flag = f"; {release.flag}" if release.flag else ""
        return [f"{release.short} ({release.kind}{flag})"]
    if len(release) > _MAX_ROWS:
        return [f"{len(release)} rows (--json and --csv show them)"]
    return release.lines_within(Console().width - _INDENT)


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts in words: the well-known ones first, empty ones not at all."""
    names = [*(name for name in _FACTS if name in facts), *(name for name in facts if name not in _FACTS)]
    return [(shown_fact(name).replace("_", " "), _fact(name, facts[name])) for name in names if facts[name]]


def _fact(name: str, value: Any) -> str:
    if name in {"at_least", "at_most"}:
        return number(fraction_of(value), 6)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_fact('', inner)}" for key, inner in value.items())
    if isinstance(value, list) and name == "immutable":
        return ", ".join(map(str, value))
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)
