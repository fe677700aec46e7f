"""The public node set of a graph, as the caller declares it."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.engines.duckdb import open_source
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.pairs import Nodes
from prdp.schema import Kind

_ADVICE = "Write nodes=range(1000), a list of whole numbers or of texts, or a public table of one column."


def read_nodes(given: object) -> Nodes:
    """Return the node set that a range, a list, an array or a public table of one column says."""
    if isinstance(given, range):
        nodes = Nodes(given if given.step > 0 else given[::-1])
    else:
        values = _listed(given) if _is_list(given) else _column(given)
        if values.dtype.kind not in "iuU":
            raise InvalidRequest(f"nodes= holds {values.dtype}, neither whole numbers nor texts. {_ADVICE}")
        ordered = np.unique(values if values.dtype.kind == "U" else values.astype(np.int64))
        if len(ordered) != len(values):
            raise InvalidRequest(
                "nodes= names a node more than once. Each node of the public set comes once."
            )
        nodes = Nodes(ordered)
    if len(nodes) < 2:
        raise InvalidRequest(f"nodes= holds {len(nodes)} nodes; an edge needs two. {_ADVICE}")
    return nodes


def described(nodes: Nodes) -> str:
    """Return the node set in a few words, different for different sets."""
    if isinstance(nodes.values, range):
        return str(nodes.values)
    digest = sha256(repr(nodes.values.tolist()).encode()).hexdigest()
    return f"{len(nodes)} nodes, SHA-256 {digest[:16]}"


def _is_list(given: object) -> bool:
    return isinstance(given, np.ndarray) or (
        isinstance(given, Collection) and not isinstance(given, str | dict | Path)
        and not hasattr(given, "columns")
    )  # fmt: skip


def _listed(given: Any) -> NDArray[Any]:
    values = given if isinstance(given, np.ndarray) else np.array(list(given) or np.zeros(0, np.int64))
    if values.ndim != 1:
        raise InvalidRequest(f"nodes= has {values.ndim} dimensions. {_ADVICE}")
    mixed = not isinstance(given, np.ndarray) and len({isinstance(value, str) for value in given}) > 1
    if mixed or values.dtype.kind == "b":
        raise InvalidRequest(f"nodes= mixes kinds of names. {_ADVICE}")
    return values


def _column(given: object) -> NDArray[Any]:
    """Read the one column of a public table."""
    engine = open_source(given, None)
    if len(engine.schema) != 1:
        raise InvalidRequest(f"nodes= is a table of {len(engine.schema)} columns. {_ADVICE}")
    ((name, kind),) = engine.schema.items()
    if not kind.integer and kind.kind is not Kind.TEXT:
        raise InvalidRequest(f"nodes= holds {kind.native}. {_ADVICE}")
    native = "BIGINT" if kind.integer else "VARCHAR"
    found = engine.arrays(
        lambda table, _: f"SELECT TRY_CAST({quoted(name)} AS {native}) AS node FROM {table}"
    )
    values = found["node"]
    if np.ma.is_masked(values) or any(value is None for value in values[:0]):
        raise InvalidRequest("nodes= has a node without a name (NULL), or one beyond 64 bits. Leave it out.")
    plain = np.ma.getdata(values)
    return plain.astype(np.int64) if kind.integer else plain.astype(np.str_)
