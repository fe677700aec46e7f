"""Describe a publication for OpenDP's registry of deployments of differential privacy, as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prdp.concentrated import epsilon_at
from prdp.publish.draws import total_shares
from prdp.publish.explanations import CONCENTRATED, INTERVALS, METHOD, NOTION
from prdp.release.formatting import as_json
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp.publish.declaration import Publication
    from prdp.publish.run import Edition

_TIER = 3
_DEFAULTS = {"intended_use": "Official statistics", "region": "", "sector": "Government"}
REGISTRY = (*_DEFAULTS, "sources")
"""What a publication may say of itself for the registry."""

_ACTORS = (
    "The office holds the records, draws the noise and keeps the ledger; it is trusted. Whoever reads the "
    "publication is not."
)
_COMPOSITION = (
    "Shares of all queries add up; a ledger refuses what exceeds the whole. All charges of the publication "
    "are one transaction, on disk before a record is read."
)
_DECLARED = "All of it was declared before records were read; nothing was tuned on them."
_MECHANISMS = (
    "Discrete Laplace noise on exact integers, drawn from the system's generator; clipping thresholds by "
    "permute-and-flip. Budgets, shares and noise are exact fractions: no floating-point number decides a "
    "draw. Nobody asks interactively, so no answer's time is seen. Made by prdp"
)
_GAUSSIAN = (
    "Under concentrated policies, discrete Gaussian noise for counts and sums, whose thresholds are "
    "exponential choices. "
)
_DELTA = 1e-6
"""The δ at which a concentrated loss is reported."""


def registry_record(edition: Edition) -> str:
    """Return the record: a draft, as its schema has it in 2026, that an office completes and submits."""
    publication = edition.publication
    words = " ".join(filter(None, (publication.office, publication.title, publication.edition)))
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "publication"
    concentrated = any(one.draws.private.table.policy.stated is not None for one in edition.tables)
    notion, noises = (CONCENTRATED, _GAUSSIAN) if concentrated else (NOTION, "")
    deployment = {
        "basic": _basic(edition),
        "dp_variant": {
            "variant_name": "Custom",
            "data_domain": f"All tables of records within the public bounds. {notion}",
            "unprotected_quantities": "None: keys, bounds and policies are public.",
        },
        "privacy_loss": _privacy_loss(edition),
        "deployment_model": {
            "model_name": "Central",
            "actors": _ACTORS,
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {"post_processing": f"{METHOD} {INTERVALS}", "composition": _COMPOSITION},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _DECLARED,
            "mechanisms": f"{noises}{_MECHANISMS} {__version__}.",
        },
        "administrative": _administrative(publication),
    }
    record = {"url_slug": slug, "status": "Draft", "tier": _TIER, "deployment": deployment}
    return "\n".join(_lines(record)) + "\n"


def _basic(edition: Edition) -> dict[str, Any]:
    publication = edition.publication
    facts = _DEFAULTS | dict(publication.registry)
    return {
        "name": publication.title,
        "data_curators": [publication.office or "unknown"],
        "intended_use": facts["intended_use"],
        "data_product_type": "Summary statistics",
        "data_product_region": facts["region"],
        "description": "; ".join(table.title for table in edition.tables),
        "publication_date": edition.at[:10],
        "data_product_sector": facts["sector"],
    }


def _administrative(publication: Publication) -> dict[str, Any]:
    sources = {"sources": publication.registry["sources"]} if "sources" in publication.registry else {}
    return {**sources, "registry_authors": [publication.office or publication.contact or "unknown"]}


def _privacy_loss(edition: Edition) -> dict[str, Any]:
    """Return unit and parameters: the share that each private table's records lose of their budgets."""
    shares = total_shares(one.draws for one in edition.tables)
    tables: dict[str, Any] = {one.draws.private.table.name: one.draws.private.table for one in edition.tables}
    units = dict.fromkeys(
        "one row" if table.planner.unit is None else f"all rows of one {table.planner.unit.id}"
        for table in tables.values()
    )
    most = {name: float(shares[name] * table.policy.shown.levels.at_most) for name, table in tables.items()}
    pure = {name: table.policy.stated is None for name, table in tables.items()}
    largest = max(most[name] if pure[name] else epsilon_at(most[name], _DELTA) for name in tables)
    losses = "; ".join(
        f"{name}: s = {shares[name]} of {'E' if pure[name] else 'P'}(r) = {table.policy.shown.text}"
        for name, table in tables.items()
    )
    delta = {} if all(pure.values()) else {"delta": _DELTA}
    per_record = " or ".join(sorted({"s · E(r)" if one else "s · P(r)" for one in pure.values()}))
    return {
        "privacy_unit": "; ".join(units),
        "privacy_unit_details": f"Neighbouring tables differ by {' or '.join(units)}, added or removed.",
        "privacy_parameters": {"epsilon": largest, **delta},
        "privacy_parameters_details": (
            f"Per record, {per_record}. {losses}. epsilon above is the largest that any record can have."
        ),
    }


def _lines(record: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Yield a record in block style."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield f"{before}{name}:"
            yield from _lines(value, f"{before}  ")
        elif isinstance(value, list):
            yield f"{before}{name}:"
            yield from (f"{before}  - {_scalar(one)}" for one in value)
        else:
            yield f"{before}{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    """Return a value as JSON, which YAML reads as it is; of a small number, with a point as YAML 1.1 needs.

    >>> _scalar(1e-06), _scalar(0.5), _scalar("1e-06")
    ('1.0e-06', '0.5', '"1e-06"')
    """
    text = as_json(value).strip()
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text
