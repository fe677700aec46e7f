"""Publish US county business patterns: establishments and employees by region, state and sector.

``python -m examples.publish.cbp --data folder --output cbp-2021`` reads ``cbp_2021.parquet`` there: a record
for each county and industry. The more employees it has, the smaller its budget. The project file and the
ledger are written beside the output.
"""

from __future__ import annotations

import argparse
from pathlib import Path

REGIONS = {
    "Northeast": "CT ME MA NH NJ NY PA RI VT",
    "Midwest": "IA IL IN KS MI MN MO ND NE OH SD WI",
    "South": "AL AR DC DE FL GA KY LA MD MS NC OK SC TN TX VA WV",
    "West": "AK AZ CA CO HI ID MT NM NV OR UT WA WY",
}
SECTORS = {
    "Goods": "11 21 22 23 31-33",
    "Trade and transport": "42 44-45 48-49",
    "Services": "51 52 53 54 55 56 61 62 71 72 81 99",
}
PROJECT = """
[tables.cbp]
source = {source!r}
policy = "1000 / greatest(emp, 100)"
bounds = {{ estab = [0, 100000], emp = [0, 10000000] }}
[tables.cbp.keys]
state = {states}
division = {sectors}
"""
RELEASE = """
title = "County business patterns"
office = "Example, from public data of the US Census Bureau"
contact = "statistics@example.org"
edition = "2021"
share = 0.9
footnotes = ["An example: the data are public, and this is not a publication of the Census Bureau."]

[hierarchies.region]
of = "state"
groups = {regions}

[hierarchies.sector]
of = "division"
groups = {sectors}

[tables.employment]
title = "Industries of counties and their employees, by state"
by = ["region"]
measures = {{ industries = "count", employees = "sum emp" }}
share = 0.6
round_to = {{ employees = 100, industries = 5 }}

[tables.sectors]
title = "Industries of counties, by region and sector"
by = ["region", "sector"]
measures = {{ industries = "count" }}
round_to = {{ industries = 5 }}
"""
LIKE = "emp=lognormal:4,1.7,n=340000"
"""Made-up records for the dry run: half of the industries of a county have 55 employees or more."""
DIVISION = """
COPY (
    SELECT state, estab, emp, CASE substr(naics, 1, 2) WHEN '32' THEN '31-33' WHEN '33' THEN '31-33'
        WHEN '31' THEN '31-33' WHEN '44' THEN '44-45' WHEN '45' THEN '44-45' WHEN '48' THEN '48-49'
        WHEN '49' THEN '48-49' ELSE substr(naics, 1, 2) END AS division
    FROM read_parquet($source)
) TO '{file}' (FORMAT parquet)
"""


def listed(groups: dict[str, str]) -> list[str]:
    """Return the keys of all groups."""
    return [key for keys in groups.values() for key in keys.split()]


def inline(groups: dict[str, str]) -> str:
    """Return groups as TOML."""
    return f"{{ {', '.join(f'{name!r} = {keys.split()!r}' for name, keys in groups.items())} }}"


def main() -> None:
    """Write the project beside the output, and publish."""
    import duckdb  # noqa: PLC0415

    from prdp.cli import app  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of cbp_2021.parquet")
    parser.add_argument("--output", type=Path, default=Path("cbp-2021"))
    parser.add_argument("--dry-run", action="store_true")
    chosen = parser.parse_args()
    home = chosen.output.absolute().parent
    file = home / "cbp_divisions.parquet"
    duckdb.execute(DIVISION.format(file=file), {"source": str(chosen.data / "cbp_2021.parquet")})
    facts = {"states": listed(REGIONS), "sectors": listed(SECTORS)}
    (home / "prdp.toml").write_text(PROJECT.format(source=str(file), **facts))
    release = home / "release.toml"
    release.write_text(RELEASE.format(regions=inline(REGIONS), sectors=inline(SECTORS)))
    app(
        [
            "publish",
            str(release),
            *(["--dry-run", "--like", LIKE] if chosen.dry_run else ["--output", str(chosen.output)]),
        ]
    )


if __name__ == "__main__":
    main()
