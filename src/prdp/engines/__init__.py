"""Who reads the records: each engine turns a reading into exact totals per cell."""
