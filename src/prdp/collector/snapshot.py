"""The public state of a study as JSON: its progress, and what its rounds have made public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prdp.collector.plan import StudyPlan, threshold_budget
from prdp.collector.store.sql import StoredStudy
from prdp.declare.exact import exact_share
from prdp.local import Campaign


@dataclass(frozen=True)
class Snapshot:
    """A study as it was a moment ago."""

    plan: StudyPlan
    study: StoredStudy
    campaigns: tuple[Campaign, ...]

    @classmethod
    def of(cls, study: StoredStudy, before: Snapshot | None = None) -> Snapshot:
        """Return the snapshot of a store; what an earlier one has read is not read again."""
        plan = before.plan if before else StudyPlan.from_json(study.plan)
        have = before.campaigns if before else ()
        new = tuple(Campaign.from_json(stored.campaign) for stored in study.rounds[len(have) :])
        return cls(plan, study, (*have, *new))

    @property
    def open_campaign(self) -> Campaign | None:
        """The campaign that is to be answered now."""
        return None if self.study.last.closed else self.campaigns[-1]


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
