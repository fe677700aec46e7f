"""Many virtual clients at once, through the same laws: for experiments, never for publication.

What is drawn is the tally, whose law is that of tallying every client's own report: coins of one kind are
counted together, noises of one scale are added up together (``noise/totals.py``). Of a protocol of somebody's
own, laws are asked for once for each kind of client (``kinds.py``). No float takes part in a draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.errors import InvalidRequest
from prdp.local.analyst.estimate import Estimate
from prdp.local.analyst.study import Study
from prdp.local.client.campaign import Campaign
from prdp.local.protocols.categories import Frequencies, supported
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import FrameworkProtocol, Own, Tally
from prdp.local.protocols.randomisers import PRIME, Bit, Law, Symbol, complement
from prdp.local.protocols.summing import ProportionalSum, RatioGrid, RatioMass, RatioSum
from prdp.local.simulation.crowd import Crowd, Integers, refuse_missing
from prdp.local.simulation.outcomes import Reports, kinds_of, total_of
from prdp.noise.entropy import Entropy
from prdp.noise.totals import heads, laplace_total, uniform_many
from prdp.testing.seeded import Seeded

__all__ = ["Crowd", "crowd_tally", "simulate"]


def simulate(
    study: Study,
    records: Mapping[str, Any] | Crowd,
    *,
    runs: int = 1,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[Estimate]:
    """Carry a study through all its rounds ``runs`` times, with one virtual client for each record.

    Every estimate is marked ``simulated``: somebody saw all records. The randomness comes from the seed.

    >>> from prdp.local.analyst.study import CountStudy
    >>> from prdp.policy import Policy
    >>> study = CountStudy(name="visits", policy=Policy.constant(1), share=1)
    >>> [found.clients for found in simulate(study, {"visits": [3, 1, 7]}, runs=2, seed=1)]
    [3, 3]

    Args:
        study: The question.
        records: A dict of columns of equal length, or a crowd that was made of one under the same policy.
        runs: How often.
        seed: Of the randomness.
        progress: Called after each run with the number of runs done.
    """
    if type(runs) is not int or runs < 1 or type(seed) is not int:
        raise InvalidRequest(f"runs={runs!r}, seed={seed!r}: both are whole numbers, and runs is 1 or more.")
    crowd = records if isinstance(records, Crowd) else Crowd.of(records, study.policy)
    if crowd.grid != study.policy.levels:
        raise InvalidRequest("this crowd was made under another policy than the study's.")
    entropy = Seeded(seed)
    estimates = []
    for run in range(runs):
        estimates.append(carried_through(study, crowd, entropy))
        if progress:
            progress(run + 1)
    return estimates


def carried_through(study: Study, crowd: Crowd, entropy: Entropy) -> Estimate:
    """Carry a study through all its rounds once."""
    going = study.rounds()
    campaign = next(going)
    while True:
        try:
            campaign = going.send(crowd_tally(campaign, crowd, entropy))
        except StopIteration as done:
            estimate: Estimate = done.value
            return replace(estimate, simulated=True)


def crowd_tally(campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    """Draw the tally of all clients' reports: at once for a protocol of ours, else by kinds of clients."""
    protocol = campaign.protocol
    refuse_missing(campaign.columns, crowd.columns)
    own = type(protocol.inner) if isinstance(protocol, FrameworkProtocol) else type(protocol)
    known = {*drawn_together.registry, *inner_drawn_together.registry} - {object}
    if own in known:  # itself: a class that is derived from it may differ
        return drawn_together(protocol, campaign, crowd, entropy)
    return protocol.tally(campaign.terms, Reports(campaign.fields, kinds_of(campaign, crowd), entropy))


@singledispatch
def drawn_together(protocol: object, *clients: Any) -> Tally:  # noqa: ARG001  (what the functions below take)
    """Draw the tally of a protocol for all clients together."""
    raise TypeError(f"{type(protocol).__name__} is drawn by kinds of clients")


@drawn_together.register
def _(protocol: DomainCount, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    terms, clients = campaign.terms, len(crowd)
    totals = []
    sizes = crowd.domain_sizes if protocol.column is None else crowd.domain_sizes_with(protocol.column)
    for domain, inside in enumerate(sizes, start=1):
        reported, nothing = (protocol.coordinate(terms, domain, here) for here in (True, False))
        totals.append(total_of({reported: inside, nothing: clients - inside}, entropy))
    return Tally(clients, tuple(totals))


@drawn_together.register
def _(protocol: ProportionalCount, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    column: Counter[Law] = Counter()
    for place, clients in enumerate(np.bincount(crowd.levels + 1)):
        own = Own({}, crowd.quanta(place - 1)) if place else None
        column[protocol.law(campaign.terms, own)[0]] += int(clients)
    return Tally(len(crowd), (total_of(column, entropy),))


def _kept(symbol: Symbol, clients: int, entropy: Entropy) -> int:
    """Draw how many of so many clients tell their own symbol."""
    return clients - heads(complement(symbol.kept), clients, entropy)


@drawn_together.register
def _(protocol: RatioSum, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    terms, values = campaign.terms, crowd.steps(protocol.measure)
    octaves = crowd.octaves(RatioGrid(terms, protocol.measure))
    scales = protocol.scales(terms)
    sums = [_whole_sum(values[octaves == octave]) for octave in range(len(scales))]
    noise = [laplace_total(scale, len(crowd), entropy) for scale in scales]
    return Tally(len(crowd), tuple(map(sum, zip(sums, noise, strict=True))))


@drawn_together.register
def _(protocol: RatioMass, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    terms = campaign.terms
    octaves = crowd.octaves(RatioGrid(terms, protocol.measure))
    totals = []
    for octave in range(len(campaign.fields)):
        inside = np.bincount(crowd.levels[octaves == octave], minlength=1)
        column: Counter[Law] = Counter({Bit.of(protocol.most(terms)): len(crowd) - int(inside.sum())})
        for level in np.flatnonzero(inside):
            column[protocol.bit(terms, crowd.quanta(int(level)))] += int(inside[level])
        totals.append(total_of(column, entropy))
    return Tally(len(crowd), tuple(totals))


@drawn_together.register
def _(protocol: ProportionalSum, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    limits = [
        min(2**62, protocol.limit(campaign.terms, crowd.quanta(at))) for at in range(crowd.grid.top + 1)
    ]
    cut = np.array([*limits, 0], np.int64)[crowd.levels]
    values = crowd.steps(protocol.measure)
    noise = laplace_total(protocol.scale(campaign.terms), len(crowd), entropy)
    return Tally(len(crowd), (_whole_sum(np.clip(values, -cut, cut)) + noise,))


@drawn_together.register
def _(protocol: FrameworkProtocol, campaign: Campaign, crowd: Crowd, entropy: Entropy) -> Tally:
    budget = protocol.budget(campaign.terms)
    return inner_drawn_together(protocol.inner, budget, crowd, crowd.from_domain(protocol.domain), entropy)


@singledispatch
def inner_drawn_together(protocol: object, *clients: Any) -> Tally:  # noqa: ARG001  (what the functions below take)
    """Draw the tally of an LDP protocol where a ``part`` of the clients are not dummies."""
    raise TypeError(f"{type(protocol).__name__} is drawn by kinds of clients")


@inner_drawn_together.register
def _(
    protocol: ValueOctaves, budget: Fraction, crowd: Crowd, part: NDArray[np.bool_], entropy: Entropy
) -> Tally:
    values = np.abs(crowd.steps(protocol.measure)[part])
    ends = np.array([1 << octave for octave in range(protocol.count)], np.int64)
    sizes = Counter(np.searchsorted(ends, values[values > 0], side="left").tolist())
    reported, nothing = Bit.of(budget, part=1), Bit.of(budget)
    totals = tuple(
        total_of({reported: sizes[octave], nothing: len(crowd) - sizes[octave]}, entropy)
        for octave in range(protocol.count)
    )
    return Tally(len(crowd), totals)


@inner_drawn_together.register
def _(
    protocol: ClippedSum, budget: Fraction, crowd: Crowd, part: NDArray[np.bool_], entropy: Entropy
) -> Tally:
    limit = protocol.limit
    values = np.where(part, np.clip(crowd.steps(protocol.measure), -limit, limit), 0)
    if protocol.form == "laplace":
        return Tally(len(crowd), (_whole_sum(values) + laplace_total(limit / budget, len(crowd), entropy),))
    # A part of v/limit is a whole one with that chance: the same coin, in two steps.
    whole = int(np.count_nonzero(uniform_many(limit, len(crowd), entropy) < values))
    reported, nothing = Bit.of(budget, part=1), Bit.of(budget)
    return Tally(len(crowd), (total_of({reported: whole, nothing: len(crowd) - whole}, entropy),))


@inner_drawn_together.register
def _(
    protocol: Frequencies, budget: Fraction, crowd: Crowd, part: NDArray[np.bool_], entropy: Entropy
) -> Tally:
    places = np.where(part, crowd.places(protocol.by), -1)
    sizes = [int(size) for size in np.bincount(places + 1, minlength=protocol.size + 1)]
    if protocol.method in ("bits", "oue"):
        reported, nothing = (
            Bit.of(budget, part=Fraction(1, 1 if protocol.method == "bits" else 2)),
            Bit.of(budget),
        )
        totals = tuple(total_of({reported: size, nothing: len(crowd) - size}, entropy) for size in sizes[1:])
        return Tally(len(crowd), totals)
    if protocol.method == "grr":
        return Tally(len(crowd), _symbols([*sizes[1:], sizes[0]], budget, entropy)[:-1])
    return _hashes(protocol, budget, places, entropy)


def _symbols(sizes: Sequence[int], budget: Fraction, entropy: Entropy) -> tuple[int, ...]:
    """Draw the number of reports of each symbol, where each is the own one of so many clients."""
    counts = np.zeros(len(sizes), np.int64)
    for own, clients in enumerate(sizes):
        kept = _kept(Symbol(own, len(sizes), budget), clients, entropy)
        counts[own] += kept
        others = uniform_many(len(sizes) - 1, clients - kept, entropy)
        counts += np.bincount(others + (others >= own), minlength=len(sizes))
    return tuple(map(int, counts))


def _hashes(protocol: Frequencies, budget: Fraction, places: Integers, entropy: Entropy) -> Tally:
    clients, buckets = places.size, protocol.buckets
    multipliers = uniform_many(PRIME - 1, clients, entropy) + 1
    offsets = uniform_many(PRIME, clients, entropy)
    own = (multipliers * places + offsets) % PRIME % buckets
    known = np.flatnonzero(places >= 0)
    kept = _kept(Symbol(0, buckets, budget), known.size, entropy)
    # Which of them keep their own bucket is a draw without order: the first ones of a shuffled row.
    order = known[np.argsort(uniform_many(1 << 62, known.size, entropy), kind="stable")]
    reported = uniform_many(buckets, clients, entropy)
    others = uniform_many(buckets - 1, known.size - kept, entropy)
    lost = order[kept:]
    reported[order[:kept]] = own[order[:kept]]
    reported[lost] = others + (others >= own[lost])
    return Tally(clients, supported(multipliers, offsets, reported, buckets, protocol.size))


def _whole_sum(values: Integers) -> int:
    """Add up without overflow."""
    return (
        int(values.sum(dtype=object))
        if values.size and int(np.abs(values).max()) > 2**40
        else int(values.sum())
    )
