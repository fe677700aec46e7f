"""From results to one page that a person reads."""
