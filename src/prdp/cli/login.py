"""``prdp login``: sign in to a server, and keep an access token for this user."""

from __future__ import annotations

import getpass
import socket
import sys
from typing import Annotated

import typer

from prdp.cli.messages import complain
from prdp.errors import InvalidRequest
from prdp.remote import RemoteServer, keep_token, normal_address

_DAYS = 90


def login(
    url: Annotated[str, typer.Argument(help="The server: https://stats.example", metavar="URL")],
    *,
    invitation: Annotated[
        bool, typer.Option("--invitation", help="Accept an invitation, and choose a password.")
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=366, help="Days until the token expires.")] = _DAYS,
) -> None:
    """Sign in to a server: what `prdp ask --server` and prdp.connect need.

    Name and password are asked for. The access token is kept in a file that you alone can read, and is
    never printed. It may ask, and spend what your purse allows.
    """
    server = RemoteServer(normal_address(url))
    if invitation:
        code = _asked("Invitation: ", secret=True).rpartition("/")[2]
        password = _asked("New password (12 characters or more): ", secret=True)
        if sys.stdin.isatty() and _asked("The same again: ", secret=True) != password:
            raise InvalidRequest("the two passwords differ.")
        reply = server.call("POST", f"/v1/invitations/{_code(code)}", {"password": password}, again=False)
    else:
        name = _asked("Name: ")
        password = _asked("Password: ", secret=True)
        reply = server.call("POST", "/v1/sessions", {"name": name, "password": password}, again=False)
    session = {"cookie": reply.headers.get("set-cookie", "").partition(";")[0], "origin": server.address}
    label = f"prdp on {socket.gethostname()}"[:40]
    wanted = {"label": label, "scopes": ["read", "ask"], "days": days}
    token = server.call("POST", "/v1/tokens", wanted, headers=session, again=False).body["token"]
    me = server.call("GET", "/v1/me", headers=session).body
    server.call("DELETE", "/v1/sessions/current", headers=session)
    place = keep_token(server.address, token)
    tables = ", ".join(map(str, me["tables"])) or "none yet"
    complain(f"signed in as {me['name']} for {days} days; the token is in {place}. Tables: {tables}.")


def _asked(question: str, *, secret: bool = False) -> str:
    """Return what a person types, or the next line of a program that is no terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    return getpass.getpass(question) if secret else input(question)


def _code(code: str) -> str:
    if not code.isascii() or not all(one.isalnum() or one in "_-" for one in code) or not code:
        raise InvalidRequest("this is no invitation: paste the address that you were sent.")
    return code
