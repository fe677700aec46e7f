"""Figure 4: the error of a sum against the public largest value U, under three policies."""
