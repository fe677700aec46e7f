"""Facts of charges, as a publication's manifest states them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from prdp.ledger import Entry
from prdp.ledger.release_codec import release_to_json


def charge_facts(entry: Entry) -> dict[str, Any]:
    """Return the facts of a charge that a manifest states: its question and its answer by their digests."""
    answer = "" if entry.release is None else release_to_json(entry.release)
    return {
        "number": entry.number,
        "share": str(entry.share),
        "at": entry.at,
        "question": sha256(entry.purpose.encode()).hexdigest(),
        "answer": sha256(answer.encode()).hexdigest(),
    }
