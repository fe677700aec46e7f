"""``prdp mcp``: tools for an agent, which asks about tables and never sees a record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line, in_toml
from prdp.declare.exact import exact_share
from prdp.errors import Argument, InvalidRequest
from prdp.release.formatting import optional_library

_AT_MOST = typer.Option(
    help="The share of every record's budget that this process may spend in all, such as 0.05.",
    metavar="SHARE",
    show_default=False,
)
_SERVER = typer.Option(
    help="Ask a server (prdp login URL), not the tables here.", metavar="URL", show_default=False
)
_WHO = typer.Option(help="Author of the queries, for the ledger; agent by default.", show_default=False)
_DEADLINE = typer.Option(
    min=1, max=3600, help="Seconds that each answer takes; 5 by default.", show_default=False
)


@at_the_command_line
def mcp(
    *,
    at_most: Annotated[str | None, _AT_MOST] = None,
    server: Annotated[str | None, _SERVER] = None,
    file: Annotated[Path | None, given.PROJECT] = None,
    who: Annotated[str | None, _WHO] = None,
    deadline: Annotated[int | None, _DEADLINE] = None,
) -> None:
    """Offer the tables of prdp.toml, or of a server, to an agent: MCP over standard input and output.

    A client of the Model Context Protocol starts it. Six tools list and describe tables, explain a statement,
    which is free, answer a plan that was explained, and say what is left.
    """
    if server is None and at_most is None:
        raise InvalidRequest("name what the agent may spend in all: --at-most 0.05")
    if server is not None and any(one is not None for one in (file, who, deadline)):
        raise InvalidRequest("--server has tables of its own: with it, give --at-most alone.")
    optional_library("mcp", "mcp")
    backend = _server_of(server) if server is not None else _project_of(file, who, deadline)
    from prdp.agents.stdio import serve  # noqa: PLC0415  (its library takes seconds to load)
    from prdp.agents.tools import ToolSession  # noqa: PLC0415

    serve(ToolSession(backend, None if at_most is None else exact_share(at_most), _in_a_tool))


def _server_of(address: str) -> Any:
    """Return a server's tables; refuse where the token is not valid."""
    from prdp.agents.tables_there import ServerTables  # noqa: PLC0415  (loaded where a server is asked)
    from prdp.remote import RemoteServer  # noqa: PLC0415

    server = RemoteServer.at(address)
    server.get("/v1/me")
    return ServerTables(server)


def _project_of(file: Path | None, who: str | None, deadline: int | None) -> Any:
    """Return the tables of a project; its file is checked, and no table is opened yet."""
    from prdp.agents.tables_here import Deadline, ProjectTables  # noqa: PLC0415  (not for servers)
    from prdp.projects.project import project  # noqa: PLC0415

    return ProjectTables(replace(project(file), who=who or "agent"), Deadline(deadline or 5))


def _in_a_tool(argument: Argument) -> str:
    """Spell an argument as the tools have it, or else as prdp.toml has it."""
    return f"share {argument.value}" if argument.name == "share" else in_toml(argument)
