"""Figure 1 and Example 1: the worked numbers, computed again."""
