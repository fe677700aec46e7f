"""A server for analysts: they ask, the data stays with its owner."""
