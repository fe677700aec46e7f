"""The release card: a page with what was released, how it is protected, how precise it is, and the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import spelled
from prdp.errors import InvalidRequest
from prdp.pictures import plot_policy
from prdp.publish.draws import total_shares
from prdp.publish.explanations import CONCENTRATED, INTERVALS, METHOD, NOTION
from prdp.publish.picture import as_svg
from prdp.publish.series import EarlierEdition, revisions
from prdp.publish.signature import Signer, fingerprint
from prdp.release.formats.document import Document
from prdp.release.formats.html import escaped, html_page, html_section
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp.publish.run import Edition


def card(
    edition: Edition,
    pictures: Mapping[str, Mapping[str, str]],
    signer: Signer,
    previous: Sequence[EarlierEdition] = (),
) -> str:
    """Return the page.

    Args:
        edition: The publication, drawn.
        pictures: For each table, its pictures as SVG.
        signer: The key that signs it.
        previous: Earlier editions, the oldest first.
    """
    publication = edition.publication
    by = " · ".join(filter(None, (publication.office, publication.edition, f"drawn {edition.at[:10]}")))
    parts = [f"<h1>{escaped(publication.title)}</h1><p>{escaped(by)}</p>"]
    if edition.simulated:
        parts.append("<p><strong>Simulated: made-up records, not private, not for publication.</strong></p>")
    contact = f"Questions: {publication.contact}" if publication.contact else ""
    parts += [f"<p>{escaped(contact)}</p>"] if contact else []
    parts.append(_contents(edition, previous))
    for table in edition.tables:
        drawings = "".join(pictures[table.name].values())
        section = html_section(table.document())
        parts.append(f'<section id="{escaped(table.name)}">{section}{drawings}</section>')
    parts += _protection(edition)
    parts += _quality(edition)
    key = fingerprint(signer.public)
    parts += _revised(edition, previous, key)
    if publication.errata:
        items = "".join(f"<li>{escaped(one)}</li>" for one in publication.errata)
        parts.append(f"<h2>Errata</h2><ul>{items}</ul>")
    parts.append(
        f"<h2>Signature</h2><p>Signed with the Ed25519 key {escaped(key)} "
        "(<a href='manifest.json'>manifest</a>, <a href='public_key.pem'>public key</a>, "
        "<a href='registry.yaml'>record for a registry of deployments</a>); "
        "<code>prdp verify</code> compares files, signature and ledger. "
        f"Made by prdp {escaped(__version__)}.</p>"
    )
    return html_page(publication.title, "\n".join(parts))


_FILES = (
    ("CSV", "{}.csv"), ("Parquet", "{}.parquet"), ("HTML", "{}.html"), ("Markdown", "{}.md"),
    ("LaTeX", "{}.tex"), ("notes", "{}.notes.txt"), ("map", "{}.map.csv"),
    ("research CSV", "research/{}.csv"), ("research Parquet", "research/{}.parquet"),
)  # fmt: skip
_CHANGES = (("changes", "{}.changes.csv"),)


def _contents(edition: Edition, previous: Sequence[EarlierEdition]) -> str:
    rows = ""
    for table in edition.tables:
        links = ", ".join(
            f'<a href="{escaped(name.format(table.name))}">{escaped(words)}</a>'
            for words, name in (*_FILES, *(_CHANGES if previous else ()))
        )
        rows += (
            f'<tr><td><a href="#{escaped(table.name)}">{escaped(table.title)}</a></td>'
            f'<td class="number">{len(table.cells):,}</td><td>{links}</td></tr>'
        )
    series = " Earlier editions and changes: <a href='series.html'>the series</a>." if previous else ""
    return (
        "<h2>Tables</h2><table><thead><tr><th>table</th><th class='number'>rows</th><th>files</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
        "<p>All tables as a <a href='tables.xlsx'>spreadsheet</a>. Basic files "
        "hold rounded figures without those that are suppressed; research files hold every figure with its "
        f"variance, of which many are noise.{series}</p>"
    )


def _revised(edition: Edition, previous: Sequence[EarlierEdition], key: str) -> Iterator[str]:
    """Yield the section on what was done in another way than in the last edition."""
    found = [*edition.publication.revisions, *(revisions(edition, previous[-1], key) if previous else ())]
    if found:
        since = f" since {previous[-1].name}" if previous else ""
        items = "".join(f"<li>{escaped(one)}</li>" for one in found)
        yield f"<h2>{escaped(f'Revisions{since}')}</h2><ul>{items}</ul>"


def _protection(edition: Edition) -> Iterator[str]:
    """Yield the sections on notion, policy, shares, bounds and keys."""
    privates = {id(one.draws.private): one.draws.private.table for one in edition.tables}
    notions = {NOTION if table.policy.stated is None else CONCENTRATED for table in privates.values()}
    yield "<h2>Protection</h2>" + "".join(f"<p>{escaped(notion)}</p>" for notion in sorted(notions))
    used = total_shares(one.draws for one in edition.tables)
    for table in privates.values():
        bounds = {name: f"{spelled(low)} to {spelled(high)}" for name, (low, high) in table.bounds.items()}
        unit = table.planner.unit
        facts = {
            "policy E(r)" if table.policy.stated is None else "policy P(r)": table.policy.shown.text,
            "largest budget": spelled(table.policy.shown.levels.at_most),
            "share s of all tables": str(used[table.name]),
            "protected together": "one row" if unit is None else f"all rows of one {unit.id}",
            **{f"bounds of {name}": text for name, text in bounds.items()},
        }
        columns: dict[str, list[Any]] = {"": list(facts), table.name: list(facts.values())}
        yield html_section(Document("Policy and bounds", columns))
        yield _drawn_policy(table)
    shares: dict[str, list[Any]] = {"table": [], "margin": [], "cells": [], "share of every budget": []}
    for one in edition.tables:
        for asked, plan in one.draws.plans.items():
            dimensions = zip(one.draws.dimensions, asked, strict=True)
            names = [each.levels[level].name for each, level in dimensions]
            shares["table"].append(one.name)
            shares["margin"].append(" × ".join(filter(None, names)) or "total")
            shares["cells"].append(len(plan.groups.keys) if plan.groups is not None else 1)
            shares["share of every budget"].append(f"{float(plan.share):.6g}")
    for name, share in used.items():
        shares["table"].append("Total" if len(used) == 1 else f"Total, {name}")
        shares["margin"].append("")
        shares["cells"].append(None)
        shares["share of every budget"].append(f"{float(share):.6g}")
    rows = len(shares["table"])
    totals = frozenset(range(rows - len(used), rows))
    yield html_section(
        Document("Shares", shares, numbers=frozenset({"share of every budget"}), totals=totals)
    )
    keys = {
        level.name: len(level.labels)
        for one in edition.tables
        for each in one.draws.dimensions
        for level in each.levels[:-1]
    }
    listed: dict[str, list[Any]] = {"column": list(keys), "public keys": list(keys.values())}
    notes = ["Records without a listed key are in no table."]
    yield html_section(Document("Keys", listed, notes))


def _drawn_policy(table: Any) -> str:
    try:
        panel = plot_policy(table)
    except InvalidRequest:  # one that reads no bounded column, or several, has no curve
        return ""
    for line in panel.lines[1:]:  # halvings of the budget, for who chooses a policy
        line.remove()
    return as_svg(panel, powers=True)


def _quality(edition: Edition) -> Iterator[str]:
    """Yield the sections on method and precision."""
    yield f"<h2>Method and precision</h2><p>{escaped(METHOD)}</p><p>{escaped(INTERVALS)}</p>"
    columns: dict[str, list[Any]] = {
        "table": [],
        "figure": [],
        "figures": [],
        "published": [],
        "median CV": [],
    }
    for table in edition.tables:
        for name, cells in table.columns.items():
            cvs = [one.cv for one in cells if one.cv is not None]
            columns["table"].append(table.name)
            columns["figure"].append(name)
            columns["figures"].append(len(cells))
            columns["published"].append(sum(not one.sign for one in cells))
            columns["median CV"].append(f"{100 * median(cvs):.3g} %" if cvs else "")
    yield html_section(Document("Precision", columns, numbers=frozenset({"median CV"})))
