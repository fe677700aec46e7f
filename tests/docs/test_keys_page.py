"""What the page on keys shows is what happens, with noise from a seed."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from prdp.testing import Seeded

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Run the page's examples in order; return what each prints, and what the page says it does."""
    seeds = count(23)
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(next(seeds)))
    known: dict[str, Any] = {}
    found = []
    for code, printed in EXAMPLE.findall(PAGE.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, known)  # noqa: S102  (the page's own examples)
        found.append((output.getvalue(), printed))
    return found


def test_the_page_s_examples_print_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shown(monkeypatch)
    assert len(found) == PAGE.read_text(encoding="utf-8").count("```python")
    for printed, stated in found:
        assert printed == stated
