"""Graphs and links: counts over edges, paths, stars, triangles, and rows that name several records.

>>> import numpy
>>> import prdp
>>> calls = {"a": numpy.array([0, 1, 2]), "b": numpy.array([1, 2, 0])}
>>> graph = prdp.graphs.open(calls, source="a", target="b", nodes=range(5), policy=prdp.Policy.constant(1))
>>> release = graph.edges(share="1/4")

``open`` and ``graphs.open_links`` open data; ``edges``, ``paths``, ``stars`` and ``triangles`` are queries.
"""

from prdp.graphs.graph import Graph, edges, open, paths, stars, triangles  # noqa: A004
from prdp.graphs.links import Links, Records, open_links

__all__ = [
    "Graph",
    "Links",
    "Records",
    "edges",
    "open",
    "open_links",
    "paths",
    "stars",
    "triangles",
]
