"""What the paper's methods and ours are compared with; README.md says what each is and where it is from."""

from __future__ import annotations

from experiments.baselines.naive import NAIVE
from experiments.baselines.personalised_truncation import MENDED, PUBLISHED, SAMPLED
from experiments.baselines.rows import ROW_TWINS
from experiments.baselines.sampling import SAMPLING
from experiments.method import Method

BASELINES: tuple[Method, ...] = (NAIVE, PUBLISHED, SAMPLED, MENDED, *SAMPLING)
"""For every table: vectorised over runs, fit for 10⁷ rows."""

__all__ = ["BASELINES", "ROW_TWINS"]
