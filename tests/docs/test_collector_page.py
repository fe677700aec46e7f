"""What docs/collector.md says of the collector is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from prdp.collector.wire import (
    BATCH_TYPE,
    MAX_BATCH_BYTES,
    MAX_IN_BATCH,
    MAX_REPORT_BYTES,
    MESSAGES,
    REPORT_TYPE,
    STATUS,
)
from prdp.local import Client
from prdp.serving.connections import Patience
from tests.collector.running import POLICY, Server, begun, jobs_plan

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "collector.md").read_text(encoding="utf-8")


def test_the_table_of_refusals_is_that_of_the_code() -> None:
    table = re.findall(r"^\| (`\w+`(?:, `\w+`)?) \| ([\d, ]+) \|", PAGE, flags=re.MULTILINE)
    shown = {
        name: int(status)
        for names, statuses in table
        for name, status in zip(
            re.findall(r"\w+", names), re.findall(r"\d+", statuses) * len(names.split(",")), strict=False
        )
    }
    apart = {
        "no_operator",
        "wrong_operator",
        "not_found",
        "not_yet",
        "wrong_method",
        "no_open_round",
        "failed",
    }
    assert shown == {code: status for code, status in STATUS.items() if code not in apart}
    assert MESSAGES.keys() == STATUS.keys()


def test_the_limits_are_those_of_the_code() -> None:
    patience = Patience()
    assert (MAX_REPORT_BYTES, MAX_BATCH_BYTES, MAX_IN_BATCH) == (128 << 10, 1 << 20, 1000)
    assert (patience.head_seconds, patience.body_seconds) == (10, 20)
    assert (patience.connections, patience.per_address) == (1000, 250)
    for words in ("128 KiB", "1 MiB", "1,000 reports", "10 seconds, a body 20", "1,000 connections, 250 from",
                  REPORT_TYPE, BATCH_TYPE):  # fmt: skip
        assert words in PAGE


def test_the_page_s_client_in_python_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    known = begun("study.collect", jobs_plan())
    with Server("study.collect") as server:
        names: dict[str, Any] = {}
        exec(compile(ast.parse(block), "collector.md", "exec"), names)  # noqa: S102
        names["answer"](server.url, known.tickets[0], POLICY, {"visits": 4, "job": "student"})
        assert server.ask("/v1/study").facts["rounds"][0]["reports"] == 1
    assert Client("me.account", policy=POLICY).remaining == 1 / 2


def test_the_page_s_lines_are_short_and_its_links_lead_somewhere() -> None:
    assert max(map(len, PAGE.splitlines())) <= 120
    for target in re.findall(r"\]\(([\w./]+)(?:#[\w-]+)?\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
