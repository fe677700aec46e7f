"""A release as JSON and back, exactly."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from fractions import Fraction
from typing import Any

from prdp.release import Release


def release_to_json(release: Release) -> str:
    """Return a release as one line of text, with exact fractions."""
    return json.dumps(asdict(release), default=str, ensure_ascii=False)


def release_from_json(text: str) -> Release:
    """Read what ``release_to_json`` wrote.

    Raises:
        ValueError: The text is no release.
    """
    form: dict[str, Any] = json.loads(text)
    if not isinstance(form, dict) or form.keys() != {field.name for field in fields(Release)}:
        raise ValueError("the text is no release")
    return Release(
        question=form["question"],
        steps=int(form["steps"]),
        step=Fraction(form["step"]),
        noise_scales=tuple(Fraction(scale) for scale in form["noise_scales"]),
        share=Fraction(form["share"]),
        method=form["method"],
        caveat=form["caveat"],
        choices=tuple((name, value) for name, value in form["choices"]),
        simulated=form["simulated"],
        ends=(Fraction(form["ends"][0]), Fraction(form["ends"][1])) if form["ends"] else None,
        noise=form["noise"],
    )
