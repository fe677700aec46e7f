"""The answer with its honest label: what it is, how sure, and at what price."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.noise.concave import ConcaveNoise
from prdp.release import shown
from prdp.release.bias import Clipping
from prdp.release.chosen import Overshoot, Ranked
from prdp.release.derived import PARTS, combined_interval
from prdp.release.ends import ENDLESS, Around, Ends, Horizon, as_number
from prdp.release.number import NumberLike
from prdp.release.strays import Strays, strays
from prdp.release.tiered import Pull, TierClipping

if TYPE_CHECKING:
    from prdp.release.moved import MovedRelease

_LEAST_FAILURE = Fraction(1, 10**100)
_QUOTED = 60


@dataclass(frozen=True, slots=True, repr=False)
class Release(NumberLike):
    """A private answer; everything in it may be published.

    >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", caveat="")
    >>> print(noisy)  # one draw of twenty is further away than about 100 · ln(20)
    count: 1,042 ± 300 (95 %; share 1/10, clip)

    Attributes:
        question: What was asked, in words.
        steps: The answer, as a whole number of steps.
        step: What one step is worth.
        noise_scales: The scales of the independent discrete Laplace noises in it, in steps.
        share: The part of every record's budget that it used.
        method: Which mechanism answered.
        caveat: What else than noise may have moved the answer, in words; empty if nothing else has.
        choices: What the mechanism chose on the way, in words.
        simulated: Whether the records were a stand-in's, and the noise perhaps seeded: it protects nobody.
        ends: For a value that was chosen from a range instead of hidden by noise, the range; for one that was
            computed from parts, its public limits.
        parts: The releases that the answer was computed from; their shares add up to its own.
        rule: How it was computed: ``"mean"``, ``"variance"`` or ``"std"``; empty for an answer without parts.
        clipping: What was clipped or dropped, and how it was chosen; None where it says nothing of the pull.
        noise: ``"laplace"``; or ``"quartic"``, whose scale is private and at most what ``noise_scales`` says.
        chosen: For a largest, smallest or middle value that was chosen, what its law tells of the true one.
        whole: Whether the truth is a whole number: such an answer is printed as one.
        beyond: Of which records the interval that is shown leaves aside what they would add, in the user's
            own terms; empty where there are none, or where it cannot be said so.
        shape: For noise that is not Laplace's and public, all of it, in steps.
        left_out: Which records it is not about, since the policy gives them no budget; empty where that is
            nobody. Sources differ in which columns may be NULL, and answers are compared without it.
    """

    question: str
    steps: int
    step: Fraction
    noise_scales: tuple[Fraction, ...]
    share: Fraction
    method: str
    caveat: str
    choices: tuple[tuple[str, str], ...] = ()
    simulated: bool = False
    ends: tuple[Fraction, Fraction] | None = None
    parts: tuple[Release, ...] = ()
    rule: str = ""
    clipping: Pull | None = None
    noise: str = "laplace"
    chosen: Overshoot | Ranked | None = None
    whole: bool = False
    beyond: str = ""
    shape: ConcaveNoise | None = None
    left_out: str = field(default="", compare=False)

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction.

        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip", "").exact
        Fraction(5, 2)
        """
        return self.steps * self.step

    @property
    def value(self) -> int | float:
        """The answer: an int where its lattice is whole, else the nearest float.

        >>> Release("count", 1042, Fraction(1), (), Fraction(1, 10), "clip", "").value
        1042
        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip", "").value
        2.5
        """
        exact = self.exact
        return int(exact) if self.step.denominator == 1 else float(exact)

    def interval(
        self, level: float | Fraction | str = 0.95, *, reach: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return the ends between which the true answer lies with this probability.

        Where records were clipped it covers the noise, the choice of the clipping point and the pull of
        clipping, leaving aside what records would add that count for more than ``reach`` times what they were
        allowed to (see ``condition``); no private interval can do without that (proofs/clip.md). An end is
        infinite where the table is so poor in budget that nearly all of it may have been clipped.
        Without a ``reach`` it is 8, and an end that lies further away than twice the answer is infinite too.
        ``reach=1`` is the interval of the noise alone.

        What other mechanisms drop or clip is outside of what it covers: see ``caveat``. For a value that was
        chosen from a range it is the range, whatever the probability.

        >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", caveat="")
        >>> noisy.interval(), noisy.interval() == noisy.interval("0.95")
        ((742, 1342), True)
        >>> noisy.interval(95)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: interval(95) is not a probability: ...
        """
        chance = chance_of(level)
        low, high = self.shown_between(chance) if reach is None else self.between(chance, reach_of(reach))
        return as_number(low), as_number(high)

    def shown_between(self, chance: Fraction) -> Ends:
        """Return the ends that are shown: one that lies further away than twice the answer is not."""
        return self.horizon.shown(self.exact, self.between(chance, shown.REACH))

    @property
    def horizon(self) -> Horizon:
        """Up to where its ends are shown.

        A sum of both signs may be near zero whatever its values are, so that its size is no measure.
        """
        limits = self.ends if self.parts and self.ends is not None else (-ENDLESS, ENDLESS)
        sides = [pull.pulled(shown.REACH) for pull in self._pulls if pull.needs(shown.REACH)]
        if self.chosen is not None or not sides or any(below and above for below, above in sides):
            return Horizon(limits, below=False, above=False)
        below, above = (True, True) if self.parts else sides[0]
        return Horizon(limits, below, above)

    @property
    def _pulls(self) -> list[Clipping | TierClipping]:
        """What is known of what was clipped, in the answer or in its parts."""
        pulls = (part.clipping for part in self.parts or (self,))
        return [pull for pull in pulls if isinstance(pull, Clipping | TierClipping)]

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""
        ends = self.between(shown.LEVEL, shown.REACH)
        pairs = zip(ends, self.horizon.shown(self.exact, ends), strict=True)
        low, high = (as_number(end) if end != kept else None for end, kept in pairs)
        return low, high

    def between(self, chance: Fraction, reach: Fraction = Fraction(1)) -> Ends:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        if self.parts and self.ends is not None:
            each = 1 - (1 - chance) / len(self.parts)  # all parts at once
            ends = [part.between(each, reach) for part in self.parts]
            return combined_interval(self.rule, ends, self.ends)
        if self.chosen is not None:
            low, high = self.chosen.between(1 - chance)
            return (  # a quantile's may lie beside its answer: widened, it covers no less
                -ENDLESS if low is None else min(low * self.step, self.exact),
                ENDLESS if high is None else max(high * self.step, self.exact),
            )
        if self.ends is not None:
            return self.ends
        return self.around(1 - chance, reach).ends(self.steps)

    def around(self, failure: Fraction, reach: Fraction) -> Around:
        """Return where the ends lie around an answer that noise was added to, whatever its number is."""
        if self.shape is not None:
            far = Fraction(self.shape.spread(1 - failure))
            return Around(Strays(far, far), self.step)
        found = strays(self.noise_scales, self.noise, self.clipping, failure, reach)
        return Around(found, self.step, 0 if reach <= 1 or self.even else self._sign)

    @property
    def _sign(self) -> int:
        """The sign that the truth has where values have one sign; 0 for any."""
        pull = self.clipping
        if pull is None or pull.below == pull.above or (isinstance(pull, Clipping) and pull.mixed):
            return 0
        return -1 if pull.below else 1

    @property
    def even(self) -> bool:
        """Whether the answer is the middle of its interval, because nothing can be clipped or dropped."""
        if self.ends is not None or self.parts or self.chosen is not None:
            return False
        return self.clipping.nothing if self.clipping is not None else not self.caveat

    @property
    def kind(self) -> str:
        """What the interval is: ``"95 %"``, the range that was chosen, or that of the noise alone.

        The last is what answers have that were written down before intervals covered what was clipped.
        """
        if self.ends is not None and not self.parts:
            return shown.RANGE
        told = (part for part in self.parts or (self,) if part.chosen is None)
        noise_alone = any(part.caveat and part.clipping is None for part in told)
        return shown.NOISE_ALONE if noise_alone else "95 %"

    @property
    def flag(self) -> str:
        """What is wrong with the answer: ``"too poor"``, ``"mostly noise"``; empty where nothing is.

        >>> Release("count", 3, Fraction(1), (Fraction(100),), Fraction(1, 10), "naive", "").flag
        'mostly noise'
        """
        if self.too_poor:
            return shown.TOO_POOR
        if self.chosen is not None:
            return shown.MOSTLY_NOISE if self.chosen.between(1 - shown.LEVEL) == (None, None) else ""
        if self.ends is not None and not self.parts:
            return ""
        low, high = self.between(shown.LEVEL)
        return shown.MOSTLY_NOISE if high - low >= 2 * abs(self.exact) else ""

    @property
    def too_poor(self) -> bool:
        """Whether it cannot be told how much was clipped, of the answer or of a part of it."""
        return any(pull.too_poor for pull in self._pulls)

    @property
    def condition(self) -> str:
        """What the interval leaves aside, in words; empty where that is nothing."""
        if self.chosen is not None:
            return self.chosen.meaning
        if self.parts and self.between(shown.LEVEL, shown.REACH) == self.ends:
            return ""  # all that the bounds allow: it is told that nothing is
        return shown.condition(self)

    @property
    def aside(self) -> str:
        """What the interval leaves aside, as a clause; in the user's terms where that can be said."""
        if self.beyond:
            return f"{self.beyond} would add"
        names = [name for name, _ in PARTS.get(self.rule, ())]
        known = [(part.aside_of_part, name) for part, name in zip(self.parts, names, strict=True)]
        parts = [(beyond, name) for beyond, name in known if beyond]
        if parts:
            (first, name), *others = parts
            more = "".join(f" or {beyond} to the {other}" for beyond, other in others)
            return f"{first} would add to the {name}{more}"
        return shown.FAR_BEYOND if any(pull.needs(shown.REACH) for pull in self._pulls) else ""

    @property
    def told_aside(self) -> str:
        """The same where its condition says it; of means, one of which may stand for many, whatever it is."""
        return self.aside if self.condition or self.rule == "mean" else ""

    @property
    def aside_of_part(self) -> str:
        """Of which records the interval leaves aside what they add to an answer that this is a part of."""
        return self.beyond or (shown.ANY_BEYOND if any(p.needs(shown.REACH) for p in self._pulls) else "")

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another; the ends of its interval move along."""
        from prdp.release.moved import MovedRelease  # noqa: PLC0415  (it is made of releases)

        return MovedRelease(self).moved(times, plus)


def chance_of(level: float | Fraction | str) -> Fraction:
    """Return the probability that a caller asks an interval for, or refuse what is none."""
    chance = _read(level)
    if chance is None or not 0 < chance < 1:
        raise InvalidRequest(
            f"interval({_quoted(level)}) is not a probability: give a number between 0 and 1, such as 0.95."
        )
    if 1 - chance < _LEAST_FAILURE:
        raise InvalidRequest(
            f"interval({_quoted(level)}) is closer to 1 than 10^-100: give less, such as 0.999."
        )
    return chance


def reach_of(reach: float | Fraction | str) -> Fraction:
    """Return how far beyond its cap a clipped record may count, or refuse what says nothing of it."""
    most = _read(reach)
    if most is None or most < 1:
        raise InvalidRequest(
            f"interval(reach={_quoted(reach)}) says how many times its cap a record may count for: "
            "give 1 or more, up to 1e400."
        )
    return most


def _read(value: object) -> Fraction | None:
    """Return the number that a caller gives, a float for what it prints as; None for what is none."""
    try:
        plain = value.item() if hasattr(value, "item") else value
        number = exact(repr(plain) if isinstance(plain, float) else plain, "interval")  # type: ignore[arg-type]
    except (InvalidRequest, ValueError):
        return None
    return number if abs(number) <= ENDLESS and number.denominator <= ENDLESS else None


def _quoted(value: object) -> str:
    """Return what a caller gave, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits does not print
        return "..."
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
