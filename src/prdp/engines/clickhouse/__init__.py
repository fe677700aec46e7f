"""ClickHouse and chDB as engines: catalog, sessions and dialect."""
