"""How tests run: properties without a stopwatch, in CI always with the same cases; forks without garbage."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A forked child that collects a database of an earlier test dies in it: DuckDB's threads were not forked.
os.register_at_fork(after_in_child=gc.freeze)
