"""Virtual clients for experiments, never for publication."""
