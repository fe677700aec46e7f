"""The paper's Figure 1 on a table of our own: noisy counts by domain, and which of them are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from rich.console import RenderableType

import prdp
from prdp.cli.printing import grid, number
from prdp.mechanisms._influence import count_influences
from prdp.mechanisms.partition import PaperPartition
from prdp.noise.entropy import SystemEntropy
from prdp.plan.reads import CellRead
from prdp.tables.opened import reader_of

_BAR = 16

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
        """Whether nothing happens here: no record, and nothing kept."""
        return not self.records and not self.kept


def drawn_domains(table: prdp.Table, share: Fraction) -> list[DrawnDomain]:
    """Draw Algorithm 1's noisy counts, and count the records themselves: of a stand-in alone."""
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


def picture(domains: list[DrawnDomain], width: int) -> RenderableType:
    """Return the domains as a grid, with bars where there is room for them."""
    bars = width >= WIDE
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
            f"{first.noisy_count:,}",
            f"{first.threshold:,}",
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
