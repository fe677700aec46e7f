"""The row language as SQL that never fails: numbers, texts, dates and times, casts."""
