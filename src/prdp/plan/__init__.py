"""Planning: from a query to its steps, by public facts alone."""
