"""Declarations of the data's owner: columns, bounds, rounding steps, groups and their keys."""
