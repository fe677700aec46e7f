"""One source has one role: as private table and as rows, a record's own row had another record's budget."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.errors import InvalidRequest
from prdp.mechanisms.truncate import CutCandidates, candidate_points
from prdp.testing import Seeded
from tests.reading import found

Employee = tuple[int, int | None, float]

RUNS = 2000
POLICY = prdp.Policy.column("eps", at_least="1/1000", at_most="64")
MANAGER: Employee = (0, None, 64.0)
CLERK: Employee = (1, 0, 1 / 1000)


def cut_of(links: prdp.graphs.Links) -> Any:
    return found(links, links.plan(prdp.count(), "1"))


def staff(*employees: Employee) -> pyarrow.Table:
    return pyarrow.table(
        {
            "id": pyarrow.array([row[0] for row in employees], pyarrow.int64()),
            "manager": pyarrow.array([row[1] for row in employees], pyarrow.int64()),
            "eps": pyarrow.array([row[2] for row in employees], pyarrow.float64()),
        }
    )


def copied(table: pyarrow.Table) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(table.to_pylist(), schema=table.schema)


def by_join(table: Any, again: Any) -> prdp.Join:
    tables = {"employees": table, "reports": again}
    references = {"reports.manager": "employees.id"}
    return prdp.open_join(tables, private="employees", key="id", references=references, policy=POLICY).over(
        "reports"
    )


def by_links(table: Any, again: Any, *columns: str, policy: prdp.Policy = POLICY) -> prdp.graphs.Links:
    persons = prdp.graphs.Records(table, "id", policy)
    return prdp.graphs.open_links(
        again, records=dict.fromkeys(columns, persons), max_rows=100, name="reports"
    )


def part_above_a_half(opened: prdp.Join | prdp.graphs.Links) -> float:
    if isinstance(opened, prdp.Join):
        plan = opened.planner.plan([prdp.count()], "1", single=True)
    else:
        plan = opened.plan(prdp.count(), "1")
    releases = plan.draw(opened._reader, Seeded(7), RUNS)
    values = [release.value for release in releases if isinstance(release, prdp.Release)]
    return sum(value > 0.5 for value in values) / RUNS


@pytest.mark.slow
@pytest.mark.parametrize(
    "opened",
    [by_join, lambda table, again: by_links(table, again, "manager")],
    ids=["open_join", "open_links"],
)
def test_one_table_in_two_roles_would_cost_a_record_far_more_than_its_budget(
    opened: Callable[[Any, Any], Any],
) -> None:
    """Measured on copies, which nobody can tell from two tables; the table itself is refused."""
    whole, without = staff(MANAGER, CLERK), staff(MANAGER)
    there = part_above_a_half(opened(whole, copied(whole)))
    gone = part_above_a_half(opened(without, copied(without)))
    assert there > 10 * gone > math.exp(CLERK[2]) * gone
    with pytest.raises(InvalidRequest, match=r"open_links\(.*records="):
        opened(whole, whole)


@pytest.mark.slow
def test_a_table_that_refers_to_itself_is_counted_with_each_row_s_own_key_among_the_records() -> None:
    tables = [staff(MANAGER, CLERK), staff(MANAGER)]
    parts = [part_above_a_half(by_links(table, table, "id", "manager")) for table in tables]
    assert parts[0] == pytest.approx(parts[1], abs=4 / math.sqrt(RUNS))
    many = staff(MANAGER, *((key, key // 5, 64.0) for key in range(1, 2000)))
    answer = by_links(many, many, "id", "manager").count(share="1").value
    assert answer == pytest.approx(1999, rel=0.1)


charts = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.3, 1.0, 5.0])), min_size=5, max_size=5)


@pytest.mark.slow
@settings(max_examples=30)
@given(chart=charts, gone=st.integers(0, 4), doubled=st.booleans())
def test_an_employee_changes_the_cut_count_and_the_scan_of_reports_as_little_as_it_may(
    chart: list[tuple[int, float]], gone: int, doubled: bool
) -> None:
    """Gone with all of its rows, in both roles at once: what the promise is about."""
    rows: list[Employee] = [(key, manager, eps) for key, (manager, eps) in enumerate(chart)]
    rows += [(0, 3, 1.0)] if doubled else []
    tables = [staff(*rows), staff(*(row for row in rows if row[0] != gone))]
    policy = prdp.Policy.column("eps", at_least="1/4", at_most="16")
    whole, without = (cut_of(by_links(table, table, "id", "manager", policy=policy)) for table in tables)
    quanta = whole.levels.quanta(whole.levels.index(min(row[2] for row in rows if row[0] == gone)) or 0)
    for point in candidate_points(whole, 3)[::2]:
        move = whole.value(point) - without.value(point)
        assert -whole.slack(point) <= move <= quanta * point + whole.slack(point)
    lattice = 1 << 10
    scans = [CutCandidates(cut, Fraction(1)).masses(4, lattice) for cut in (whole, without)]
    for after, before in zip(*scans, strict=True):
        assert -(quanta // lattice) <= 2 * (after - before) <= 2 * (quanta // lattice)


def test_a_table_that_refers_to_itself_may_be_a_file_by_any_of_its_names(tmp_path: Path) -> None:
    file = written(tmp_path)
    os.link(file, tmp_path / "hard.parquet")
    persons = prdp.graphs.Records(file, "ID", POLICY)
    reports = prdp.graphs.open_links(tmp_path / "hard.parquet", records={"id": persons, "manager": persons})
    assert cut_of(reports).results.total() == 1


def test_the_own_key_alone_need_not_be_stated_if_the_rows_are_another_table() -> None:
    table = staff(MANAGER, CLERK)
    visits = pyarrow.table({"manager": [0, 0, 1]})
    assert cut_of(by_links(table, visits, "manager")).results.total() == 3
    with pytest.raises(InvalidRequest, match="'id'"):
        by_links(table, table, "manager")


def written(folder: Path, name: str = "staff.parquet") -> Path:
    pyarrow.parquet.write_table(staff(MANAGER, CLERK), folder / name)
    return folder / name


def numpy_columns() -> dict[str, Any]:
    return {"id": np.arange(9), "manager": np.arange(9) // 2, "eps": np.ones(9)}


def rectangular() -> tuple[Any, Any]:
    """One array of rows and columns, cut into two tables of columns: they lie between each other."""
    cells = np.ones((9, 3))
    cells[:, :2] = np.arange(18).reshape(9, 2)
    whole = np.ascontiguousarray(cells.astype(np.int64))
    columns = {"id": whole[:, 0], "eps": np.ones(9)}
    return columns, {"manager": whole[:, 1]}


def two_rows() -> tuple[Any, Any]:
    """One array of two rows, each a column: a block of pandas is such a one."""
    both = np.ones((2, 9), np.int64)
    return {"id": both[0], "eps": np.ones(9)}, {"manager": both[1]}


def of_files(folder: Path) -> dict[str, tuple[Any, Any]]:
    file = written(folder)
    (folder / "more").mkdir()
    written(folder / "more", "part.parquet")
    os.symlink(file, folder / "linked.parquet")
    os.link(file, folder / "hard.parquet")
    return {
        "the same path": (file, file),
        "as text": (file, str(file)),
        "by another way": (file, f"{folder}/more/../staff.parquet"),
        "a symbolic link": (file, folder / "linked.parquet"),
        "a hard link": (file, folder / "hard.parquet"),
        "a glob that overlaps": (file, f"{folder}/sta*.parquet"),
        "globs that overlap": (f"{folder}/**/*.parquet", f"{folder}/more/*.parquet"),
    }


def in_one_buffer(table: pyarrow.Table) -> pyarrow.Table:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as file:
        file.write(table)
    return pyarrow.ipc.open_file(sink.getvalue()).read_all()


def of_frames() -> dict[str, tuple[Any, Any]]:
    arrays, frame, table = numpy_columns(), pandas.DataFrame(numpy_columns()), staff(MANAGER, CLERK)
    texts = pandas.DataFrame({"id": ["a", "b"], "manager": ["b", "b"]}, dtype="string[pyarrow]")
    texts["eps"] = [1.0, 2.0]
    renamed = frame.copy(deep=False)
    renamed.columns = ["id", "manager", "budget"]
    nullable = frame.convert_dtypes()
    mixed = frame.assign(manager=frame["manager"].astype("Int64"))
    read = in_one_buffer(table)
    lazy = polars.DataFrame({"id": ["x" * 30, "b"], "manager": ["b", "b"], "eps": [1.0, 2.0]})
    return {
        "one dict": (arrays, arrays),
        "a dict of the same arrays": (arrays, dict(arrays)),
        "a dict of views": (arrays, {name: column[2:5] for name, column in arrays.items()}),
        "a dict that shares one array": (arrays, {"manager": arrays["manager"]}),
        "two columns of one array": rectangular(),
        "two rows of one array": two_rows(),
        "other columns of one pandas frame": (frame[["id", "eps"]], frame[["manager"]]),
        "columns of one pandas frame in a dict": (
            {"id": frame["id"].to_numpy(), "eps": frame["eps"].to_numpy()},
            {"manager": frame["manager"].to_numpy()},
        ),
        "columns of other types of one pandas frame": (frame[["id", "eps"]], mixed[["manager"]]),
        "other columns of one Arrow file in memory": (read.select(["id", "eps"]), read.select(["manager"])),
        "one Arrow table": (table, table),
        "an Arrow table of the same buffers": (table, table.select(["manager", "id"]).slice(1)),
        "a pandas frame": (frame, frame),
        "a renamed pandas frame": (frame, renamed),
        "a slice of a pandas frame": (frame, frame[3:]),
        "a pandas frame of texts": (texts, texts[["id", "manager"]].copy(deep=False)),
        "a pandas frame of nullable numbers": (nullable, nullable.iloc[2:]),
        "columns of a pandas frame as arrays": (frame, {"manager": frame["manager"].to_numpy()}),
        "a pandas frame as Arrow": (frame, pyarrow.table({"manager": pyarrow.array(frame["manager"])})),
        "a Polars frame": (lazy, lazy),
        "a renamed Polars frame": (lazy, lazy.rename({"eps": "budget"})),
        "a Polars frame as Arrow": (lazy, pyarrow.table(lazy)),
    }


@pytest.mark.parametrize("name", of_frames())
def test_a_frame_in_two_roles_is_refused_by_both_doors(name: str) -> None:
    source, again = of_frames()[name]
    with pytest.raises(InvalidRequest, match="one source"):
        by_join(source, again)
    with pytest.raises(InvalidRequest, match="one source"):
        by_links(source, again, "manager")


def test_a_file_in_two_roles_is_refused_by_both_doors(tmp_path: Path) -> None:
    for source, again in of_files(tmp_path).values():
        with pytest.raises(InvalidRequest, match=r"(one source.*\.parquet|one file)"):
            by_join(source, again)
        with pytest.raises(InvalidRequest, match=r"(one source.*\.parquet|one file)"):
            by_links(source, again, "manager")


def of_relations(connection: duckdb.DuckDBPyConnection, folder: Path) -> dict[str, tuple[Any, Any]]:
    file = written(folder)
    connection.execute(f"CREATE TABLE staff AS FROM read_parquet('{file}')")
    connection.execute("CREATE VIEW active (id, manager, eps) AS SELECT * FROM staff WHERE id > 0")
    connection.execute(f"CREATE VIEW filed AS SELECT id AS id, manager, eps FROM '{file}'")
    table = connection.table("staff")
    return {
        "the same relation": (table, table),
        "two relations of one table": (table, connection.table("staff")),
        "a relation and a filter of it": (table, connection.table("staff").filter("id > 0")),
        "a table and a view of it": (table, connection.view("active")),
        "a table under its full name": (table, connection.sql("SELECT * FROM memory.main.staff")),
        "a file and a relation over it": (file, connection.read_parquet(str(file))),
        "a file and a query of it": (file, connection.sql(f"SELECT id, manager FROM '{file}' WHERE id > 0")),
        "a file and a view of it": (connection.view("filed"), file),
        "a glob and a relation over a file": (f"{folder}/*.parquet", connection.read_parquet(str(file))),
    }


def test_a_relation_over_a_source_that_has_a_role_already_is_refused(tmp_path: Path) -> None:
    connection = duckdb.connect()
    for source, again in of_relations(connection, tmp_path).values():
        with pytest.raises(InvalidRequest, match="one source"):
            by_links(source, again, "manager")


def test_two_tables_of_one_database_are_two_sources(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE staff (id BIGINT, eps DOUBLE)")
    connection.execute("CREATE SCHEMA old; CREATE TABLE old.staff (manager BIGINT)")
    connection.execute("CREATE VIEW visits AS SELECT 1::BIGINT AS manager")
    persons = connection.sql("SELECT * FROM main.staff")
    for rows in (connection.view("visits"), connection.sql("WITH q AS (FROM old.staff) SELECT * FROM q")):
        assert by_links(persons, rows, "manager").ledger.remaining == 1
    others = duckdb.connect(str(tmp_path / "others.db"))
    others.execute("CREATE TABLE staff (manager BIGINT)")
    assert by_links(connection.table("staff"), others.table("staff"), "manager").ledger.remaining == 1


def test_tables_that_share_nothing_have_any_role(tmp_path: Path) -> None:
    for source, again in (
        (numpy_columns(), numpy_columns()),
        (pandas.DataFrame(numpy_columns()), pandas.DataFrame(numpy_columns())),
        (staff(), staff()),
        ({name: column[:0] for name, column in numpy_columns().items()}, {"manager": np.arange(0)}),
        (written(tmp_path), written(tmp_path, "other.parquet")),
    ):
        assert by_join(source, again).ledger.remaining == 1
        assert by_links(source, again, "manager").ledger.remaining == 1


def test_whether_two_sources_are_one_hangs_on_no_value() -> None:
    """The same tables with other values, or with none, are refused alike, in the same words."""
    reported = set()
    for size in (0, 1, 9):
        arrays = {name: column[:size].copy() for name, column in numpy_columns().items()}
        for again in (dict(arrays), {name: column[:1] for name, column in arrays.items()}):
            with pytest.raises(InvalidRequest) as caught:
                by_join(arrays, again)
            reported.add(str(caught.value))
    assert len(reported) == 1


def test_the_private_source_cannot_be_public_under_another_name() -> None:
    """Each record's neighbours would be looked up in it, with nobody's budget."""
    table = staff(MANAGER, CLERK)
    references = {"employees.manager": "managers.id"}
    with pytest.raises(InvalidRequest, match="public"):
        prdp.open_join(
            {"employees": table, "managers": table},
            private="employees",
            key="id",
            references=references,
            public=["managers"],
            policy=POLICY,
        )


def test_a_table_that_belongs_to_private_records_cannot_be_public_under_another_name() -> None:
    orders = {"customer": np.arange(3), "number": np.arange(3) + 5, "before": np.arange(3) + 4}
    with pytest.raises(InvalidRequest, match="'orders' and 'earlier' have one source"):
        prdp.open_join(
            {"customers": {"id": np.arange(3)}, "orders": orders, "earlier": orders},
            private="customers",
            key="id",
            references={"orders.customer": "customers.id", "orders.before": "earlier.number"},
            public=["earlier"],
            policy=prdp.Policy.constant("1"),
        )


def test_a_public_table_may_be_joined_in_two_ways_under_two_names() -> None:
    towns = {"code": np.arange(3), "name": np.array(["Ulm", "Bonn", "Jena"])}
    persons = {"id": np.arange(4), "born": np.arange(4) % 3, "lives": np.arange(4) % 2}
    join = prdp.open_join(
        {"persons": persons, "birthplaces": towns, "homes": towns},
        private="persons",
        key="id",
        references={"persons.born": "birthplaces.code", "persons.lives": "homes.code"},
        public=["birthplaces", "homes"],
        policy=prdp.Policy.constant("1"),
    )
    assert join.over("birthplaces", "homes").filter("\"homes.name\" = 'Ulm'").count(share="1").share == 1


@pytest.mark.parametrize("public", [True, False])
def test_only_a_public_table_is_advised_to_be_given_twice(public: bool) -> None:
    persons = {"id": np.arange(4), "town": np.arange(4), "home": np.arange(4)}
    other = {"code": np.arange(4), "one": np.arange(4), "two": np.arange(4)}
    references = (
        {"persons.town": "other.code", "persons.home": "other.code"}
        if public
        else {"other.one": "persons.id", "other.two": "persons.id"}
    )
    with pytest.raises(InvalidRequest, match="two ways") as caught:
        prdp.open_join(
            {"persons": persons, "other": other},
            private="persons",
            key="id",
            references=references,
            public=["other"] if public else [],
            policy=prdp.Policy.constant("1"),
        )
    assert ("under two names" in str(caught.value)) is public
    assert ("open_links" in str(caught.value)) is not public


def test_a_reference_to_the_own_table_is_refused_with_what_to_write() -> None:
    with pytest.raises(InvalidRequest, match=r"open_links\(.*'id'.*'manager'"):
        prdp.open_join(
            {"employees": staff(MANAGER)},
            private="employees",
            key="id",
            references={"employees.manager": "employees.id"},
            policy=POLICY,
        )


def of_nodes() -> dict[str, tuple[Any, Any]]:
    edges = {"src": np.arange(9), "dst": np.arange(9) + 1}
    frame = pandas.DataFrame(edges)
    table, lazy = pyarrow.table(edges), polars.DataFrame(edges)
    return {
        "an array": (edges, edges["src"]),
        "a slice of an array": (edges, edges["src"][2:5]),
        "a dict of one array": (edges, {"node": edges["src"]}),
        "a pandas column": (frame, frame["src"]),
        "a pandas column as an array": (frame, {"node": frame["src"].to_numpy()}),
        "an Arrow column": (table, table["src"]),
        "an Arrow table": (table, table.select(["src"])),
        "a Polars column": (lazy, lazy["src"]),
        "a Polars frame": (lazy, lazy.select("src")),
    }


@pytest.mark.parametrize("name", of_nodes())
def test_a_column_of_the_edges_is_no_public_node_set(name: str) -> None:
    edges, nodes = of_nodes()[name]
    with pytest.raises(InvalidRequest, match="one source"):
        prdp.graphs.open(
            edges, source="src", target="dst", nodes=nodes, policy=prdp.Policy.constant("1"), name="g"
        )


def test_the_file_of_the_edges_is_no_public_node_set(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("src,dst\n1,2\n")
    nodes = duckdb.read_csv(str(file)).project("src")
    types = dict.fromkeys(("src", "dst"), "BIGINT")
    with pytest.raises(InvalidRequest, match=r"one source.*edges\.csv"):
        prdp.graphs.open(
            file, source="src", target="dst", nodes=nodes, types=types, policy=prdp.Policy.constant("1")
        )


def test_the_table_itself_is_no_public_list_of_its_keys() -> None:
    frame = pandas.DataFrame({"job": pandas.array(["clerk", "chef"], dtype="string[pyarrow]")})
    table = prdp.open(frame, policy=prdp.Policy.constant("1"))
    for keys in (
        frame,
        frame[["job"]].copy(deep=False),
        frame["job"],
        pyarrow.table({"job": frame["job"].array}),
    ):
        with pytest.raises(InvalidRequest, match="one source"):
            table.group_by("job", keys=keys)
    assert len(table.group_by("job", keys=["clerk", "chef"]).count(share="1").releases) == 2
    for keys in (pandas.Categorical(["clerk"]), pandas.DataFrame({"job": ["clerk"], "sql_query": [1]})):
        assert len(table.group_by("job", keys=keys).grouping.keys) == 1


def test_a_second_declaration_of_a_table_is_refused_however_it_is_named(tmp_path: Path) -> None:
    """Two Records of one table: a record would be two, with a budget each."""
    connection = duckdb.connect()
    pairs = of_files(tmp_path) | of_relations(connection, tmp_path) | of_frames()
    pairs = {
        name: pair for name, pair in pairs.items() if "columns of" not in name and "two rows" not in name
    }
    visits = pyarrow.table({"one": [1], "other": [1]})
    for sources in pairs.values():
        records = [prdp.graphs.Records(source, "manager", prdp.Policy.constant("1")) for source in sources]
        with pytest.raises(InvalidRequest, match=r"one source|one file"):
            prdp.graphs.open_links(visits, records=dict(zip(("one", "other"), records, strict=True)))
