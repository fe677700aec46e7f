"""Answer some hundreds of queries with seeded noise and hash the numbers, to show that a change moved none.

``python -m benchmarks.seeded_answers --write before.json`` stores each case's numbers and their hash;
``--compare before.json`` answers again, lists the cases that differ and fails if there are any.
Only numbers are kept (values, intervals, noise scales), never sentences: wording may change, answers may not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import prdp
from prdp.errors import PrdpError
from prdp.sql.results import SqlAnswers
from prdp.testing import Seeded

ROWS, CUSTOMERS, SEED = 4_000, 900, 20261118
JOBS = ["clerk", "chef", "judge", "nurse", "pilot"]
POLICIES = {
    "constant": prdp.Policy.constant(1),
    "inverse": prdp.Policy("10000 / greatest(balance, 1)", at_least="1/100", at_most=20),
    "steps": prdp.Policy("CASE WHEN balance > 50000 THEN 0.1 WHEN balance > 1000 THEN 1 ELSE 4 END"),
    "two columns": prdp.Policy("least(5000 / greatest(balance, 1), age / 20)", at_least="1/50", at_most=10),
    "growing": prdp.Policy("greatest(balance, 1) / 1000", at_least="1/1000", at_most=1000),
}
BOUNDS = {"balance": (0, 10**9), "age": (0, 120), "score": (-100, 100), "rate": (0, 1)}
ROUND_TO = {"rate": "0.001"}
SHARES = ("1/2", "1/20")


@dataclass(frozen=True)
class Case:
    """A query about a source, by name."""

    name: str
    ask: Callable[[], Any]


class Entropies:
    """Seeded noise in place of the system's: every answer begins a stream of its own."""

    def __init__(self) -> None:
        self.seed = 0

    def __call__(self) -> Seeded:
        """Return the next stream."""
        self.seed += 1
        return Seeded(SEED + self.seed)

    def begin(self, name: str) -> None:
        """Start a case: its noise depends on its name alone, not on the cases before it."""
        self.seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")

    def install(self) -> None:
        """Replace the system's generator in every module that has it."""
        vars(import_module("prdp.run.answer"))["SystemEntropy"] = self


def records() -> dict[str, np.ndarray[Any, Any]]:
    """Return the made-up records."""
    generator = np.random.default_rng(SEED)
    return {
        "customer": generator.integers(0, CUSTOMERS, ROWS),
        "balance": np.minimum(generator.lognormal(8, 2, ROWS), 10**9).astype(np.int64),
        "age": generator.integers(18, 90, ROWS),
        "score": generator.integers(-60, 90, ROWS),
        "rate": np.round(generator.beta(2, 5, ROWS), 3),
        "job": np.array(JOBS, dtype=object)[generator.integers(0, len(JOBS), ROWS)].astype(str),
    }


def queries() -> dict[str, Callable[[Any, str], Any]]:
    """Return what is asked of every table, by name."""
    return {
        "count": lambda t, s: t.count(share=s),
        "count where": lambda t, s: t.filter("age >= 40 AND job <> 'chef'").count(share=s),
        "sum": lambda t, s: t.sum("balance", share=s),
        "sum partition": lambda t, s: t.sum("balance", share=s, method="partition"),
        "sum signed": lambda t, s: t.sum("score", share=s),
        "sum computed": lambda t, s: t.sum("balance * age", share=s),
        "mean": lambda t, s: t.mean("rate", share=s),
        "variance": lambda t, s: t.variance("age", share=s),
        "std": lambda t, s: t.std("score", share=s),
        "median": lambda t, s: t.median("balance", share=s),
        "quantiles": lambda t, s: t.quantiles("age", ["0.1", "0.5", "0.9"], share=s),
        "max": lambda t, s: t.max("balance", share=s),
        "min": lambda t, s: t.min("age", share=s),
        "distinct": lambda t, s: t.count_distinct("age", share=s),
        "histogram": lambda t, s: t.histogram("age", edges=[0, 30, 50, 70, 120], share=s),
        "counts by job": lambda t, s: by_job(t).count(share=s),
        "sums by job": lambda t, s: by_job(t).sum("balance", share=s),
        "means by job": lambda t, s: by_job(t).mean("score", share=s),
        "medians by job": lambda t, s: by_job(t).median("age", share=s),
        "quantiles by job": lambda t, s: by_job(t).quantiles("balance", ["0.1", "0.99"], share=s),
        "variances by job": lambda t, s: by_job(t).variance("score", share=s),
        "several by job": lambda t, s: by_job(t).agg(
            n=prdp.count(), total=prdp.sum("balance"), mean=prdp.mean("age"), share=s
        ),
        "sql": lambda t, s: t.sql(
            "SELECT job, COUNT(*) AS n, AVG(balance) AS a, SUM(score) / COUNT(*) AS r FROM accounts "
            "WHERE age BETWEEN 20 AND 70 GROUP BY job ORDER BY job",
            share=s,
            keys={"job": JOBS},
        ),
        "sql alone": lambda t, s: t.sql(
            "SELECT SUM(balance), STDDEV(age), MEDIAN(score) FROM accounts", share=s
        ),
        "asked twice": asked_twice,
    }


def by_job(table: Any) -> Any:
    """Group by the job."""
    return table.group_by("job", keys=JOBS)


def asked_twice(table: Any, share: str) -> Any:
    """Ask for a sum, then for others that may start from it."""
    each = Fraction(share) / 3
    first = table.sum("balance", share=each)
    younger = table.filter("age < 60").sum("balance", share=each)
    return [first, younger, table.sum("balance", share=each, redraw=True)]


def sources(folder: Path) -> dict[str, tuple[object, Mapping[str, Any]]]:
    """Return the same records as engines and storages have them."""
    import duckdb  # noqa: PLC0415
    import polars  # noqa: PLC0415
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    held = records()
    table = pyarrow.table(held)
    pyarrow.parquet.write_table(table, folder / "accounts.parquet")
    with duckdb.connect(str(folder / "accounts.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE accounts AS SELECT * FROM given")
    return {
        "parquet": (folder / "accounts.parquet", {}),
        "duckdb": (folder / "accounts.duckdb", {"table": "accounts"}),
        "polars": (polars.from_arrow(table), {"engine": "polars"}),
    }


def table_cases(folder: Path) -> Iterator[Case]:
    """Yield queries x policies x shares on the first source, and fewer on the others and with units."""
    for where, (source, options) in sources(folder).items():
        for policy_name, policy in POLICIES.items():
            if where != "parquet" and policy_name not in {"inverse", "steps"}:
                continue
            for share in SHARES if where == "parquet" else SHARES[:1]:
                for unit in (None, "customer") if where == "parquet" and share == SHARES[0] else (None,):
                    for query_name, query in queries().items():
                        yield Case(
                            f"{where} | {policy_name} | {share} | {unit or 'row'} | {query_name}",
                            asking(
                                {"source": source, "policy": policy, "privacy_unit": unit, **options},
                                query,
                                share,
                            ),
                        )


def asking(opening: Mapping[str, Any], query: Callable[[Any, str], Any], share: str) -> Callable[[], Any]:
    """Return the call that opens a source anew and asks it."""

    def ask() -> Any:
        opened = prdp.open(**opening, bounds=BOUNDS, round_to=ROUND_TO, name="accounts")
        return query(opened, share)

    return ask


def graph_cases() -> Iterator[Case]:
    """Yield the queries of a graph, of a join and of links."""
    generator = np.random.default_rng(SEED)
    edges = {"a": generator.integers(0, 40, 150), "b": generator.integers(0, 40, 150)}
    graph: dict[str, Callable[[Any], Any]] = {
        "edges": lambda g: g.edges(share="1/2"),
        "paths": lambda g: g.paths(share="1/2"),
        "stars": lambda g: g.stars(3, share="1/2"),
        "triangles": lambda g: g.triangles(share="1/2"),
    }
    for name, ask in graph.items():

        def asked(ask: Callable[[Any], Any] = ask) -> Any:
            nodes = range(40)
            opened = prdp.graphs.open(
                edges, source="a", target="b", nodes=nodes, policy=prdp.Policy.constant(2)
            )
            return ask(opened)

        yield Case(f"graph | {name}", asked)


def join_cases() -> Iterator[Case]:
    """Yield the queries of a join and of a search for keys."""
    held, generator = records(), np.random.default_rng(SEED)
    people = {"id": np.arange(CUSTOMERS), "rank": generator.integers(1, 6, CUSTOMERS)}
    tables = {"people": people, "accounts": {name: held[name] for name in ("customer", "balance", "age")}}
    joins: dict[str, Callable[[Any], Any]] = {
        "count": lambda j: j.count(share="1/2"),
        "sum": lambda j: j.over("accounts").sum("balance", share="1/2"),
        "sums by rank": lambda j: (
            j.over("accounts").group_by("rank", keys=[1, 2, 3, 4, 5]).sum("balance", share="1/2")
        ),
        "people": lambda j: j.over("people").count(share="1/2"),
    }
    for name, ask in joins.items():

        def asked(ask: Callable[[Any], Any] = ask) -> Any:
            opened = prdp.open_join(
                tables,
                private="people",
                key="id",
                references={"accounts.customer": "people.id"},
                policy=prdp.Policy("5 / rank"),
                bounds={"rank": (1, 5), "balance": (0, 10**9)},
            )
            return ask(opened)

        yield Case(f"join | {name}", asked)
    for name, policy in POLICIES.items():

        def found(policy: Any = policy) -> Any:
            return prdp.open(held, policy=policy, bounds=BOUNDS).find_keys(
                "age", between=(0, 130), share="1/2"
            )

        yield Case(f"keys | {name}", found)


def numbers(answer: Any) -> Any:
    """Return all numbers of an answer."""
    if isinstance(answer, prdp.Release):
        return [
            str(answer.exact),
            [str(end) for end in answer.interval()],
            [str(s) for s in answer.noise_scales],
        ]
    if isinstance(answer, prdp.ReleaseTable):
        return [[list(map(str, key)), [numbers(one) for one in row]] for key, row in answer]
    if isinstance(answer, SqlAnswers):
        return [[cell_numbers(cell) for cell in row] for row in answer]
    return [numbers(one) for one in answer]


def cell_numbers(cell: Any) -> Any:
    """Return the numbers of a SQL answer's cell: a key, or an answer with its interval."""
    if not hasattr(cell, "interval"):
        return str(cell)
    return [str(cell.value), [str(end) for end in cell.interval()]]


def answered(cases: Iterator[Case], entropies: Entropies) -> dict[str, Any]:
    """Return the numbers of every case, or the kind of its refusal."""
    found: dict[str, Any] = {}
    for case in cases:
        entropies.begin(case.name)
        try:
            found[case.name] = numbers(case.ask())
        except PrdpError as refusal:
            found[case.name] = f"refused: {type(refusal).__name__}"
    return found


def digest(found: Mapping[str, Any]) -> str:
    """Return one hash of all numbers."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def main() -> None:
    """Write the numbers, or compare them with those written before."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", type=Path, help="store each case's numbers here")
    parser.add_argument(
        "--compare", type=Path, help="compare with numbers stored before; fail on a difference"
    )
    options = parser.parse_args()
    entropies = Entropies()
    entropies.install()
    warnings.simplefilter("ignore", prdp.errors.NoLedgerFile)
    warnings.simplefilter("ignore", prdp.errors.RecordsLeftOut)
    with tempfile.TemporaryDirectory() as folder:
        found = answered(chain(table_cases(Path(folder)), graph_cases(), join_cases()), entropies)
    refused = sum(isinstance(one, str) for one in found.values())
    print(f"{len(found)} cases, {refused} refused, sha256 {digest(found)}")
    if options.write:
        options.write.write_text(json.dumps(found, indent=0, sort_keys=True), encoding="utf-8")
    if options.compare:
        before = json.loads(options.compare.read_text(encoding="utf-8"))
        names = sorted(found.keys() | before.keys())
        other = [name for name in names if found.get(name) != before.get(name)]
        print(f"{len(names) - len(other)} cases alike, {len(other)} differ")
        for name in other:
            print(f"  {name}: {str(before.get(name))[:90]} -> {str(found.get(name))[:90]}")
        sys.exit(bool(other))


if __name__ == "__main__":
    main()
