"""What everybody may know of a study, as JSON: how far it is, and what its rounds have made public."""

from __future__ import annotations

from typing import Any

from prdp.collector.plan import threshold_budget
from prdp.collector.server.desk import Snapshot
from prdp.declare.exact import exact_share


def status_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return a study and its rounds; a threshold ε_τ is published with the round that uses it."""
    plan, study = snapshot.plan, snapshot.study
    rounds = []
    for stored, campaign in zip(study.rounds, snapshot.campaigns, strict=True):
        threshold = threshold_budget(campaign)
        rounds.append(
            {
                "number": stored.number,
                "campaign": stored.digest.hex(),
                "share": str(campaign.share),
                "reports": stored.reports,
                "closed": stored.closed,
                "closes_at": stored.closes_at,
                "threshold_budget": None if threshold is None else str(threshold),
            }
        )
    return {
        "name": plan.name,
        "study": plan.digest.hex(),
        "ask": plan.ask,
        "state": "done" if study.result else "adding up" if study.last.closed else "open",
        "reads": list(plan.reads),
        "share": str(exact_share(plan.share)),
        "closing": plan.closing.words,
        "closes_at_reports": plan.closing.reports,
        "rounds": rounds,
    }
