"""Figure 5: the error of a sum against the deviation, under three policies."""
