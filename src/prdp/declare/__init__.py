"""Declarations of the data's owner: columns, bounds, grains, groups and their keys."""
