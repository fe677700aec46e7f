"""Draw one coordinate of many clients' reports at once: the coins of each client's own law, side by side.

Every outcome has its law's own distribution, and all are independent. No float takes part in a draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_of
from prdp.local.protocols.protocol import DrawnTogether, Field, Own, Record
from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol, complement
from prdp.local.simulation.crowd import Crowd, Integers, distinct_rows, record_at
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import Bounds, bernoulli, digit_count, expansion, logistic_bounds
from prdp.noise.totals import heads, laplace_total, uniform_many

Outcomes = NDArray[Any]
"""An array of int64, or of Python integers (dtype object) where some may be too large for that."""

_PLACES = 8
_FINE = 96
_SMALL = 1 << 62


Draw = Callable[[NDArray[np.int64], Entropy], Outcomes]
"""From which law each client has, as a place in a list of them, to an outcome for each client."""


def drawing(laws: Sequence[Law]) -> Draw:
    """Return the sampler of outcomes, where every client has one of these laws.

    >>> from fractions import Fraction
    >>> from prdp.testing.seeded import Seeded
    >>> sure = [Symbol(1, 3, Fraction(500)), Bit.of(Fraction(500), part=1)]
    >>> drawing(sure)(np.array([0, 1, 0]), Seeded(1)).tolist()
    [1, 1, 1]
    """
    # The class itself decides: one that is derived from it may differ.
    return _by_groups(laws, type, lambda part: _TOGETHER.get(type(part[0]), _one_by_one)(part))


def _by_groups(laws: Sequence[Any], key: Callable[[Any], Hashable], made: Callable[[Any], Draw]) -> Draw:
    """Return the sampler of outcomes for laws that have the same key, where there is one."""
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

    Of a thousand parts reported with one loss, q is computed once: p = part + (1 - 2·part)·q in integers.
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
    """Return the sampler of reported symbols: from each client's own one, -1 for none."""
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


_CHECKED = 1000
_REMEMBERED = 4


@dataclass(frozen=True)
class CoordinateLaws:
    """The distinct laws of one coordinate, and which of them each kind of client has."""

    laws: tuple[Law, ...]
    codes: Integers

    @cached_property
    def draw(self) -> Draw:
        """Sampler of outcomes, from the law of each client."""
        return drawing(self.laws)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The laws of all kinds of clients, coordinate by coordinate, and which kind each client is."""

    columns: tuple[CoordinateLaws, ...]
    which: Integers
    size: int


class Watched(Mapping[str, object]):
    """A record that notes which of its columns are read.

    >>> read = set()
    >>> Watched({"age": 30, "job": "nurse"}, read).get("age"), read
    (30, {'age'})
    """

    __slots__ = ("_read", "_record")

    def __init__(self, record: Record, read: set[str]) -> None:
        self._record, self._read = record, read

    def __getitem__(self, name: str) -> object:
        value = self._record[name]  # which columns there are is the same for all: no reading
        self._read.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._record)

    def __len__(self) -> int:
        return len(self._record)

    def __repr__(self) -> str:
        return repr(dict(self))


def kinds_of(campaign: Campaign, crowd: Crowd) -> Kinds:
    """Ask for the laws of one client of each kind; what was found for the last few campaigns is remembered.

    A law is a function of the budget's level and of what it reads of the record. Clients that agree in both
    have equal laws, whatever else is in their records. Where some client's law reads a column by which kinds
    were not distinguished, they are distinguished by it as well, and all is done again.
    """
    for protocol, text, found in crowd.remembered:
        if text == campaign.text and protocol == campaign.protocol:
            kinds: Kinds = found
            return kinds
    read: set[str] = set()
    while True:
        columns = [crowd.levels, *(crowd.columns[name] for name in sorted(read))]
        first, which = distinct_rows(columns, len(crowd))
        asked = _Asked(campaign, crowd)
        for place in first:
            asked.add(int(place))
            if not asked.read <= read:
                break
        else:
            kinds = Kinds(asked.columns(), which, len(first))
            crowd.remembered.insert(0, (campaign.protocol, campaign.text, kinds))
            del crowd.remembered[_REMEMBERED:]
            return kinds
        read |= asked.read


class _Asked:
    """The laws of some clients, as they are asked for one after the other, and the columns that were read."""

    def __init__(self, campaign: Campaign, crowd: Crowd) -> None:
        self._campaign, self._crowd = campaign, crowd
        self._dummy = tuple(laws_of(campaign, None))
        self._seen: list[dict[Law, int]] = [{law: 0} for law in self._dummy]
        self._codes: list[list[int]] = [[] for _ in self._dummy]
        self._asked = 0
        self.read: set[str] = set()

    def add(self, place: int) -> None:
        """Ask for the laws of the client at a place."""
        level = int(self._crowd.levels[place])
        found = [0] * len(self._dummy) if level < 0 else self._codes_of(place, self._crowd.quanta(level))
        for code, codes in zip(found, self._codes, strict=True):
            codes.append(code)

    def columns(self) -> tuple[CoordinateLaws, ...]:
        """Return the laws that were found."""
        found = zip(self._seen, self._codes, strict=True)
        return tuple(CoordinateLaws(tuple(seen), np.array(codes, np.int64)) for seen, codes in found)

    def _codes_of(self, place: int, quanta: int) -> list[int]:
        record = record_at(self._crowd.columns, place)
        laws = laws_of(self._campaign, Own(Watched(record, self.read), quanta))
        codes = self._coded(laws)
        self._asked += 1
        if self._asked <= _CHECKED or not any(codes):
            # A law that wants a dict and no other mapping may fail, or go another way, and read anything.
            plain = self._coded(laws_of(self._campaign, Own(record, quanta)))
            if plain != codes:
                self.read.update(self._crowd.columns)
            return plain
        return codes

    def _coded(self, laws: Sequence[Law]) -> list[int]:
        """Return the index of each coordinate's law among those seen; most are the dummy's, and the first."""
        return [
            0 if law == dummy else seen.setdefault(law, len(seen))
            for law, dummy, seen in zip(laws, self._dummy, self._seen, strict=True)
        ]


_AT_ONCE = 1 << 20
_FEW_COINS = 64


class Reports(DrawnTogether):
    """All clients' reports in their order, to be read once: row by row, or as the totals of the columns.

    Nothing is drawn before it is read. Totals have the law of adding up the rows.
    """

    def __init__(self, fields: Sequence[Field], kinds: Kinds, entropy: Entropy) -> None:
        self._fields, self._kinds, self._entropy = fields, kinds, entropy
        self._rows, self._begun = self._drawn_rows(), False

    def __next__(self) -> tuple[int, ...]:
        self._begun = True
        return next(self._rows)

    def column_totals(self, fields: int) -> tuple[int, tuple[int, ...]] | None:
        """Draw what every column adds up to; return it behind the number of clients.

        >>> from prdp.local.client.campaign import Campaign
        >>> from prdp.local.protocols.counting import DomainCount
        >>> from prdp.local.simulation.crowd import Crowd
        >>> from prdp.local.simulation.outcomes import kinds_of
        >>> from prdp.policy import Policy
        >>> from prdp.testing.seeded import Seeded
        >>> campaign = Campaign("c", Policy.constant(300), 1, DomainCount())
        >>> kinds = kinds_of(campaign, Crowd.of({"v": [3, 1, 7]}, campaign.policy))
        >>> Reports(campaign.fields, kinds, Seeded(1)).column_totals(fields=1)
        (3, (3,))
        """
        if self._begun or fields != len(self._fields):
            return None
        self._rows, self._begun = iter(()), True
        sizes = np.bincount(self._kinds.which, minlength=self._kinds.size)
        totals = (
            self._total(column, shape, sizes)
            for column, shape in zip(self._kinds.columns, self._fields, strict=True)
        )
        return int(sizes.sum()), tuple(totals)

    def _total(self, column: CoordinateLaws, shape: Field, sizes: Integers) -> int:
        coins = sum(type(law) is Bit for law in column.laws)
        if coins > _FEW_COINS or not all(fits(law, shape) for law in column.laws):
            drawn = column.draw(column.codes[self._kinds.which], self._entropy)
            return int(_clamped(drawn, shape).astype(object).sum())
        having = np.zeros(len(column.laws), np.int64)
        np.add.at(having, column.codes, sizes)
        return total_of(dict(zip(column.laws, having.tolist(), strict=True)), self._entropy)

    def _drawn_rows(self) -> Iterator[tuple[int, ...]]:
        which = self._kinds.which
        chunk = max(1, _AT_ONCE // max(1, len(self._fields)))
        for start in range(0, which.size, chunk):
            part = which[start : start + chunk]
            columns = [
                _clamped(column.draw(column.codes[part], self._entropy), shape).tolist()
                for column, shape in zip(self._kinds.columns, self._fields, strict=True)
            ]
            yield from zip(*columns, strict=True) if columns else ((),) * part.size


def _clamped(outcomes: Outcomes, shape: Field) -> Outcomes:
    """Clamp values to the field, as ``Field.clamped`` does one by one."""
    if outcomes.dtype != object and shape.low >= -(2**63) and shape.last < 2**63:
        return np.clip(outcomes, shape.low, shape.last)
    return np.array([shape.clamped(int(outcome)) for outcome in outcomes], object)


def fits(law: Law, shape: Field) -> bool:
    """Return whether a law's total can be drawn at once: its outcomes fit the field.

    Of noise, all but what has a chance below 2^-127.
    """
    if type(law) is Bit:
        return shape.low <= 0 and shape.last >= 1
    if type(law) is NoisyValue:
        reach = 1 << digit_count(law.scale)
        return shape.low <= law.value - reach and law.value + reach <= shape.last
    return False


def total_of(column: Mapping[Law, int], entropy: Entropy) -> int:
    """Draw what one coordinate adds up to, where so many clients have each law."""
    total, noises = 0, Counter[Fraction]()
    for law, clients in column.items():
        if isinstance(law, Bit):
            coin, outcome = law.coin()
            shown = heads(coin, clients, entropy)
            total += shown if outcome else clients - shown
        elif isinstance(law, NoisyValue):
            total += clients * law.value
            noises[law.scale] += clients
        else:
            raise TypeError(f"{type(law).__name__} has no total")
    return total + sum(laplace_total(scale, clients, entropy) for scale, clients in noises.items())
