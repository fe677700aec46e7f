"""Graphs and links: counts over edges, paths, stars, triangles, and rows that name several records."""
