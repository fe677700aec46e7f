"""From a drawn answer to a release: what is said beside the number, in one place for all entry points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.release.bias import Clipping, Dropped
from prdp.release.clipped import ClippedTerms, Said
from prdp.release.drawn import Answer
from prdp.release.release import Release
from prdp.release.shown import REACH
from prdp.release.tiered import Pull, TierClipping


@dataclass(frozen=True, slots=True)
class Label:
    """The words and scales beside an answer's number; all of it public.

    Attributes:
        words: What was asked, without the filter and the group.
        share: The part of every record's budget that is used.
        method: Which mechanism answers.
        caveat: What else than noise may move the answer, in words; empty if nothing else does.
        grain: What the values of the cells are counted in.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
        left_out: Which records the answer is not about, in words; empty where all take part.
        most_below: How much a unit of budget can count for at most in values below zero, in units of the
            grain; None where that is not known.
        most_above: The same for values above zero.
        whole: Whether the truth is a whole number.
        clipped: What is public about which records a clipping point lets count for less; None where that is
            not said.
    """

    words: str
    share: Fraction
    method: str
    caveat: str
    grain: Fraction = Fraction(1)
    below: bool = False
    above: bool = True
    left_out: str = ""
    most_below: Fraction | None = None
    most_above: Fraction | None = None
    whole: bool = False
    clipped: ClippedTerms | None = None

    def on(self, answer: Answer, about: str, *, simulated: bool) -> Release:
        """Return the release of an answer; ``about`` says of which records.

        >>> label = Label("sum of price", Fraction(1, 10), "clip", caveat="", grain=Fraction(1, 100))
        >>> release = label.on(Answer(250, Fraction(1), (), ()), " where age >= 40", simulated=False)
        >>> release.question, release.value
        ('sum of price where age >= 40', 2.5)
        """
        clipping = self._pull(answer)
        return Release(
            question=f"{self.words}{about}",
            steps=answer.steps,
            step=answer.step * self.grain,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            share=self.share,
            method=self.method,
            caveat=answer.caveat or self._caveat(clipping),
            choices=answer.choices + self._clipped(answer),
            simulated=simulated,
            ends=answer.ends and (answer.ends[0] * self.grain, answer.ends[1] * self.grain),
            clipping=clipping,
            noise=answer.noise,
            chosen=answer.chosen,
            whole=self.whole,
            beyond=self._beyond(clipping, answer.step),
            shape=answer.shape,
            left_out=self.left_out,
        )

    def _beyond(self, clipping: Pull | None, step: Fraction) -> str:
        """Return which records the interval that is shown leaves aside, in the user's own terms."""
        if self.clipped is None or not isinstance(clipping, Clipping | TierClipping):
            return ""
        if not clipping.needs(REACH):
            return ""
        below, above = (end * step * self.grain for end in clipping.reached(REACH))
        return self.clipped.any_beyond(below, above)

    def _caveat(self, clipping: Pull | None) -> str:
        """Return the caveat where it can apply, and no more of it than can."""
        if clipping is not None and clipping.nothing:
            return ""
        if isinstance(clipping, Clipping) and clipping.mixed and clipping.below != clipping.above:
            return f"clipped records can only {'lower' if clipping.above else 'raise'} it"
        return self.caveat

    def _pull(self, answer: Answer) -> Pull | None:
        """Return what was clipped or dropped, with the sides that it can have pulled from."""
        match answer.clipping:
            case Dropped() as dropped:
                return replace(dropped, below=self.below, above=self.above)
            case TierClipping() as tiers:
                return tiers.pulling(below=self.below, above=self.above)
            case Clipping() as clipping:
                at = clipping.at * answer.step
                below = self.below and (self.most_below is None or at < self.most_below)
                above = self.above and (self.most_above is None or at < self.most_above)
                if not below and not above:
                    below, above = self.below, self.above  # no record that is possible: say nothing of it
                return replace(clipping, below=below, above=above, mixed=self.below and self.above)
            case _:
                return None

    def _clipped(self, answer: Answer) -> Said:
        """Return which records counted for less, in the user's own terms."""
        clipping = answer.clipping
        if self.clipped is None or self.clipped.center is not None:
            return ()  # of squares, `beyond` says which: their choices name the point
        if clipping is None or clipping.nothing or clipping.at is None:
            return ()
        point = clipping.at * answer.step * self.grain
        return self.clipped.at(point, dropped=isinstance(clipping, Dropped))
