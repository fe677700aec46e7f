"""Keys, columns and files with names that terminals, spreadsheets or TOML would obey."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.release.formats.document import as_text
from prdp.release.formatting import html_table
from prdp.safety.plain_text import csv_cell, printable, safe_json
from tests.cli.running import piped, quickly

FORMULAS = ["=1+1", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1"]
ESCAPES = [
    "a\x1b[31mred",
    "b\x9b2Jc",
    "c\x07",
    "d\x7f",
    "e\u202eright",
    "f\rover",
    "g\u2028h",
    "]8;;http://a\x07",
]
KEYS = [*FORMULAS, *ESCAPES, "-5", "plain"]
COLUMN = "=job\x1b[1m"
STATEMENT = f'SELECT "{COLUMN}", COUNT(*) AS "@n" FROM t GROUP BY "{COLUMN}"'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose column and keys are hostile, declared in a project file."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({COLUMN: [key for key in KEYS for _ in range(40)]}), tmp_path / "t.parquet")
    keys = json.dumps(KEYS).replace("\x7f", "\\u007f")
    quoted = json.dumps(COLUMN)
    (tmp_path / "prdp.toml").write_text(
        f'[tables.t]\nsource = "t.parquet"\npolicy = "1"\n[tables.t.keys]\n{quoted} = {keys}\n'
    )
    return tmp_path


def is_harmless(text: str, but: str = "\n") -> bool:
    return all(letter.isprintable() or letter in but for letter in text)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "json", "html", "md", "tex"])
@pytest.mark.parametrize("columns", [40, 200])
def test_answers_obey_nobody(folder: Path, form: str, columns: int) -> None:
    ran = quickly("ask", STATEMENT, "--share", "0.5", "--format", form, columns=columns)
    assert ran.exit_code == 0, ran.output
    assert is_harmless(ran.stdout, "\n\t" if form == "csv" else "\n")
    for name in ("a.csv", "a.json", "a.txt", "a.html", "a.md", "a.tex"):
        ran = quickly("ask", STATEMENT, "--share", "0.5", "--output", name)
        assert ran.exit_code == 0, ran.output
        assert is_harmless((folder / name).read_text(encoding="utf-8"), "\n\t")


def test_csv_of_answers_holds_no_formula_and_keeps_numbers(folder: Path) -> None:
    ran = quickly("ask", STATEMENT, "--share", "0.5", "--format", "csv")
    rows = list(csv.reader(io.StringIO(ran.stdout)))
    for row in rows:
        for cell in row:
            assert not cell.startswith(tuple("=@\t\r\uff1d"))
            assert not cell.startswith(("+", "-")) or float(cell) is not None
    assert {row[0] for row in rows} >= {"-5", "plain", "'=1+1", "'@SUM(A1)"}
    python = prdp.project()["t"].group_by(COLUMN, keys=KEYS).count(share="1/10").to_csv()
    assert python is not None
    assert not [row for row in csv.reader(io.StringIO(python)) if row[0].startswith(("=", "@", "\t"))]


class Cells(HTMLParser):
    """The texts of a page's table cells, and all tags that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.add(tag)
        self.cells += [""] * (tag == "td")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


MARKUP = ["<script>alert(1)</script>", "a | b", "[x](javascript:alert(1))", r"\input{/etc/passwd}", "{=1}"]


def answers_of(keys: list[str]) -> prdp.ReleaseTable:
    table = prdp.open({"k": np.array(keys)}, policy=1, synthetic=True)
    return table.group_by("k", keys=keys).count(share="1/2")


def test_keys_are_texts_in_pages_and_documents(tmp_path: Path) -> None:
    answers = answers_of([*KEYS, *MARKUP])
    page = Cells(answers.to_html() or "")
    assert not {"script", "a", "img"} & page.tags
    assert {printable(key) for key in MARKUP} <= set(page.cells)
    markdown = as_text(answers.document(), ".md")
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(answers.columns()) + 1}
    assert not re.search(r"(?<!\\)[<\[]", markdown.replace("**", ""))
    latex = as_text(answers.document(), ".tex")
    assert r"\input" not in latex
    assert r"\textbackslash{}input\{" in latex
    assert is_harmless(page.rawdata + markdown + latex)


def test_no_cell_of_a_spreadsheet_is_a_formula_or_a_link(tmp_path: Path) -> None:
    answers_of([*KEYS, *MARKUP]).to_excel(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        sheet, texts, styles = (
            book.read(f"xl/{name}.xml").decode() for name in ("worksheets/sheet1", "sharedStrings", "styles")
        )
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert re.search(r"<t[^>]*>=1\+1</t>", texts), "the key is there, as a text"
    looks = re.findall(r"<xf .*?>", styles.split("<cellXfs")[1])
    worn = {int(style) for style in re.findall(r's="(\d+)" t="s"', sheet)}
    assert worn
    assert all('quotePrefix="1"' in looks[style] for style in worn), "still texts when edited"
    assert is_harmless(texts, "\n\r")


def test_json_of_answers_is_what_the_keys_are(folder: Path) -> None:
    ran = quickly("ask", STATEMENT, "--share", "0.5", "--format", "json")
    assert [row[COLUMN] for row in json.loads(ran.stdout)["rows"]] == KEYS


def test_the_ledger_and_reprs_obey_nobody(folder: Path) -> None:
    assert quickly("ask", STATEMENT, "--share", "0.5").exit_code == 0
    for options in ((), ("--json",), ("--csv",)):
        ran = quickly("ledger", "t.ledger", *options)
        assert ran.exit_code == 0, ran.output
        assert is_harmless(ran.stdout, "\n\t")
    table = prdp.project()["t"].group_by(COLUMN, keys=KEYS).count(share="1/10")
    assert is_harmless(str(table) + repr(table))
    answers = prdp.project().sql(STATEMENT, share="1/10")
    assert is_harmless(str(answers) + repr(answers))


@given(st.text())
def test_whatever_a_text_is_it_is_harmless_and_json_stays_what_it_says(text: str) -> None:
    assert printable(text).isprintable()
    cell = csv_cell(text)
    assert isinstance(cell, str)
    assert is_harmless(cell, "\n\t")
    if cell.startswith(("=", "+", "-", "@", "\t", "\n")):
        assert float(cell) is not None
    if text.isprintable() and not text.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")):
        assert cell == text
    written = safe_json(json.dumps([text], ensure_ascii=False))
    assert written.isprintable()
    assert json.loads(written) == [text]


@pytest.mark.parametrize(
    "name", ["a\x1b[2J.csv", "b\nc.csv", '"]\nx = 1 #.csv', "=1.csv", "'$(id)'.csv", "--json.csv"]
)
def test_a_file_with_a_hostile_name_is_declared_as_what_it_is(folder: Path, name: str) -> None:
    (folder / name).write_text("x\n1\n2\n")
    ran = piped("init", f"./{name}", "--policy", "1", "--type", "x=BIGINT", "--force", folder=folder)
    assert is_harmless(ran.stdout + ran.stderr)
    if ran.returncode == 0:
        (table,) = tomllib.loads((folder / "prdp.toml").read_text(encoding="utf-8"))["tables"].values()
        assert Path(table["source"]).name == name
        assert set(table) <= {"source", "policy", "types", "keys", "bounds", "round_to"}
    else:
        assert ran.returncode == 2
        assert "Traceback" not in ran.stderr


def test_no_text_of_a_table_for_notebooks_moves_a_terminal_s_cursor() -> None:
    hostile = "a\x1b[2J\x9b\u202e<b>"
    shown = html_table(hostile, [hostile], [[hostile]], [hostile])
    assert shown.isprintable()
    assert shown.count("a\\x1b[2J") == 4
    assert "<b>" not in shown


POLICY_FIELD = '[tables.t]\nsource = "t.parquet"\npolicy = {}\n'


@pytest.mark.parametrize(
    "written",
    [
        POLICY_FIELD.format('"\\u001b[2J\\u202e"'),  # its message quotes it on a line of its own
        POLICY_FIELD.format('"1 +\\n\\u009b2J x"'),
        POLICY_FIELD.format('"1"') + "round_to = " + "9" * 5000 + "\n",  # more digits than Python reads
        '[tables."\\u001b[2J"]\nsource = "t.parquet"\npolicy = "\\u001b[2J"\n',
    ],
)
@pytest.mark.parametrize("command", [("check",), ("ask", "SELECT COUNT(*) FROM t", "--share", "0.1")])
def test_a_hostile_project_file_is_refused_in_plain_text(
    folder: Path, written: str, command: tuple[str, ...]
) -> None:
    (folder / "prdp.toml").write_text(written, encoding="utf-8")
    ran = piped(*command, folder=folder)
    assert ran.returncode == 2
    assert is_harmless(ran.stdout + ran.stderr)
