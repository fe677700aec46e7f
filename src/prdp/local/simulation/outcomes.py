"""Draw one coordinate of many clients' reports at once: the coins of each client's own law, side by side.

Every outcome has its law's own distribution, and all are independent. No float takes part in a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol, complement
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import Bounds, bernoulli, expansion, logistic_bounds
from prdp.noise.totals import uniform_many

Outcomes = NDArray[Any]
"""An array of int64, or of Python integers (dtype object) where some may be too large for that."""

_PLACES = 8
_FINE = 96
_SMALL = 1 << 62


Draw = Callable[[NDArray[np.int64], Entropy], Outcomes]
"""From which law each client has, as a place in a list of them, to an outcome for each client."""


def drawing(laws: Sequence[Law]) -> Draw:
    """Return how outcomes are drawn, where every client has one of these laws.

    >>> from fractions import Fraction
    >>> from prdp.testing.seeded import Seeded
    >>> sure = [Symbol(1, 3, Fraction(500)), Bit.of(Fraction(500), part=1)]
    >>> drawing(sure)(np.array([0, 1, 0]), Seeded(1)).tolist()
    [1, 1, 1]
    """
    # The class itself decides: one that is derived from it may differ.
    return _by_groups(laws, type, lambda part: _TOGETHER.get(type(part[0]), _one_by_one)(part))


def _by_groups(laws: Sequence[Any], key: Callable[[Any], Hashable], made: Callable[[Any], Draw]) -> Draw:
    """Return how outcomes are drawn, where that is known for laws that have the same key."""
    groups: dict[Hashable, list[int]] = {}
    for place, law in enumerate(laws):
        groups.setdefault(key(law), []).append(place)
    if len(groups) == 1:
        return made(laws)
    among, group_of = np.zeros(len(laws), np.int64), np.zeros(len(laws), np.int64)
    draws = []
    for number, places in enumerate(groups.values()):
        among[places], group_of[places] = np.arange(len(places)), number
        draws.append(made([laws[place] for place in places]))

    def draw(which: NDArray[np.int64], entropy: Entropy) -> Outcomes:
        drawn: Outcomes = np.zeros(which.size, np.int64)
        having = group_of[which]
        for number, one in enumerate(draws):
            clients = np.flatnonzero(having == number)
            outcomes = one(among[which[clients]], entropy)
            if outcomes.dtype == object and drawn.dtype != object:
                drawn = drawn.astype(object)
            drawn[clients] = outcomes
        return drawn

    return draw


def whole_numbers(numbers: Iterable[int]) -> Outcomes:
    """Return integers as int64 where all are far from its ends, else as they are."""
    listed = list(numbers)
    small = all(-_SMALL < number < _SMALL for number in listed)
    return np.array(listed, np.int64 if small else object)


def _one_by_one(laws: Sequence[Law]) -> Draw:
    return lambda which, entropy: whole_numbers(laws[place].draw(entropy) for place in which.tolist())


@dataclass(frozen=True, slots=True)
class _Coin:
    """A coin with the first eight bytes of its probability, as one number."""

    first: int
    heads: Bounds

    @classmethod
    def of(cls, heads: Bounds) -> _Coin:
        return cls(int.from_bytes(expansion(heads, _PLACES), "big"), heads)


def _tossed(
    coins: Sequence[_Coin], first: NDArray[np.uint64], which: NDArray[np.int64], entropy: Entropy
) -> NDArray[np.bool_]:
    """Toss a coin for each client: eight random bytes below those of the probability are heads.

    The few that are equal, one of 2^64, read on.
    """
    words = np.frombuffer(entropy.bytes(_PLACES * which.size), ">u8").astype(np.uint64)
    mine = first[which]
    heads = np.asarray(words < mine, dtype=np.bool_)
    for client in np.flatnonzero(words == mine):
        heads[client] = bernoulli(coins[which[client]].heads, entropy, agreed=_PLACES)
    return heads


def _bits(laws: Sequence[Bit]) -> Draw:
    coins = [_bit_coin(law) for law in laws]
    first = np.array([coin.first for coin in coins], np.uint64)
    return lambda which, entropy: _tossed(coins, first, which, entropy).astype(np.int64)


def _bit_coin(law: Bit) -> _Coin:
    """Return the coin whose heads are a 1.

    Of a thousand parts told with one loss, q is computed once: p = part + (1 - 2·part)·q in integers.
    """
    if law.lift == law.loss:
        whole, part = law.part.denominator, law.part.numerator
        ends = [(part << _FINE) + (whole - 2 * part) * q for q in _dummy_chance(law.loss)]
        first = min(ends) // (whole << (_FINE - 8 * _PLACES))
        if first == max(ends) // (whole << (_FINE - 8 * _PLACES)) < 1 << (8 * _PLACES):
            return _Coin(first, law.heads)
    return _Coin.of(law.heads)


@lru_cache(maxsize=1 << 12)
def _dummy_chance(loss: Fraction) -> tuple[int, int]:
    return logistic_bounds(loss, _FINE)


def _noisy_values(laws: Sequence[NoisyValue]) -> Draw:
    return _by_groups(laws, lambda law: law.scale, _values_in_noise)


def _values_in_noise(laws: Sequence[NoisyValue]) -> Draw:
    noise, values = DiscreteLaplace(laws[0].scale), whole_numbers(law.value for law in laws)

    def draw(which: NDArray[np.int64], entropy: Entropy) -> Outcomes:
        drawn = noise.draw_many(entropy, which.size)
        if drawn.dtype != object and drawn.size and max(-int(drawn.min()), int(drawn.max())) >= _SMALL:
            drawn = drawn.astype(object)
        return np.asarray(values[which] + drawn)

    return draw


def _symbols(laws: Sequence[Symbol]) -> Draw:
    return _by_groups(laws, lambda law: (law.size, law.loss), _symbols_of_one_size)


def _symbols_of_one_size(laws: Sequence[Symbol]) -> Draw:
    if laws[0].size > _SMALL:
        return _one_by_one(laws)
    own = np.array([-1 if law.own is None else law.own for law in laws], np.int64)
    draw_symbols = _symbol_law(laws[0].size, laws[0].loss)
    return lambda which, entropy: draw_symbols(own[which], entropy)


def _symbol_law(size: int, loss: Fraction) -> Draw:
    """Return how symbols are told: from each client's own one, -1 for none."""
    if size == 1:
        return lambda own, _: np.zeros(own.size, np.int64)
    coin = _Coin.of(complement(Symbol(0, size, loss).kept))
    first = np.array([coin.first], np.uint64)

    def draw(own: NDArray[np.int64], entropy: Entropy) -> Outcomes:
        drawn = uniform_many(size, own.size, entropy)  # the answer of those that have none
        has_one = np.flatnonzero(own >= 0)
        lost = _tossed([coin], first, np.zeros(has_one.size, np.int64), entropy)
        others = uniform_many(size - 1, has_one.size, entropy)
        mine = own[has_one]
        drawn[has_one] = np.where(lost, others + (others >= mine), mine)
        return drawn

    return draw


def _hashes(laws: Sequence[Hashed]) -> Draw:
    return _by_groups(laws, lambda law: (law.buckets, law.loss, law.prime), _hashes_of_one_field)


def _hashes_of_one_field(laws: Sequence[Hashed]) -> Draw:
    prime, buckets = laws[0].prime, laws[0].buckets
    functions = (prime - 1) * prime
    if functions > _SMALL or buckets > _SMALL:
        return _one_by_one(laws)
    # A category enters the hash by its remainder alone, which keeps the product below 2^62.
    categories = np.array([-1 if law.own is None else law.own % prime for law in laws], np.int64)
    draw_symbols = _symbol_law(buckets, laws[0].loss)

    def draw(which: NDArray[np.int64], entropy: Entropy) -> Outcomes:
        drawn, own = uniform_many(functions, which.size, entropy), categories[which]
        multipliers, offsets = np.divmod(drawn, prime)
        hashes = ((multipliers + 1) * own + offsets) % prime % buckets
        bucket = draw_symbols(np.where(own >= 0, hashes, -1), entropy)
        wide = drawn if functions * buckets < _SMALL else drawn.astype(object)
        return np.asarray(wide * buckets + bucket)

    return draw


_TOGETHER: dict[type, Callable[[Any], Draw]] = {
    Bit: _bits,
    NoisyValue: _noisy_values,
    Symbol: _symbols,
    Hashed: _hashes,
}
