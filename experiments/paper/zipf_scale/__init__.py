"""Which scale of the Zipf values would give the paper's figures: none for both sets."""
