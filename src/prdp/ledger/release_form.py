"""A release as JSON and back, exactly."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from prdp.clipping import Clipping, Dropped
from prdp.foreign import ForeignRelease
from prdp.grouping import Bin, KeyValue
from prdp.release import Release
from prdp.release_table import Released, ReleaseTable


def release_to_json(release: Released) -> str:
    """Return a release as one line of text, with exact fractions."""
    if isinstance(release, ReleaseTable):
        form = {
            "question": release.question,
            "share": release.share,
            "by": release.by,
            "asked": release.asked,
            "keys": [[_key_form(value) for value in key] for key in release.keys],
            "releases": [[asdict(answer) for answer in row] for row in release.releases],
        }
        return json.dumps(form, default=str, ensure_ascii=False)
    return json.dumps(asdict(release), default=str, ensure_ascii=False)


def release_from_json(text: str) -> Released:
    """Read what ``release_to_json`` wrote.

    Raises:
        ValueError: The text is no release.
    """
    form: Any = json.loads(text)
    if isinstance(form, dict) and "releases" in form:
        return _table(form)
    if isinstance(form, dict) and "epsilon" in form:
        return _foreign(form)
    return _release(form)


def _release(form: dict[str, Any]) -> Release:
    if isinstance(form, dict):
        form.setdefault("clipping", None)  # what was written before intervals covered clipping has none
        form.setdefault("noise", "laplace")  # nor was there other noise before it was written down
    _refuse_unless_fields(form, Release)
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
        parts=tuple(_release(part) for part in form["parts"]),
        rule=form["rule"],
        clipping=_clipping(form["clipping"]) if form["clipping"] else None,
        noise=form["noise"],
    )


def _clipping(form: dict[str, Any]) -> Clipping | Dropped:
    if "tiers" in form:
        return Dropped(
            thresholds=int(form["thresholds"]),
            scales=Fraction(form["scales"]),
            tiers=form["tiers"],
            below=form["below"],
            above=form["above"],
        )
    return Clipping(
        at=Fraction(form["at"]),
        most=Fraction(form["most"]),
        evidence=Fraction(form["evidence"]),
        fall=Fraction(form["fall"]),
        stride=form["stride"],
        blind=form["blind"],
        below=form["below"],
        above=form["above"],
        spans=form.get("spans", 1),  # points were in one span before others were left away
    )


def _foreign(form: dict[str, Any]) -> ForeignRelease:
    _refuse_unless_fields(form, ForeignRelease)
    return ForeignRelease(
        question=form["question"],
        value=form["value"],
        share=Fraction(form["share"]),
        epsilon=Fraction(form["epsilon"]),
        choices=tuple((name, value) for name, value in form["choices"]),
        failed=form["failed"],
        simulated=form["simulated"],
    )


def _table(form: dict[str, Any]) -> ReleaseTable:
    _refuse_unless_fields(form, ReleaseTable)
    return ReleaseTable(
        question=form["question"],
        share=Fraction(form["share"]),
        by=tuple(form["by"]),
        asked=tuple(form["asked"]),
        keys=tuple(tuple(_key(value) for value in key) for key in form["keys"]),
        releases=tuple(tuple(_release(answer) for answer in row) for row in form["releases"]),
    )


def _refuse_unless_fields(form: object, kind: type[Released]) -> None:
    if not isinstance(form, dict) or form.keys() != {field.name for field in fields(kind)}:
        raise ValueError("the text is no release")


def _key_form(value: KeyValue) -> object:
    """Return a key as JSON; what JSON has no word for is a list that starts with its kind."""
    match value:
        case Bin():
            return ["bin", str(value.low), str(value.high), value.last]
        case datetime():
            return ["moment", value.isoformat()]
        case _:
            return value


def _key(form: Any) -> KeyValue:
    match form:
        case ["bin", low, high, last]:
            return Bin(Fraction(low), Fraction(high), last)
        case ["moment", text]:
            return datetime.fromisoformat(text)
        case str() | int() | float():
            return form
        case _:
            raise ValueError("the text is no release")
