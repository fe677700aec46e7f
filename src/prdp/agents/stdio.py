"""The tools over the standard input and output, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from prdp.agents.tools import INSTRUCTIONS, TOOLS, Tool, ToolSession
from prdp.version import __version__


def serve(session: ToolSession) -> None:
    """Answer a client until it closes the standard input."""
    asyncio.run(_served(session))


async def _served(session: ToolSession) -> None:
    # One thread: a call that was cancelled goes on, and the next one waits until its time is over.
    with ThreadPoolExecutor(1, thread_name_prefix="tools") as line:

        async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
            return types.ListToolsResult(tools=list(map(_listed, TOOLS)))

        async def call_tool(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
            work = asyncio.get_running_loop().run_in_executor
            reply = await work(line, session.call, asked.name, asked.arguments or {})
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=reply.text)],
                structured_content=dict(reply.facts),
                is_error=reply.refused,
            )

        server: Server[Any] = Server(
            "prdp",
            version=__version__,
            title="prdp: statistics with differential privacy",
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.spends, destructive_hint=tool.spends, idempotent_hint=True
        ),
    )
