"""``prdp ledger``: what has been spent of a table's budgets, by whom, when and on what."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding

from prdp.cli.ledger_regions import by_region, left_where, set_quota
from prdp.cli.messages import complain, plain, write
from prdp.cli.printing import grid, number, show
from prdp.declare.exact import fraction_of
from prdp.errors import InvalidRequest, shown_part
from prdp.ledger import DurableLedger, Entry, shown_place
from prdp.ledger.binding import shown_fact
from prdp.ledger.export import clock_went_back
from prdp.pictures.account import plot_account
from prdp.plan.text import in_words
from prdp.projects.project import project
from prdp.release.custom import CustomRelease
from prdp.release.release import Release
from prdp.release.style import save
from prdp.release.table import Released
from prdp.safety.database_address import is_database, read_address

_PLOT = typer.Option(help="Draw the burn-down into a file (.png, .svg, .pdf, .html).", show_default=False)
_WHERE = typer.Option(
    help="Say what the records of a filter have left, such as 'week = 46'.", show_default=False
)
_BACKUP = typer.Option(help="Copy the ledger to a file that is not there yet.", show_default=False)
_BAR = 50
_MOST_ROWS = 12
_INDENT = 5
_FACTS = ("name", "protect", "policy", "at_least", "at_most", "bounds", "units", "schema")


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
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="quota NAME SHARE: a limit for a person; copy TO: to a file or database without one yet.",
            metavar="[quota NAME SHARE | copy TO]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the charges as CSV.")] = False,
    backup: Annotated[Path | None, _BACKUP] = None,
    plot: Annotated[Path | None, _PLOT] = None,
    where: Annotated[str | None, _WHERE] = None,
) -> None:
    """Show what is spent of a table's budgets, what is left, by whom, when and on what.

    prdp ledger FILE quota NAME SHARE limits what a name may spend of any record's budget.
    prdp ledger FILE copy TO copies a ledger exactly, from and to files and PostgreSQL.
    """
    if as_json and as_csv:
        raise InvalidRequest("--json and --csv are two exports: ask for one at a time.")
    file, words = _meant(file, list(words or []))
    to_read = not any((words, as_json, as_csv, backup, plot, where))
    account = DurableLedger(_only_ledger_here(to_read=to_read) if file is None else _without_password(file))
    if (words or where is not None) and (as_json or as_csv or backup is not None or (words and where)):
        raise InvalidRequest("quota, copy and --where stand alone: leave the other options away.")
    if words:
        _copy(account, words) if words[0] == "copy" else set_quota(account, words)
        return
    if where is not None:
        write(left_where(account, where))
        return
    if plot is not None:
        save(plot_account(account), plot)
    if backup is not None:
        account.backup(backup)
        complain(f"{account.shown} is copied to {backup}.")
    if as_csv:
        write(account.export("csv").rstrip("\n"))
    elif as_json:
        write(account.export("json"))
    else:
        _show(account)


def _meant(file: str | None, words: list[str]) -> tuple[str | None, list[str]]:
    """Return the ledger and what is to be done with it, where the ledger is left away or said second."""
    if file == "copy" and len(words) == 2:  # as cp has it
        return words[0], ["copy", words[1]]
    if file is not None and file in {"quota", "copy"}:
        return None, [file, *words]
    return file, words


def _without_password(given: str) -> str:
    """Return where a ledger is; a password on the command line could be seen by others on the machine."""
    if is_database(given) and read_address(given, ["ledger"]).has_password:
        raise InvalidRequest(
            "a password on the command line can be seen by others. Leave it out of the address, and set "
            "PGPASSWORD or write it into ~/.pgpass."
        )
    return given


def _copy(account: DurableLedger, words: list[str]) -> None:
    """Copy a ledger to where there is none yet, as the command line says it."""
    if len(words) != 2:
        raise InvalidRequest(f"{' '.join(words)!r} is not understood. Write: prdp ledger FILE copy TO.")
    to = _without_password(words[1])
    account.backup(to)
    complain(
        f"{account.shown} is copied to {shown_place(to)}, {len(account.entries):,} charges. They are two "
        "accounts from now on, and neither knows what is spent under the other: ask under one of them only."
    )


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
    bar = _bar(account.left, by_region=bool(account.fixed))
    show(plain(str(shown)), "", facts, "", *bar, "", *by_region(account), *entries)


def _bar(left: Fraction, *, by_region: bool) -> list[str]:
    spent = 1 - left
    room = min(_BAR, Console().width - 2)
    filled = int(spent * room)
    if spent and not filled:
        filled = 1
    words = [
        f"{least}{shown_part(part)} {what} ({float(100 * part):.3g} %)"
        for part, what, least in (
            (spent, "spent", "at most " if by_region else ""),
            (left, "left", "at least " if by_region else ""),
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
    if len(release) > _MOST_ROWS:
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
    if isinstance(value, list) and name == "fixed":
        return ", ".join(map(str, value))
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)
