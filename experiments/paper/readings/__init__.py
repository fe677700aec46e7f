"""Which reading of Algorithm 2 gives the printed sums and maxima."""
