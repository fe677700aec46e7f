"""The reports of a crowd to a protocol of somebody's own: every client's outcomes, or their totals alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from prdp.local.protocols.protocol import DrawnTogether, Field
from prdp.local.protocols.randomisers import Bit, Law, NoisyValue
from prdp.local.simulation.crowd import Integers
from prdp.local.simulation.kinds import CoordinateLaws, Kinds
from prdp.local.simulation.outcomes import Outcomes
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import digit_count
from prdp.noise.totals import heads, laplace_total

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
        >>> from prdp.local.simulation.kinds import kinds_of
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
    """Return what fits the field, as ``Field.clamped`` does one by one."""
    if outcomes.dtype != object and shape.low >= -(2**63) and shape.last < 2**63:
        return np.clip(outcomes, shape.low, shape.last)
    return np.array([shape.clamped(int(outcome)) for outcome in outcomes], object)


def fits(law: Law, shape: Field) -> bool:
    """Say whether a law's total can be drawn at once: its outcomes fit the field.

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
