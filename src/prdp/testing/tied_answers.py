"""Whether what is said follows from what is drawn: answers beside their law, on one stream of bytes.

The exact loss is that of a law. It is the loss of what callers get if answers are drawn from that law and
hold nothing besides: no record in a word, an end, a step or a scale that the law knows nothing of.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from prdp.noise.entropy import Entropy
from prdp.testing.content import content
from prdp.testing.seeded import Seeded

_NEXT_BYTES = 16
_ONE_BY_ONE = 20
"""How many answers to draw one at a time as well: what is said may not hang on the number of runs."""


class Drawable(Protocol):
    """A distribution that can be drawn from."""

    def draw(self, entropy: Entropy, runs: int) -> Iterable[Hashable]:
        """Draw independent outcomes."""


def untied(
    tables: Sequence[Any],
    law: Callable[[Any], Drawable],
    answers: Callable[[Any, Entropy, int], Iterable[object]],
    *,
    runs: int | Sequence[int],
    seed: int,
) -> str:
    """Return in words how answers say something other than what the law draws; empty if they do not.

    Both read the same bytes, from two sources with one seed. Answers that draw from the law, and from
    nothing else, leave their source where the law leaves its own. And what they say is a function of
    what is drawn, the same one for all tables: where two draws are equal, in one table or in two, so are the
    answers in every part, down to their types. Then answers are distributed as the law says, and cost what
    the law costs.

    Args:
        tables: Summaries of tables so small that their draws often meet.
        law: From a summary to the law.
        answers: From a summary, a source and a number of runs to what callers get, once a run.
        runs: How many to draw of each table at once: one number for all tables, or one for each. A few are
            drawn one by one as well.
        seed: Where the bytes of the first table start; the others follow.
    """
    at_once = [runs] * len(tables) if isinstance(runs, int) else runs
    said_of: dict[Hashable, tuple[object, object]] = {}
    for place, (table, many) in enumerate(zip(tables, at_once, strict=True)):
        drawing, answering, its_law = Seeded(seed + place), Seeded(seed + place), law(table)
        for count in (many, *(1,) * _ONE_BY_ONE):
            drawn = list(its_law.draw(drawing, count))
            said = list(answers(table, answering, count))
            if len(said) != len(drawn):
                return f"{count} runs give {len(drawn)} draws and {len(said)} answers"
            if drawing.bytes(_NEXT_BYTES) != answering.bytes(_NEXT_BYTES):
                return (
                    "answers read other bytes than draws of the law do: they are not drawn from it, once each"
                )
            for outcome, answer in zip(drawn, said, strict=True):
                shown = content(answer)
                known, known_shown = said_of.setdefault(outcome, (answer, shown))
                if known_shown != shown:
                    return f"the law drew {outcome!r} twice, and two things were said: {known!r}, {answer!r}"
    return ""
