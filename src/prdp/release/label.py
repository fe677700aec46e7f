"""From a drawn answer to a release: what is said beside the number, in one place for all entry points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.release.drawn import Answer
from prdp.release.release import Release


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
    """

    words: str
    share: Fraction
    method: str
    caveat: str
    grain: Fraction = Fraction(1)
    below: bool = False
    above: bool = True
    left_out: str = ""

    def on(self, answer: Answer, about: str, *, simulated: bool) -> Release:
        """Return the release of an answer; ``about`` says of which records.

        >>> label = Label("sum of price", Fraction(1, 10), "clip", caveat="", grain=Fraction(1, 100))
        >>> release = label.on(Answer(250, Fraction(1), (), ()), " where age >= 40", simulated=False)
        >>> release.question, release.value
        ('sum of price where age >= 40', 2.5)
        """
        return Release(
            question=f"{self.words}{about}",
            steps=answer.steps,
            step=answer.step * self.grain,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            share=self.share,
            method=self.method,
            caveat=self.caveat,
            choices=answer.choices,
            simulated=simulated,
            ends=answer.ends and (answer.ends[0] * self.grain, answer.ends[1] * self.grain),
            clipping=answer.clipping and replace(answer.clipping, below=self.below, above=self.above),
            noise=answer.noise,
            chosen=answer.chosen,
        )
