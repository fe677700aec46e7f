"""A release as JSON and back, exactly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from prdp.cells.columns import exact_column
from prdp.declare.exact import fraction_of, spelled, whole_of
from prdp.declare.groups import OTHER, Bin, KeyValue, Others
from prdp.declare.strict_json import strict_json
from prdp.errors import PrdpError
from prdp.expressions.nodes import canonical
from prdp.expressions.parse import parse
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_gaussian import GaussianScale
from prdp.policy import Policy
from prdp.release.bias import Clipping, Dropped, Leader, TierClipping
from prdp.release.clipped import ClippedTerms, Counted
from prdp.release.excluded_tail import OCTAVES, ExcludedTail
from prdp.release.interval import Pull
from prdp.release.raw_answer import Caveat, Knot, Overshoot, Ranked
from prdp.release.release import Release
from prdp.release.rows import Named, ReleaseColumn, ReleaseRows, Row
from prdp.release.table import CustomRelease, Released, ReleaseTable

_LONG_BITS = 1990
"""Whole numbers of up to so many bits can be written and read under every limit of Python's on digits."""

_GAUSSIAN = "gaussian"
_FEW = 20
"""Tables of more groups are written by columns."""

_POLICY_FIELDS = tuple(one.name for one in fields(Policy) if one.name != "stated")
"""Fields of the policy whose budgets are counted, in order: an answer has the same text in every process.

What a concentrated one was stated as is left out.
"""

_LATER: dict[str, Any] = {
    "chosen": None,  # the error of a chosen value was not recorded
    "whole": False,  # counts were printed with decimals
    "usual": 0,  # there were no points beyond the bounds
    "border": 0,
    "seen": "last",  # only tiers recorded what they dropped
    "unknown": False,
    "at": None,
    "drawn": None,  # one draw was for both signs
    "clipped": None,  # clipped records were not described in the user's terms
    "shape": None,  # all public noise was Laplace's
    "left_out": "",  # excluded records were not recorded
    "apart": False,  # intervals covered all that was dropped
    "selected": None,  # one tail factor was for all answers
    "menu": 1,
    "failed": False,
    "end": None,
    "leader": None,  # every total chose its own point
    "among": 1,  # no answer knew that it was selected
    "center": None,  # the center of a variance's squares was not recorded
    "measured": None,  # only the choice was evidence of values beyond its point
    "recorded_at": "",  # the charge says when: it is no part of what was recorded
}
"""Defaults of fields that were not written at first; ``mixed`` was where values pulled both ways."""


def release_to_json(release: Released) -> str:
    """Return a release as one line of text, with exact fractions."""
    if isinstance(release, ReleaseTable):
        form = {
            "question": release.question,
            "share": release.share,
            "by": release.by,
            "asked": release.asked,
            "keys": [[_key_form(value) for value in key] for key in release.keys],
            **_rows_form(release.releases),
        } | ({"notes": release.notes} if release.notes else {})
        return json.dumps(form, default=_spelled, ensure_ascii=False)
    form = _foreign_form(release) if isinstance(release, CustomRelease) else _form(release)
    return json.dumps(form, default=_spelled, ensure_ascii=False)


def _rows_form(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the answers row by row; those of many groups by columns, with shared metadata written once."""
    if isinstance(rows, ReleaseRows) and len(rows) > _FEW:
        columns = [column for column in rows.columns if isinstance(column, ReleaseColumn)]
        abouts = columns[0].abouts if len(columns) == len(rows.columns) else None
        if isinstance(abouts, Named):
            return {"about": abouts.about, "columns": list(map(_column_form, columns))}
    return {"releases": [[_form(answer) for answer in row] for row in rows]}


def _column_form(column: ReleaseColumn) -> dict[str, Any]:
    return {
        "templates": list(map(_form, column.templates)),
        "which": column.which.tolist(),
        "steps": list(map(_whole_form, column.steps.tolist())),
        "parts": list(map(_column_form, column.parts)),
    }


def _whole_form(value: int) -> int | str:
    """Return a whole number; a long one as text, which no limit of Python's stops."""
    return spelled(value) if value.bit_length() > _LONG_BITS else value


def _form(release: Release) -> dict[str, Any]:
    """Return a release's fields; a long whole number as text, which no limit of Python's stops.

    Fields that were not there at first are left away where they say what was so before they were.
    """

    def plain(named: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(named)
        if found.get("leader"):  # its own point goes there, so that who knows of no leader refuses it
            found["leader"]["follows"] = found.pop("at")
        before = _LATER | {"mixed": found.get("below") and found.get("above")}
        return {
            name: _whole_form(value) if isinstance(value, int) else value
            for name, value in found.items()
            if name not in before or value != before[name]
        }

    form = asdict(replace(release, clipped=None, parts=(), recorded_at=""), dict_factory=plain)
    form["parts"] = list(map(_form, release.parts))
    if release.noise == _GAUSSIAN:  # their scales follow from the variances
        form["noise_scales"] = [_variance(scale) for scale in release.noise_scales]
    return form if release.clipped is None else form | {"clipped": _terms_form(release.clipped)}


def _variance(scale: Fraction) -> Fraction | list[Fraction]:
    """Return the variance of a Gaussian noise; the scale of any other as a list of one."""
    return scale.variance if isinstance(scale, GaussianScale) else [scale]


def _noise_scale(form: Any, noise: str) -> Fraction:
    if noise != _GAUSSIAN:
        return _fraction(form)
    return _fraction(form[0]) if isinstance(form, list) else GaussianScale.of(_fraction(form))


def _terms_form(terms: ClippedTerms) -> dict[str, Any]:
    """Return the public facts about clipped records; the policy as text that is parsed again."""
    facts = {one.name: getattr(terms, one.name) for one in fields(ClippedTerms)}
    if not terms.zero_or_one:  # it was not there at first
        del facts["zero_or_one"]
    if terms.counted == "rows":
        del facts["counted"]
    policy = {name: getattr(terms.policy, name) for name in _POLICY_FIELDS}
    return facts | {"policy": policy | {"expression": canonical(terms.policy.expression)}}


def _terms(form: dict[str, Any]) -> ClippedTerms:
    before: dict[str, Any] = {"zero_or_one": False, "counted": "rows"}
    form = before | form
    _refuse_unless_fields(form, ClippedTerms)
    policy = form["policy"]
    if form["counted"] not in get_args(Counted):
        raise ValueError("the text is no release")
    if not isinstance(policy, dict) or policy.keys() != set(_POLICY_FIELDS):
        raise ValueError("the text is no release")
    ends = (None if policy[end] is None else _fraction(policy[end]) for end in ("at_least", "at_most"))
    return ClippedTerms(
        policy=_policy(policy["text"], policy["expression"], *ends, below=_whole(policy["below"])),
        bounds=tuple((name, (_fraction(low), _fraction(high))) for name, (low, high) in form["bounds"]),
        column=form["column"],
        round_to=_fraction(form["round_to"]),
        privacy_unit=form["privacy_unit"],
        computed=form["computed"],
        below=form["below"],
        above=form["above"],
        center=None if form["center"] is None else _fraction(form["center"]),
        zero_or_one=form["zero_or_one"],
        counted=form["counted"],
    )


@lru_cache(maxsize=256)
def _policy(
    text: str, expression: str, at_least: Fraction | None, at_most: Fraction | None, *, below: int
) -> Policy:
    """Return a policy, read once for all answers that were given under it."""
    try:
        return Policy.of(parse(expression), at_least=at_least, at_most=at_most, text=text, below=below)
    except PrdpError:
        raise ValueError("the text is no release") from None


def _spelled(value: object) -> str:
    return spelled(value) if isinstance(value, Fraction) else str(value)


def release_from_json(text: str) -> Released:
    """Read what ``release_to_json`` wrote.

    Raises:
        ValueError: The text is no release.
    """
    form: Any = strict_json(text)
    if isinstance(form, dict) and "columns" in form:
        return _table_of_columns(form)
    if isinstance(form, dict) and "releases" in form:
        return _table(form)
    if isinstance(form, dict) and "epsilon" in form:
        return _foreign(form)
    return _release(form)


def _release(form: dict[str, Any]) -> Release:
    if isinstance(form, dict):
        form.setdefault("clipping", None)  # what was written before intervals covered clipping has none
        form.setdefault("chosen", None)  # nor did it say how far off a chosen value may be
        form.setdefault("noise", "laplace")  # nor was there other noise before it was written down
        form.setdefault("whole", _LATER["whole"])
        form.setdefault("clipped", _LATER["clipped"])
        form.setdefault("shape", _LATER["shape"])
        form.setdefault("left_out", _LATER["left_out"])
        form.setdefault("center", _LATER["center"])
        form.setdefault("among", _LATER["among"])
    _refuse_unless_fields(form, Release)
    return Release(
        question=form["question"],
        steps=_whole(form["steps"]),
        step=_fraction(form["step"]),
        noise_scales=tuple(_noise_scale(scale, form["noise"]) for scale in form["noise_scales"]),
        share=_fraction(form["share"]),
        method=form["method"],
        bias=Caveat(**form["bias"]) if form["bias"] else None,
        decisions=tuple((name, value) for name, value in form["decisions"]),
        simulated=form["simulated"],
        ends=(_fraction(form["ends"][0]), _fraction(form["ends"][1])) if form["ends"] else None,
        parts=tuple(_release(part) for part in form["parts"]),
        rule=form["rule"],
        clipping=_clipping(form["clipping"]) if form["clipping"] else None,
        noise=form["noise"],
        chosen=_chosen(form["chosen"]) if form["chosen"] else None,
        whole=form["whole"],
        clipped=_terms(form["clipped"]) if form["clipped"] else None,
        shape=_shape(form["shape"]) if form["shape"] else None,
        left_out=form["left_out"],
        center=None if form["center"] is None else _fraction(form["center"]),
        among=_whole(form["among"]),
    )


def _chosen(form: dict[str, Any]) -> Overshoot | Ranked:
    if "knots" in form:
        return Overshoot(
            knots=tuple(_knot(knot) for knot in form["knots"]),
            further=tuple(_knot(knot) for knot in form["further"]),
            window=_fraction(form["window"]),
            lowest=form["lowest"],
        )
    return Ranked(
        quantile=_fraction(form["quantile"]),
        lows=tuple(map(_whole, form["lows"])),
        highs=tuple(map(_whole, form["highs"])),
        weights=tuple(map(_whole, form["weights"])),
        scale=_fraction(form["scale"]),
        clipping=_point_of(form["clipping"]) if form["clipping"] else None,
    )


def _shape(form: dict[str, Any]) -> ConcaveNoise:
    return ConcaveNoise(tuple(map(_whole, form["ends"])), tuple(map(_fraction, form["slopes"])))


def _knot(form: Any) -> Knot:
    fall, value = form
    return Knot(_fraction(fall), _whole(value))


def _clipping(form: dict[str, Any]) -> Pull:
    if "kept" in form:
        return TierClipping(
            tiers=tuple(map(_point_of, form["tiers"])),
            kept=form["kept"],
            thresholds=_whole(form["thresholds"]),
            scales=_fraction(form["scales"]),
            apart=form.get("apart", _LATER["apart"]),
        )
    if "tiers" in form:
        return Dropped(
            thresholds=_whole(form["thresholds"]),
            scales=_fraction(form["scales"]),
            tiers=form["tiers"],
            below=form["below"],
            above=form["above"],
            seen=form.get("seen", _LATER["seen"]),
            unknown=form.get("unknown", _LATER["unknown"]),
            at=None if form.get("at") is None else _fraction(form["at"]),
            apart=form.get("apart", _LATER["apart"]),
        )
    return _point_of(form)


def _point_of(form: dict[str, Any]) -> Clipping:
    if not form.keys() <= {field.name for field in fields(Clipping)}:
        raise ValueError("a newer prdp says more of a clipping point")
    leader = form.get("leader")
    return Clipping(
        at=_fraction(leader["follows"] if leader else form["at"]),
        most=_fraction(form["most"]),
        evidence=_fraction(form["evidence"]),
        fall=_fraction(form["fall"]),
        stride=form["stride"],
        blind=form["blind"],
        below=form["below"],
        above=form["above"],
        spans=form.get("spans", 1),  # points were in one span before others were left away
        spared=_fraction(form.get("spared", 0)),  # what groups spare together was not written before
        usual=_fraction(form.get("usual", _LATER["usual"])),
        border=form.get("border", _LATER["border"]),
        mixed=form.get("mixed", form["below"] and form["above"]),
        drawn=_pair(form.get("drawn")),
        measured=_beyond(form["measured"]) if form.get("measured") else None,
        leader=_leader(leader) if leader else None,
        selected=_pair(form.get("selected")),
        menu=form.get("menu", _LATER["menu"]),
        failed=form.get("failed", _LATER["failed"]),
    )


def _leader(form: dict[str, Any]) -> Leader:
    ends = _fraction(form["at"]), _fraction(form["most"]), _fraction(form.get("usual", _LATER["usual"]))
    end = form.get("end", _LATER["end"])
    return Leader(*ends, tuple(map(_fraction, form["points"])), None if end is None else _fraction(end))


def _beyond(form: dict[str, Any]) -> ExcludedTail:
    return ExcludedTail(
        octaves=tuple(tuple(map(_whole, side)) for side in form["octaves"]),
        further=tuple(map(_whole, form["further"])),
        scale=_fraction(form["scale"]),
        worth=_fraction(form["worth"]),
        times=tuple(map(_fraction, form.get("times", OCTAVES))),  # three octaves were measured at first
    )


def _pair(form: Any) -> tuple[Fraction, Fraction] | None:
    return (_fraction(form[0]), _fraction(form[1])) if form else None


def _foreign_form(release: CustomRelease) -> dict[str, Any]:
    form = {name: value for name, value in asdict(release).items() if name != "recorded_at"}
    return form if form["left_out"] else {name: form[name] for name in form if name != "left_out"}


def _foreign(form: dict[str, Any]) -> CustomRelease:
    form.setdefault("left_out", _LATER["left_out"])
    _refuse_unless_fields(form, CustomRelease)
    return CustomRelease(
        question=form["question"],
        value=form["value"],
        share=_fraction(form["share"]),
        epsilon=_fraction(form["epsilon"]),
        choices=tuple((name, value) for name, value in form["choices"]),
        failed=form["failed"],
        simulated=form["simulated"],
        left_out=form["left_out"],
    )


def _table(form: dict[str, Any]) -> ReleaseTable:
    form.setdefault("notes", [])  # tables had none at first
    _refuse_unless_fields(form, ReleaseTable)
    return ReleaseTable(
        question=form["question"],
        share=_fraction(form["share"]),
        by=tuple(form["by"]),
        asked=tuple(form["asked"]),
        keys=tuple(tuple(_key(value) for value in key) for key in form["keys"]),
        releases=tuple(tuple(_release(answer) for answer in row) for row in form["releases"]),
        notes=tuple(map(str, form["notes"])),
    )


def _table_of_columns(form: dict[str, Any]) -> ReleaseTable:
    """Read a table that was written by columns."""
    form.setdefault("notes", [])  # tables had none at first
    known = {one.name for one in fields(ReleaseTable)} - {"releases", "recorded_at"} | {"about", "columns"}
    if form.keys() != known or not form["columns"]:
        raise ValueError("the text is no release")
    keys = tuple(tuple(_key(value) for value in key) for key in form["keys"])
    by = tuple(form["by"])
    abouts = Named(form["about"], by, keys)
    columns = tuple(_column(column, abouts) for column in form["columns"])
    facts = form["question"], _fraction(form["share"]), by, tuple(form["asked"]), keys
    return ReleaseTable(*facts, ReleaseRows(columns), tuple(map(str, form["notes"])))


def _column(form: dict[str, Any], abouts: Named) -> ReleaseColumn:
    templates = tuple(map(_release, form["templates"]))
    which, steps = np.array(form["which"], dtype=np.int64), exact_column(map(_whole, form["steps"]))
    if not len(which) == len(steps) == len(abouts) or not np.all((which >= 0) & (which < len(templates))):
        raise ValueError("the text is no release")
    return ReleaseColumn(
        templates, which, steps, abouts, tuple(_column(part, abouts) for part in form["parts"])
    )


def _fraction(form: Any) -> Fraction:
    return fraction_of(form) if isinstance(form, str) else Fraction(form)


def _whole(form: Any) -> int:
    return whole_of(form) if isinstance(form, str) else int(form)


def _refuse_unless_fields(form: object, kind: type[Any]) -> None:
    if not isinstance(form, dict) or form.keys() != {one.name for one in fields(kind)} - {"recorded_at"}:
        raise ValueError("the text is no release")


def _key_form(value: KeyValue) -> object:
    """Return a key as JSON; a value unknown to JSON is a list that starts with its kind."""
    match value:
        case Bin():
            return ["bin", spelled(value.low), spelled(value.high), value.last]
        case Others():
            return ["other"]
        case datetime():
            return ["moment", value.isoformat()]
        case _:
            return value


def _key(form: Any) -> KeyValue:
    match form:
        case ["bin", low, high, last]:
            return Bin(fraction_of(low), fraction_of(high), last)
        case ["other"]:
            return OTHER
        case ["moment", text]:
            return datetime.fromisoformat(text)
        case str() | int() | float():
            return form
        case _:
            raise ValueError("the text is no release")
