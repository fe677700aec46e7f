"""Proportional clipping: each record counts up to a multiple of its own budget.

``Clip.law`` is what one group's answer is drawn from, and what the exact tests enumerate. ``ClipGroups``
works out the integers of the laws of thousands of groups in columns, and draws their noises together; tests
hold both to each other, integer by integer and byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial, reduce
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, exact_column, numbered, over, plus
from prdp.cells.groups import SummaryGroups, joined
from prdp.cells.summary import Summary
from prdp.mechanisms._tail import OCTAVES, TailRule, in_caps, octaves_below
from prdp.mechanisms._threshold import (
    PointFinder,
    Points,
    RecordCandidates,
    SparingCandidates,
    Tuning,
    caps_at,
    evidence,
    noisy_total,
    total_noise,
)
from prdp.mechanisms.clipped_tiers import ClippedTiers
from prdp.mechanisms.tiers import Tiers
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Gated, Law, Lazily, Noise, Noisy, Rule, Then
from prdp.noise.permute_and_flip import ManyChoices
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, AnswerColumn, ByGroup, Caveat, family

SEEN = 25
"""The margin by which each sign's own mass must outweigh the climb, for its point to be found alone."""

_RESERVE = Fraction(5, 6)
"""Number of scales of one gate's noise that are subtracted from the sum of two: 2(√2 - 1)."""


@dataclass(frozen=True, slots=True)
class BothReaching:
    """The first tuning that two noisy masses reach together; the same one apart, if each is large enough.

    Attributes:
        together: What both masses together must reach for each tuning but the last.
        apart: What each of them must reach for its own choice.
        reserve: What is taken off their sum, whose noise is that of two.
    """

    together: tuple[int, ...]
    apart: tuple[int, ...]
    reserve: int

    def __call__(self, values: tuple[int, ...], /) -> int:
        """Return the tuning's place, or that plus the number of tunings for two choices.

        >>> rule = BothReaching(together=(10, 5), apart=(4, 3), reserve=1)
        >>> rule((9, 2)), rule((5, 6)), rule((1, 1))  # one choice, two choices, neither mass is seen
        (0, 3, 2)
        """
        both = sum(values) - self.reserve
        which = next((place for place, least in enumerate(self.together) if both >= least), None)
        if which is None:
            return len(self.together)
        return which + (len(self.together) + 1 if min(values) >= self.apart[which] else 0)


@dataclass(frozen=True, slots=True)
class SideFinder:
    """Find the clipping point of a sum of both signs: by one choice, or as the larger of two.

    Guarantee:
        With what follows at the part ``answer`` of the share, the whole is (share · E(r))-private.

    Why:
        Values above and below zero are two disjoint sets of records. Adding r moves one of the two noisy
        masses, and one of the two choices: its own sign's. In full: proofs/clip.md.

    Attributes:
        finder: The finder of a point.
    """

    finder: PointFinder

    def law(self, summary: Summary, share: Fraction, answer: Callable[..., Law]) -> Gated:
        """Return the distribution of (which tuning, (place, answer)).

        With two choices, which is higher by the number of tunings, and what follows it is (place above zero,
        (place below zero, the answer at both)).
        """
        finder, whole = self.finder, RecordCandidates(summary)
        below, above = (RecordCandidates(side) for side in sides(summary))
        gate = finder.measured([below, above], share)

        def rest(which: int) -> Then:
            tuning = finder.tunings[which % len(finder.tunings)][1]
            if which < len(finder.tunings):
                return Then(finder.drawn(whole, share, tuning), lambda place: answer(tuning, place))
            other = finder.drawn(below, share, tuning)
            return Then(
                finder.drawn(above, share, tuning),
                lambda high: Then(other, lambda low: answer(tuning, low, high)),
            )

        return Gated(
            first=gate,
            rule=BothReaching(
                together=finder.reached(whole, share),
                apart=finder.reached(whole, share, SEEN),
                reserve=ceil(_RESERVE * gate.noises[0].scale),
            ),
            laws=Lazily(2 * len(finder.tunings) - 1, rest),
        )


def sides(summary: Summary) -> tuple[Summary, Summary]:
    """Return the records below zero, and those above."""
    sign = summary.cells.sign
    below, above = (replace(summary, cells=summary.cells.where(sign == one)) for one in (-1, 1))
    return below, above


PER_GROUP = 2
"""The budget mass, times the share, that a point may clip of each of several groups at no penalty."""

_CELLS = 1 << 20
"""Number of masses, of groups at points, that are computed together."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The choices of each row: a tuning, a place among its candidates, and whether it was chosen jointly.

    Where each sign chose, ``which`` is higher by the number of tunings, and ``below`` is the place of values
    below zero; else it is 0.
    """

    which: NDArray[np.intp]
    place: NDArray[np.intp]
    below: NDArray[np.intp]
    spared: list[Fraction]
    sparing: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ClipGroups:
    """Disjoint groups on a lattice that is fine enough, and what of their laws is public.

    Attributes:
        clip: The mechanism.
        groups: The groups.
        share: The part of every record's budget.
        step: The value of a lattice step.
        public: The summary of no records: what all groups' laws have in common is worked out from it.
    """

    clip: Clip
    groups: SummaryGroups
    share: Fraction
    step: Fraction
    public: Summary = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", self.groups.empty)

    def gates(self) -> list[Column]:
        """Return each group's budget mass, on the lattice of its noise; of both signs, one column each."""
        kinds = self.groups.kinds
        lattice = self.clip.finder.lattice(self.groups.levels.quantum, self.share)
        masses = np.where(kinds.high != 0, over(kinds.quanta, lattice), 0)
        return [self.groups.weighed(self._of_sign(masses, sign)) for sign in self._signs]

    @property
    def _signs(self) -> tuple[int | None, ...]:
        """The signs whose masses are measured: values below and above zero, or None for all of them."""
        return (-1, 1) if self.clip.signed else (None,)

    def _of_sign(self, weights: Column, sign: int | None) -> Column:
        """Return the weights of those kinds alone whose values have a sign; None for all of them."""
        return weights if sign is None else np.where(self.groups.kinds.sign == sign, weights, 0)

    def choices(self, chosen: Places, which: int, sign: int | None = None) -> ManyChoices:
        """Return the choices of a point of some groups, for a tuning; by values of one sign, or by all."""
        finder, candidates = self.clip.finder, RecordCandidates(self.public)
        tuning = finder.tunings[which][1]
        points = Points.spanning(self.public, tuning.stride)
        kinds, number = self.groups.kinds, len(points.numerators)
        reaching = points.first_reaching(kinds.high, kinds.quanta)
        weights = np.where(kinds.high != 0, self._of_sign(kinds.quanta, sign), 0)
        found = self.groups.weighed_at(chosen, reaching, number + 1, weights)
        masses = [np.cumsum(part[:, :0:-1], axis=1)[:, ::-1] for part in found]
        climbs = tuning.climbs(points.heights, points.usual)
        weight = evidence(candidates, self.share, tuning) * candidates.quantum
        if tuning.fence is not None:
            weight /= tuning.fence.times
            whole, worth = [part.sum(axis=1) for part in found], self.share * candidates.quantum
            masses = tuning.fence.charged_groups(masses, whole, points.heights, worth)
        return ManyChoices.of(masses, weight, climbs, tuning.kind)

    def totals(self, chosen: Places, which: int, place: int) -> Column:
        """Return some groups' totals, clipped at the point of a place on a tuning's candidates."""
        return self.groups.clipped(chosen, self._caps(which, place))

    def _caps(self, which: int, place: int) -> Column:
        """Return the caps of records of each kind at the point of a place."""
        points = Points.spanning(self.public, self.clip.finder.tunings[which][1].stride)
        return self.groups.kinds.by_budget(partial(points.cap, place))

    def noise(self, which: int, place: int) -> Noise:
        """Return the noise of a total that is clipped at the point of a place."""
        return total_noise(self.public, self.share, self.clip.finder.tunings[which][1], place)

    def tails(self, chosen: Places, which: int, place: int, sign: int | None = None) -> Column:
        """Return some groups' masses by octaves below the point of a place: a row each."""
        lattice = self.clip.finder.tail_lattice(self.groups.levels.quantum, self.share)
        weights = self._of_sign(over(self.groups.kinds.quanta, lattice), sign)
        octaves = octaves_below(self.groups.kinds.high, self._caps(which, place))
        return joined(self.groups.weighed_at(chosen, octaves, OCTAVES + 1, weights))[:, :OCTAVES]

    def drawn(self, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for all groups; those with little budget choose a point together."""
        law = self.clip.law(self.public, self.share)
        rows = len(self.groups) * runs  # a group's runs side by side
        masses = [
            plus(np.repeat(gate, runs), noise.draw_many(entropy, rows))
            for gate, noise in zip(self.gates(), law.first.noises, strict=True)
        ]
        chosen = self._together(masses, picked(law.rule, masses), runs, entropy)
        alone, pooled = np.flatnonzero(chosen.sparing == 0), np.flatnonzero(chosen.sparing)
        noises: Column = np.zeros((rows, 1 + self._octaves), dtype=np.int64)
        for which in np.unique(chosen.which[alone]).tolist():
            mine = alone[chosen.which[alone] == which]
            for some in self._choose(chosen, mine, mine // runs, entropy):
                noises = _filled(noises, some, self._noises(chosen, some, entropy))
        for which in np.unique(chosen.which[pooled]).tolist():
            mine = pooled[chosen.which[pooled] == which]
            noises = _filled(noises, mine, self._noises(chosen, mine, entropy))
        octaves = self._tails(chosen, runs).reshape(-1)
        tails = plus(octaves, noises[:, 1:].reshape(-1)).reshape(rows, self._octaves)
        return self._answers(chosen, plus(self._clipped(chosen, runs), noises[:, 0]), tails, runs)

    @property
    def _octaves(self) -> int:
        """Number of octaves that are measured, of both signs where there may be both."""
        return OCTAVES * len(self._signs) if self.clip.finder.tail else 0

    def _tails(self, chosen: _Chosen, runs: int) -> Column:
        """Return each row's masses by octaves below its point; of both signs, below each one's own."""
        found: Column = np.zeros((len(chosen.place), self._octaves), dtype=np.int64)
        tunings, groups = len(self.clip.finder.tunings), np.arange(len(chosen.place)) // runs
        apart = chosen.which >= tunings
        for side, sign in enumerate(self._signs if self._octaves else ()):
            place = (
                np.where(apart & (side == 0), chosen.below, chosen.place)
                if self.clip.signed
                else chosen.place
            )
            points, point = numbered(place * tunings + chosen.which % tunings)
            for number, one in enumerate(points.tolist()):
                here = np.flatnonzero(point == number)
                mine, each = np.unique(groups[here], return_inverse=True)
                masses = self.tails(mine, one % tunings, one // tunings, sign)[each.reshape(-1)]
                found = found.astype(object) if masses.dtype == object else found
                found[here, side * OCTAVES : (side + 1) * OCTAVES] = masses
        return found

    def _together(
        self, masses: Sequence[Column], which: NDArray[np.intp], runs: int, entropy: Entropy
    ) -> _Chosen:
        """Choose a joint point for groups with too little budget to choose alone; it takes two groups."""
        finder = self.clip.finder
        last = len(finder.tunings) - 1
        place, below, sparing = (np.zeros_like(which) for _ in range(3))
        spared = [Fraction(0)]
        which, mass_of = which.copy(), reduce(plus, masses)
        pooled = lru_cache(maxsize=8)(
            lambda pooled_places: self._pooled(np.frombuffer(pooled_places, np.intp))
        )
        for run in range(runs):
            pooled_places = np.flatnonzero(which[run::runs] == last)
            if len(pooled_places) < 2:
                continue
            law, mass = pooled(pooled_places.tobytes())
            rows = pooled_places * runs + run
            noisy = sum(mass_of[rows].tolist()) - _reserve(law, len(pooled_places) * len(masses))
            tuning = law.rule((noisy,))
            choice = law.laws[tuning]
            assert isinstance(choice, Then)  # noqa: S101  (see PointFinder.law)
            which[rows], place[rows] = tuning, int(choice.first.draw(entropy, 1)[0])
            sparing[rows] = len(spared)
            spared.append(mass)
        return _Chosen(which, place, below, spared, sparing)

    def _pooled(self, pooled_places: Places) -> tuple[Gated, Fraction]:
        """Return the law of a point for several groups together, and the budget mass that it spares.

        Nothing but the point is drawn from it.
        """
        merged = self.groups.together(pooled_places)
        spared = int(PER_GROUP * len(pooled_places) / (self.share * merged.levels.quantum))
        candidates = SparingCandidates(RecordCandidates(merged), spared)
        law = self.clip.finder.law(candidates, self.share, _nothing)
        return law, spared * candidates.quantum

    def _choose(self, chosen: _Chosen, rows: Places, groups: Places, entropy: Entropy) -> Iterator[Places]:
        """Choose a point for some rows that have the same tuning, or one for each sign.

        Rows are yielded as soon as they have their points: what follows is drawn in the order of ``Then``.
        """
        which = int(chosen.which[rows[0]])
        tuning = which % len(self.clip.finder.tunings)
        if which == tuning:
            chosen.place[rows] = self._points(tuning, groups, entropy)
            yield rows
            return
        chosen.place[rows] = self._points(tuning, groups, entropy, 1)
        for place in np.unique(chosen.place[rows]):
            here = np.flatnonzero(chosen.place[rows] == place)
            chosen.below[rows[here]] = self._points(tuning, groups[here], entropy, -1)
            yield rows[here]

    def _points(self, tuning: int, rows: Places, entropy: Entropy, sign: int | None = None) -> Places:
        """Choose a point for each row by itself; rows are numbers of groups."""
        groups, group = np.unique(rows, return_inverse=True)
        points = Points.spanning(self.public, self.clip.finder.tunings[tuning][1].stride)
        at_once = max(1, _CELLS // len(points.numerators))
        found = np.zeros(len(rows), np.intp)
        for start in range(0, len(groups), at_once):
            choices = self.choices(groups[start : start + at_once], tuning, sign)
            here = np.flatnonzero((group >= start) & (group < start + at_once))
            found[here] = choices.draw(entropy, group[here] - start)
        return found

    def _noises(self, chosen: _Chosen, rows: Places, entropy: Entropy) -> Column:
        """Draw the noises of some rows of one tuning: of totals at the higher point, and of octaves."""
        tuning = int(chosen.which[rows[0]]) % len(self.clip.finder.tunings)
        found: Column = np.zeros((len(rows), 1 + self._octaves), dtype=np.int64)
        place, below = chosen.place[rows], chosen.below[rows]
        size = int(below.max(initial=0)) + 1
        pairs, pair = numbered(place * size + below)
        for number, higher in enumerate(np.maximum(*np.divmod(pairs, size)).tolist()):
            here = np.flatnonzero(pair == number)
            drawn = self.noise(tuning, higher).draw_many(entropy, len(here))[:, np.newaxis]
            if self._octaves:
                noise = self.clip.finder.tail_noise(self.groups.levels.quantum, self.share)
                octaves = noise.draw_many(entropy, len(here) * self._octaves).reshape(len(here), -1)
                drawn = np.concatenate((drawn, octaves), axis=1)
            found = _filled(found, here, drawn)
        return found

    def _clipped(self, chosen: _Chosen, runs: int) -> Column:
        """Return each row's total, clipped at the higher of its points."""
        tunings = len(self.clip.finder.tunings)
        higher = np.maximum(chosen.place, chosen.below)
        points, point = numbered(higher * tunings + chosen.which % tunings)
        caps = [self._caps(point % tunings, point // tunings) for point in points.tolist()]
        groups = np.arange(len(higher)) // runs
        pairs, pair = np.unique(groups * len(points) + point, return_inverse=True)
        group, which = np.divmod(pairs, len(points))
        return self.groups.clipped_each(group, caps, which)[pair.reshape(-1)]

    def _answers(self, chosen: _Chosen, steps: Column, tails: Column, runs: int) -> ByGroup:
        """Return the answers, each with its metadata: all of it released or public."""
        facts = chosen.which, chosen.place, chosen.below, chosen.sparing
        different, which_facts = _numbered(facts)
        templates = [
            self.answer(int(which), int(place), int(below), chosen.spared[sparing])
            for which, place, below, sparing in different
        ]
        factors = self._factors(chosen, templates, which_facts, steps, tails, runs)
        different, which_words = _numbered((which_facts, *factors.T))
        words = tuple(self._selected(templates[fact], *each) for fact, *each in different)
        by_run = zip(steps.reshape(-1, runs).T, which_words.reshape(-1, runs).T, strict=True)
        return ByGroup(tuple(AnswerColumn(number.copy(), each.copy(), words) for number, each in by_run))

    def _factors(  # noqa: PLR0917  (all that was drawn)
        self,
        chosen: _Chosen,
        templates: Sequence[Answer],
        which_facts: Places,
        steps: Column,
        tails: Column,
        runs: int,
    ) -> Places:
        """Return which tail factor each row gets, below and above zero, and 1 where the choice failed.

        That is by what was drawn alone.
        """
        found = np.zeros((len(steps), 3), np.intp)
        if not self._octaves:
            return found
        finder, rule, number = self.clip.finder, self._rule, len(self.groups)
        masses = rule.weights(tails, finder.tail_step(self.groups.levels.quantum, self.share))
        masses = masses.reshape(len(steps), -1, OCTAVES)
        pooled = masses.reshape(number, runs, *masses.shape[1:]).mean(axis=0)
        pooled = np.tile(pooled, (number, 1, 1))
        sides = [rule.visible(masses[:, side], pooled[:, side], number) for side in range(masses.shape[1])]
        for fact, template in enumerate(templates):
            rows = np.flatnonzero(which_facts == fact)
            clipping = template.clipping
            if not isinstance(clipping, Clipping) or clipping.blind or clipping.nothing:
                continue
            tuning = finder.tunings[int(chosen.which[rows[0]]) % len(finder.tunings)][1]
            depth = tuning.depth + PER_GROUP * bool(chosen.sparing[rows[0]])
            scales = tuple(noise.scale for noise in template.noises)
            seen = [(each[rows], octave[rows]) for each, octave in sides]
            pulling = replace(clipping, below=self.clip.signed, mixed=self.clip.signed)
            caps = in_caps(steps[rows], clipping.at / self.share)
            found[rows, :2] = rule.selected(pulling, scales, depth, seen, caps, masses[rows])
            if not chosen.sparing[rows[0]]:
                place = int(max(chosen.place[rows[0]], chosen.below[rows[0]]))
                left = tuning.left(Points.spanning(self.public, tuning.stride), place)
                measured = masses[rows].reshape(len(rows), -1)
                found[rows, 2] = rule.failed(measured, caps, float(tuning.seen), left)
        return found

    @property
    def _rule(self) -> TailRule:
        """The rule by which tail factors are selected."""
        counted = self.public.smallest == self.public.largest
        return TailRule.of(counted=counted, part=self.clip.finder.tail, share=self.share)

    def _selected(self, template: Answer, below: int, above: int, failed: int) -> Answer:
        """Return an answer's metadata with its tail factors, where any were selected."""
        clipping = template.clipping
        assert isinstance(clipping, Clipping)  # noqa: S101  (see answer)
        if not self._octaves or clipping.blind or clipping.nothing:
            return template
        if failed:
            return replace(template, clipping=replace(clipping, failed=True))
        return replace(template, clipping=self._rule.on(clipping, below, above))

    def answer(self, which: int, place: int, below: int, spared: Fraction) -> Answer:
        """Return the metadata of a noisy total, without the number itself.

        Args:
            which: The tuning that chose; higher by the number of tunings where each sign chose.
            place: The place that was chosen; where each sign chose, that of values above zero.
            below: Where each sign chose, the place of values below zero.
            spared: The mass that the place might clip at no penalty.
        """
        finder = self.clip.finder
        places = (place,) if which < len(finder.tunings) else (below, place)
        noise = self.noise(which % len(finder.tunings), max(places))
        clipping = self.clip.clipping(self.public, self.share, which, *places)
        clipping = replace(clipping, spared=clipping.spared + spared)
        choices = [("clipped at", f"{self._shown(clipping.at)} for each unit of budget")]
        if clipping.drawn is not None:
            low, high = map(self._shown, clipping.drawn)
            choices.append(("points found", f"{low} for values below zero, {high} for those above"))
        choices.append(("of the share", finder.parts(finder.tunings[which % len(finder.tunings)][1])))
        return Answer(0, self.step, (noise,), tuple(choices), clipping=clipping, noise=family((noise,)))

    def _shown(self, point: Fraction) -> str:
        return f"{float(point * self.step):.6g}"


def _numbered(columns: Sequence[Places]) -> tuple[list[tuple[int, ...]], Places]:
    """Return the different rows of some columns, and the number of each row among them."""
    sizes = tuple(int(column.max(initial=0)) + 1 for column in columns)
    found, which = np.unique(np.ravel_multi_index(tuple(columns), sizes), return_inverse=True)
    different = zip(*(column.tolist() for column in np.unravel_index(found, sizes)), strict=True)
    return list(different), which.reshape(-1)


def picked(rule: Rule, masses: Sequence[Column]) -> NDArray[np.intp]:
    """Return, for each row of noisy masses, the place that a rule picks by them.

    >>> rule = BothReaching(together=(10, 5), apart=(4, 3), reserve=1)
    >>> picked(rule, [exact_column([9, 5, 1]), exact_column([2, 6, 1])]).tolist()  # as the rule itself does
    [0, 3, 2]
    """
    if isinstance(rule, FirstReaching):
        return _first_reached(masses[0], [least for _, least in rule.tests])
    assert isinstance(rule, BothReaching)  # noqa: S101  (Clip.law has no other)
    below, above = masses
    both = plus(plus(below, above), exact_column([-rule.reserve]))
    which, smaller = _first_reached(both, rule.together), np.minimum(below, above)
    for place, least in enumerate(rule.apart):
        apart = np.asarray(smaller >= exact_column([least]), dtype=bool) & (which == place)
        which[apart] += len(rule.together) + 1
    return which


def _nothing(_tuning: Tuning, _place: int) -> Noisy:
    """Return the law of no answer: of a law with it, the choices alone are drawn from."""
    return Noisy((), ())


def _reserve(law: Gated, noises: int) -> int:
    """Return the reserve that is subtracted from a noisy mass, by the number of noises in it."""
    (noise,) = law.first.noises
    return int(2 * noise.scale * (isqrt(noises) - 1))


def _filled(column: Column, places: Places, numbers: Column) -> Column:
    """Return a column with numbers at some places."""
    column = column.astype(object) if numbers.dtype == object and column.dtype != object else column
    column[places] = numbers
    return column


def _first_reached(masses: Column, leasts: Sequence[int]) -> NDArray[np.intp]:
    """Return, for each mass, the place of the first number that it reaches; else the place after the last."""
    found = np.full(len(masses), len(leasts), np.intp)
    for place in reversed(range(len(leasts))):
        found[np.asarray(masses >= exact_column([leasts[place]]), dtype=bool)] = place
    return found


FINEST_BITS = 20
"""Maximum number of bits by which a sum's lattice is finer than the values."""
_VALUE_BITS = 40
"""Values that have so many bits need no finer lattice: a step is below 2^-40 of the largest value."""


def finer_bits(summary: Summary, finest: int) -> int:
    """Return the bits by which the sum's lattice is finer than the values, to keep small ones."""
    return max(0, min(finest, _VALUE_BITS - summary.largest.bit_length()))


@dataclass(frozen=True, slots=True)
class Clip:
    """Clip every record at b times its budget, with b chosen by how little budget it clips.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding b costs (1 - a₂) · share · E(r). At the b that is found, r moves the clipped total by at most
        b · E(r), which noise of scale b / (a₂ · share) hides up to a₂ · share · E(r).
        In full: proofs/clip.md.

    Attributes:
        finder: The finder of b.
        finest_bits: The maximum number of bits by which the lattice of answers is finer than values.
        signed: Whether values of both signs are added up, each of which may then find a point of its own.
        leads: Whether other totals of the same records follow its point.
        gaussian: Whether the answer's noise is Gaussian, under a concentrated policy: the share is then the
            root of what is used of P(r), and budgets are e(r) (proofs/concentrated.md).
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS
    signed: bool = False
    leads: bool = False
    gaussian: bool = False

    name = "clip"

    @property
    def concentrated(self) -> bool:
        """Whether the share is the root of what is used of P(r)."""
        return self.gaussian

    @classmethod
    def tuned(
        cls, share: Fraction, *, signed: bool = False, leads: bool = False, gaussian: bool = False
    ) -> Clip:
        """Return the mechanism for a share."""
        finder = PointFinder.for_leaders(share) if leads else PointFinder.for_totals(share)
        finder = finder.with_gaussian() if gaussian else finder
        return cls(finder, signed=signed, leads=leads, gaussian=gaussian)

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe the errors other than noise."""
        return Caveat("clipped records", "either way" if signed else "toward zero")

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total)).

        Where each sign has found a point, there are two of them: see ``SideFinder.law``.
        """
        if self.signed:
            return SideFinder(self.finder).law(summary, share, self.totals(summary, share))
        return self.finder.law(RecordCandidates(summary), share, self.totals(summary, share))

    def totals(self, summary: Summary, share: Fraction) -> Callable[..., Noisy]:
        """Return the noisy total as a function of the tuning and the place, or two, that were found."""
        return cache(partial(self.total, summary, share))

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, *places: int) -> Noisy:
        """Return the noisy total of the records, and the noisy masses by octaves below their point.

        It is clipped at the point of a place, or at the higher one of two; of two, each is for the octaves of
        its own side. Where values have both signs, there are octaves of both.
        """
        parts = [noisy_total(summary, share, tuning, max(places))]
        for side, place in (
            zip(sides(summary), (places[0], places[-1]), strict=True)
            if self.signed
            else ((summary, places[0]),)
        ):
            parts.append(self.finder.tails(side, share, caps_at(side, tuning, place)))
        return Noisy(sum((part.values for part in parts), ()), sum((part.noises for part in parts), ()))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; tier by tier where possible ratios lie in a few spans far apart."""
        apart = None if self.tiers(summary) else self.clipped_tiers(summary, share)
        if apart is None:
            return self.grouped([summary], share, entropy, runs)[0]
        bits = finer_bits(summary, self.finest_bits)
        return apart.answers(summary.refined(bits), share, entropy, runs, Fraction(1, 1 << bits))

    def grouped(self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for disjoint groups; those with little budget choose a point together.

        Which groups those are is read off their noisy masses. In full: proofs/point.md. Where answers are
        given tier by tier, nothing is chosen.
        """
        tiered = self._tiered(summaries, share, entropy, runs)
        return self._groups(summaries, share).drawn(entropy, runs) if tiered is None else tiered

    def _groups(self, summaries: Sequence[Summary], share: Fraction) -> ClipGroups:
        """Return groups on a lattice that is fine enough."""
        groups = SummaryGroups.of(summaries)
        bits = finer_bits(groups.empty, self.finest_bits)
        return ClipGroups(self, groups.refined(bits), share, Fraction(1, 1 << bits))

    def tiers(self, summary: Summary) -> Tiers | None:
        """Return the tiers that answer instead, by public facts alone; None where a point is chosen."""
        return Tiers.of(summary.refined(finer_bits(summary, self.finest_bits)), gaussian=self.gaussian)

    def clipped_tiers(self, summary: Summary, share: Fraction) -> ClippedTiers | None:
        """Return the tiers that choose a point each, by public facts alone; None where one is for all.

        Values of both signs may cancel within a tier, whose total would then not tell that it is there. Of
        counts under budgets in wide spans it was not measured whether tiers would help.
        """
        counted = summary.smallest == summary.largest
        return None if self.signed or counted else ClippedTiers.of(summary, share)

    def _tiered(
        self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int
    ) -> ByGroup | None:
        """Draw answers tier by tier for groups with the same public facts; None where there are no tiers."""
        tiers = self.tiers(summaries[0])
        if tiers is None:
            return None
        bits = finer_bits(summaries[0], self.finest_bits)
        groups = SummaryGroups.of(summaries).refined(bits)
        return tiers.grouped(groups, share, entropy, runs, Fraction(1, 1 << bits))

    def clipping(self, summary: Summary, share: Fraction, which: int, *places: int) -> Clipping:
        """Return the known facts about clipping at a place, given the tuning that chose it.

        Two places are those that values below and above zero have found; the higher one clips both.
        """
        margin, tuning = self.finder.tunings[which % len(self.finder.tunings)]
        found = RecordCandidates(summary).clipping(share, tuning, max(places), blind=margin is None)
        if len(places) == 1:
            return found
        points = Points.spanning(summary, tuning.stride)
        below, above = (points.per_quantum(place) / summary.levels.quantum for place in places)
        return replace(found, drawn=(below, above))
