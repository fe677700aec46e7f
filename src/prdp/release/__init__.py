"""Answers with their labels."""
