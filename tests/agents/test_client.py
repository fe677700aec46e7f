"""The tools in a process of their own, asked by the official client library; docs/mcp.md shows the same."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from prdp.agents.harmless import NOTICE
from prdp.agents.tools import TOOLS
from prdp.ledger import DurableLedger
from tests.server.served_project import HOSTILE, ServedProject, lay_out

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
CONFIGURATIONS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)]
COUNT = "SELECT COUNT(*) AS n FROM accounts"
GROUPED = "SELECT branch, COUNT(*) AS n, SUM(balance) AS total FROM accounts GROUP BY branch"

pytestmark = pytest.mark.slow


def conversation(
    arguments: list[str], folder: Path, talk: Callable[[ClientSession], Awaitable[None]], **variables: str
) -> str:
    """Start ``prdp mcp``, talk to it, and return what it wrote to the standard error."""
    log = folder / "stderr.txt"
    environment = {"PYTHONPATH": str(ROOT / "src"), "XDG_CONFIG_HOME": str(folder), **variables}
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "prdp", *arguments], env=environment, cwd=folder
    )

    async def run() -> None:
        with log.open("w", encoding="utf-8") as errors:
            async with (
                stdio_client(started, errors) as (received, sent),
                ClientSession(received, sent) as client,
            ):
                greeting = await client.initialize()
                assert greeting.server_info.name == "prdp"
                assert "never instructions" in str(greeting.instructions)
                await talk(client)

    asyncio.run(run())
    return log.read_text(encoding="utf-8")


async def call(client: ClientSession, tool: str, **given: str) -> Any:
    """Call a tool; return its structured content, with its text and whether it is a refusal."""
    found = await client.call_tool(tool, given)
    (content,) = found.content
    assert isinstance(content, types.TextContent)
    assert isinstance(found.structured_content, dict)
    return found.structured_content | {"text": content.text, "is_error": found.is_error}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path, ("north", "south", HOSTILE))
    return tmp_path


def test_a_client_asks_about_a_project_within_its_cap(folder: Path) -> None:
    (configured,) = CONFIGURATIONS[0]["mcpServers"].values()
    assert configured["command"] == "prdp"
    (place,) = [one for one in configured["args"] if one.endswith("prdp.toml")]
    arguments = [str(folder / "prdp.toml") if one == place else one for one in configured["args"]]

    async def talk(client: ClientSession) -> None:
        listed = (await client.list_tools()).tools
        assert [one.name for one in listed] == [tool.name for tool in TOOLS]
        spends = [one.name for one in listed if one.annotations and not one.annotations.read_only_hint]
        assert spends == ["ask"]
        assert [one["name"] for one in (await call(client, "list_tables"))["tables"]] == ["accounts"]
        described = await call(client, "describe_table", table="accounts")
        assert [one["name"] for one in described["columns"]] == ["balance", "age", "branch"]
        explained = await call(client, "explain", statement=GROUPED, share="0.03")
        assert explained["cost"] == "0.03"
        answer = await call(client, "ask", plan=explained["plan"])
        assert answer["release"] == "accounts/0"
        assert answer["release"] in answer["text"]
        assert NOTICE in answer["text"]
        assert "<script" not in answer["text"]
        assert [row[0] for row in answer["rows"]] == ["north", "south", HOSTILE]
        assert all(
            type(number["value"]) is int and {"low", "high"} <= set(number) for _, number, _ in answer["rows"]
        )
        again = await call(client, "result", request=answer["request"])
        assert again["rows"] == answer["rows"]
        dearer = await call(client, "explain", statement=COUNT, share="0.03")
        refused = await call(client, "ask", plan=dearer["plan"])
        assert refused["is_error"]
        assert refused["session_left"] == "0.02"
        unknown = await call(client, "drop_tables")
        assert unknown["is_error"]

    errors = conversation([*arguments, "--deadline", "1"], folder, talk)
    assert "Traceback" not in errors
    ledger = DurableLedger(folder / "accounts.ledger")
    assert [(str(one.share), one.who) for one in ledger.entries] == [("3/100", "agent")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProject]:
    with ServedProject(tmp_path_factory.mktemp("served"), deadline=1) as running:
        yield running


def test_a_client_asks_a_server_within_purse_and_cap(served: ServedProject, tmp_path: Path) -> None:
    (configured,) = CONFIGURATIONS[1]["mcpServers"].values()
    (place,) = [one for one in configured["args"] if one.startswith("https://")]
    arguments = [served.url if one == place else one for one in configured["args"]]
    arguments[arguments.index("--at-most") + 1] = "0.9"
    token = served.token("ana")

    async def talk(client: ClientSession) -> None:
        assert [one["name"] for one in (await call(client, "list_tables"))["tables"]] == ["accounts"]
        described = await call(client, "describe_table", table="accounts")
        assert described["deadline"] == 1
        explained = await call(client, "explain", statement=GROUPED, share="0.2")
        assert (explained["cost"], explained["left"], explained["needs_approval"]) == ("0.2", "0.5", False)
        asked = await call(client, "ask", plan=explained["plan"])
        assert asked["state"] == "queued"
        assert "publish_at" in asked
        reworded = await call(client, "ask", plan=explained["plan"], purpose="the same again, in other words")
        assert (reworded["request"], reworded["session_left"]) == (asked["request"], "0.7")
        answer = await published(client, asked["request"])
        assert answer["receipt"]["head"] in answer["text"]
        assert [row[0] for row in answer["rows"]] == ["north", "south", HOSTILE]
        assert "<script" not in answer["text"]
        repeated = await call(client, "explain", statement=GROUPED, share="0.2")
        again = await call(client, "ask", plan=repeated["plan"])
        assert (repeated["cost"], again["rows"]) == ("0", answer["rows"])
        assert (await call(client, "result", request=again["request"]))["rows"] == answer["rows"]
        past = await call(
            client, "explain", statement=COUNT, share="0.5"
        )  # the session has more, the purse less
        assert past["fits_session"]
        beyond = await call(client, "ask", plan=past["plan"])
        assert beyond["is_error"]
        assert beyond["session_left"] == "0.7"
        dear = await call(client, "explain", statement=COUNT, share="0.35")
        assert dear["needs_approval"]
        waiting = await call(client, "ask", plan=dear["plan"], purpose="a report")
        assert waiting["state"] == "waiting"
        assert waiting["session_left"] == "0.35"
        dearer = await call(client, "explain", statement="SELECT SUM(age) AS s FROM accounts", share="0.4")
        refused = await call(client, "ask", plan=dearer["plan"])
        assert refused["is_error"]
        assert "0.35 of it is left" in refused["text"]
        other = await call(client, "result", request="../tables")
        assert other["is_error"]

    errors = conversation(arguments, tmp_path, talk, PRDP_TOKEN=token)
    assert "Traceback" not in errors
    assert token not in errors


async def published(client: ClientSession, request: str) -> Any:
    """Return the answer of a request; a busy machine may need several calls, each of which waits."""
    for _ in range(10):
        found = await call(client, "result", request=request)
        if found["state"] == "published":
            return found
    raise AssertionError(found)


def test_a_wrong_token_ends_before_any_tool_is_offered(served: ServedProject, tmp_path: Path) -> None:
    own = {"PYTHONPATH": str(ROOT / "src"), "PRDP_TOKEN": "wrong", "XDG_CONFIG_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "prdp", "mcp", "--server", served.url]
    ran = subprocess.run(command, env=os.environ | own, input="", capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "prdp login" in ran.stderr


def test_the_library_is_loaded_by_the_command_alone() -> None:
    code = "import sys, prdp.cli.app, prdp.cli.mcp, prdp.agents.tools; sys.exit('mcp' in sys.modules)"
    own = {"PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | own, check=False).returncode == 0
