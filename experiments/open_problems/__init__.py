"""First results on the problems that the paper leaves open."""
