"""Sentences that explain a publication to its readers."""

from __future__ import annotations

CONCENTRATED = (
    "Zero-concentrated per-record differential privacy: adding or removing one record r changes the "
    "distribution of all that is published here by a Rényi divergence of at most α · s · P(r) of every order "
    "α, where P(r) is the record's number by the public policy below, and s the share that all tables use "
    "together."
)
NOTION = (
    "Pure per-record differential privacy: adding or removing one record r changes the probability of all "
    "that is published here by a factor of at most exp(s · E(r)), where E(r) is the record's budget by the "
    "public policy below, and s the share that all tables use together."
)
METHOD = (
    "Each margin of a table is a query of its own, answered with random noise. Counts and sums are made to "
    "add up by least squares; what cannot be negative is moved to 0, with the same total. Shares are divided "
    "by the numbers of cells. All of this follows from noisy answers and public facts."
)
INTERVALS = (
    "A 95 % confidence interval covers the noise, and what clipping took away as far as its table says. It "
    "does not cover errors of the data themselves: coverage, measurement, nonresponse. Each interval holds "
    "for itself; of many, about 1 in 20 does not. A figure is suppressed by its own published precision "
    "alone, never by what the records are."
)
