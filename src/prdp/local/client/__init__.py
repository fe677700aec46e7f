"""Who holds a record: campaign, report and account; the standard library alone."""
