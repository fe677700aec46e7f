"""Tumult Core's slowly scaling samplers beside the default."""
