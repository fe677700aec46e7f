"""``prdp serve``: a project's tables for analysts, who ask and never see a record."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.messages import complain, write
from prdp.errors import InvalidRequest
from prdp.projects.toml_file import NAME, find
from prdp.release.formatting import optional_library

serve = typer.Typer(
    name="serve",
    help="Serve the tables of prdp.toml to analysts.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)

_URL = typer.Option(help="An address by which browsers reach the server.", metavar="URL", show_default=False)
_TABLE = typer.Option(help="A table that they may ask about.", metavar="TABLE", show_default=False)
_DEFAULT_URL = "http://127.0.0.1:8080"


def running_of() -> Any:
    """Return what runs a server; refuse where the extra is not installed."""
    for needed in ("fastapi", "uvicorn", "argon2", "jinja2"):
        optional_library(needed, "server")
    from prdp.server import running  # noqa: PLC0415  (an extra)

    return running


def place_of(file: Path | None) -> Path:
    """Return the project file that is meant."""
    where = file or find(Path.cwd())
    return where / NAME if where.is_dir() else where


@serve.callback()
@at_the_command_line
def start(
    context: typer.Context,
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
    url: Annotated[list[str] | None, _URL] = None,
    certificate: Annotated[
        str | None, typer.Option(help="TLS certificate.", metavar="FILE", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option(help="Its key.", metavar="FILE", show_default=False)] = None,
    proxy: Annotated[
        str | None,
        typer.Option(help="A reverse proxy that speaks TLS.", metavar="ADDRESS", show_default=False),
    ] = None,
    socket: Annotated[
        str | None,
        typer.Option(
            help="A Unix socket to listen on instead of a port, for a proxy.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        int, typer.Option(min=1, max=3600, help="Seconds that each answer takes, for tables that are new.")
    ] = 5,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second from one address; 0 for any.")] = 50,
    expect_head: Annotated[
        str | None, typer.Option(help="A head of the audit that was kept elsewhere.", show_default=False)
    ] = None,
    wire: Annotated[
        str | None,
        typer.Option(
            help="Serve psql and BI tools as well: the PostgreSQL protocol.",
            metavar="[HOST:]PORT",
            show_default=False,
        ),
    ] = None,
    wire_certificate: Annotated[
        str | None,
        typer.Option(
            help="TLS certificate of --wire; else that of the pages.", metavar="FILE", show_default=False
        ),
    ] = None,
    wire_key: Annotated[str | None, typer.Option(help="Its key.", metavar="FILE", show_default=False)] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve made-up accounts, with invitations.")] = False,
    file: Annotated[Path | None, given.PROJECT] = None,
) -> None:
    """Serve the tables of prdp.toml to analysts, until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    running = running_of()
    if (certificate is None) != (key is None):
        raise InvalidRequest("--certificate and --key go together.")
    if (wire_certificate is None) != (wire_key is None):
        raise InvalidRequest("--wire-certificate and --wire-key go together.")
    options = running.ServerOptions(
        host,
        port,
        tuple(url or ()),
        (certificate, key) if certificate else None,
        proxy,
        deadline,
        rate,
        expect_head,
        wire_place(wire, host),
        (wire_certificate, wire_key) if wire_certificate and wire_key else None,
        socket,
    )
    if not demo:
        running.serve(place_of(file), options, announce)
        return
    with tempfile.TemporaryDirectory(prefix="prdp-") as folder:
        path, codes = demo_project(Path(folder))

        def announce_demo(address: str, wire_address: str) -> None:
            for name, code in codes.items():
                write(f"{name}: {address}/join/{code}")
            if wire_address:
                user = "analyst.demo"
                secret = running.new_wire_token(path, user, days=1, cap=None)
                write(f'psql "{connection(wire_address)} user={user} password={secret}"')
            complain(f"{address}/ is served - Ctrl-C ends it, and all of the demo.")

        running.serve(path, options, announce_demo)


def announce(address: str, wire_address: str) -> None:
    """Say that a server listens."""
    if wire_address:
        complain(f'psql "{connection(wire_address)} user=PERSON.LABEL" is served as well.')
    complain(f"{address}/ is served - Ctrl-C ends it.")


def connection(wire_address: str) -> str:
    """Return what psql is given for an address."""
    host, _, port = wire_address.rpartition(":")
    return f"host={host} port={port} dbname=prdp sslmode=require"


def wire_place(text: str | None, host: str) -> tuple[str, int] | None:
    """Return the address and the port that an option names.

    >>> wire_place("5433", "127.0.0.1"), wire_place("[::]:5433", "127.0.0.1"), wire_place(None, "")
    (('127.0.0.1', 5433), ('::', 5433), None)
    """
    if text is None:
        return None
    name, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise InvalidRequest(f"--wire {text} is no port. For example: --wire 5433")
    return name.strip("[]") or host, int(port)


def demo_project(folder: Path, records: int = 100_000) -> tuple[Path, dict[str, str]]:
    """Make up accounts and a project with an owner and an analyst; return it with their invitations."""
    random = np.random.default_rng(2026)
    columns = {
        "balance": np.minimum(random.lognormal(8, 1.5, records), 1_000_000).round(2),
        "age": random.integers(18, 100, records),
        "branch": random.choice(["north", "south", "east", "west"], records),
    }
    lines = ["balance,age,branch", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / "accounts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / NAME
    path.write_text(
        '[tables.accounts]\nsource = "accounts.csv"\npolicy = "10000 / balance"\n'
        "at_least = 0.01\nat_most = 10\nbounds = { balance = [0, 1000000], age = [18, 120] }\n"
        'round_to = { balance = 0.01 }\ntypes = { balance = "DOUBLE", age = "BIGINT", branch = "VARCHAR" }\n'
        'keys = { branch = ["north", "south", "east", "west"] }\n',
        encoding="utf-8",
    )
    running = running_of()
    owner = running.init(path, "owner")
    granted = {"accounts": {"alone": "0.1", "approved": "0.4"}}
    return path, {"owner": owner, "analyst": running.invite(path, "analyst", "analyst", granted)}


@serve.command()
@at_the_command_line
def init(
    *,
    name: Annotated[str, typer.Option(help="The owner's name.")] = "owner",
    url: Annotated[str, _URL] = _DEFAULT_URL,
    file: Annotated[Path | None, given.PROJECT] = None,
) -> None:
    """Make the store of accounts, and print the owner's invitation, once."""
    code = running_of().init(place_of(file), name)
    write(f"{url.rstrip('/')}/join/{code}")
    complain(f"this invites {name}, once, within 7 days. Now run: prdp serve")


@serve.command()
@at_the_command_line
def invite(
    name: Annotated[str, typer.Argument(help="Their name: small letters, digits, '.', '_', '-'.")],
    *,
    role: Annotated[str, typer.Option(help="owner, steward, analyst or auditor.")] = "analyst",
    table: Annotated[list[str] | None, _TABLE] = None,
    alone: Annotated[str, typer.Option(help="Share that they may spend alone.")] = "0",
    approved: Annotated[str, typer.Option(help="Share that they may spend with approval.")] = "0",
    url: Annotated[str, _URL] = _DEFAULT_URL,
    file: Annotated[Path | None, given.PROJECT] = None,
) -> None:
    """Invite a person, or reset the password of one; print the invitation, once."""
    running = running_of()
    for share in (alone, approved):
        if not running.is_share(share):
            raise InvalidRequest(f"{share!r} is no share: write a decimal from 0 to 1, such as 0.02.")
    granted = {one: {"alone": alone, "approved": approved} for one in table or ()}
    path = place_of(file)
    ended = "; whatever they were signed in with has ended" * running.is_known(path, name)
    code = running.invite(path, name, role, granted)
    write(f"{url.rstrip('/')}/join/{code}")
    complain(f"this invites {name}, once, within 7 days{ended}.")


@serve.command()
@at_the_command_line
def token(
    user: Annotated[str, typer.Argument(help="PERSON.LABEL, such as ana.laptop.", metavar="USER")],
    *,
    cap: Annotated[
        str | None,
        typer.Option(help="Share that it may spend in all; else what the purse allows.", show_default=False),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="Days until it expires.")] = 90,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the token instead.")] = False,
    file: Annotated[Path | None, given.PROJECT] = None,
) -> None:
    """Make a token for psql and BI tools (--wire), and print it, once; or revoke one."""
    running = running_of()
    if revoke:
        running.revoke_wire_token(place_of(file), user)
        complain(f"the token of {user} is revoked: it works no more.")
        return
    if cap is not None and not running.is_share(cap):
        raise InvalidRequest(f"{cap!r} is no share: write a decimal from 0 to 1, such as 0.02.")
    write(running.new_wire_token(place_of(file), user, days=days, cap=cap))
    complain(f"this is the password of {user} for {days} days; it is not kept and not shown again.")
