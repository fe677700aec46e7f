"""Table 2: what the data sets are like."""
