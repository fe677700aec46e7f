"""``prdp collect``: opens a study to clients who trust nobody, and takes their reports in."""

from __future__ import annotations

import os
import re
import shlex
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prdp.cli.messages import complain, plain
from prdp.cli.policy_facts import declared_columns, with_options
from prdp.cli.printing import grid, number, show, show_json, waiting
from prdp.declare.exact import exact
from prdp.errors import CollectorError, InvalidRequest, PrdpError
from prdp.policy import Policy
from prdp.projects.toml_file import from_environment

if TYPE_CHECKING:
    from prdp.collector.plan import StudyPlan
    from prdp.collector.server.group_commit import Desk


_BAR = 40


class OpenedStudy(ABC):
    """One study, wherever it is."""

    @staticmethod
    @contextmanager
    def at(where: str, token: str | None = None) -> Iterator[OpenedStudy]:
        """Open a study by its store, or by the address of its collector."""
        if where.startswith(("http://", "https://")):
            with _answering(where):
                yield _Remote(where, token)
            return
        from prdp.collector.store.sql import open_store  # noqa: PLC0415

        store = open_store(where)
        try:
            yield _Stored(store)
        finally:
            store.close()

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Return what everybody may know."""

    @abstractmethod
    def close(self) -> dict[str, Any]:
        """Close the open round and return what everybody may know then."""

    @abstractmethod
    def result(self) -> dict[str, Any] | None:
        """Return the result, if there is one."""


@contextmanager
def _answering(url: str) -> Iterator[None]:
    """Refuse an answer that has another form than a collector's, when it is read or shown."""
    from prdp.collector.client import no_collector  # noqa: PLC0415

    try:
        yield
    except PrdpError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise no_collector(url) from None


class _Remote(OpenedStudy):
    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._token = url, token

    def status(self) -> dict[str, Any]:
        from prdp.collector.client import asked_facts  # noqa: PLC0415

        return asked_facts(self._url, "/v1/study")

    def close(self) -> dict[str, Any]:
        from prdp.collector.client import asked_facts  # noqa: PLC0415

        if not self._token:
            raise InvalidRequest(
                "set PRDP_OPERATOR_TOKEN to the operator's token: it came with prdp collect init."
            )
        return asked_facts(self._url, "/v1/operator/close", token=self._token, body=b"")

    def result(self) -> dict[str, Any] | None:
        from prdp.collector.client import Unserved, asked_facts  # noqa: PLC0415

        try:
            return asked_facts(self._url, "/v1/result")
        except Unserved as error:
            if error.code == "not_yet":
                return None
            raise


class _Stored(OpenedStudy):
    def __init__(self, store: Any) -> None:
        self._store = store

    def status(self) -> dict[str, Any]:
        from prdp.collector.rounds import Snapshot, status_of  # noqa: PLC0415

        found = status_of(Snapshot.of(self._store.study()))
        return {**found, "tickets": self._store.tickets()}

    def close(self) -> dict[str, Any]:
        from prdp.collector.rounds import advance, close_round  # noqa: PLC0415

        close_round(self._store)
        advance(self._store, int(time.time()))
        return self.status()

    def result(self) -> dict[str, Any] | None:
        from prdp.collector.rounds import result_of  # noqa: PLC0415

        return result_of(self._store.study())


def show_status(found: Mapping[str, Any]) -> None:
    """Print how far a study is."""
    made = grid(("round", "state", "reports", "share", "ε_τ", "campaign"), left=(1, 5))
    for each in found["rounds"]:
        threshold = each["threshold_budget"]
        made.add_row(
            str(each["number"]),
            "closed" if each["closed"] else "open",
            f"{each['reports']:,}",
            str(each["share"]),
            number(_fraction(threshold), 3) if threshold else "-",
            f"{each['campaign'][:16]}...",
        )
    lines = [
        f"{plain(found['name'])}: {found['ask']}, {found['state']}.",
        found["closing"][0].upper() + found["closing"][1:] + ".",
    ]
    if "tickets" in found:
        lines.append(f"{found['tickets']:,} tickets were given out.")
    last = found["rounds"][-1]
    bar = [_bar(last["reports"], found["closes_at_reports"])] if found["state"] == "open" else []
    show(*lines, "", made, *([""] if bar else []), *bar)


def _fraction(text: str) -> Any:
    from fractions import Fraction  # noqa: PLC0415

    return Fraction(text)


def _bar(reports: int, most: int | None) -> str:
    if not most:
        return f"{reports:,} reports so far"
    filled = max(0, min(_BAR, _BAR * reports // most))
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {reports:,} of {most:,} reports"


def show_result(found: Mapping[str, Any]) -> None:
    """Print a result with its intervals, and what they do not cover."""
    from prdp.collector.rounds import lines_of  # noqa: PLC0415

    made = grid(("", "answer", "from", "to"), left=(0,), wraps=(0,))
    for line in lines_of(found):
        made.add_row(
            plain(line.label),
            *("-" if end is None else number(end) for end in (line.value, line.low, line.high)),
        )
    answers = found["answers"]
    first = answers[0]
    unheard = dict.fromkeys(plain(answer["unheard"]) for answer in answers if answer["unheard"])
    show(
        f"{first['clients']:,} clients, share {first['share']}, {plain(first['method'])}.",
        "",
        made,
        "",
        "from, to: the 95 % interval of the noise; of a sum or a mean, also what is cut within reach.",
        *(f"{plain(what)}: {plain(chosen)}" for what, chosen in first["choices"]),
        *unheard,
        "",
        *dict.fromkeys(plain(answer["caveat"]) for answer in answers),
    )


@contextmanager
def following() -> Iterator[Callable[[Desk], None]]:
    """Show the progress of a served study on a terminal; yields a callback for its group commit."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    done = threading.Event()
    with console.status("opening ...", spinner="line") as status:

        def follow(desk: Desk) -> None:
            while not done.wait(0.5):
                study = desk.snapshot.study
                last = study.last
                progress_text = (
                    "done"
                    if study.result
                    else "closed"
                    if last.closed
                    else _bar(last.reports, desk.snapshot.plan.closing.reports)
                )
                status.update(f"round {last.number}: {progress_text}".replace("[", "\\["))

        def begin(desk: Desk) -> None:
            threading.Thread(target=follow, args=(desk,), daemon=True).start()

        try:
            yield begin
        finally:
            done.set()


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
        from prdp.collector.server.serving import serve as run  # noqa: PLC0415  (an extra)
        from prdp.serving.connections import Rates  # noqa: PLC0415
        from prdp.serving.process import Place  # noqa: PLC0415
    except ImportError:
        raise CollectorError("the collector needs more: pip install 'prdp[collector]'.") from None
    from prdp.cli.collect import following  # noqa: PLC0415

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
        (show_json if as_json else show_status)(found)


@collect.command()
def close(where: Annotated[str, _WHERE], as_json: Annotated[bool, _JSON] = False) -> None:
    """Close the open round: add it up, and open the next one or publish the result.

    By address, the operator's token is read from the environment variable PRDP_OPERATOR_TOKEN.
    """
    with OpenedStudy.at(from_environment(where), os.environ.get(_OPERATOR)) as study:
        with waiting("adding the round up"):
            found = study.close()
        (show_json if as_json else show_status)(found)


@collect.command()
def result(where: Annotated[str, _WHERE], as_json: Annotated[bool, _JSON] = False) -> None:
    """Show the result of a study whose rounds are all closed."""
    with OpenedStudy.at(from_environment(where)) as study:
        found = study.result()
        if found is None:
            raise CollectorError("there is no result yet: a round is open, or still to be added up.")
        (show_json if as_json else show_result)(found)
