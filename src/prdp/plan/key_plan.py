"""Search for keys that nobody has listed: the query, its plan, and the table of the keys found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

from prdp.declare.exact import Exact, exact_share, is_integer, short_repr
from prdp.declare.groups import Grouping, GroupKey
from prdp.declare.key_domains import ColumnKeys, KeyDomain, ProductClass, TextClass
from prdp.declare.key_search import PRINTABLE, LikelyTexts
from prdp.declare.keys import MAX_KEYS
from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.mechanisms.keys import FoundKey, KeyFinder, surely
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.plan.labels import excluded_records
from prdp.plan.methods import Method, MethodTerms
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner, plan_of_one, refuse_ids
from prdp.plan.queries import Asked, arguments
from prdp.plan.reads import KeyMassRead, PlanReader
from prdp.release.raw_answer import Answer
from prdp.release.release import Release
from prdp.release.rows import Row
from prdp.release.table import Key, Released, ReleaseTable

Measured = Literal["mass", "count"]
"""Criterion of the largest keys: budget, or records."""

MAX_KEYS_OF_UNITS = 64
"""Default number of keys of a unit that count.

A key's expected mass is the same whatever this number is, and varies the less the larger it is.
"""

_OUT_OF_REACH = 10_000
"""Number of records of the largest budget from which a key's need is shown before paying."""

_SHOWN_LENGTHS = (5, 10, 20)
_SHOWN_TEXTS = ("Nurse", "Registered Nurse", "Assistant Director Of Nursing")


def _finder(terms: MethodTerms) -> Any:
    """Return the mechanism; its answers are keys with masses, which ``KeysPlan`` labels."""
    return KeyFinder(terms.query.domain, terms.query.size or MAX_KEYS)


def _masses(terms: MethodTerms) -> KeyMassRead:
    query, levels = terms.query, terms.levels
    most = levels.quanta(levels.usual) if query.per == "count" else None
    return KeyMassRead(
        terms.policy, levels, query.by, terms.where, terms.entry, most=most, max_keys=query.max_keys or 1
    )


@dataclass(frozen=True, slots=True)
class FindKeys(Asked):
    """The keys that records have, found privately in a public domain.

    Attributes:
        by: What keys are made of.
        domain: The possible keys.
        size: How many of the largest are shown; None for all that are found.
        per: What is added up for a key: the budgets of its records, or 1 for each record.
        max_keys: How many keys of a unit count; None where a row is a record.
    """

    by: tuple[GroupKey, ...]
    domain: KeyDomain = field(repr=False)
    size: int | None = None
    per: Measured = "mass"
    max_keys: int | None = MAX_KEYS_OF_UNITS

    methods: ClassVar[tuple[Method, ...]] = (
        Method("keys", _finder, reads=_masses, for_units=True, deep=True),
    )

    def __post_init__(self) -> None:
        """Refuse numbers that are none, and what cannot be added up."""
        if self.size is not None and not _is_number(self.size, MAX_KEYS):
            raise InvalidRequest(
                f"k={short_repr(self.size)} is not a number of keys: write 1 to {MAX_KEYS:,}."
            )
        if self.max_keys is not None and not _is_number(self.max_keys, MAX_KEYS):
            raise InvalidRequest(
                f"max_keys={short_repr(self.max_keys)} is not a number of keys: 1 to {MAX_KEYS:,}."
            )
        if self.per not in get_args(Measured):
            raise InvalidRequest(f"by={short_repr(self.per)} is neither 'mass' nor 'count'.")

    def __str__(self) -> str:
        keys = f"keys of {' and '.join(map(str, self.by))}"
        return keys if self.size is None else f"the {self.size:,} largest {keys} by {self.per}"

    @property
    def word(self) -> str:
        """The name of the query, as in its method on tables."""
        return "find_keys" if self.size is None else "top_keys"

    @property
    def labels(self) -> tuple[str, ...]:
        """The column of what was added up."""
        return (self.per,)

    @property
    def facts(self) -> dict[str, Any]:
        """The domain and its weights, and what is shown of the keys found."""
        facts = arguments(self) | {"domain": [column.facts for column in self.domain.columns]}
        facts |= {"false_keys": str(self.domain.false_keys), "size": self.size}
        return facts | {"per": self.per if self.per != "mass" else None, "max_keys": self.max_keys}


def _is_number(number: object, most: int) -> bool:
    return is_integer(number) and 0 < number <= most


@dataclass(frozen=True, slots=True, repr=False)
class KeysPlan(Plan):
    """The plan of one search for keys; which rows its table has is drawn as well."""

    def draw(self, reader: PlanReader, entropy: Entropy, runs: int) -> list[Released]:
        """Read the keys that records have, and draw independent answers; nothing of what is read is kept."""
        (query,) = self.queries
        masses = reader.read_anew(query.read)
        return [
            self._found(keys, masses.levels, simulated=reader.synthetic)
            for keys in self.finder.answers(masses, query.steps[0].drawn_share, entropy, runs)
        ]

    @property
    def query(self) -> FindKeys:
        """Query of the plan."""
        asked: Any = self.queries[0].query
        return asked  # type: ignore[no-any-return]

    @property
    def finder(self) -> KeyFinder:
        """The mechanism that finds keys."""
        mechanism: Any = self.queries[0].steps[0].mechanism
        return mechanism  # type: ignore[no-any-return]

    def needs(self) -> list[tuple[ProductClass, Fraction]]:
        """Return what a key of each class needs to be found half of the time, in budget or in records."""
        worth = self._worth()
        thresholds = self.finder.thresholds(1 / (self._drawn_share * self._levels.quantum))
        return [
            (keys, least * worth) for keys, least in zip(self.query.domain.classes, thresholds, strict=True)
        ]

    def notes(self) -> tuple[str, ...]:
        """Return the facts beside the keys, all of it public."""
        domain = self.query.domain
        lines = [f"{self._needed()}; rarer keys are missing by design"]
        lines.append(
            f"of {_count(domain.size)} possible keys, {float(domain.false_keys):.3g} that nobody has may be "
            "expected among those shown"
        )
        if self.query.max_keys is not None and not self._read.unit.one_row_is_all:
            whole = "its budget" if self.query.per == "mass" else "one record"
            lines.append(
                f"a unit with several keys counts for an equal part of {whole} in each of them, "
                f"{self.query.max_keys:,} at most"
            )
        lines += never_found(domain.columns)
        if self.query.size is None:
            lines.append(f"at most {self.finder.most:,} keys are shown, the largest")
        return tuple(lines)

    def out_of_reach(self) -> str:
        """Return a warning where hardly any key can be found; empty where some can."""
        needed = min(needed for _, needed in self._shown_classes())
        one = self._levels.at_most if self.query.per == "mass" else Fraction(1)
        if needed < _OUT_OF_REACH * one:
            return ""
        return (
            f"with share {self.share}, hardly any {self.query} will be found: {self._needed()}. That takes "
            f"{float(needed / one):,.0f} records of the largest budget. {self._proposal()}"
        )

    def _proposal(self) -> str:
        texts = [column.name for column in self.query.domain.columns if _is_free_text(column)]
        if texts:
            return (
                f"Say what {texts[0]!r} looks like, pattern='[A-Z]{{2}}[0-9]{{4}}' for example, or list "
                "what it can be, among=[...]; or take a smaller alphabet=, or a larger share."
            )
        return "Take a larger share, a narrower domain or more false_keys."

    def _needed(self) -> str:
        """Return in words what a key needs: of texts of any length, for some lengths."""
        shown = self._shown_classes()
        each = [f"{_shown(needed)}{_in_words(keys) if len(shown) > 1 else ''}" for keys, needed in shown]
        what = "a budget mass of" if self.query.per == "mass" else "records:"
        more = _shown(surely(self._drawn_share * self._levels.quantum) * self._worth())
        return f"a key needs {what} {', '.join(each)} to be found half of the time, and {more} more in 95 %"

    def _shown_classes(self) -> list[tuple[ProductClass, Fraction]]:
        """Return a few classes that represent all: of lengths of texts, some; of lists and the rest, both."""
        needs = self.needs()
        if len(needs) <= len(_SHOWN_LENGTHS):
            return needs
        arguments = [_in_words(keys) for keys, _ in needs]
        lengths = [f" ({length} characters)" for length in _SHOWN_LENGTHS]
        examples = [f" (a text like {text!r})" for text in _SHOWN_TEXTS]
        return [
            needs[arguments.index(words)] for words in (*lengths, *examples) if words in arguments
        ] or needs[-1:]

    @property
    def _read(self) -> Any:
        return self.queries[0].read

    @property
    def _levels(self) -> Levels:
        return self._read.levels  # type: ignore[no-any-return]

    @property
    def _drawn_share(self) -> Fraction:
        """The share at which the mechanism is drawn."""
        return self.queries[0].steps[0].drawn_share

    def _worth(self) -> Fraction:
        """Return what a quantum is worth: budget, or a part of a record."""
        levels = self._levels
        return levels.quantum if self.query.per == "mass" else Fraction(1, levels.quanta(levels.usual))

    def _found(self, found: Sequence[FoundKey], levels: Levels, *, simulated: bool) -> ReleaseTable:
        (step,), domain = self.queries[0].steps, self.query.domain
        label = replace(step.labels[0], words="budget mass" if self.query.per == "mass" else "count")
        noise, worth = DiscreteLaplace(1 / (step.drawn_share * levels.quantum)), self._worth()
        keys: list[Key] = [domain.shown(one.key) for one in found]
        releases: list[Row] = []
        for one, key in zip(found, keys, strict=True):
            named = zip(domain.columns, key, strict=True)
            about = f"{self._about} for " + ", ".join(f"{column.name} = {value}" for column, value in named)
            answer = Answer(one.mass, worth, (noise,), ())
            release: Release = label.on(answer, about, simulated=simulated)
            releases.append((release.selected(domain.size),))  # a key is shown because its mass is large
        return ReleaseTable(
            question=f"{self.query}{self._about}",
            share=self.share,
            by=tuple(column.name for column in domain.columns),
            asked=self.labels,
            keys=tuple(keys),
            releases=tuple(releases),
            notes=(*self.notes(), *(("simulated: not private",) if simulated else ())),
        )


def never_found(columns: Sequence[ColumnKeys]) -> list[str]:
    """Return which texts a search cannot find, however many records have them: public, by its domain."""
    alphabets = [c.facts.get("alphabet", PRINTABLE) for c in columns if _is_free_text(c)]
    whose = dict.fromkeys("printable ASCII's" if one == PRINTABLE else "the alphabet's" for one in alphabets)
    return [f"texts with other characters than {one} are never found: list these keys" for one in whose]


def _is_free_text(column: ColumnKeys) -> bool:
    return bool({"alphabet", "likely"} & column.facts.keys())


def _length(keys: ProductClass) -> int | None:
    """Return how many characters the texts of a class have, where it is of one column and of one length."""
    if len(keys.parts) != 1 or not isinstance(keys.parts[0], TextClass):
        return None
    (part,) = keys.parts
    lengths = {len(block.sets) for block in part.blocks} if isinstance(part, TextClass) else set()
    return lengths.pop() if len(lengths) == 1 else None


def _in_words(keys: ProductClass) -> str:
    """Return which keys a class has: texts of a length, or texts that are as likely as an example."""
    length, likely = _length(keys), [part for part in keys.parts if isinstance(part, LikelyTexts)]
    if length is not None:
        return f" ({length} characters)"
    if likely:
        as_likely = (text for text in _SHOWN_TEXTS if all(part.holds(text.encode()) for part in likely))
        return next((f" (a text like {text!r})" for text in as_likely), "")
    return f" ({_count(keys.size)} keys)"


def _count(number: int) -> str:
    """Return a number in digits while it has few, else as a power of ten."""
    text = f"{number:,}"
    return text if len(text) <= len("999,999,999") else f"about 10^{len(str(number)) - 1}"


def _shown(number: Fraction) -> str:
    """Return a number as people read it: whole, or with a few digits where it is small."""
    return f"{float(number):,.0f}" if number >= 100 else f"{float(number):.3g}"


def keys_plan(planner: Planner, query: FindKeys, share: Exact) -> KeysPlan:
    """Return what will be done to find keys, or refuse it; it is charged to the whole filter."""
    unit, part = planner.unit, exact_share(share)
    if unit is None:
        query = replace(query, max_keys=None)
    else:
        refuse_ids(Grouping(query.by, ()), unit)
    terms = MethodTerms(
        planner.policy,
        planner.policy.deep_levels,
        planner.bounds,
        query,
        None,
        part,
        where=planner.where,
        entry=unit,
    )
    (method,) = query.methods
    bounds = planner.bounds if unit is None or unit.join is None else {}
    among = [planner.where] if planner.where is not None and unit is None else []
    omitted = excluded_records(planner.policy, bounds, unit=unit, among=among)
    return KeysPlan(
        (plan_of_one(terms, method, omitted),),
        part,
        planner.where,
        None,
        planner.source,
        planner.over,
        region=planner.region(),
        snapshot=planner.snapshot,
        single=False,
    )
