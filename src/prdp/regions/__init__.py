"""Regions: sets of records that a query can read, over-approximated from public texts alone."""
