"""``python -m prdp``: the command line."""

from prdp.cli import main

main()
