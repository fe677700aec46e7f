"""How well a rule for choosing the clipping point does, on many tables at once."""
