"""The client's side: campaign, report and account; the standard library alone."""
