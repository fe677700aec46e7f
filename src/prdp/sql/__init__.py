"""SQL text to the same questions and plans as Python's; nothing of the text reaches an engine."""
