"""The same promise with no trusted collector: clients randomise their own records."""
