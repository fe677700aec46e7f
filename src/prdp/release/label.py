"""Turn a drawn answer into a release: the facts beside the number, in one place for all entry points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.release.clipped import ClippedTerms
from prdp.release.error_bounds import Pull
from prdp.release.raw_answer import Answer, Caveat
from prdp.release.release import Release


@dataclass(frozen=True, slots=True)
class Label:
    """The words and scales beside an answer's number; all of it public.

    Attributes:
        words: What was asked, without the filter and the group.
        share: The part of every record's budget that is used.
        method: Which mechanism answers.
        caveat: What else than noise may move the answer; None if nothing else does.
        round_to: What the values of the cells are counted in.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
        left_out: Which records the answer is not about, in words; empty where all take part.
        most_below: How much a unit of budget can count for at most in values below zero, in units of the
            rounding step; None where that is not known.
        most_above: The same for values above zero.
        whole: Whether the truth is a whole number.
        clipped: What is public about which records a clipping point lets count for less; None where that is
            not said.
    """

    words: str
    share: Fraction
    method: str
    caveat: Caveat | None
    round_to: Fraction = Fraction(1)
    below: bool = False
    above: bool = True
    left_out: str = ""
    most_below: Fraction | None = None
    most_above: Fraction | None = None
    whole: bool = False
    clipped: ClippedTerms | None = None

    def on(self, answer: Answer, about: str, *, simulated: bool) -> Release:
        """Return the release of an answer; ``about`` says of which records.

        >>> label = Label("sum of price", Fraction(1, 10), "clip", caveat=None, round_to=Fraction(1, 100))
        >>> release = label.on(Answer(250, Fraction(1), (), ()), " where age >= 40", simulated=False)
        >>> release.question, release.value
        ('sum of price where age >= 40', 2.5)
        """
        clipping = self._pull(answer)
        return Release(
            question=f"{self.words}{about}",
            steps=answer.steps,
            step=answer.step * self.round_to,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            share=self.share,
            method=self.method,
            bias=answer.caveat or self._caveat(clipping),
            decisions=answer.choices,
            simulated=simulated,
            ends=answer.ends and (answer.ends[0] * self.round_to, answer.ends[1] * self.round_to),
            clipping=clipping,
            noise=answer.noise,
            chosen=answer.chosen,
            whole=self.whole,
            clipped=self.clipped,
            shape=answer.shape,
            left_out=self.left_out,
        )

    def _caveat(self, pull: Pull | None) -> Caveat | None:
        """Return the caveat where it can apply, and no more of it than can."""
        if pull is not None and pull.nothing:
            return None
        if self.caveat is None or pull is None or not pull.one_sided:
            return self.caveat
        return replace(self.caveat, way="down" if pull.above else "up")

    def _pull(self, answer: Answer) -> Pull | None:
        """Return what was clipped or dropped, with the sides that it can have pulled from."""
        if answer.clipping is None:
            return None
        below, above = (
            None if most is None else most / answer.step for most in (self.most_below, self.most_above)
        )
        return answer.clipping.pulling(below=self.below, above=self.above, most=(below, above))
