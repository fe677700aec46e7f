"""Table 1: how errors grow with 1/ε_min, U and n, beside the bounds."""
