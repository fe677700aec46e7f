"""Other libraries answer a clipped sum over the same file, each in an environment of its own."""
