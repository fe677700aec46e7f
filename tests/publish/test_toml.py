"""release.toml is checked line by line, before anything is opened."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from prdp.errors import InvalidRequest
from prdp.publish import read
from tests.publish.offices import RELEASE, write_office

MISTAKES = [
    ('title = "Employees"', "tilte_ = 1", 2, "title"),
    ("share = 0.1", 'share = "much"', 6, "share"),
    ("share = 0.1", "share = 2", 6, "share"),
    ('of = "district"', 'of = "town"', 9, "town"),
    ('South = ["Coldwell", "Dunmore", "Eastgate"]', 'South = ["Coldwell", "Dunmore"]', 10, "Eastgate"),
    ('North = ["Aldham", "Brook"]', 'North = ["Aldham", "Brook", "Brook"]', 10, "Brook"),
    ('North = ["Aldham", "Brook"]', 'North = ["Aldham", "Brook", "Bath"]', 10, "Bath"),
    ("North =", "Total =", 10, "Total"),
    ("North =", "West = [], North =", 10, "'West' lists no key of district"),
    ('by = ["region", "sector"]', 'by = ["region", "trade"]', 13, "trade"),
    ('by = ["region", "sector"]', 'by = "region"', 13, "list"),
    ("round_to = { n = 5 }", "round_to = { m = 5 }", 14, "m"),
    ("round_to = { n = 5 }", "round_to = { n = 0 }", 14, "above 0"),
    ('total = "sum pay"', 'total = "median pay"', 19, "median pay"),
    ("[tables.pay]", "[tables.'../pay']", 17, "files"),
    ("[tables.pay]", "[tables.Index]", 17, "Index.html is a page of every publication"),
    ("[tables.pay]", "[tables.series]", 17, "series.html is a page of every publication"),
    ("[tables.pay]", "[tabless.pay]", 17, "tables"),
    ('by = ["region", "sector"]', 'by = ["region", "district"]', 13, "district"),
    ('total = "sum pay"', 'n_low = "sum pay"', 19, "n_low"),
    ('total = "sum pay"', 'sector = "sum pay"', 18, "sector"),
    ('total = "sum pay"', 'key = "sum pay"', 19, "key"),
    ('where = "pay > 0"', 'from = "people"', 20, "none of the tables"),
]


def test_a_publication_without_a_title_is_asked_for_one(tmp_path: Path) -> None:
    file = write_office(tmp_path, RELEASE.replace('title = "Employees"', ""))
    with pytest.raises(InvalidRequest, match=r'line 1: release\.toml has no title\. Add title: .* title = "'):
        read(file)


@pytest.mark.parametrize(("right", "wrong", "line", "named"), MISTAKES)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, right: str, wrong: str, line: int, named: str
) -> None:
    assert RELEASE.count(right) == 1
    file = write_office(tmp_path, RELEASE.replace(right, wrong))
    with pytest.raises(InvalidRequest) as refused:
        read(file)
    assert named in str(refused.value)
    assert f"release.toml, line {line}:" in str(refused.value), str(refused.value)


def test_what_is_declared_is_read(tmp_path: Path) -> None:
    found = read(write_office(tmp_path))
    publication = found.publication
    assert [table.name for table in publication.tables] == ["employees", "pay"]
    assert publication.rest_of_share(publication.tables) == Fraction(1, 20)
    assert publication.tables[1].own_share == Fraction(1, 20)
    assert publication.tables[0].statistics[0].round_to == 5
    assert [one.name for one in publication.hierarchies] == ["region"]
    assert found.key == tmp_path / "release.key"
