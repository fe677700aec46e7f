"""Which files of the repository are pages of the site, and how their links are turned.

MkDocs knows the files below ``docs/``. This hook adds the README as the first page, the other pages of the
repository and the notebooks, each under its path. It turns links between files of the repository into links
between pages, and lists the pages of folders that stand as ``folder/*`` in the navigation.
"""

from __future__ import annotations

import re
from functools import cache
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import as_page

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
    "CODE_OF_CONDUCT.md",
    *("proofs/*.md", "proofs/*/*.md", "experiments/*.md", "experiments/*/*.md"),
    *("examples/*.md", "examples/*.ipynb"),
)
"""Pages that do not lie in docs/."""

BOOSTS = {"guide": 3, "examples": 2, "proofs": 0.5, "experiments": 0.5}
"""How much a folder's pages weigh in a search: readers look for the guide first."""

_FENCE = re.compile(r" *(```|~~~)")
_ITEM = re.compile(r"([-*]|\d+\.) ")
_LINK = re.compile(r"(!?)\[((?:`[^`]*`|[^\[\]`])*)\]\(([^()\s#]+)(#[^()\s]*)?\)")


def place_of(path: str) -> str:
    """Return the path in the site of a file of the repository: ``docs/sql.md`` at ``sql.md``."""
    place = PurePosixPath(path.removeprefix("docs/"))
    return str(place.with_suffix(".md") if place.suffix == ".ipynb" else place)


@cache
def outside() -> dict[str, str]:
    """Return the files of the repository behind those pages that do not lie in docs/."""
    found = (str(path.relative_to(ROOT)) for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern)))
    return {place_of(path): path for path in found}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, and list the pages of folders in the navigation."""
    for place, path in outside().items():
        if not path.endswith(".ipynb"):
            files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
            continue
        text, pictures = as_page(ROOT / path)
        files.append(File.generated(config, place, content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, str(PurePosixPath(place).with_name(name)), content=picture))
    config.nav = _listed(config.nav, files)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Write a page as MkDocs wants it: lists apart from paragraphs, links to pages of the site."""
    place = page.file.src_uri
    if place == "README.md":
        page.meta["hide"] = ["navigation"]  # beside the first page, it would hold that page alone
    page.meta["search"] = {"boost": BOOSTS.get(place.split("/")[0], 1)}
    home = PurePosixPath(outside().get(place, f"docs/{place}")).parent
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        if not fenced:
            if _ITEM.match(line) and lines and _is_paragraph(lines[-1]):
                lines.append("")
            line = _LINK.sub(lambda link: _turned(link, home, place, files), line)  # noqa: PLW2901
        lines.append(line)
    return "\n".join(lines)


def _is_paragraph(line: str) -> bool:
    return bool(line) and not line.startswith(" ") and not _ITEM.match(line)


def _turned(link: re.Match[str], home: PurePosixPath, place: str, files: Files) -> str:
    """Return a link between files as one between pages; what is no page, such as code, loses its link."""
    image, text, target, heading = link.groups(default="")
    if "://" in target or target.startswith("mailto:"):
        return link[0]
    path = normpath(home / target)
    if (ROOT / path / "README.md").exists():
        path = f"{path}/README.md"
    if files.get_file_from_path(place_of(path)) is not None:
        turned = relpath(place_of(path), PurePosixPath(place).parent)
        return f"{image}[{text}]({turned}{heading})"
    return text if (ROOT / path).exists() else link[0]


def _listed(nav: Any, files: Files) -> Any:
    """Return a navigation with the pages of each ``folder/*``; a folder without pages is left out."""
    if isinstance(nav, list):
        every = [_listed(part, files) for part in nav]
        return [one for part in every for one in (part if isinstance(part, list) else [part]) if one]
    if isinstance(nav, dict):
        named = {name: _listed(part, files) for name, part in nav.items()}
        return {name: part for name, part in named.items() if part}
    return _pages(nav.removesuffix("/*"), files) if nav.endswith("/*") else nav


def _pages(folder: str, files: Files) -> list[str]:
    """Return a folder's pages: its README, those that it links in that order, then the others."""
    found = {file.src_uri for file in files.documentation_pages() if file.src_uri.startswith(f"{folder}/")}
    first = f"{folder}/README.md"
    if first not in found:
        return sorted(found)
    path = PurePosixPath(outside().get(first, f"docs/{first}"))
    links = (link[3] for link in _LINK.finditer((ROOT / path).read_text(encoding="utf-8")))
    linked = [place_of(normpath(path.parent / link)) for link in links]
    return list(dict.fromkeys([first, *(place for place in linked if place in found), *sorted(found)]))
