"""SQL text to the same questions and plans as Python's; sqlglot reads the text, and nothing of it reaches an engine."""
