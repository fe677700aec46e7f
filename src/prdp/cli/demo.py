"""``prdp demo``: a made-up bank, a policy, and private answers beside the truth."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console, RenderableType
from rich.table import Table as Grid

import prdp
from prdp.cli.printing import grid, number, show, show_json, waiting
from prdp.mechanisms.partition import PaperPartition, count_influences
from prdp.noise.entropy import SystemEntropy
from prdp.plan.reads import CellRead
from prdp.release.formatting import CLIPPED, value_and_ends
from prdp.release.release import Release
from prdp.tables.queryable import reader_of

_BAR = 16
_ANY_WIDTH = 10_000

WIDE = 80
"""From this width on there is room for everything."""


@dataclass(frozen=True, slots=True)
class DrawnDomain:
    """One of the paper's domains, as Algorithm 1 sees it; ``records`` only a demo can show."""

    domain: int
    budget_from: float
    budget_to: float
    records: int
    noisy_count: int
    threshold: int
    kept: bool
    first_heavy: bool

    @property
    def trivial(self) -> bool:
        """True if nothing happens here: no record, and nothing kept."""
        return not self.records and not self.kept


def drawn_domains(table: prdp.Table, share: Fraction) -> list[DrawnDomain]:
    """Draw Algorithm 1's noisy counts, and count the records themselves: of a synthetic table alone."""
    levels = table.levels
    (summary,) = reader_of(table).read_anew(CellRead(table.policy, levels, table.bounds, None, None))
    mechanism = PaperPartition(count_influences(levels))
    law = mechanism.law(summary, share)
    (noisy,) = law.draw(SystemEntropy(), 1)
    thresholds = mechanism.thresholds(law)
    first = mechanism.first_kept(noisy, thresholds)
    ends = [float(levels.at_least * 2**i) for i in range(levels.domains)] + [float(levels.at_most)]
    return [
        DrawnDomain(
            domain=i + 1,
            budget_from=ends[i],
            budget_to=ends[i + 1],
            records=law.values[i],
            noisy_count=noisy[i],
            threshold=thresholds[i],
            kept=i >= first,
            first_heavy=i == first,
        )
        for i in range(levels.domains)
    ]


def kept_total(domains: list[DrawnDomain]) -> int:
    """Return Algorithm 1's answer: the noisy counts from the first heavy domain on."""
    return sum(domain.noisy_count for domain in domains if domain.kept)


def picture(domains: list[DrawnDomain], width: int) -> Grid:
    """Return the domains as a grid: with bars and all digits, as far as there is room for them.

    Noise of a domain with small budgets has many digits now and then, and a grid that is too wide would break
    in the middle of words.
    """
    forms = (
        [(True, True), (False, True), (False, False)] if width >= WIDE else [(False, True), (False, False)]
    )
    console = Console(width=_ANY_WIDTH)
    grids = [_grid(domains, bars=bars, digits=digits) for bars, digits in forms]
    return next((made for made in grids if console.measure(made).maximum <= width), grids[-1])


def _grid(domains: list[DrawnDomain], *, bars: bool, digits: bool) -> Grid:
    headings = ["domain", "E from", "to", "noisy", "threshold", "", *(["log scale"] if bars else [])]
    made = grid(headings, left=(5, 6))
    longest = max(max(domain.noisy_count, domain.threshold, 2) for domain in domains if not domain.trivial)
    for run in _runs(domains):
        first, last = run[0], run[-1]
        ends = (number(first.budget_from, 3), number(last.budget_to, 3))
        if first.trivial:
            names = f"{first.domain}-{last.domain}" if len(run) > 1 else str(first.domain)
            made.add_row(names, *ends, "nobody", "", "dropped")
            continue
        fate = "first kept" if first.first_heavy else "kept" if first.kept else "dropped"
        made.add_row(
            str(first.domain),
            *ends,
            f"{first.noisy_count:,}" if digits else f"{first.noisy_count:.3g}",
            f"{first.threshold:,}" if digits else f"{first.threshold:.3g}",
            fate,
            *([_bar(first, longest)] if bars else []),
        )
    return made


def _runs(domains: list[DrawnDomain]) -> Iterator[list[DrawnDomain]]:
    """Yield the domains one by one, but those where nothing happens together."""
    waiting: list[DrawnDomain] = []
    for domain in domains:
        if domain.trivial:
            waiting.append(domain)
            continue
        if waiting:
            yield waiting
            waiting = []
        yield [domain]
    if waiting:
        yield waiting


def _bar(domain: DrawnDomain, longest: int) -> str:
    """Return the noisy count as a bar and the threshold as a mark, on one logarithmic scale."""

    def place(count: int) -> int:
        return round(_BAR * math.log(max(1, count)) / math.log(longest))

    mark = place(domain.threshold)
    bar = "#" * place(domain.noisy_count)
    return f"{bar:<{mark}}"[:mark] + "|" + bar[mark + 1 :]


POLICY = "10000 / balance"
_AT_MOST = 100
_MAX = 10**12
_SEED = 2026
_SHARE = Fraction(1, 10)

Accounts = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class DemoLine:
    """One question of the demo: what was asked, the truth that only a demo can show, the answer."""

    asked: str
    truth: int
    release: Release

    @property
    def error(self) -> float:
        """The distance of the answer from the truth, in percent of it."""
        return 100 * abs(float(self.release.exact) - self.truth) / max(1, abs(self.truth))

    @property
    def noise(self) -> float:
        """Half-width of the noise alone, 95 % of the time."""
        low, high = self.release.interval(tail_factor=1)
        return (high - low) / 2

    def as_dict(self) -> dict[str, object]:
        """Return the line for JSON."""
        return {
            "question": self.asked,
            "truth": self.truth,
            "answer": self.release.value,
            "interval": [end if math.isfinite(end) else None for end in self.release.interval()],
            "share": str(self.release.share),
            "method": self.release.method,
        }


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the demo tells.

    Attributes:
        rows: How many accounts there are.
        smallest: The smallest budget that the policy can give.
        lines: The questions; the first one is the count by the default method, the last one by naive.
        domains: What the paper's Algorithm 1 did for the count, in a draw of its own.
        again: The answer to the first question when it was asked once more.
        remaining_before: What was left of every budget before that.
        remaining: What was left after it.
    """

    rows: int
    smallest: float
    lines: list[DemoLine]
    domains: list[DrawnDomain]
    again: Release
    remaining_before: Fraction
    remaining: Fraction


def demo(
    rows: Annotated[
        int, typer.Option(min=1, max=50_000_000, help="How many accounts to make up.")
    ] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Ask a made-up bank for private counts and sums, and compare them with the truth."""
    with tempfile.TemporaryDirectory(prefix="prdp-demo-") as folder:
        story = _run_story(rows, Path(folder) / "demo.ledger")
    if as_json:
        show_json(_as_dict(story))
    else:
        _show(story)


def made_up_accounts(rows: int) -> Accounts:
    """Return accounts with log-normal balances and ages; the same ones every time."""
    random = np.random.default_rng(_SEED)
    balance = np.minimum(random.lognormal(mean=9, sigma=1, size=rows), _MAX).astype(np.int64)
    return {"balance": balance, "age": random.integers(18, 95, size=rows)}


def _run_story(rows: int, ledger: Path) -> Story:
    with waiting(f"making up {rows:,} accounts"):
        accounts = made_up_accounts(rows)
    policy, bounds = prdp.Policy(POLICY, at_most=_AT_MOST), {"balance": (0, _MAX)}
    synthetic = prdp.open(accounts, policy=policy, bounds=bounds, name="demo", synthetic=True)
    table = prdp.open(accounts, policy=policy, bounds=bounds, name="demo", ledger=ledger, must_exist=False)
    with waiting("asking six questions"):
        lines = _lines(table, accounts)
    remaining_before = table.ledger.remaining
    with waiting("drawing the paper's Figure 1"):
        domains = drawn_domains(synthetic, _SHARE)
    reopened = prdp.open(accounts, policy=policy, bounds=bounds, name="demo", ledger=ledger, must_exist=True)
    return Story(
        rows=rows,
        smallest=float(table.levels.at_least),
        lines=lines,
        domains=domains,
        again=reopened.count(share=_SHARE),
        remaining_before=remaining_before,
        remaining=reopened.ledger.remaining,
    )


def _lines(table: prdp.Table, accounts: Accounts) -> list[DemoLine]:
    balance, older = accounts["balance"], accounts["age"] >= 40
    everybody, all_money = balance.size, int(balance.sum())
    aged, aged_money = int(older.sum()), int(balance[older].sum())
    elders = table.filter("age >= 40")
    return [
        DemoLine("accounts", everybody, table.count(share=_SHARE)),
        DemoLine("sum of balances", all_money, table.sum("balance", share=_SHARE)),
        DemoLine("accounts, age 40 on", aged, elders.count(share=_SHARE)),
        DemoLine("their balances", aged_money, elders.sum("balance", share=_SHARE)),
        DemoLine("accounts, paper's way", everybody, table.count(share=_SHARE, method="partition")),
        DemoLine("accounts, naive", everybody, table.count(share=_SHARE, method="naive")),
    ]


def _show(story: Story) -> None:
    width = Console().width
    show(
        f"{story.rows:,} made-up accounts. The policy gives an account the budget E = {POLICY}, at most "
        f"{_AT_MOST}: the larger the balance, the stronger the protection. Each question uses a tenth of it.",
        "",
        _answers(story.lines, width),
        "",
        "An interval covers the truth, less what it excludes, with a probability of 95 %. Noise goes both "
        "ways; what is clipped off the best protected accounts, or dropped with them, pulls an answer "
        "toward zero. Accounts that an interval excludes count as clipped.",
        *_conditions(story.lines),
        "",
        *_figure(story, width),
        "",
        _naive(story),
        "",
        _again(story),
        "",
        _losses(story),
    )


def _answers(lines: list[DemoLine], width: int) -> RenderableType:
    wide = width >= WIDE
    made = grid(
        ["question", "truth", "private answer", *(["95 % between"] if wide else []), "error"],
        left=(0,),
        wraps=(0,),
    )
    for line in lines:
        value, *ends = value_and_ends(line.release)
        made.add_row(
            line.asked,
            f"{line.truth:,}",
            value,
            *(["\n".join(ends)] if wide else []),
            f"{number(line.error, 3)} %",
        )
    return made


def _conditions(lines: list[DemoLine]) -> list[str]:
    """Explain what intervals exclude, and which accounts were clipped."""
    sentences = [
        f'The interval of "{line.asked}": {line.release.excludes}.' for line in lines if line.release.excludes
    ]
    clipped = dict(lines[1].release.choices).get(CLIPPED)
    return sentences + ([f"In the sum of balances, accounts with a {clipped}."] if clipped else [])


def _figure(story: Story, width: int) -> list[RenderableType]:
    how = (
        "How the paper counts (its Figure 1): accounts are parted by budget, each part is counted with the "
        "noise that its smallest budget calls for, and the parts before the first heavy one, whose noise "
        "would drown the rest, are dropped. This draw is not in the ledger, as only made-up data allows."
    )
    result = f"The kept parts say {kept_total(story.domains):,}; the truth is {story.rows:,}."
    legend = " In the bars, # is the noisy count and | the threshold." if width >= WIDE else ""
    return [how, "", picture(story.domains, width), "", result + legend]


def _naive(story: Story) -> str:
    ours, naive = story.lines[0].noise, story.lines[-1].noise
    return (
        "What one budget for all would cost: ordinary differential privacy has to use the smallest budget "
        f"that the policy can give, {number(story.smallest)}, whether or not there is such an account. Its "
        f"noise is ± {number(naive)} where there are {story.rows:,} accounts to count. The first answer "
        f"above has ± {number(ours)}, {number(float(f'{naive / ours:.2g}'))} times less."
    )


def _again(story: Story) -> str:
    same = "the same answer" if story.again == story.lines[0].release else "another answer"
    return (
        f"The first question asked once more: {story.again.value:,.0f}, {same} from the ledger file, free. "
        f"Before it {story.remaining_before} of every budget was left, and after it {story.remaining}."
    )


def _losses(story: Story) -> str:
    spent = float(1 - story.remaining)
    return (
        f"So far an account of 40,000 has lost at most {number(spent * 10_000 / 40_000, 3)}, one of "
        f"1,000,000,000 at most {number(spent * 10_000 / 1e9, 3)}."
    )


def _as_dict(story: Story) -> dict[str, object]:
    ours, naive = story.lines[0], story.lines[-1]
    return {
        "rows": story.rows,
        "policy": POLICY,
        "at_least": story.smallest,
        "at_most": _AT_MOST,
        "questions": [line.as_dict() for line in story.lines],
        "figure": {
            "share": str(_SHARE),
            "domains": [asdict(domain) for domain in story.domains],
            "answer": kept_total(story.domains),
            "truth": story.rows,
        },
        "naive": {"budget": story.smallest, "noise": naive.noise, "noise_of_clip": ours.noise},
        "again": {
            "answer": story.again.value,
            "equal": story.again == ours.release,
            "remaining_before": str(story.remaining_before),
            "remaining": str(story.remaining),
        },
        "remaining": str(story.remaining),
    }
