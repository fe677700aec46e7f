"""Pictures of policies, answers and accounts, in one style; matplotlib is loaded when one is drawn."""
