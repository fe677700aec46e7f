"""Read a DataFrame's analysed plan: whether rows are records, and the relations at its leaves.

A classic frame's plan is in the driver, and shows each relation's files and each local row set's columns. Of
Connect, the plan's text, the files that the server lists and the plan that the client sends must do.

Both kinds of frame show their plan as the same text: a classic one has it at hand, and of Connect the server
is asked for it. A classic frame tells exactly which functions are the caller's own and which never give the
same twice; of Connect, the plan that the client sends and the names of functions must do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from prdp.engines.origins import Origins, Place, file_place, untraced
from prdp.engines.sources.memory_origins import memory_origins
from prdp.engines.spark.frames import identity, quoted
from prdp.errors import InvalidRequest

_STEPS = {"Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression"}
_STEPS |= {"ResolvedHint", "RebalancePartitions"}
_SCANS = {"Relation", "RelationV2", "LocalRelation", "Range"}
_PLAIN = {"SubqueryAlias", *_SCANS}
_FORMATS = {"parquet", "orc", "delta", "iceberg"}
_UNSETTLED = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"),
    *("spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length"),
    *("reflect", "java_method", "try_reflect", "now", "current_timestamp", "current_date", "current_time"),
    *("localtimestamp", "curdate", "unix_timestamp", "current_user", "session_user", "user"),
    *("current_catalog", "current_database", "current_schema", "current_timezone"),
}
"""Functions that need not give a record the same every time, or depend on the clock or the session."""

_WORDS = {"cast", "try_cast", "ansi_cast", "atleastnnonnulls", "not", "normalizenanandzero"}
"""Words before a bracket in a plan that are no functions of the catalogue."""

_TOTAL = {
    *(
        "coalesce",
        "nvl",
        "nvl2",
        "ifnull",
        "nullif",
        "if",
        "isnull",
        "isnotnull",
        "isnan",
        "nanvl",
        "greatest",
    ),
    *(
        "least",
        "upper",
        "lower",
        "ucase",
        "lcase",
        "trim",
        "ltrim",
        "rtrim",
        "btrim",
        "length",
        "char_length",
    ),
    *(
        "character_length",
        "substring",
        "substr",
        "left",
        "right",
        "concat",
        "replace",
        "contains",
        "startswith",
    ),
    *("endswith", "year", "month", "day", "dayofmonth", "hour", "minute", "second", "quarter", "dayofweek"),
    *("sqrt", "ln", "log", "log10", "log2", "exp", "round", "hex", "md5", "collate"),
    *("static_invoke", "charvarcharcodegenutils.readsidepadding"),  # of CHAR columns of tables
}
"""Functions that fail for no value, with ANSI on or off; and all that begin with ``try_``."""

_CAST = re.compile(r"\b(?:ansi_)?cast\((?:[^()#]* as \w+(?:\([\d, ]+\))?|[\w`.]+#\d+L? as string)\)")
"""A cast of a constant, or of a column to a text."""

_PARTIAL = re.compile(
    r"(?P<cast>(?<!try_)\bcast\()|(?P<arithmetic>[\w)] (?:[-+*/%]|div) [\w(]|(?<![\w#)])-[A-Za-z_(`])"
    r"|(?P<index>#\d+L?\[)|(?P<pattern>\bR?I?LIKE [\w`.]*(?:\(|#\d))",
    re.IGNORECASE,
)
_ROWS = re.compile(r'\bdata: "(?:[^"\\]|\\.)*"')

_OPERATOR = re.compile(r"^[\s:+-]*(?P<name>[A-Za-z]\w*)(?P<rest>.*)$")
_CALL = re.compile(r"([^\s(),\[\]]+)\(")
_PLACE = re.compile(r"\b_metadata#\d+")
_NUMBER = re.compile(r"#(\d+)L?")
_FOLDER = re.compile(r"/([^/=]+)=[^/]*(?=/)")
_MAX_FILES = 1_000
_INSTEAD = (
    "Give a table or a Parquet file, with plain filters and projections. If each row is one record all the "
    "same, declare it with prdp.open(..., rows_are_records=True)."
)


@dataclass(frozen=True)
class SparkPlan:
    """A DataFrame and its analysed plan.

    Attributes:
        frame: The DataFrame.
        text: The plan, one operator a line.
    """

    frame: Any
    text: str

    @classmethod
    def of(cls, frame: Any) -> SparkPlan:
        """Return a frame's plan; reads no record."""
        if hasattr(frame, "_jdf"):
            return cls(frame, str(frame._jdf.queryExecution().analyzed().toString()))  # noqa: SLF001
        shown = str(frame._explain_string(extended=True))  # noqa: SLF001
        analysed = shown.partition("== Analyzed Logical Plan ==\n")[2].partition("\n\n== Optimized")[0]
        return cls(frame, analysed.partition("\n")[2])  # the first line lists columns

    @property
    def classic(self) -> bool:
        """True if the plan is in the driver's own memory, and not on a server."""
        return hasattr(self.frame, "_jdf")

    @cached_property
    def operators(self) -> list[tuple[str, str]]:
        """The operators, and what the plan says of each."""
        found = (_OPERATOR.match(line) for line in self.text.split("\n") if line.strip())
        return [(one["name"], one["rest"].strip()) if one else ("?", "") for one in found]

    @property
    def of_path(self) -> bool:
        """True if the frame reads files that no catalogue knows."""
        return any(name == "Relation" and rest.startswith("[") for name, rest in self.operators)

    def called(self) -> set[str]:
        """Return the names that are called in it, as functions are."""
        steps = (rest for name, rest in self.operators if name not in _SCANS | {"View", "SubqueryAlias"})
        return {name.lstrip("-~!").lower() for rest in steps for name in _CALL.findall(rest)} - _WORDS

    def paths(self) -> list[str]:
        """Return the files that it reads, each as often as it is read, as far as they are known."""
        if not self.classic:
            return [*self.frame.inputFiles(), *_named_twice(self.frame)]
        nodes = plan_nodes(self.frame._jdf.queryExecution().analyzed())  # noqa: SLF001
        scans = (node for node in nodes if node.getClass().getSimpleName() == "LogicalRelation")
        return [str(path) for scan in scans for path in scan.relation().location().inputFiles()]

    def files(self) -> tuple[object, ...]:
        """Return the identity of the files that a frame has listed, for a frame that lists once."""
        if not (self.classic and self.of_path):
            return ()
        session = self.frame.sparkSession
        jvm, configuration = session._jvm, session._jsc.hadoopConfiguration()  # noqa: SLF001
        found = []
        for path in self.paths()[:_MAX_FILES]:
            place = jvm.org.apache.hadoop.fs.Path(path)
            status = place.getFileSystem(configuration).getFileStatus(place)
            found.append((path, status.getLen(), status.getModificationTime()))
        return tuple(found)


def source_of(plan: SparkPlan, *, rows_are_records: bool) -> str:
    """Return a frame's transformation of its table, as a ledger keeps it; empty for a plain scan.

    Raises:
        InvalidRequest: A row of it need not be a record.
    """
    if not rows_are_records:
        _refuse_unless_records(plan)
        _refuse_unless_settled(plan)
        _refuse_unless_total(plan)
        _refuse_odd_files(plan)
    if not {name for name, _ in plan.operators} - _PLAIN:
        return ""
    if "more fields" in plan.text:
        raise InvalidRequest(
            "Spark does not show the whole plan of this frame, so that two of them could not be "
            "distinguished. "
            "Set spark.sql.debug.maxToStringFields to 2147483647."
        )
    return _renumbered(plan.text.strip())


def _renumbered(text: str) -> str:
    """Return a plan with its columns numbered as they come; Spark's own numbers differ every time."""
    numbers: dict[str, int] = {}
    for found in _NUMBER.findall(text):
        numbers.setdefault(found, len(numbers))
    return _NUMBER.sub(lambda found: f"#{numbers[found[1]]}", text)


def _refuse_unless_records(plan: SparkPlan) -> None:
    """Refuse a plan in which a row may come of several records, or a record be in several rows."""
    for name, rest in plan.operators:
        if name == "LogicalRDD":
            raise InvalidRequest(
                "the frame holds rows of an RDD, a list or a checkpoint, and prdp cannot see what they "
                f"were computed from. Rows in memory are given as a pandas or Arrow table. {_INSTEAD}"
            )
        if name not in _STEPS | _SCANS:
            raise InvalidRequest(
                f"the frame's plan has {name}, so that its rows need not be records: one row may come of "
                f"many, or a record be in many, or in none because of others. {_INSTEAD}"
            )
        if name in {"Relation", "RelationV2"} and (kind := plan_format(name, rest)) not in _FORMATS:
            raise InvalidRequest(
                f"the frame reads {kind}, of which prdp does not know that one record never changes how "
                f"others are read. Write it into a table or a Parquet file. {_INSTEAD}"
            )
    scans = [name for name, _ in plan.operators if name in _SCANS]
    if len(scans) != 1:
        raise InvalidRequest(f"the frame reads {len(scans)} tables, or one more than once. {_INSTEAD}")


def plan_format(name: str, rest: str) -> str:
    """Return the format of files, which ends the line of a relation; of a newer source, what it is called."""
    if name == "Relation":
        return rest.rpartition("]")[2].strip() or "a relation"
    words = re.findall(r"\w+", rest.rpartition("]")[2].lower())
    return next((word for word in words if word in _FORMATS), "a source of its own kind")


def _refuse_unless_settled(plan: SparkPlan) -> None:
    if _PLACE.search(plan.text):
        raise InvalidRequest(f"the frame reads _metadata, a row's place, which others decide. {_INSTEAD}")
    own = own_functions(plan)
    for name in sorted(plan.called() & _UNSETTLED) + sorted(own):
        raise InvalidRequest(
            f"the frame calls {name}, which need not give a record the same every time. {_INSTEAD}"
        )


def _refuse_unless_total(plan: SparkPlan) -> None:
    """Refuse what the frame computes if Spark fails at it for some value, which one record may have."""
    called = sorted(name for name in plan.called() - _TOTAL if not name.startswith("try_"))
    steps = (_CAST.sub("_", rest) for name, rest in plan.operators if name not in _SCANS | {"View"})
    found = [kind for rest in steps for one in _PARTIAL.finditer(rest) for kind in (one.lastgroup,) if kind]
    if called or found:
        raise InvalidRequest(
            f"the frame computes with {[*called, *found][0]}, at which Spark may fail for some value: one "
            "record could make every question fail. Let prdp compute it, in filter() and expressions; or "
            f"write try_cast, try_add and the like. {_INSTEAD}"
        )


def own_functions(plan: SparkPlan) -> set[str]:
    """Return functions of the caller's own, and others that are not known to be settled."""
    if plan.classic:
        return set(_unsettled_in(plan.frame._jdf.queryExecution().analyzed()))  # noqa: SLF001
    found = {name for name in ("python_udf", "scalar_scala_udf", "java_udf") if name in sent_plan(plan.frame)}
    listed = plan.frame.sparkSession.sql("SHOW SYSTEM FUNCTIONS").toArrow()
    return found | (plan.called() - {str(name).lower() for name in listed.column(0).to_pylist()})


def _unsettled_in(plan: Any) -> Iterator[str]:
    """Return the functions of a plan in the driver that are the caller's own, or not deterministic."""
    for node in plan_nodes(plan):
        for place in range(node.expressions().size()):
            for expression in _below(node.expressions().apply(place)):
                name = str(expression.getClass().getSimpleName())
                if "UDF" in name or not expression.deterministic():
                    yield str(expression.toString())


def plan_nodes(plan: Any) -> Iterator[Any]:
    """Return the operators of a plan in the driver, those of subqueries among them."""
    for node in _below(plan):
        yield node
        for place in range(node.subqueries().size()):
            yield from plan_nodes(node.subqueries().apply(place))


def _below(node: Any) -> Iterator[Any]:
    yield node
    for place in range(node.children().size()):
        yield from _below(node.children().apply(place))


def sent_plan(frame: Any) -> str:
    """Return the message that a Connect client sends for a frame, without the rows that it may hold."""
    sent = frame._plan.to_proto(frame.sparkSession.client)  # noqa: SLF001
    return _ROWS.sub("", str(sent))


def _named_twice(frame: Any) -> list[str]:
    """Return the paths that a Connect client names, of which the server tells no file twice."""
    paths = re.findall(r'\bpaths: "((?:[^"\\]|\\.)*)"', sent_plan(frame))
    return [path for path in paths if paths.count(path) > 1]


def _refuse_odd_files(plan: SparkPlan) -> None:
    """Refuse files that are read twice, or in which folders' names are columns of guessed types."""
    if not plan.of_path:
        return
    paths = plan.paths()
    for path in paths:
        if paths.count(path) > 1 if len(paths) <= _MAX_FILES else False:
            raise InvalidRequest(f"{path!r} is read twice, and its records would count twice. Name it once.")
    kinds = {column.name.lower(): column.dataType.simpleString() for column in plan.frame.schema}
    for path in paths:
        for folder in _FOLDER.findall(path):
            if kinds.get(unquote(folder).lower(), "string") != "string":
                raise InvalidRequest(
                    f"the names of folders are the column {unquote(folder)!r}, and Spark guesses its "
                    "type from them. Set spark.sql.sources.partitionColumnTypeInference.enabled to false and "
                    "read it again, or make it a table, whose types are declared."
                )


_VIEW_STEPS = {
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
    """Return an operator's description in the plan's text."""
    table = rest.partition("[")[0].strip()
    if name not in _VIEW_STEPS | _LEAVES:
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
