"""Write laws as terms of Law.v: the objects that releases are drawn from, as data for Coq."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from prdp.local.protocols import randomisers
from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import FirstReaching, Gated, Law, Noise, Noisy, Rule, Scan, Shaped, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.testing.exact_loss import content, undeclared


def rational(number: int | Fraction) -> str:
    """Return a rational number, in lowest terms.

    >>> rational(Fraction(-6, 4))
    '(-3#2)'
    """
    exact = Fraction(number)
    return f"({exact.numerator}#{exact.denominator})"


def integer(number: int) -> str:
    """Return an integer."""
    if int(number) != number:
        raise ValueError(f"{number} is not on the lattice: Coq is given whole numbers only")
    return f"({int(number)})"


def sequence(terms: Iterable[str]) -> str:
    """Return a list of terms."""
    return f"[{'; '.join(terms)}]"


def integers(numbers: Iterable[int]) -> str:
    """Return a list of integers."""
    return f"{sequence(map(integer, numbers))}%Z"


def rationals(numbers: Iterable[int | Fraction]) -> str:
    """Return a list of rational numbers."""
    return sequence(map(rational, numbers))


def rule(known: Rule) -> str:
    """Return a rule: its tests, or all that it holds as a text that Coq only compares.

    >>> rule(FirstReaching(((0, 10), (1, 5))))
    '(FirstReaching [(0%nat, (10)%Z); (1%nat, (5)%Z)])'
    """
    if type(known) is FirstReaching:
        tests = sequence(f"({which}%nat, {integer(least)}%Z)" for which, least in known.tests)
        return f"(FirstReaching {tests})"
    frozen = is_dataclass(known) and known.__dataclass_params__.frozen
    if not frozen or undeclared(known):
        raise TypeError(
            f"{known!r} may know more than its text says: a rule is a frozen dataclass of its fields"
        )
    quoted = repr(content(known)).replace('"', '""')
    return f'(Code "{quoted}"%string)'


Name = Callable[[str], str]
"""From a term to what stands for it; a law that follows many others is written once."""


def law(drawn: Any, name: Name = str) -> str:
    """Return a law.

    >>> from prdp.noise.discrete_laplace import DiscreteLaplace
    >>> law(Noisy((41,), (DiscreteLaplace(Fraction(5, 2)),)))
    '(Noisy [(41)]%Z [(5#2)])'

    Args:
        drawn: The law.
        name: What stands for the laws inside of it.
    """
    if type(drawn) in _SINGLE:
        return _SINGLE[type(drawn)](drawn)
    if type(drawn) is Then:
        places = len(drawn.first.masses if isinstance(drawn.first, Scan) else drawn.first.penalties)
        return _followed(drawn.first, "Here", map(drawn.then, range(places)), name)
    if type(drawn) is Gated:
        laws = (drawn.laws[place] for place in range(len(drawn.laws)))
        return _followed(drawn.first, rule(drawn.rule), laws, name)
    if type(drawn) in (Together, tuple):  # a report of the local model is a tuple of independent laws
        every = drawn if isinstance(drawn, tuple) else drawn.laws
        return f"(Together {sequence(name(law(one, name)) for one in every)})"
    if type(drawn) is randomisers.Hashed:
        functions = [drawn._bucket(function) for function in range((drawn.prime - 1) * drawn.prime)]
        return _followed(ExponentialChoice((0,) * len(functions)), "Here", functions, name)
    raise TypeError(f"{type(drawn).__name__} is no law of Law.v: add its kind there, with its lemma")


def _followed(first: Law, by: str, laws: Iterable[Any], name: Name) -> str:
    after = [name(law(one, name)) for one in laws]
    return f"(Then {law(first)} {by} {len(after)} (listed {sequence(after)}))"


def _noisy(drawn: Noisy) -> str:
    return f"(Noisy {integers(drawn.values)} {rationals(map(_scale, drawn.noises))})"


def _scale(noise: Noise) -> Fraction:
    if type(noise) is not DiscreteLaplace:
        raise TypeError(f"{type(noise).__name__} is no discrete Laplace noise")
    return noise.scale


def shape(noise: ConcaveNoise) -> str:
    """Return the lengths and slopes of a noise's pieces."""
    if type(noise) is not ConcaveNoise:
        raise TypeError(f"{type(noise).__name__} is no concave noise")
    lengths = (high - low for low, high in pairwise((0, *noise.ends)))
    pieces = zip(lengths, noise.slopes, strict=True)
    return sequence(f"({integer(length)}%Z, {rational(slope)})" for length, slope in pieces)


def _shaped(drawn: Shaped) -> str:
    return f"(Shaped {integer(drawn.value)}%Z {shape(drawn.noise)})"


def _scan(drawn: Scan) -> str:
    scales = f"{rational(_scale(drawn.threshold_noise))} {rational(_scale(drawn.mass_noise))}"
    return f"(Scan {integers(drawn.masses)} {integers(drawn.thresholds)} {scales})"


def _exponential(drawn: ExponentialChoice) -> str:
    penalties = rationals(penalty * drawn.unit for penalty in drawn.penalties)
    return f"(Exponential {penalties} {integers(drawn.multiples or (1,) * len(drawn.penalties))})"


def _flip(drawn: PermuteAndFlip) -> str:
    return f"(Flip {rationals(penalty * drawn.unit for penalty in drawn.penalties)})"


def _value(drawn: randomisers.NoisyValue) -> str:
    return f"(Noisy {integers([drawn.value])} {rationals([drawn.scale])})"


def _coin(drawn: randomisers.Bit) -> str:
    return f"(Coin {rational(drawn.part)} {rational(drawn.lift)} {rational(drawn.loss)})"


def _symbol(drawn: randomisers.Symbol) -> str:
    own = "None" if drawn.own is None else f"(Some {drawn.own}%nat)"
    return f"(Symbol {own} {drawn.size} {rational(drawn.loss)})"


@dataclass(frozen=True, slots=True)
class Names:
    """Names of laws, so that each stands once in a file."""

    prefix: str = "L"
    of: dict[str, str] = field(default_factory=dict)

    def law(self, drawn: Any) -> str:
        """Return the name of a law."""
        return self.name(law(drawn, self.name))

    def name(self, term: str) -> str:
        """Return the name of a term."""
        return self.of.setdefault(term, f"{self.prefix}{len(self.of)}")

    def definitions(self) -> str:
        """Return what the names stand for, each after those that it is made of."""
        return "".join(f"Definition {name} : law := {term}.\n" for term, name in self.of.items())


_SINGLE: Mapping[type, Callable[[Any], str]] = {
    Noisy: _noisy,
    Shaped: _shaped,
    Scan: _scan,
    ExponentialChoice: _exponential,
    PermuteAndFlip: _flip,
    randomisers.NoisyValue: _value,
    randomisers.Bit: _coin,
    randomisers.Symbol: _symbol,
}
