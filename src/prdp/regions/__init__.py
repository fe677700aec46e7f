"""Whom a question can be about: sets of contents of fixed columns, told by public texts alone."""
