"""Origins of a Spark DataFrame: the relations at the leaves of its analysed plan; no record is read.

A classic frame's plan is in the driver, and shows each relation's files and each local row set's columns. Of
Connect, the plan's text, the files that the server lists and the plan that the client sends must do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from prdp.engines.origins import Origins, Place, file_place, untraced
from prdp.engines.sources.memory_origins import memory_origins
from prdp.engines.spark.frames import identity, quoted
from prdp.engines.spark.plans import SparkPlan, own_functions, plan_format, plan_nodes, sent_plan

_STEPS = {
    *("Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression"),
    *("ResolvedHint", "RebalancePartitions", "Aggregate", "Join", "Union", "Distinct", "Deduplicate"),
    *("Window", "GlobalLimit", "LocalLimit", "Offset", "Tail", "WithCTE", "CTERelationDef", "CTERelationRef"),
    *("Except", "Intersect", "Expand", "Sample", "Pivot", "Unpivot", "Generate", "LateralJoin"),
}
_LEAVES = {"OneRowRelation", "Range", "LocalRelation", "Relation", "RelationV2", "LogicalRDD"}
_LAKES = {"delta", "iceberg"}
_SUBQUERY = re.compile(r"\b(?:scalar-subquery|lateral-subquery|exists|list)#")
_COLUMN = re.compile(r"#(\d+)")
_PATH = re.compile(r'\bpaths: "((?:[^"\\]|\\.)*)"')
_GLOB = re.compile(r"[*?{\[]")
_LOCAL = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)


def frame_origins(frame: Any) -> Origins:
    """Return the origins of a frame."""
    plan = SparkPlan.of(frame)
    parts = [_relation(name, rest, plan) for name, rest in plan.operators]
    parts += [untraced(f"the function {name}") for name in sorted(own_functions(plan))[:1]]
    if "variablereference(" in plan.text:
        parts.append(untraced("a variable of its session"))
    if any(name == "Generate" and "UDTF" in rest for name, rest in plan.operators):
        parts.append(untraced("a table function of the caller's own"))
    parts += _classic(plan) if plan.classic else _of_connect(plan)
    return Origins.union(parts)


def _relation(name: str, rest: str, plan: SparkPlan) -> Origins:
    """Return what the plan's text says of an operator."""
    table = rest.partition("[")[0].strip()
    if name not in _STEPS | _LEAVES:
        return untraced(f"{name} in its plan")
    if name == "LogicalRDD":
        return untraced("rows of an RDD, a list or a checkpoint")
    if name == "RelationV2" and (not table or plan_format(name, rest) not in _LAKES):
        return untraced("a source of its own kind")
    if name == "LocalRelation":
        session = identity(plan.frame.sparkSession) if not plan.classic else "classic"
        return Origins({("spark rows", session, one): "the same rows" for one in _COLUMN.findall(rest)})
    if name in {"Relation", "RelationV2"} and table:
        return Origins({("spark table", table.lower()): f"the table {table!r}"})
    return Origins()


def _classic(plan: SparkPlan) -> Iterator[Origins]:
    """Return the files of every relation, those in subqueries among them."""
    for node in plan_nodes(plan.frame._jdf.queryExecution().analyzed()):  # noqa: SLF001
        if node.getClass().getSimpleName() != "LogicalRelation":
            continue
        relation = node.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            yield untraced(f"a {relation.getClass().getSimpleName()}")
            continue
        roots = relation.location().rootPaths()
        yield _paths(str(roots.apply(place).toString()) for place in range(roots.size()))
        yield _paths(map(str, relation.location().inputFiles()))


def _of_connect(plan: SparkPlan) -> Iterator[Origins]:
    frame = plan.frame
    given = list(_local_relations(frame._plan))  # noqa: SLF001
    yield from map(memory_origins, given)
    shown = [name for name, rest in plan.operators if name == "LocalRelation"]
    if len(shown) > len(given):
        yield untraced("rows that the server holds")
    named = [path.encode().decode("unicode_escape") for path in _PATH.findall(sent_plan(frame))]
    files = list(frame.inputFiles())
    yield _paths([*named, *files])
    for name in {rest.partition("[")[0].strip() for kind, rest in plan.operators if kind == "Relation"} - {
        ""
    }:
        yield _paths(_location(frame, name))
    read = sum(name == "Relation" and rest.startswith("[") for name, rest in plan.operators)
    by_name = sent_plan(frame).count("data_source {") >= read and not any(map(_GLOB.search, named))
    if read and not by_name and (not files or _SUBQUERY.search(plan.text)):
        yield untraced("files that the server does not list")


def _location(frame: Any, table: str) -> list[str]:
    """Return the folder of a table of the catalogue, where it has one."""
    name = ".".join(map(quoted, table.split(".")))
    described = frame.sparkSession.sql(f"DESCRIBE TABLE EXTENDED {name}").toArrow()
    rows = zip(described.column(0).to_pylist(), described.column(1).to_pylist(), strict=True)
    return [str(place) for what, place in rows if what == "Location"]


def _local_relations(plan: Any) -> Iterator[Any]:
    """Return the rows that a client sends with a plan, as it holds them."""
    if type(plan).__name__ == "LocalRelation" and getattr(plan, "_table", None) is not None:
        yield plan._table  # noqa: SLF001
    for inner in vars(plan).values():
        for one in inner if isinstance(inner, list | tuple) else [inner]:
            if hasattr(one, "to_proto") and hasattr(one, "_child"):
                yield from _local_relations(one)


def _paths(paths: Iterable[str]) -> Origins:
    """Return the identities of files and folders.

    By their names, a folder holds what is in it; local files have their numbers too, as hard links do.
    """
    places: dict[Place, str] = {}
    for path in paths:
        local = unquote(_LOCAL.sub("", path))
        whole = str(Path(local).resolve()) if "://" not in local else local
        places["spark file", *whole.split("/")] = f"the file {path!r}"
        with suppress(OSError, ValueError):
            if Path(whole).is_file():
                places[file_place(whole)] = f"the file {path!r}"
    return Origins(places)
