"""Exact columns of counts and totals that engines return, and the public grids that they lie on."""
