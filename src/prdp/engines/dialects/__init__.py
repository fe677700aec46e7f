"""DuckDB's SQL in the words of other engines: one file a dialect, each a table of what it says otherwise."""
