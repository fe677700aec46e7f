"""From a question to what will be done, by public facts alone."""
