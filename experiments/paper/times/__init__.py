"""How long one query takes, beside the paper's algorithms over rows."""
