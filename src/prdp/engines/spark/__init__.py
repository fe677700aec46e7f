"""Spark, classic and Connect, as an engine: frames, plans and dialect."""
