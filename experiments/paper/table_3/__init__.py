"""Table 3: counts, sums and maxima on every set."""
