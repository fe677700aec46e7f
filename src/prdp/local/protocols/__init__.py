"""Protocols: from a record to a report, and from all reports to an estimate."""
