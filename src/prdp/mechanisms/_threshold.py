"""Choose a clipping point privately among public candidates.

Whoever clips (totals, ranks, distinct keys) says what each point would clip, as a ``Candidates``; how a point
is found is decided here and nowhere else. In full: proofs/point.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import ceil, lcm
from typing import Protocol

import numpy as np

from prdp.cells.columns import Column, Places, exact_column, plus, product, total, totals_at
from prdp.cells.groups import joined, limbs
from prdp.cells.summary import Span, Summary
from prdp.concentrated import root_below
from prdp.levels import Levels, quarter_octaves
from prdp.mechanisms._tail import OCTAVES, octaves_below
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Gated, Law, Lazily, Noise, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, Caveat

_GRID_BITS = 20  # points are a quarter of an octave apart to one in a million, which no error shows
_ENDS = 2


@dataclass(frozen=True, slots=True)
class Points:
    """The public clipping points of records that count up to a multiple of their own budget.

    Point j lets a record of one quantum count up to ``numerators[j] / denominator`` steps. It is
    ``heights[j]`` quarters of an octave above the first one, rounded down. Those beyond the first ``usual``
    ones are for records whose values lie beyond the public bounds, and their budgets below what those allow.
    """

    numerators: tuple[int, ...]
    denominator: int
    heights: tuple[int, ...]
    usual: int

    @classmethod
    def spanning(cls, summary: Summary, stride: int) -> Points:
        """Return points from where every record may be clipped to where none that is possible can be."""
        levels = summary.levels
        most = Fraction(summary.largest, levels.quanta(levels.usual))
        if summary.ratios is not None:
            return _within(summary.ratios.values, most, stride)
        return _spanning(levels, summary.smallest, summary.largest, stride)

    def cap(self, point: int, quanta: int) -> int:
        """Return the cap of a record with this budget at a point, in whole steps."""
        return quanta * self.numerators[point] // self.denominator

    def caps(self, points: Places, quanta: Column) -> Column:
        """Return the caps of records with these budgets, each at a point of its own."""
        return product(quanta, exact_column(self.numerators)[points]).astype(object) // self.denominator

    def per_quantum(self, point: int) -> Fraction:
        """Return the cap of one quantum of budget at a point, in steps."""
        return Fraction(self.numerators[point], self.denominator)

    def first_reaching(self, values: Column, quanta: Column) -> Places:
        """Return the first point at which records with these budgets may count up to these values."""
        needed = -(-values.astype(object) * self.denominator // quanta)
        return np.searchsorted(np.array(self.numerators, dtype=object), needed)


@lru_cache(maxsize=64)
def _spanning(levels: Levels, smallest: int, largest: int, stride: int) -> Points:
    first = Fraction(smallest) / levels.at_most * levels.quantum
    most, last = (Fraction(largest, levels.quanta(level)) for level in (levels.usual, 0))
    denominator = first.denominator << _GRID_BITS
    numerators: list[int] = []
    while not numerators or Fraction(numerators[-1], denominator) < last:
        numerators.append(first.numerator * quarter_octaves(stride * len(numerators), _GRID_BITS))
    heights = tuple(range(0, stride * len(numerators), stride))
    return Points(tuple(numerators), denominator, heights, _usual(numerators, denominator, most))


def _usual(numerators: Sequence[int], denominator: int, most: Fraction) -> int:
    """Return the number of points up to the first one that reaches a ratio."""
    return min(bisect_left(numerators, ceil(most * denominator)) + 1, len(numerators))


@lru_cache(maxsize=64)
def _within(spans: tuple[Span, ...], most: Fraction, stride: int) -> Points:
    """Return points from the foot of each span up to its top; the top alone where that is nearer than a step.

    Spans are two octaves or more apart, so that points of two of them are no nearer than a step.
    """
    foot = spans[0][0]
    denominator = (foot.denominator // foot.numerator + 1) << _GRID_BITS
    numerators: list[int] = []
    heights: list[int] = []
    for low, high in spans:
        points = [low]
        while points[-1] < high:
            points.append(low * quarter_octaves(stride * len(points), _GRID_BITS) / (1 << _GRID_BITS))
        up = [-(-point.numerator * denominator // point.denominator) for point in points]
        if len(up) == _ENDS:
            up = [-(-high.numerator * denominator // high.denominator)]
        first = heights[-1] + _quarters(numerators[-1], up[0]) if heights else 0
        heights += range(first, first + stride * len(up), stride)
        numerators += up
    return Points(tuple(numerators), denominator, tuple(heights), _usual(numerators, denominator, most))


def _quarters(low: int, high: int) -> int:
    """Return the distance of a number above a lower one, in whole quarters of an octave."""
    steps = 0
    while low * quarter_octaves(steps + 1, _GRID_BITS) <= high << _GRID_BITS:
        steps += 1
    return steps


def beyond(masses: Sequence[int]) -> list[int]:
    """Return, for each place, the sum of the masses at later places.

    >>> beyond([1, 2, 3])
    [5, 3, 0]
    """
    after = list(accumulate(reversed(masses), initial=0))
    return after[-2::-1]


class Mechanism(Protocol):
    """Cells to answers. One file, one proof, one test, one name."""

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe, in a sentence, what the interval of its answers does not cover.

        Args:
            signed: Whether values of both signs are added up.
        """

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; a real release draws one."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The mass that the point two octaves lower should clip, and the penalty of a point if it clips less.

    A point that clips nothing may lie just above the records or far above them: what it clips does not say.
    What a lower one would clip does. In full: proofs/point.md.

    Attributes:
        below: How much lower that is, in quarters of an octave.
        mass: The budget mass, times the share, that should be clipped there.
        times: A unit of mass that lacks there costs a point as much as one of ``times`` parts of a unit that
            it clips itself.
    """

    below: int = 8
    mass: int = 40
    times: int = 4

    @property
    def max_decrease(self) -> Fraction:
        """By what part of its own budget a new record can lower what a point is charged."""
        return Fraction(1, self.times)

    def spared(self, share: Fraction) -> Fraction:
        """Return the budget mass that clipping may cost no weight: as much as all that may lack."""
        return self.mass / (self.times * share)

    def charged(
        self, masses: Sequence[int], whole: int, heights: Sequence[int], worth: Fraction
    ) -> list[int]:
        """Return the penalties of points: ``times`` the mass that they clip, and the mass missing below them.

        >>> Fence(below=4, mass=10, times=2).charged([9, 3, 0, 0], 20, [0, 4, 8, 12], Fraction(1))
        [18, 7, 7, 10]

        Args:
            masses: The mass that each point clips, in quanta.
            whole: The mass of all records: what a point below all of them would clip.
            heights: The height of each point, in quarters of an octave.
            worth: The value of a quantum of budget: the share times the quantum.
        """
        lower = [whole, *masses]
        asked = self._asked(worth)
        return [
            self.times * mass + max(0, asked - lower[place])
            for mass, place in zip(masses, self._places(heights), strict=True)
        ]

    def charged_groups(
        self, masses: list[Column], whole: list[Column], heights: Sequence[int], worth: Fraction
    ) -> list[Column]:
        """Return the same for many groups, in limbs: a row for each group and a column for each point."""
        clipped, every = joined(masses), joined(whole)
        lower = np.concatenate((every[:, np.newaxis], clipped), axis=1)[:, self._places(heights)]
        lacking = np.maximum(plus(exact_column([self._asked(worth)]), -lower), 0)
        return limbs(plus(product(clipped, exact_column([self.times])), lacking), 1)

    def _places(self, heights: Sequence[int]) -> list[int]:
        """Return for each point the number of points that lie as much lower as the fence, or more."""
        return [bisect_right(heights, height - self.below) for height in heights]

    def _asked(self, worth: Fraction) -> int:
        """Return the mass that should be clipped, in quanta."""
        return int(self.mass / worth)


_QUARTERS = 4
_PART_BITS = 20


class Candidates(Protocol):
    """Public clipping points, ascending, and the budget mass that each would clip."""

    @property
    def quantum(self) -> Fraction:
        """The budget that masses are counted in; on a ``lattice`` of n, in n such quanta, rounded down."""

    @property
    def max_decrease(self) -> int:
        """By how many halves of its own budget a new record can lower a mass: 0 where masses only rise."""

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records, on a lattice of so many quanta."""

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the mass that each point clips; points lie ``stride`` quarters of an octave apart."""

    def heights(self, stride: int) -> tuple[int, ...]:
        """Return the height of each point above the first one, in quarters of an octave."""

    def usual(self, stride: int) -> int:
        """Return the number of points for records within the public bounds."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The use of the rest of the share, for a table that was found about so rich in budget.

    Attributes:
        choice: The part of the share for choosing a point.
        answer: The part for the answer.
        fall: By how much a point's log-weight falls with each octave: what keeps the choice from running
            away from the data, and what the masses must outweigh for it to climb to them.
        stride: How far apart the points are, in quarters of an octave.
        fence: What else a point is charged for; None for what it clips alone.
        gaussian: Whether squares of all parts make at most 1, under a concentrated policy, where totals have
            Gaussian noise and points are drawn by exponential choices (proofs/concentrated.md).
    """

    choice: Fraction
    answer: Fraction
    fall: Fraction
    stride: int = 2
    fence: Fence | None = None
    gaussian: bool = False

    def spent(self, *others: Fraction) -> Fraction:
        """Return how much of the whole the choice, the answer and other parts use together."""
        parts = (self.choice, self.answer, *others)
        return sum((part * part if self.gaussian else part for part in parts), Fraction(0))

    @property
    def seen(self) -> Fraction:
        """The part of the share that a unit of clipped mass weighs: the choice's part, without fences.

        An exponential choice uses a quarter of what another draw with such log-ratios does: twice its part.
        """
        whole = 2 * self.choice if self.gaussian else self.choice
        return whole if self.fence is None else whole / (1 + self.fence.max_decrease)

    @property
    def kind(self) -> type[PermuteAndFlip | ExponentialChoice]:
        """The draw of a point."""
        return ExponentialChoice if self.gaussian else PermuteAndFlip

    @property
    def depth(self) -> float:
        """The mass of the octave at which the choice stops, times the share."""
        return float(self.fall / self.seen)

    def climbs(self, heights: tuple[int, ...], usual: int | None = None) -> Sequence[Fraction]:
        """Return by how much each point's log-weight has fallen, for points of these heights.

        Octaves that no record can be in, beyond one stride, cost less: there is nothing in them to stop at.
        Points beyond the first ``usual`` ones cost more, as few tables have records beyond their bounds.
        """
        return _climbs(self.fall, self.stride, heights, len(heights) if usual is None else usual)

    def left(self, points: Points, place: int) -> tuple[float, float]:
        """Return by how much the log-weight falls from a point to the last usual one, and the point's height.

        The height is in octaves above the first point.
        """
        climbs = self.climbs(points.heights, points.usual)
        climb = float(climbs[max(points.usual - 1, place)] - climbs[place])
        return climb, points.heights[place] / _QUARTERS


@lru_cache(maxsize=256)
def _climbs(fall: Fraction, stride: int, heights: tuple[int, ...], usual: int) -> Sequence[Fraction]:
    climbs = [Fraction(0)]
    for below, above in pairwise(heights):
        near = min(above - below, stride)
        gap = min(fall, _GAP_FALL) * (above - below - near)
        border = BEYOND_BOUNDS if len(climbs) == usual else 0
        climbs.append(climbs[-1] + (fall * near + gap) / _QUARTERS + border)
    return climbs


@lru_cache(maxsize=256)
def _in_parts(
    weight: Fraction, fall: Fraction, stride: int, heights: tuple[int, ...], usual: int
) -> tuple[int, Sequence[int], Fraction]:
    """Return a weight and the climbs of points as whole numbers of a part of 1, and that part."""
    climbs = _climbs(fall, stride, heights, usual)
    parts = lcm(weight.denominator, *[climb.denominator for climb in climbs])
    up = [climb.numerator * (parts // climb.denominator) for climb in climbs]
    return int(weight * parts), up, Fraction(1, parts)


def _tuning(choice: int, fall: str) -> Tuning:
    part = Fraction(choice, 100)
    return Tuning(part, 1 - _GATE - part, Fraction(fall))


# All of these were chosen once, on 90 made-up cases, and then frozen and measured on 30 real ones:
# experiments/choosing/README.md has the settings that were tried, and by how much each was worse.
_GATE = Fraction(3, 100)  # 2 % was within 1 %, and 6 % worse by 2 to 3 %
_TOTAL_GATE, _TAIL = Fraction(2, 100), Fraction(2, 100)  # of totals: experiments/choosing/tails.py
_CLIMB = Fraction(4, 5)  # of the fall: what a table's mass must outweigh to be called rich
_GAP_FALL = Fraction(1)  # an octave: where no record can be, a point's weight need not fall as fast
BEYOND_BOUNDS = 3  # where points for records beyond the bounds begin: with none, those within them pay for it
# Parts of the share for the choice in percent, and falls an octave: rich tables afford a gentle fall.
LARGE_SHARE = _tuning(20, "2.5")
SMALL_SHARE = _tuning(25, "2")
LEADING = _tuning(30, "1.8")  # of a large share, for a point that other totals follow
RICH = _tuning(38, "1.6")
MIDDLING = _tuning(21, "2.3")
LEAN = _tuning(39, "2")
FALLBACK = _tuning(43, "1.1")
THIN = _tuning(33, "2")  # for tiers of a sum with little budget: experiments/choosing/step_sums.py
FENCED = replace(_tuning(43, "0.8"), fence=Fence())
# Under concentrated privacy, where points weigh twice their part: experiments/choosing/concentrated.py
_MORE, _STEEPER = 2, Fraction(7, 5)


@dataclass(frozen=True, slots=True)
class PointFinder:
    """Find a clipping point by a noisy total mass and one draw among all points.

    Guarantee:
        With what follows at the part ``answer`` of the share, the whole is (share · E(r))-private.

    Why:
        Adding r raises the total budget mass, and the mass that each point would clip, by at most E(r): the
        noisy total costs a₀ · share · E(r) and the draw a₁ · share · E(r); with the answer's they make 1.
        In full: proofs/point.md.

    Attributes:
        gate: The part of the share that measures the table's total budget mass.
        tunings: Margins and tunings, to be tried in turn. The first is used for which the table is rich
            enough: its noisy mass, times the share and the part ``choice``, is at least the margin plus four
            fifths of the fall from the lowest point to the highest. The last has no margin: for the rest.
        gate_bits: The lattice of the total mass is as fine as this many bits of its noise.
        tail: The part of the share that measures the budget mass by octaves below the point that was drawn; 0
            where nobody does.
    """

    gate: Fraction = _GATE
    tunings: tuple[tuple[int | None, Tuning], ...] = ((25, LARGE_SHARE), (25, FALLBACK), (None, FALLBACK))
    gate_bits: int = 50
    tail: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if any(tuning.spent(self.gate, self.tail) > 1 for _, tuning in self.tunings):
            raise ValueError("the parts of the share add up to more than the whole")

    @classmethod
    def tuned(cls, share: Fraction) -> PointFinder:
        """Return the finder for a share; the parameters were chosen once (experiments/choosing)."""
        if share > Fraction(1, 3):
            return cls()
        return cls(tunings=((25, SMALL_SHARE), (25, FALLBACK), (None, FALLBACK)))

    @classmethod
    def for_totals(cls, share: Fraction) -> PointFinder:
        """Return the finder for totals, which were looked at more closely than what else is clipped."""
        if share > Fraction(1, 3):
            return cls._measuring((36, LARGE_SHARE), (25, FENCED), (None, FENCED))
        return cls._measuring((420, RICH), (45, MIDDLING), (50, LEAN), (25, FENCED), (None, FENCED))

    @classmethod
    def for_leaders(cls, share: Fraction) -> PointFinder:
        """Return the finder for totals whose point others follow, so that it is worth more."""
        if share > Fraction(1, 3):
            return cls._measuring((45, LEADING), (25, FENCED), (None, FENCED))
        return cls.for_totals(share)

    @classmethod
    def _measuring(cls, *tunings: tuple[int | None, Tuning]) -> PointFinder:
        """Return the finder of totals, which measures what lies below the point as well."""
        rest = 1 - _TOTAL_GATE - _TAIL
        tuned = tuple((least, replace(tuning, answer=rest - tuning.choice)) for least, tuning in tunings)
        return cls(_TOTAL_GATE, tuned, tail=_TAIL)

    def with_gaussian(self) -> PointFinder:
        """Return the finder for an answer with Gaussian noise: what the squares of the other parts leave.

        Each part is private by itself; what they use of P(r) goes by squares: proofs/concentrated.md.
        """
        gate, tail = _MORE * self.gate, _MORE * self.tail
        tunings = []
        for least, one in self.tunings:
            answer = root_below(1 - gate**2 - tail**2 - one.choice**2, _PART_BITS)
            tunings.append((least, replace(one, answer=answer, fall=_STEEPER * one.fall, gaussian=True)))
        return replace(self, gate=gate, tail=tail, tunings=tuple(tunings))

    def law(self, candidates: Candidates, share: Fraction, answer: Callable[[Tuning, int], Law]) -> Gated:
        """Return the distribution of (which tuning, (place on the candidates, the answer there)).

        Args:
            candidates: The mass that each point would clip.
            share: The part of every record's budget for all of it.
            answer: From a tuning and the place that was chosen to the law of the answer, which is to use
                the part ``tuning.answer`` of the share.
        """
        return self.laws(candidates, share)(candidates, answer)

    def laws(
        self, facts: Candidates, share: Fraction
    ) -> Callable[[Candidates, Callable[[Tuning, int], Law]], Gated]:
        """Return ``law`` for candidates with the same public facts as some; those are worked out once."""
        lattice, noises = self.lattice(facts.quantum, share), self.measured([facts], share).noises
        rule = FirstReaching(tuple((0, least) for least in self.reached(facts, share)))

        def law(candidates: Candidates, answer: Callable[[Tuning, int], Law]) -> Gated:
            def rest(which: int) -> Then:
                tuning = self.tunings[which][1]
                return Then(self.drawn(candidates, share, tuning), lambda place: answer(tuning, place))

            return Gated(Noisy((candidates.mass(lattice),), noises), rule, Lazily(len(self.tunings), rest))

        return law

    def measured(self, candidate_lists: Sequence[Candidates], share: Fraction) -> Noisy:
        """Return the noisy total mass of each of some disjoint sets of records; there is at least one."""
        quantum = candidate_lists[0].quantum
        lattice = self.lattice(quantum, share)
        noise = DiscreteLaplace(1 / (share * self.gate * quantum * lattice))
        return Noisy(
            tuple(candidates.mass(lattice) for candidates in candidate_lists), (noise,) * len(candidate_lists)
        )

    def reached(self, candidates: Candidates, share: Fraction, margin: int | None = None) -> tuple[int, ...]:
        """Return the threshold of the noisy mass for each tuning but the last, on its lattice; all public.

        Args:
            candidates: Of which the public points matter.
            share: The part of every record's budget.
            margin: In place of the tunings' own margins.
        """
        step = candidates.quantum * self.lattice(candidates.quantum, share)
        found: list[int] = []
        for own, tuning in self.tunings:
            if own is None:
                break
            usual = candidates.heights(tuning.stride)[: candidates.usual(tuning.stride)]
            least = self.least(own if margin is None else margin, tuning, usual)
            found.append(ceil(least / (step * share)))
        return tuple(found)

    def drawn(
        self, candidates: Candidates, share: Fraction, tuning: Tuning
    ) -> PermuteAndFlip | ExponentialChoice:
        """Return the draw of a point among candidates, under a tuning."""
        weight = evidence(candidates, share, tuning) * candidates.quantum
        heights, usual = candidates.heights(tuning.stride), candidates.usual(tuning.stride)
        masses: Sequence[int] = candidates.masses(tuning.stride, 1)
        if tuning.fence is not None:
            weight /= tuning.fence.times
            masses = tuning.fence.charged(masses, candidates.mass(1), heights, share * candidates.quantum)
        return self.choice(masses, weight, tuning, heights, usual)

    def choice(
        self,
        masses: Sequence[int],
        weight: Fraction,
        tuning: Tuning,
        heights: tuple[int, ...],
        usual: int | None = None,
    ) -> PermuteAndFlip | ExponentialChoice:
        """Return the draw of a point: the less it clips, and the lower it is, the likelier.

        Args:
            masses: The mass that each point would clip, in quanta.
            weight: By how much a point's log-weight falls with each quantum.
            tuning: How far apart the points are, and by how much it falls with each octave.
            heights: The height of each point, in quarters of an octave.
            usual: How many points are for records within the public bounds; None for all.
        """
        known = len(heights) if usual is None else usual
        each, climbs, unit = _in_parts(weight, tuning.fall, tuning.stride, heights, known)
        return tuning.kind(tuple(each * mass + up for mass, up in zip(masses, climbs, strict=True)), unit)

    def parts(self, tuning: Tuning) -> str:
        """Return in words what part of the share went where."""
        each = ((self.gate, self.tail), (tuning.choice,), (tuning.answer,))
        used = [sum(part * part if tuning.gaussian else part for part in some) for some in each]
        parts = zip(("measuring", "choosing", "answering"), used, strict=True)
        return ", ".join(f"{float(100 * part):.4g} % {what}" for what, part in parts)

    def least(self, margin: int, tuning: Tuning, heights: tuple[int, ...]) -> Fraction:
        """Return from which noisy mass on, times the share, a tuning is used on points of these heights."""
        return (_CLIMB * tuning.climbs(heights)[-1] + margin) / tuning.seen

    def lattice(self, quantum: Fraction, share: Fraction) -> int:
        """Return the lattice of the total mass in quanta: the power of two that keeps its noise in range."""
        return self._lattice(quantum, share * self.gate)

    def _lattice(self, quantum: Fraction, part: Fraction) -> int:
        return 1 << max(0, int(1 / (part * quantum)).bit_length() - self.gate_bits)

    def tail_lattice(self, quantum: Fraction, share: Fraction) -> int:
        """Return the lattice of the masses by octaves, in quanta."""
        return self._lattice(quantum, share * self.tail)

    def tail_noise(self, quantum: Fraction, share: Fraction) -> DiscreteLaplace:
        """Return the noise of the mass of each octave, on its lattice."""
        return DiscreteLaplace(1 / (share * self.tail * self.tail_step(quantum, share)))

    def tail_step(self, quantum: Fraction, share: Fraction) -> Fraction:
        """Return the budget of one step of the lattice of masses by octaves."""
        return quantum * self.tail_lattice(quantum, share)

    def tails(self, summary: Summary, share: Fraction, caps: Column) -> Noisy:
        """Return the noisy masses of records, by octaves below their caps; of nothing where none is measured.

        A record is in one octave, which its own cell tells, and adds its budget there.
        """
        if not self.tail:
            return Noisy((), ())
        quantum, cells = summary.levels.quantum, summary.cells
        masses = cells.masses(self.tail_lattice(quantum, share))
        found = totals_at(octaves_below(cells.high, caps), masses, OCTAVES + 1)[:OCTAVES]
        return Noisy(tuple(map(int, found)), (self.tail_noise(quantum, share),) * OCTAVES)


def caps_at(summary: Summary, tuning: Tuning, place: int) -> Column:
    """Return the caps of the records of each cell at the point of a place on a tuning's candidates."""
    points = Points.spanning(summary, tuning.stride)
    return summary.cells.by_budget(partial(points.cap, place))


def total_noise(summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noise:
    """Return the noise of a total that is clipped at the point of a place; by public facts alone."""
    points = Points.spanning(summary, tuning.stride)
    scale = points.per_quantum(place) / summary.levels.quantum / (share * tuning.answer)
    return DiscreteGaussian(scale**2) if tuning.gaussian else DiscreteLaplace(scale)


def noisy_total(summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
    """Return the noisy total of the records, clipped at the point of a place on a tuning's candidates."""
    total = summary.clipped_total(caps_at(summary, tuning, place))
    return Noisy((total,), (total_noise(summary, share, tuning, place),))


def evidence(candidates: Candidates, share: Fraction, tuning: Tuning) -> Fraction:
    """Return by how much a point's log-weight falls with each unit of budget mass that it clips."""
    return share * tuning.seen / (1 + Fraction(candidates.max_decrease, 2))


@dataclass(frozen=True, slots=True)
class RecordCandidates:
    """The candidates of a summary: a point clips the records whose cell reaches above it."""

    summary: Summary
    max_decrease: int = 0

    def clipping(self, share: Fraction, tuning: Tuning, place: int, *, blind: bool) -> Clipping:
        """Return the known facts about clipping at a place that a tuning chose; of public facts alone."""
        summary = self.summary
        points = Points.spanning(summary, tuning.stride)
        at, usual, most = (
            points.per_quantum(point) / summary.levels.quantum for point in (place, points.usual - 1, -1)
        )
        weight = evidence(self, share, tuning)
        spans = len(summary.ratios.values) if summary.ratios else 1
        return Clipping(
            at,
            most,
            weight,
            tuning.fall,
            tuning.stride,
            blind=blind,
            spans=spans,
            spared=tuning.fence.spared(share) if tuning.fence else Fraction(0),
            usual=usual,
            border=BEYOND_BOUNDS if usual < most else 0,
        )

    @property
    def quantum(self) -> Fraction:
        """The rounding step of masses: that of the levels."""
        return self.summary.levels.quantum

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records that a point could clip: those whose value is not zero."""
        cells = self.summary.cells
        return total(cells.masses(lattice)[cells.high != 0])

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the budget mass that each point clips; adding a record raises it by 0 or by its own."""
        points = Points.spanning(self.summary, stride)
        cells = self.summary.cells
        reaching = points.first_reaching(cells.high, cells.quanta)
        masses = totals_at(reaching, cells.masses(lattice), len(points.numerators) + 1)
        return tuple(beyond(masses)[:-1])  # a cell that point j reaches is clipped at points before j

    def heights(self, stride: int) -> tuple[int, ...]:
        """Return the height of each point."""
        return Points.spanning(self.summary, stride).heights

    def usual(self, stride: int) -> int:
        """Return the number of points for records within the public bounds."""
        return Points.spanning(self.summary, stride).usual


@dataclass(frozen=True, slots=True)
class SparingCandidates:
    """Candidates that may clip a public mass at no cost: a point's mass is what it clips beyond that.

    Adding a record moves max(0, g - spared) no further than g, and the same way.
    """

    candidates: RecordCandidates
    spared: int

    @property
    def quantum(self) -> Fraction:
        """The rounding step of masses."""
        return self.candidates.quantum

    @property
    def max_decrease(self) -> int:
        """As that of the candidates."""
        return self.candidates.max_decrease

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records."""
        return self.candidates.mass(lattice)

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the mass that each point clips beyond what is spared."""
        spared = self.spared // lattice
        return tuple(max(0, mass - spared) for mass in self.candidates.masses(stride, lattice))

    def heights(self, stride: int) -> tuple[int, ...]:
        """As those of the candidates."""
        return self.candidates.heights(stride)

    def usual(self, stride: int) -> int:
        """As that of the candidates."""
        return self.candidates.usual(stride)
