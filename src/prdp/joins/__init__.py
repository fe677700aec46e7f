"""Private answers over several tables that refer to each other, and over graphs."""
