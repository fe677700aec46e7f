"""How the tests run the command line: in a process of its own, in this one, or in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir, closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pexpect  # type: ignore[import-untyped]
from typer.testing import CliRunner, Result

import prdp
from prdp.cli import app
from prdp.collector.plan import StudyPlan
from prdp.collector.rounds import Begun, advance, begin, close_round
from prdp.collector.server.group_commit import accept
from prdp.collector.store.sql import open_store
from prdp.collector.wire import Submission, hashed
from prdp.local import Campaign, Client
from prdp.tables import source_registry

PROGRAM = "import sys; sys.argv[0] = 'prdp'; from prdp.cli import main; main()"


def by_itself(
    *arguments: str, columns: int = 80, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, with its output in a pipe."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"COLUMNS": str(columns), "NO_COLOR": "1"},
    )


def piped(*arguments: str, columns: int = 80, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, as if with its output in a pipe; a traceback is the test's failure."""
    source_registry._KNOWN.clear()  # a process of its own would know no sources
    with chdir(folder or "."):
        ran = quickly(*arguments, columns=columns)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return subprocess.CompletedProcess(arguments, ran.exit_code, ran.stdout, ran.stderr)


def quickly(*arguments: str, columns: int = 80) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, arguments, env={"COLUMNS": str(columns), "NO_COLOR": "1"})


def in_terminal(
    program: str, *arguments: str, folder: Path | None = None, environment: dict[str, str] | None = None
) -> Any:
    """Start a program in a terminal of 80 by 24."""
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS", "LINES"}}
    return pexpect.spawn(
        program,
        [*arguments],
        cwd=str(folder) if folder else None,
        dimensions=(24, 80),
        encoding="utf-8",
        timeout=300,  # for what hangs, not for what is slow
        env=kept | {"TERM": "xterm-256color"} | (environment or {}),
    )


def prdp_in_terminal(*arguments: str) -> Any:
    """Start a command in a terminal."""
    return in_terminal(sys.executable, "-c", PROGRAM, *arguments)


def finished(child: Any) -> str:
    """Return all that a program in a terminal printed until its end."""
    child.expect(pexpect.EOF)
    child.close()
    return str(child.before)


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def write_ledger(path: Path, who: str = "ada", name: str = "accounts") -> prdp.Table:
    """Begin a ledger with two answered charges and one that is not."""
    table = prdp.open(
        {"balance": np.arange(1, 5001), "kind": np.array(["[b]old"] * 5000)},
        policy=prdp.Policy("10000 / balance", at_most=100),
        bounds={"balance": (0, 10**12)},
        name=name,
        ledger=path,
        who=who,
    )
    table.count(share="1/10")
    table.filter("kind = '[b]old'").sum("balance", share="1/7", method="partition")
    table.ledger.charge('{"ask": "count", "method": "clip", "share": "1/5"}', Fraction(1, 5))
    return table


def write_study(path: Path, *, closed: bool = False) -> Begun:
    """Begin a study for real clients; one that is closed has the reports of three and a result."""
    policy = prdp.Policy("20 / visits", at_least="1/100", at_most=10)
    begun = begin(path, StudyPlan("visits 2026", "count", policy, "1/2"), tickets=3, now=0)
    if closed:
        with closing(open_store(path)) as store:
            campaign = Campaign.from_json(store.last_round().campaign)
            reports = [Client().report(campaign, {"visits": 2}) for _ in begun.tickets]
            sent = [
                Submission(campaign.digest, hashed(bytes.fromhex(ticket)), report.token, report.payload)
                for ticket, report in zip(begun.tickets, reports, strict=True)
            ]
            accept(store, campaign.digest, sent, 0)
            close_round(store)
            advance(store, 0)
    return begun


LOANS_POLICY = "20 / greatest(days, 2)"
LOANS = """
[tables.loans]
source = "loans.csv"
policy = "20 / greatest(days, 2)"
bounds = { days = [0, 1000], fine = [0, 500] }
round_to = { fine = 0.01 }
types = { branch = "VARCHAR", days = "BIGINT", fine = "DECIMAL(18,2)" }

[tables.loans.keys]
branch = ["north", "south"]
"""


def write_loans(folder: Path) -> None:
    """Make up the loans of a library."""
    random = np.random.default_rng(5)
    branches, days = random.choice(["north", "south"], 20_000), random.integers(1, 60, 20_000)
    rows = zip(branches, days, random.integers(0, 2_000, 20_000), strict=True)
    lines = [f"{branch},{spent},{cents / 100:.2f}" for branch, spent, cents in rows]
    (folder / "loans.csv").write_text("branch,days,fine\n" + "\n".join(lines) + "\n")


def write_project(folder: Path) -> None:
    """Declare the loans, two policies to compare, and a table that is to be published and one that is."""
    write_loans(folder)
    (folder / "prdp.toml").write_text(LOANS)
    (folder / "release.toml").write_text(
        'title = "Loans"\nshare = 0.1\n[tables.branches]\nby = ["branch"]\nmeasures = { n = "count" }\n'
    )
    (folder / "policies.toml").write_text(
        'questions = ["SELECT SUM(fine) AS total FROM loans"]\n'
        f'[policies]\nours = "{LOANS_POLICY}"\nsame = "1"\n'
    )
