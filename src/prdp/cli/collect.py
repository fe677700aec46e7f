"""``prdp collect``: opens a study to clients who trust nobody, and takes their reports in."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prdp.cli.collect_view import OpenedStudy, show_result, show_status
from prdp.cli.declarations import declared_columns, with_options
from prdp.cli.messages import complain, plain
from prdp.cli.printing import show, show_json, waiting
from prdp.declare.exact import exact
from prdp.errors import CollectorError, InvalidRequest
from prdp.policy import Policy
from prdp.projects.environment import from_environment

if TYPE_CHECKING:
    from prdp.collector.plan import StudyPlan
    from prdp.collector.server.group_commit import Desk


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


collect = typer.Typer(
    name="collect",
    help="The collector of the local model: takes the reports of real clients in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_OPERATOR = "PRDP_OPERATOR_TOKEN"
_JSON = typer.Option("--json", help="Print everything as JSON.")
_STORE = typer.Argument(
    help="The study's store: a file such as visits.collect, or postgresql://USER@HOST/DATABASE.",
    metavar="STORE",
)
_WHERE = typer.Argument(
    help="The study: its store, or the address of its collector, such as https://study.example.",
    metavar="STORE|URL",
)


def _option(explained: str, metavar: str) -> Any:
    return typer.Option(help=explained, metavar=metavar, show_default=False)


_EXPRESSION = typer.Option(
    "--policy",
    help="The budget of a record, such as '20 / visits'.",
    metavar="EXPRESSION",
    show_default=False,
)
_BOUNDS = _option("A number column and its public bounds; may be repeated.", "COLUMN=LOW:HIGH")
_AT_LEAST = _option("The smallest budget; clients with less are dummies.", "BUDGET")
_VALUES = _option("The public categories, parted by commas, or the edges of bins.", "VALUE,...")
_BETA = _option("The chance of taking noise for clients; 1/10 by default.", "CHANCE")
_SHARE = _option("The part of every budget to use; 1 by default.", "SHARE")
_ROUND_TO = _option("What values are rounded to; 1 by default.", "NUMBER")
_WITHIN = _option("Close a round so long after it opened, such as 24h or 7d.", "TIME")
_TICKETS_TO = _option("The new file to write the tickets to, one a line.", "FILE")


@collect.command()
def init(
    *,
    store: Annotated[str, _STORE],
    name: Annotated[str, _option("What people call the study.", "NAME")],
    expression: Annotated[str, _EXPRESSION],
    ask: Annotated[str, typer.Option(help="count, sum, mean, frequencies or quantiles.")] = "count",
    column: Annotated[str | None, _option("What to add up, sort or count by.", "COLUMN")] = None,
    method: Annotated[str | None, _option("How to ask; a good way by default.", "METHOD")] = None,
    bounds: Annotated[list[str] | None, _BOUNDS] = None,
    at_most: Annotated[str | None, _option("The largest budget.", "BUDGET")] = None,
    at_least: Annotated[str | None, _AT_LEAST] = None,
    round_to: Annotated[str, _ROUND_TO] = "1",
    values: Annotated[str | None, _VALUES] = None,
    share: Annotated[str, _SHARE] = "1",
    beta: Annotated[str, _BETA] = "1/10",
    reports: Annotated[int | None, _option("Close a round at so many reports.", "NUMBER")] = None,
    within: Annotated[str | None, _WITHIN] = None,
    tickets: Annotated[int, typer.Option(min=0, help="How many tickets to give out.")] = 0,
    tickets_to: Annotated[Path | None, _TICKETS_TO] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Make a store for a study and open its first round.

    The operator's token and the tickets are shown once: the store holds their hashes alone.
    """
    from prdp.collector.rounds import begin  # noqa: PLC0415  (the other commands start without it)

    address = from_environment(store)
    made = plan_of(
        name, expression, bounds or [], (at_least, at_most), ask=ask, column=column, method=method,
        round_to=round_to, values=values, share=share, beta=beta, reports=reports, within=within,
    )  # fmt: skip
    if tickets and tickets_to is None and not as_json:
        raise InvalidRequest("tickets are shown once: say where to with --tickets-to FILE, or add --json.")
    with _private_file(tickets_to) as write_tickets, waiting("giving tickets out"):
        begun = begin(address, made, tickets=tickets, now=int(time.time()))
        write_tickets("".join(f"{ticket}\n" for ticket in begun.tickets))
    if as_json:
        shown = [] if tickets_to is not None else list(begun.tickets)
        show_json({"study": made.digest.hex(), "operator_token": begun.operator_token, "tickets": shown})
    else:
        given = f"{tickets:,} tickets are in {tickets_to}." if tickets else "No tickets were given out yet."
        _show_begun(made, begun.operator_token, given, store)


def _show_begun(made: StudyPlan, token: str, given: str, store: str) -> None:
    where = "STORE" if "://" in store else shlex.quote(plain(store))
    show(
        f"{plain(made.name)} is open: {made.closing.words}.",
        f"study {made.digest.hex()}",
        given,
        "",
        "The operator's token, which is shown this once:",
        f"  {token}",
        "",
        f"Serve it:  prdp collect serve {where}",
    )


@contextmanager
def _private_file(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Make a new file that its owner alone may read; yields what to call with its text. None is no file."""
    if path is None:
        yield lambda _: None
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already: tickets are not written over it.") from None
    written: list[bool] = []

    def write(text: str) -> None:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        written.append(True)

    with open(handle, "w", encoding="ascii") as file:
        try:
            yield write
        finally:
            if not written:
                path.unlink()


@collect.command()
def serve(
    *,
    store: Annotated[str, _STORE],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 for any free one.")] = 8080,
    rate: Annotated[
        float, typer.Option(min=0, help="How many requests a second one address may make; 0 for no limit.")
    ] = 20.0,
    front: Annotated[
        str | None,
        _option("The address of a reverse proxy whose X-Forwarded-For is believed.", "ADDRESS"),
    ] = None,
    origin: Annotated[
        list[str] | None, _option("An origin whose web pages may send reports too.", "https://HOST")
    ] = None,
) -> None:
    """Take reports in until Ctrl-C; nothing is logged of any request."""
    try:
        from prdp.collector.server.rates import Rates  # noqa: PLC0415  (an extra)
        from prdp.collector.server.serving import Place  # noqa: PLC0415
        from prdp.collector.server.serving import serve as run  # noqa: PLC0415
    except ImportError:
        raise CollectorError("the collector needs more: pip install 'prdp[collector]'.") from None
    from prdp.cli.collect_view import following  # noqa: PLC0415

    with following() as progress:

        def started(desk: Desk, on: int) -> None:
            complain(f"{plain(desk.snapshot.plan.name)} is served at http://{host}:{on}/ - Ctrl-C ends it.")
            progress(desk)

        begun = run(
            from_environment(store), Place(host, port, front), rates=Rates(rate, burst=max(1.0, 5 * rate)),
            origins=tuple(origin or ()), started=started,
        )  # fmt: skip
    if not begun:
        raise typer.Exit(1)


@collect.command()
def status(where: Annotated[str, _WHERE], as_json: Annotated[bool, _JSON] = False) -> None:
    """Show how far a study is."""
    with OpenedStudy.at(from_environment(where)) as study:
        found = study.status()
    if as_json:
        show_json(found)
    else:
        show_status(found)


@collect.command()
def close(where: Annotated[str, _WHERE], as_json: Annotated[bool, _JSON] = False) -> None:
    """Close the open round: add it up, and open the next one or publish the result.

    By address, the operator's token is read from the environment variable PRDP_OPERATOR_TOKEN.
    """
    with (
        OpenedStudy.at(from_environment(where), os.environ.get(_OPERATOR)) as study,
        waiting("adding the round up"),
    ):
        found = study.close()
    if as_json:
        show_json(found)
    else:
        show_status(found)


@collect.command()
def result(where: Annotated[str, _WHERE], as_json: Annotated[bool, _JSON] = False) -> None:
    """Show the result of a study whose rounds are all closed."""
    with OpenedStudy.at(from_environment(where)) as study:
        found = study.result()
    if found is None:
        raise CollectorError("there is no result yet: a round is open, or still to be added up.")
    if as_json:
        show_json(found)
    else:
        show_result(found)
