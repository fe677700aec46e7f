"""Figure 3: the error of a sum against the number of records, under three policies."""
