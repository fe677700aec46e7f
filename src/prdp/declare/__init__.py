"""What the owner of the data says of it: columns, bounds, grains, groups and their keys."""
