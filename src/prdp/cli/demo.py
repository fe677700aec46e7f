"""``prdp demo``: a made-up bank, a policy, and private answers beside the truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

import prdp
from prdp.release import Release

POLICY = "10000 / balance"
_MOST = 10**12
_SEED = 2026


@dataclass(frozen=True, slots=True)
class Line:
    """One question of the demo: what was asked, the truth that only a demo can show, the answer."""

    asked: str
    truth: int
    release: Release

    @property
    def error(self) -> float:
        """How far the answer is from the truth, in percent of it."""
        return 100 * abs(float(self.release.exact) - self.truth) / max(1, abs(self.truth))


def demo(
    rows: Annotated[
        int, typer.Option(min=1, max=50_000_000, help="How many accounts to make up.")
    ] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Ask a made-up bank for private counts and sums, and compare them with the truth."""
    accounts = made_up_accounts(rows)
    table = prdp.open(
        accounts,
        policy=prdp.Policy(POLICY, at_most=100),
        bounds={"balance": (0, _MOST)},
        name="demo",
    )
    lines = _lines(table, accounts)
    if as_json:
        typer.echo(json.dumps([_as_dict(line) for line in lines], indent=2))
    else:
        _print(lines, rows, table)


def made_up_accounts(rows: int) -> dict[str, NDArray[np.int64]]:
    """Return accounts with log-normal balances and ages; the same ones every time."""
    random = np.random.default_rng(_SEED)
    balance = np.minimum(random.lognormal(mean=8, sigma=2, size=rows), _MOST).astype(np.int64)
    return {"balance": balance, "age": random.integers(18, 95, size=rows)}


def _lines(table: prdp.Table, accounts: dict[str, NDArray[np.int64]]) -> list[Line]:
    balance, older = accounts["balance"], accounts["age"] >= 40
    aged = table.where("age >= 40")
    return [
        Line("accounts", balance.size, table.count(share="1/10")),
        Line("sum of balances", int(balance.sum()), table.sum("balance", share="1/10")),
        Line("accounts, age 40 on", int(older.sum()), aged.count(share="1/10")),
        Line(
            "their balances",
            int(balance[older].sum()),
            aged.sum("balance", share="1/10"),
        ),
        Line(
            "accounts, paper's way",
            balance.size,
            table.count(share="1/10", method="partition"),
        ),
        Line("accounts, naive", balance.size, table.count(share="1/10", method="naive")),
    ]


def _print(lines: list[Line], rows: int, table: prdp.Table) -> None:
    console = Console()
    console.print(
        f"{rows:,} made-up accounts. The policy gives an account the budget E = {POLICY}, at most "
        "100:\nthe larger the balance, the stronger the protection. Each question below uses a tenth "
        "of it.\n"
    )
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("question")
    for name in ("truth", "private answer", "95 % of noise", "error"):
        grid.add_column(name, justify="right")
    for line in lines:
        low, high = line.release.interval()
        grid.add_row(
            line.asked,
            f"{line.truth:,}",
            f"{line.release.value:,.0f}",
            f"± {(high - low) / 2:,.0f}",
            f"{line.error:.3g} %",
        )
    console.print(grid)
    console.print(
        "\nnaive is ordinary differential privacy at the smallest budget that the policy can give "
        f"({float(table.levels.at_least):.0e}).\n{table.ledger.left} of every account's budget is left. An "
        "account of 40,000 has lost at most "
        f"{float(1 - table.ledger.left) * 10000 / 40000:.3g}, one of 1,000,000,000 at most "
        f"{float(1 - table.ledger.left) * 10000 / 1e9:.0e}."
    )


def _as_dict(line: Line) -> dict[str, object]:
    low, high = line.release.interval()
    return {
        "question": line.asked,
        "truth": line.truth,
        "answer": line.release.value,
        "interval": [low, high],
        "share": str(line.release.share),
        "method": line.release.method,
    }
