"""The paper's tables and figures, from one command: ``python -m experiments.paper --data FOLDER``."""
