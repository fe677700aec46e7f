"""The public node set of a graph, as the caller declares it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from prdp.cells.edges import Nodes
from prdp.engines.duckdb import open_source
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.schema import Kind

MOST_NODES = 50_000_000
"""So many public nodes can be counted with in memory; more would fail after the charge."""

_AT_ONCE = 1 << 20

_ADVICE = "Write nodes=range(1000), a list of whole numbers or of texts, or a public table of one column."


def read_nodes(given: object) -> Nodes:
    """Return the node set that a range, a list, an array or a public table of one column says."""
    if isinstance(given, range):
        nodes = Nodes(_ascending(given))
    elif given is None or isinstance(given, int | Iterator):
        shown = repr(given) if given is None or isinstance(given, int) else "an iterator"
        raise InvalidRequest(f"nodes= is {shown}, not a set of nodes. {_ADVICE}")
    else:
        names = _listed(given) if _is_list(given) else _column(given)
        _refuse_too_many(len(names))
        if len(set(names)) != len(names):
            raise InvalidRequest("nodes= names a node twice. Each node of the public set comes once.")
        texts = bool(names) and isinstance(names[0], str)
        nodes = Nodes(tuple(sorted(names)) if texts else np.array(sorted(names), dtype=np.int64))
    if len(nodes) < 2:
        raise InvalidRequest(f"nodes= holds {len(nodes)} nodes; an edge needs two. {_ADVICE}")
    return nodes


def described(nodes: Nodes) -> str:
    """Return the node set in a few words, different for different sets."""
    digest = sha256(b"texts" if nodes.are_texts else b"whole numbers")
    if isinstance(nodes.values, tuple):
        for text in nodes.values:
            name = text.encode()
            digest.update(len(name).to_bytes(8, "little") + name)
    else:
        for first in range(0, len(nodes), _AT_ONCE):
            digest.update(np.array(nodes.values[first : first + _AT_ONCE], dtype="<i8").tobytes())
    return f"{len(nodes)} nodes, SHA-256 {digest.hexdigest()[:16]}"


def _ascending(given: range) -> range:
    nodes = given if given.step > 0 else given[::-1]
    _refuse_too_many(-((nodes.start - nodes.stop) // nodes.step))  # len() cannot count every range
    if nodes and not -(2**63) <= nodes[0] <= nodes[-1] < 2**63:
        raise InvalidRequest(f"nodes= holds whole numbers beyond 64 bits. {_ADVICE}")
    return nodes


def _refuse_too_many(number: int) -> None:
    if number > MOST_NODES:
        raise InvalidRequest(
            f"nodes= holds {number:,} nodes; at most {MOST_NODES:,} can be counted with. Leave out those "
            "that no edge can touch, by what is public."
        )


def _is_list(given: object) -> bool:
    if isinstance(given, np.ndarray):
        return True
    is_table = isinstance(given, str | dict | Path) or hasattr(given, "columns")
    return isinstance(given, Collection) and not is_table


def _listed(given: Any) -> list[Any]:
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise InvalidRequest(f"nodes= has {given.ndim} dimensions. {_ADVICE}")
    names = given.tolist() if isinstance(given, np.ndarray) else [_plain(name) for name in given]
    kinds = {type(name) for name in names}
    if not kinds <= {int} and not kinds <= {str}:
        raise InvalidRequest(f"nodes= holds neither whole numbers alone nor texts alone. {_ADVICE}")
    if str in kinds and not all(map(_is_unicode, names)):
        raise InvalidRequest(f"nodes= holds a text that cannot be written as Unicode. {_ADVICE}")
    if int in kinds and not all(-(2**63) <= name < 2**63 for name in names):
        raise InvalidRequest(f"nodes= holds whole numbers beyond 64 bits. {_ADVICE}")
    return names


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _column(given: object) -> list[Any]:
    """Read the one column of a public table."""
    engine = open_source(given, None)
    if len(engine.schema) != 1:
        raise InvalidRequest(f"nodes= is a table of {len(engine.schema)} columns. {_ADVICE}")
    ((name, kind),) = engine.schema.items()
    if not kind.integer and kind.kind is not Kind.TEXT:
        raise InvalidRequest(f"nodes= holds {kind.native}. {_ADVICE}")
    cast = f"TRY_CAST({quoted(name)} AS {'BIGINT' if kind.integer else 'VARCHAR'}) AS node"
    values = engine.arrays(lambda table, _: f"SELECT {cast} FROM {table}")["node"]
    names: list[Any] = np.ma.asarray(values).tolist()
    if None in names:
        raise InvalidRequest("nodes= has a node without a name (NULL), or one beyond 64 bits. Leave it out.")
    return names
