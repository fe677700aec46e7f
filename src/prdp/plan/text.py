"""The text of a question, as every ledger keeps it."""

from __future__ import annotations

import json
from typing import Any


def question_text(facts: dict[str, Any]) -> str:
    """Return the question as one line of JSON: equal for equal questions, readable by people."""
    return json.dumps({"format": 2} | facts, ensure_ascii=False)


def without_token(text: str) -> str:
    """Return a question's text without the random word that keeps its charge from being taken up."""
    facts = json.loads(text)
    facts.pop("once", None)
    return json.dumps(facts, ensure_ascii=False)
