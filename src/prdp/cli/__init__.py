"""The command line: one file a command, from arguments to a table to print."""

from prdp.cli.app import app, main

__all__ = ["app", "main"]
