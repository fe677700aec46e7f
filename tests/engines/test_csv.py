"""A line of a CSV file is read by itself: whatever it holds, all other lines stay as they are."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.engines.duckdb.engine import open_source
from prdp.errors import InvalidRequest

TYPES = {"job": "VARCHAR", "v": "BIGINT"}
ENDS = [b"\n", b"\r\n", b"\r"]
PIECES = [
    *(b"1", b"22", b",", b",x", b'"', b'""', b'"a,b"', b"'", b"\\", b"#", b" ", b"\t", b"|", b";"),
    *(b"\0", b"\x01", b"\x02", b"\x1a", b"\x0b", b"\x0c", b"\x1c", b"NULL", b"nan", b"--"),
    *(
        b"\xff",
        b"\xc3",
        b"\xe9",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        "é\N{GRINNING FACE}".encode(),
    ),
    b"x" * 300,
]
lines = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join),
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b"")),
)
Rows = Counter[tuple[Any, ...]]


def read(path: Path, content: bytes, types: dict[str, str]) -> Rows:
    path.write_bytes(content)
    return Counter(open_source(path, types).rows_of("SELECT * FROM prdp_records"))


def refuse_unless_lines_are_read_alone(
    path: Path, first_end: bytes, listed: Iterable[tuple[bytes, bytes]]
) -> None:
    """Fail unless a file's records are those of its lines, each of them alone in a file."""
    alone = [read(path, b"job,v\n" + line + b"\n", TYPES) for line, _ in listed]
    together = read(path, b"job,v" + first_end + b"".join(line + end for line, end in listed), TYPES)
    assert together == sum(alone, Counter())
    assert all(rows.total() <= 1 for rows in alone)


any_lines = given(st.sampled_from(ENDS), st.lists(st.tuples(lines, st.sampled_from(ENDS)), max_size=6))
one_folder = [HealthCheck.function_scoped_fixture]


@settings(max_examples=20, suppress_health_check=one_folder)
@any_lines
def test_the_records_of_a_file_are_those_of_its_lines(
    tmp_path: Path, first_end: bytes, listed: list[tuple[bytes, bytes]]
) -> None:
    refuse_unless_lines_are_read_alone(tmp_path / "t.csv", first_end, listed)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=one_folder)
@any_lines
def test_the_records_of_many_files_are_those_of_their_lines(
    tmp_path: Path, first_end: bytes, listed: list[tuple[bytes, bytes]]
) -> None:
    refuse_unless_lines_are_read_alone(tmp_path / "t.csv", first_end, listed)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    "odd",
    [
        *(
            b"1\r2\r3",
            b"x,1\r",
            b"x,1\r\r",
            b"\r\x01\r",
            b"\0",
            b"\x01",
            b"\x02",
            b'"',
            b'"x,1',
            b"caf\xe9",
            b"",
        ),
        *(b"\xef\xbb\xbfx,1", b"x,1\n", b"x,1\r\n", b"x,1\n\r"),
    ],
)
def test_one_odd_line_leaves_a_thousand_others_as_they_are(
    tmp_path: Path, odd: bytes, end: bytes, packed: bool
) -> None:
    others = [b'"job, %d",%d' % (number, number) for number in range(1000)]
    expected = Counter((f"job, {number}", number) for number in range(1000))
    for place in (0, 500, 1000):
        listed = [*others[:place], odd, *others[place:]]
        content = b"job,v" + end + end.join(listed) + (b"" if place == 1000 else end)
        halves = (content[: len(content) // 2], content[len(content) // 2 :])
        raw = b"".join(map(gzip.compress, halves)) if packed else content
        found = read(tmp_path / ("t.csv.gz" if packed else "t.csv"), raw, TYPES)
        assert expected <= found
        assert (found - expected).total() <= 1


@pytest.mark.parametrize("size", [1_999_000, 2_000_000, 5_000_000, 33_000_000])
def test_a_long_line_leaves_the_others_as_they_are(tmp_path: Path, size: int) -> None:
    others = [b"x,%d" % number for number in range(1000)]
    expected = Counter(("x", number) for number in range(1000))
    for end in (b"\n", b"\r\n"):
        content = b"job,v" + end + end.join([*others[:500], b"y" * size + b",7", *others[500:]]) + end
        found = read(tmp_path / "t.csv", content, TYPES)
        assert expected <= found
        assert (found - expected).total() == (size < 2_000_000 - 2)


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("size", [3200, 6400])
def test_no_record_is_made_where_one_part_of_a_file_meets_the_next(
    tmp_path: Path, shift: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader takes parts of 32,000,000 bytes; here of fewer, so that many ends of lines lie on theirs."""
    ends = f"new_line = '\\n', max_line_size = {size // 16}, buffer_size = {size}"
    monkeypatch.setattr("prdp.engines.sources.text_files._LINE_ENDS", ends)
    name = "v" * (2 + shift)
    content = name.encode() + b"\r\n" + b"777777\r\n" * 5000
    assert read(tmp_path / "t.csv", content, {name: "BIGINT"}) == {(777777,): 5000}


def test_the_readers_own_way_to_find_the_ends_of_lines_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [(b"x,1", b"\r\n"), (b"y,2", b"\r"), (b"z,3", b"\r\n"), (b"z,4", b"\r\n")]
    refuse_unless_lines_are_read_alone(tmp_path / "t.csv", b"\r\n", listed)
    monkeypatch.setattr("prdp.engines.sources.text_files._LINE_ENDS", "null_padding = false")
    with pytest.raises(AssertionError):
        refuse_unless_lines_are_read_alone(tmp_path / "t.csv", b"\r\n", listed)


def test_an_empty_line_is_no_record(tmp_path: Path) -> None:
    content = b"v\n\n1\r\r\n\x01\n\r\n2\n\n"
    assert read(tmp_path / "t.csv", content, {"v": "BIGINT"}) == {(1,): 1, (2,): 1}


def test_files_with_other_ends_of_lines_are_read_together(tmp_path: Path) -> None:
    for number, end in enumerate(ENDS):
        (tmp_path / f"part{number}.csv").write_bytes(b"job,v" + end + b"x,%d" % number + end)
    engine = open_source(str(tmp_path / "part*.csv"), TYPES)
    found = engine.rows_of("SELECT * FROM prdp_records")
    assert sorted(found) == [("x", 0), ("x", 1), ("x", 2)]


@pytest.mark.parametrize(
    "content",
    [
        b"v" * 200_000 + b",job\n1,x\n",  # a field beyond what Python's reader takes
        b"v," + b"j" * (1 << 20) + b"\n1,x\n",
        b"v,\xff\n1,x\n",
        b"\r\njob,v\n",
        b"",
    ],
)
def test_a_first_line_that_names_no_columns_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidRequest, match="no readable first line"):
        open_source(path, TYPES)


def test_a_first_line_ends_at_its_first_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"job,v\rSECRET,1\rSECRET,2\r")
    with pytest.raises(InvalidRequest, match="The columns are job, v") as caught:
        open_source(path, None)
    assert "SECRET" not in str(caught.value)
    path.write_bytes(b"job,v")
    assert open_source(path, TYPES).rows_of("SELECT * FROM prdp_records") == []


def test_a_column_that_is_declared_and_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"v,v,,\n1,2,3,4\n")
    with pytest.raises(InvalidRequest, match="the same name"):
        open_source(path, {"v": "BIGINT"})


@pytest.mark.parametrize("line", [b',"1"', b'"",1', b',"",', b'"a","1"'])
def test_an_empty_first_field_before_a_quoted_one_is_a_field(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.csv"
    header = b"job,v,w\n" if line.count(b",") == 2 else b"job,v\n"
    path.write_bytes(header + line + b"\n")
    assert len(open_source(path, TYPES).rows_of("SELECT * FROM prdp_records")) == 1
