"""The commands in a real terminal of 80 by 24: waiting, stopping, completing."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, finished, in_terminal, prdp_in_terminal, write_ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a terminal as POSIX has it")

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
PROMPT = "prompt> "


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_the_demo_says_what_it_waits_for_and_leaves_a_clean_terminal() -> None:
    child = prdp_in_terminal("demo", "--rows", "3000000")
    printed = finished(child)
    assert child.exitstatus == 0
    assert "making up 3,000,000 accounts" in printed
    assert printed.count(HIDE_CURSOR) == printed.count(SHOW_CURSOR) > 0
    answers = without_escapes(printed[printed.rindex(SHOW_CURSOR) :])
    assert "first kept" in answers
    assert max(map(len, answers.splitlines())) <= 80


def test_ctrl_c_stops_the_demo_with_one_line_and_a_clean_terminal() -> None:
    child = prdp_in_terminal("demo", "--rows", "20000000")
    child.expect("making up")
    before = str(child.before) + str(child.after)
    child.expect("asking six questions")
    before += str(child.before) + str(child.after)
    child.sendintr()
    printed = before + finished(child)
    assert child.exitstatus == 130
    assert printed.rstrip().endswith("prdp: stopped.")
    assert "Traceback" not in printed
    assert printed.count(HIDE_CURSOR) == printed.count(SHOW_CURSOR) > 0


def test_a_policy_is_plotted_in_a_terminal() -> None:
    child = prdp_in_terminal("policy", "10000 / balance", "--bounds", "balance=0:1e12", "--at-most", "100")
    printed = without_escapes(finished(child))
    assert child.exitstatus == 0
    assert "both axes logarithmic" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_long_message_breaks_at_words_in_a_terminal() -> None:
    child = prdp_in_terminal("policy", "10000 / balance")
    lines = finished(child).splitlines()
    assert child.exitstatus == 2
    assert max(map(len, lines)) <= 80
    assert "--bounds balance=LOW:HIGH" in lines[-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_ledgers(tmp_path: Path) -> None:
    write_ledger(tmp_path / "accounts.ledger")
    (tmp_path / "prdp").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "{PROGRAM}" "$@"\n', encoding="utf-8"
    )
    (tmp_path / "prdp").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "dumb"}
    shell = in_terminal("bash", "--norc", "--noprofile", "-i", folder=tmp_path, environment=path)
    shell.sendline("PS1='prompt''> '; eval \"$(prdp --show-completion)\"")
    shell.expect_exact(PROMPT)
    shell.send("prdp led\t")
    shell.expect_exact("prdp ledger ")
    shell.send("acc\t")
    shell.expect_exact("accounts.ledger")
    shell.send("\n")
    shell.expect_exact("1 unanswered")
    shell.expect_exact(PROMPT)
    shell.sendline("prdp ledger --json | head -1; echo ended ${PIPESTATUS[0]}")
    shell.expect(r"ended (0|141)\r")
    shell.sendline("exit")
    assert "Traceback" not in finished(shell)


@pytest.mark.slow
def test_a_terminal_shows_the_program_alone_also_when_grpc_is_at_work() -> None:
    """With gRPC's own handlers of forks, about one start in ten begins with a line of gRPC's."""
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel("127.0.0.1:1") as channel:
        for _ in range(40):
            with pytest.raises(grpc.RpcError):
                channel.unary_unary("/a/b")(b"", timeout=5)
            child = in_terminal(sys.executable, "-c", "print('alone')")
            assert finished(child).split() == ["alone"]
