"""Find the octaves that stand out from the noise: a bar that rises, and a lower one right above the last."""

from __future__ import annotations

from collections.abc import Sequence

_FINEST = 1e-9


def graded(audible: Sequence[bool], beta: float, octaves: float = 1 / 2) -> tuple[float, ...]:
    """Return the chance with which each octave may be taken for a heavy one while it is empty.

    They add up to β over the octaves that all clients together could fill. Each is smaller than that below it
    by a part of an octave, by default 2^-1/2: an octave that is heard in error doubles the noise for every
    step that it is too high. 0 where nothing can be heard; else 1e-9 at least, below which thresholds are not
    computed.

    >>> [round(chance, 4) for chance in graded((True, False, True, True), 0.1)]
    [0.0453, 0.0, 0.032, 0.0227]
    """
    weights: list[float] = []
    below = 0
    for hears in audible:
        weights.append(2 ** (-below * octaves) if hears else 0.0)
        below += hears
    whole = sum(weights)
    return tuple(max(_FINEST, beta * weight / whole) if weight else 0.0 for weight in weights)


def reaching_up(
    heavy: Sequence[bool], ratios: Sequence[float], audible: Sequence[bool], louder: float
) -> tuple[bool, ...]:
    """Return which octaves count as heavy: also those right above the last one, as long as they are loud.

    Where one octave is full, the next one is seldom empty: a total of ``louder`` deviations is enough there.

    >>> reaching_up((False, True, False, False, False), (0, 9, 2.5, 1, 9), (True,) * 5, louder=2)
    (False, True, True, False, False)
    """
    found = list(heavy)
    place = max((place for place, one in enumerate(heavy) if one), default=len(found)) + 1
    while place < len(found) and audible[place] and ratios[place] >= louder:
        found[place] = True
        place += 1
    return tuple(found)
