"""Editions of a series: what was revised is said, changes have intervals, old answers are not sold as new."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prdp.errors import InvalidRequest
from prdp.ledger import DurableLedger
from prdp.publish import Signer, verify
from prdp.publish.series import EarlierEdition, FigureChange, change
from prdp.publish.table import PublishedFigure
from tests.cli.running import quickly
from tests.publish.offices import DISTRICTS, PROJECT, RELEASE, SECTORS, made_up, write_office

NEXT = RELEASE.replace(
    'edition = "2026"',
    'edition = "2027"\nprevious = ["release-2026"]\nrevisions = ["Sectors: the new <classification>."]',
)


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An office that has published its first edition, and has new records."""
    monkeypatch.chdir(tmp_path)
    write_office(tmp_path)
    assert quickly("publish").exit_code == 0
    records = made_up(5000)
    records["district"] = np.where(records["pay"] < 100, "Fairview", records["district"])
    pq.write_table(pa.table(records), tmp_path / "staff.parquet")
    return tmp_path


def rows(file: Path) -> dict[tuple[str, ...], dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        found = list(csv.DictReader(text))
    heads = [name for name in found[0] if name in {"region", "district", "sector"}]
    return {tuple(row[name] for name in heads): row for row in found}


def test_recorded_answers_are_not_published_as_a_new_edition(office: Path) -> None:
    (office / "release.toml").write_text(NEXT)
    head = DurableLedger(office / "staff.ledger").head
    ran = quickly("publish")
    assert ran.exit_code == 2
    assert "all answers from staff are those of release-2026" in " ".join(ran.output.split())
    assert not (office / "release-2027").exists()
    assert DurableLedger(office / "staff.ledger").head == head


def test_old_answers_from_one_table_are_refused_before_another_is_charged(office: Path) -> None:
    project, both = (
        PROJECT + PROJECT.replace("tables.staff", "tables.other"),
        '[tables.more]\nby = ["sector"]\n',
    )
    release = RELEASE.replace("by =", 'from = "staff"\nby =') + both + 'from = "other"\n'
    (office / "prdp.toml").write_text(project)
    (office / "release.toml").write_text(release.replace('"2026"', '"first"'))
    ran = quickly("publish")
    assert ran.exit_code == 0, ran.output
    (office / "prdp.toml").write_text(project.replace("source", 'snapshot = "2027"\nsource', 1))
    (office / "release.toml").write_text(
        'previous = ["release-first"]\n' + release.replace('"2026"', '"next"')
    )
    heads = [DurableLedger(office / f"{name}.ledger").head for name in ("staff", "other")]
    ran = quickly("publish")
    assert ran.exit_code == 2
    assert "all answers from other are those of release-first" in " ".join(ran.output.split())
    assert [DurableLedger(office / f"{name}.ledger").head for name in ("staff", "other")] == heads


def test_the_next_edition_states_what_changed_and_what_was_revised(office: Path) -> None:
    listed = [*DISTRICTS, "Fairview"]
    (office / "prdp.toml").write_text(
        PROJECT.replace("source", 'snapshot = "2027"\nsource').replace(repr(DISTRICTS), repr(listed))
    )
    (office / "release.toml").write_text(
        'key = "second.key"\n'
        + NEXT.replace('"Eastgate"]', '"Eastgate", "Fairview"]').replace("share = 0.05", "share = 0.04")
    )
    ran = quickly("publish")
    assert ran.exit_code == 0, ran.output
    before, after = office / "release-2026", office / "release-2027"
    then, now = rows(before / "research/employees.csv"), rows(after / "research/employees.csv")
    shown = rows(after / "employees.csv")
    changes = rows(after / "employees.changes.csv")
    assert list(changes) == list(now)
    compared = 0
    for row, cell in changes.items():
        published = row in then and then[row]["n_status"] in "AU" and bool(shown[row]["n"])
        assert bool(cell["n_change"]) == published
        if published:
            difference = float(now[row]["n"]) - float(then[row]["n"])
            assert abs(int(cell["n_change"]) - difference) <= 2.5
            assert int(cell["n_change"]) % 5 == 0
            assert int(cell["n_change_low"]) <= float(now[row]["n_low975"]) - float(then[row]["n_high975"])
            assert int(cell["n_change_high"]) >= float(now[row]["n_high975"]) - float(then[row]["n_low975"])
            compared += 1
    assert compared > 0
    assert not any(cell["n_change"] for row, cell in changes.items() if "Fairview" in row)
    for page in ("index.html", "series.html"):
        text = (after / page).read_text(encoding="utf-8")
        assert "Revisions since 2026" in text
        assert "Sectors: the new &lt;classification&gt;." in text
        assert "pay: share was 1/20, is 1/25." in text
        assert "The key that signs was " in text
        assert "new rows: South/Fairview/Total, South/Fairview/farming" in text
    assert "../release-2026/index.html" in (after / "series.html").read_text(encoding="utf-8")
    assert all(one.holds for one in verify(after, ledgers={"staff": office / "staff.ledger"}))
    assert all(one.holds for one in verify(before, ledgers={"staff": office / "staff.ledger"}))


def test_an_earlier_edition_that_was_changed_is_refused_before_anything_is_charged(office: Path) -> None:
    (office / "prdp.toml").write_text(PROJECT.replace("source", 'snapshot = "2027"\nsource'))
    (office / "release.toml").write_text(NEXT)
    with (office / "release-2026/research/employees.csv").open("a") as file:
        file.write("North,Total,Total,9\n")
    head = DurableLedger(office / "staff.ledger").head
    ran = quickly("publish")
    assert ran.exit_code == 2
    assert "release-2026 is not as it was signed" in ran.output
    (office / "release-2026").rename(office / "elsewhere")
    ran = quickly("publish")
    assert ran.exit_code == 2
    assert "release-2026 is no publication" in ran.output
    assert DurableLedger(office / "staff.ledger").head == head


def test_a_signed_folder_that_states_nothing_of_its_tables_is_refused(office: Path) -> None:
    folder = office / "release-2026"
    manifest = json.loads((folder / "manifest.json").read_text())
    for facts in ({}, {"tables": {"employees": {"rows": ["sector"], "measures": {"other": "count"}}}}):
        text = json.dumps(manifest | {"declared": facts}).encode()
        (folder / "manifest.json").write_bytes(text)
        (folder / "manifest.sig").write_bytes(Signer.of(office / "release.key").sign(text))
        with pytest.raises(InvalidRequest, match="no edition that this version"):
            EarlierEdition.of(folder)


def test_an_edition_reads_back_as_it_was_published(office: Path) -> None:
    earlier = EarlierEdition.of(office / "release-2026")
    assert earlier.name == "2026"
    assert len(earlier.charges) == 6
    for name, measures in (("employees", ["n"]), ("pay", ["n", "total", "mean"])):
        assert list(earlier.tables[name]) == measures
        for row, cell in rows(office / f"release-2026/research/{name}.csv").items():
            figure = earlier.tables[name]["n"][row]
            assert figure.value == (float(cell["n"]) if cell["n"] else None)
            assert figure.is_published == (cell["n_status"] in "AU")
            assert SECTORS[0] in row or row[-1] in {"Total", *SECTORS}


def figure(value: float, low: float | None, high: float | None, sign: str = "") -> PublishedFigure:
    return PublishedFigure(value, low, high, 1.0, 0.1, "A", sign, wide=(low, high))


def test_an_interval_of_a_change_holds_whenever_those_of_both_figures_do() -> None:
    random = np.random.default_rng(1)
    for _ in range(500):
        (low, high), (least, most) = np.sort(random.integers(-50, 50, (2, 2)), axis=1)
        now, then = random.integers(low, high + 1), random.integers(least, most + 1)
        found = change(figure(float(low), low, high), figure(float(least), least, most))
        assert found.low is not None
        assert found.high is not None
        assert found.low <= now - then <= found.high
        assert found.is_clear == (found.low > 0 or found.high < 0)
    assert change(figure(5, 4, 6), figure(1, 0, None)) == FigureChange(4, None, 6)
    for now_sign, then_sign in (("/", ""), ("", "/")):
        assert change(figure(5, 4, 6, now_sign), figure(1, 0, 2, then_sign)) == FigureChange()
    assert change(figure(5, 4, 6), None) == FigureChange()
