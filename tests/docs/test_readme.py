"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prdp.cli import app
from tests.docs.test_guide import PAGES as WHOLE_PAGES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ENDS = r"(?:from [\d,]+ to [\d,]+|from [\d,]+, no upper limit)"
"""How an interval is shown."""
_SEEDED = """
import warnings, prdp
from tests.docs.pages import seeded
warnings.simplefilter('ignore', prdp.errors.LedgerBegun)
with seeded():
    exec({!r})
"""


def test_the_readme_s_example_runs_as_printed() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    count, total, left = _printed_by(example).splitlines()
    assert re.match(rf"count: [\d,]+, {ENDS} \(95 %; share 1/10, clip\)", count)
    assert re.match(r"sum of balance where age >= 40: ", total)
    assert left == "4/5 of every budget is left"


def test_the_readme_s_shell_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ("clerk", "chef", "nurse") * 2_000
    lines = (f"{100 + place % 900},{18 + place % 70},{job}" for place, job in enumerate(rows))
    Path("accounts.csv").write_text("\n".join(["balance,age,job", *lines, ""]), encoding="utf-8")
    blocks = "".join(re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL))
    commands = re.findall(r"^\$ prdp ((?:.*\\\n)*.*)$", blocks, flags=re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        ran = CliRunner().invoke(app, shlex.split(command.replace("\\\n", " ")))
        assert ran.exit_code == 0, ran.output
    assert re.search(r"^chef +[\d,]+ +[\d,]+ +", ran.stdout, flags=re.MULTILINE)


def test_the_readme_s_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"`?make (\w+)", README):
        assert f"\n{command}:" in makefile, command


def test_the_readme_s_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./]+)\)", README):
        assert (ROOT / target).exists(), target


ELSEWHERE = {
    *WHOLE_PAGES,
    "collector.md",
    "expressions.md",
    "interface.md",
    "keys.md",
    "server.md",
    "sources.md",
    "sql.md",
}
"""Pages that another test runs, and reads what they print."""
PAGES = sorted(
    {
        str(page.relative_to(ROOT))
        for page in (ROOT / "docs").glob("*.md")
        if page.name not in ELSEWHERE and "```python" in page.read_text(encoding="utf-8")
    }
)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_s_examples_run_one_after_the_other(page: str) -> None:
    ran(page)


@cache
def ran(page: str) -> str:
    """Run all examples of a page as one program; return what it prints."""
    text = (ROOT / page).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    return _printed_by(examples)


def _printed_by(program: str) -> str:
    """Run a program in a process and a folder of its own, noise from seeds, warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", _SEEDED.format(program)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_interface_page_shows_what_is_printed() -> None:
    text = (ROOT / "docs/interface.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n.*?```\n\n```\n(.*?)```", text, flags=re.DOTALL)
    printed = ran("docs/interface.md").splitlines()
    for line in "".join(shown).splitlines():
        begin = line.partition("...")[0].split()
        assert any(found.split()[: len(begin)] == begin for found in printed), line


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([\w./]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_relation_that_the_page_of_sources_opens_is_answered() -> None:
    assert re.match(rf"count: [\d,]+, {ENDS} ", ran("docs/sources.md"))
