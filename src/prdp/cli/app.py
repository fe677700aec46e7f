"""The commands, gathered; a user's mistake ends in a message, never in a traceback."""

from __future__ import annotations

import gc
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from prdp.cli.messages import complain, give_up_output, survive_any_encoding, write
from prdp.errors import InvalidRequest, LedgerBegun, PrdpError
from prdp.safety.database_address import holds_password
from prdp.version import __version__

COMMANDS = {
    "init": "Write prdp.toml: a table, its policy, bounds and public keys.",
    "check": "Check prdp.toml; reads no record.",
    "ask": "Answer a SQL query with differential privacy.",
    "describe": "Describe all columns: NULLs, means, quartiles, extremes.",
    "preview": "Estimate a query's error on synthetic data; spends nothing.",
    "compare": "Compare the errors of queries under several policies.",
    "publish": "Publish tables: one charge, files ready to print, signed.",
    "verify": "Verify a publication: signature, files, charges.",
    "ledger": "Show what was spent: charges with author, time and query.",
    "engine": "List engines, and check how they read records.",
    "policy": "Show what a policy promises: its range, domains, a plot.",
    "demo": "Query a made-up bank, and compare with the true answers.",
    "local": "The local model: clients randomise their own records.",
    "login": "Sign in to a server, for `prdp ask --server`.",
    "serve": "Serve the tables of prdp.toml to analysts.",
    "mcp": "Offer tables to an agent: MCP over stdio.",
    "audit": "Verify what a server has done.",
    "collect": "Collect reports from real clients of the local model.",
}
"""Every command and its help in a line; module ``prdp.cli.NAME`` holds it under the same name."""


def loaded(name: str) -> Any:
    """Return a command, from its module."""
    found = getattr(import_module(f"prdp.cli.{name}"), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name)(found)
    return typer.main.get_command(single)


class LazyGroup(TyperGroup):
    """A group whose list and completion load no command's module."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._listing = False
        self.commands: Any = dict.fromkeys(COMMANDS)  # names alone; get_command loads

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  (typer's own signature)
        """Load a command, or its line of help alone for a list; None for a name that none has."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if self._listing else loaded(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        with self._a_list():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command or of an option."""
        with self._a_list():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _a_list(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False


_MEANT = {
    **dict.fromkeys(("plan", "dry-run"), 'prdp explain "SELECT ..." --share 0.1'),
    **dict.fromkeys(("query", "sql", "run", "select", "execute"), 'prdp ask "SELECT ..." --share 0.1'),
    **dict.fromkeys(("shell", "repl", "console"), 'prdp ask "SELECT ..." --share 0.1, once a statement'),
    **dict.fromkeys(("summary", "summarize", "profile", "stats"), "prdp describe"),
    **dict.fromkeys(("export", "download", "save"), 'prdp ask "SELECT ..." --share 0.1 --format csv'),
    **dict.fromkeys(("remaining", "budget", "status", "account", "history", "log", "spent"), "prdp ledger"),
    **dict.fromkeys(("validate", "lint", "doctor", "schema", "tables"), "prdp check"),
    **dict.fromkeys(("simulate", "estimate", "error", "accuracy"), 'prdp preview "SELECT ..."'),
    **dict.fromkeys(("new", "create", "start", "setup", "add"), "prdp init FILE"),
    "help": "prdp --help",
    "version": "prdp --version",
}
"""Hints at what to write in place of commands that others have."""

_OBJECTS = 200_000
"""How many new objects are looked through for garbage: modules make that many, and none of it is."""

_OPTIONS_MEANT = {
    **dict.fromkeys(("--epsilon", "--eps", "--budget"), "--share; --policy gives the budgets"),
    **dict.fromkeys(("--errors", "--se", "--cv", "--stderr"), "--std-errors"),
    **dict.fromkeys(("--level", "--confidence"), "--std-errors; intervals are 95 %"),
    **dict.fromkeys(("--out", "-o", "--save"), "--output FILE"),
    **dict.fromkeys(("--csv", "--xlsx", "--parquet", "--html"), "--format, such as --format csv"),
    **dict.fromkeys(("--fresh", "--again", "--force", "--rerun"), "--redraw"),
    **dict.fromkeys(("--types", "--dtype", "--schema"), "--type COLUMN=TYPE"),
    **dict.fromkeys(("--where", "--filter"), "WHERE in the statement"),
}
"""Hints at what to write in place of options that other commands have."""

_SIGPIPE = 13  # what a shell sees of other tools when nobody reads on


class Commands(LazyGroup):
    """All commands; each one ends with an exit code and, where something is wrong, with a message."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; explain is ask --dry-run, and one that others have ends in what to write."""
        if args and args[0] == "explain":
            args = ["ask", *args[1:], "--dry-run"]
        if args and args[0] in _MEANT:
            ctx.fail(f"There is no command {args[0]!r}. Write: {_MEANT[args[0]]}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep what was written, to be looked at before it is understood: a complaint would repeat it."""
        self._written = tuple(args)
        return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        survive_any_encoding()
        with _noticing_ctrl_c() as pressed:
            try:
                _refuse_passwords(self._written)
                return super().invoke(ctx)
            except (KeyboardInterrupt, Exception) as error:
                _hint_at_option(error)
                code = 130 if pressed.is_set() else _explained(error)
                if code is None:
                    raise
                if code == 130:
                    complain("stopped.")
                raise typer.Exit(code) from None


def _hint_at_option(error: Any) -> None:
    """Add what to write to the complaint about an option that is missing, or that no command has."""
    if getattr(getattr(error, "param", None), "name", "") == "share" and not error.message:
        error.message = "It is the fraction of every record's budget to use: --share 0.1"
    meant = _OPTIONS_MEANT.get(getattr(error, "option_name", None) or "")
    if meant and hasattr(error, "possibilities"):
        error.message, error.possibilities = f"{error.message.rstrip('.')}. Write {meant}.", None


def _refuse_passwords(written: Sequence[str]) -> None:
    """Refuse a password in any argument, of whichever command: others can list the arguments of programs."""
    values = [*written, *(one.partition("=")[2] for one in written if one.startswith("-"))]
    if any(map(holds_password, values)):
        raise InvalidRequest(
            "an address on the command line holds a password, which others on this machine can see. Leave it "
            "out of the address, and set PGPASSWORD or write it into ~/.pgpass. Or keep the whole address in "
            "an environment variable, and write its name in its place: '${BANK_URL}'"
        )


def _explained(error: BaseException) -> int | None:
    """Report an expected error and return its exit code."""
    match error:
        case KeyboardInterrupt():
            return 130
        case PrdpError():
            complain(str(error))
            return 2
        case BrokenPipeError():
            give_up_output()
            return 128 + _SIGPIPE
        case OSError():
            give_up_output()
            complain(f"{error.strerror or 'the system refused'}.")
            return 1
        case _:
            return None


@contextmanager
def _noticing_ctrl_c() -> Iterator[threading.Event]:
    """Remember that Ctrl-C was pressed: an engine may report it as a failure of its own."""
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(number, frame)

    in_charge = threading.current_thread() is threading.main_thread()
    if not in_charge or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


app = typer.Typer(
    name="prdp",
    cls=Commands,
    help="Per-record differential privacy: a policy states what each record may lose, "
    "and every answer keeps it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"prdp {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Per-record differential privacy for tables."""
    del version  # its callback has printed it
    warnings.simplefilter("ignore", LedgerBegun)  # commands say it in their own words


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_OBJECTS)
    warnings.showwarning = lambda message, *_: complain(f"note: {message}")
    app()
